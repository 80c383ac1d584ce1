"""Time two jobs alternately, so that other work on the machine slows both, and compute the spread of their ratio."""

import contextlib
import ctypes
import gc
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from tqdm import tqdm

from lev_plugins.errors import require

CLOCKS = {"cpu": "processor seconds of this single-threaded process", "cuda": "wall seconds, device synchronised"}
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")  # Linux's account of this process

System = TypeVar("System")


@dataclass(frozen=True)
class Clock:
    """Processor time on a CPU (excludes other processes), wall time on a GPU."""

    device: torch.device

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            return time.perf_counter()
        return time.process_time()

    def time(self, work: Callable[[], Any]) -> tuple[float, Any]:
        start = self.now()
        result = work()
        return self.now() - start, result


@dataclass
class Pairs:
    """Paired measurements of the same work done by both systems."""

    theirs: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "fairseq_seconds": spread(self.theirs),
            "ours_seconds": spread(self.ours),
            "ratio": spread([a / b for a, b in zip(self.theirs, self.ours, strict=True)]),
            "ratio_of_totals": sum(self.theirs) / sum(self.ours),
        }


def alternate(
    clock: Clock, jobs: Sequence[tuple[Callable[[], Any], Callable[[], Any]]], repetitions: int, name: str
) -> tuple[Pairs, list[tuple[Any, Any]]]:
    """Time every job (fairseq's way, our way) ``repetitions`` times, alternating in which goes first.

    Each side runs its first job once before, untimed. Returns the times and the last results of each job.
    """
    for work in jobs[0]:
        work()
    pairs = Pairs()
    results: list[tuple[Any, Any]] = []
    with tqdm(total=repetitions * len(jobs), desc=name, disable=None) as bar:
        for repetition in range(repetitions):
            results = []
            for number, (theirs, ours) in enumerate(jobs):
                if (repetition + number) % 2:
                    our_time, our_result = clock.time(ours)
                    their_time, their_result = clock.time(theirs)
                else:
                    their_time, their_result = clock.time(theirs)
                    our_time, our_result = clock.time(ours)
                pairs.theirs.append(their_time)
                pairs.ours.append(our_time)
                results.append((their_result, our_result))
                bar.update()
    return pairs, results


def spread(values: list[float]) -> dict[str, float]:
    low, middle, high = np.percentile(values, [25, 50, 75])
    return {
        "median": float(middle),
        "lower_quartile": float(low),
        "upper_quartile": float(high),
        "measurements": len(values),
    }


def device_of(name: str) -> torch.device:
    """cuda, or cpu: one core."""
    require(
        name == "cpu" or torch.cuda.is_available(), "--device cuda needs a GPU that torch can use: give --device cpu"
    )
    if name == "cpu":
        torch.set_num_threads(1)
    return torch.device(name)


def peak_memory(
    device: torch.device, build: Callable[[], System], prepare: Callable[[System], Callable[[], Any]]
) -> int | None:
    """Peak bytes of the work that ``prepare`` makes from what ``build`` returns; None where the system does not tell.

    What ``build`` makes is not counted, and what ``prepare`` makes is: a copy of the weights.

    On a CPU in a new process: in this one, other work may have loaded what this work needs, or left memory to it.
    """
    if device.type == "cuda":
        return peak_of_gpu(device, build(), prepare)
    if not (RESET.exists() and STATUS.exists()):
        return None
    with ProcessPoolExecutor(1, get_context("spawn"), torch.set_num_threads, (torch.get_num_threads(),)) as pool:
        return pool.submit(peak_of_process, build, prepare).result()


def peak_of_gpu(device: torch.device, system: System, prepare: Callable[[System], Callable[[], Any]]) -> int:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    repeat(prepare(system))
    torch.cuda.synchronize(device)
    return int(torch.cuda.max_memory_allocated(device)) - before


def peak_of_process(build: Callable[[], System], prepare: Callable[[System], Callable[[], Any]]) -> int | None:
    """By how much this process grows: Linux forgets its peak when asked to, and tells the new one."""
    system = build()
    gc.collect()
    # give freed memory back first, or its reuse would go unseen
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    before = status("VmRSS")
    try:
        RESET.write_text("5", encoding="ascii")
    except OSError:
        return None
    repeat(prepare(system))
    return status("VmHWM") - before


def repeat(work: Callable[[], Any]) -> None:
    work()
    work()  # an optimizer has its state from here on


def status(name: str) -> int:
    """A size in bytes from Linux's account of this process."""
    lines = dict(line.split(":", 1) for line in STATUS.read_text(encoding="utf-8").splitlines())
    return int(lines[name].split()[0]) * 1024
