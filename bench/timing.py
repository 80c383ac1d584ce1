"""Timing of two systems in turns, the spread of their ratio, and the report that every benchmark writes."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from lev_plugins.utils.errors import UserError, require

PACKAGES = ("lev-plugins", "torch", "fairseq", "fairseq-fixed", "numpy", "onnxruntime")
ISA_LIMITS = ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS")


@dataclass(frozen=True)
class Clock:
    """Measures processor time on a CPU, which excludes other processes, and wall time on a GPU."""

    device: torch.device

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            return time.perf_counter()
        return time.process_time()

    def time(self, work: Callable[[], Any]) -> tuple[float, Any]:
        """Returns the seconds that ``work()`` takes, and its result."""
        start = self.now()
        result = work()
        return self.now() - start, result


@dataclass
class Times:
    """Seconds of the same work done by two systems, one entry per measurement."""

    peer: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        ratios = [peer / ours for peer, ours in zip(self.peer, self.ours, strict=True)]
        return {"peer_seconds": spread(self.peer), "ours_seconds": spread(self.ours), "ratio": spread(ratios)}


def alternate(
    clock: Clock, jobs: Sequence[tuple[Callable[[], Any], Callable[[], Any]]], repetitions: int, title: str
) -> tuple[Times, list[tuple[Any, Any]]]:
    """Times every job (the peer's work, our work), alternating in which goes first.

    Each side runs its first job once before, untimed. Returns the times, and the results of the last repetition.
    """
    for work in jobs[0]:
        work()
    times, results = Times(), list[tuple[Any, Any]]()
    with tqdm(total=repetitions * len(jobs), desc=title, disable=None) as bar:
        for repetition in range(repetitions):
            results = []
            for number, (peer, ours) in enumerate(jobs):
                if (repetition + number) % 2:
                    our_time, our_result = clock.time(ours)
                    peer_time, peer_result = clock.time(peer)
                else:
                    peer_time, peer_result = clock.time(peer)
                    our_time, our_result = clock.time(ours)
                times.peer.append(peer_time)
                times.ours.append(our_time)
                results.append((peer_result, our_result))
                bar.update()
    return times, results


def spread(values: Sequence[float]) -> dict[str, float]:
    """Returns the median and the quartiles."""
    low, middle, high = np.percentile(values, [25, 50, 75])
    return {"median": middle, "lower_quartile": low, "upper_quartile": high, "measurements": len(values)}


def quartiles(values: dict[str, float], digits: int = 2) -> str:
    """
    >>> quartiles(spread([1.0, 2.0, 3.0]))
    '2.00 (1.50 to 2.50)'
    """
    median, low, high = (f"{values[name]:,.{digits}f}" for name in ("median", "lower_quartile", "upper_quartile"))
    return f"{median} ({low} to {high})"


# ---- the command line and the report ---------------------------------------------------------------------------------


def parser(description: str, device: bool = True) -> argparse.ArgumentParser:
    """Returns a parser with the flags that all benchmarks have."""
    flags = argparse.ArgumentParser(description=description)
    flags.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    flags.add_argument("--quick", action="store_true", help="tiny models and few measurements, to check that it runs")
    if device:
        flags.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cpu: one core (default: cpu)")
    return flags


def device_of(name: str) -> torch.device:
    """Returns the device of ``--device``; on a CPU, torch gets one thread."""
    require(
        name == "cpu" or torch.cuda.is_available(), "--device cuda needs a GPU that torch can use: give --device cpu"
    )
    if name == "cpu":
        torch.set_num_threads(1)
    return torch.device(name)


def machine(device: torch.device) -> dict[str, Any]:
    """Describes the processor or GPU, its vector units, its load, and the versions of the packages."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    gpu = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if gpu else "one CPU core",
        "processor": names[0] if names else platform.processor(),
        "vector_units": torch.backends.cpu.get_cpu_capability(),
        "limits": {name: os.environ[name] for name in ISA_LIMITS if name in os.environ},
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        **{package: version for package in PACKAGES if (version := version_of(package))},
    }


def version_of(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """
    >>> print(table(["what", "ratio"], [["decoding", 2.2]]), end="")
    | what | ratio |
    |---|---|
    | decoding | 2.2 |
    """
    lines = [f"| {' | '.join(map(str, row))} |" for row in (titles, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(titles), *lines[1:]]) + "\n"


def report(results: dict[str, Any], page: str, out: Path | None) -> None:
    """Writes the JSON to ``out`` or standard output, and the table to standard error."""
    sys.stderr.write(page)  # first: it is there if the file cannot be written
    if out is None:
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
    else:
        save(results, out)


def save(results: dict[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def run(main: Callable[[], None]) -> None:
    try:
        main()
    except UserError as error:
        sys.exit(f"{Path(sys.argv[0]).name}: error: {error}")
