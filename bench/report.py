"""The machine, and the results as a table."""

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

import lev_plugins
from lev_plugins.errors import UserError
from lev_plugins.layers.linear import AVAILABLE

LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "FBGEMM_ENABLE_INSTRUCTIONS")
PACKAGES = {"torch": "torch", "fairseq": "fairseq-fixed", "numpy": "numpy"}


def about(device: torch.device) -> dict[str, Any]:
    return {
        "machine": {
            "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "one CPU core",
            "processor": processor(),
            **({} if device.type == "cuda" else on_processor()),
            "cores": os.cpu_count(),
            "threads_used": torch.get_num_threads(),
            "load_average": os.getloadavg()[0],
            "system": platform.platform(),
        },
        "versions": {
            "python": platform.python_version(),
            "lev_plugins": lev_plugins.__version__,
            **{name: installed(package) for name, package in PACKAGES.items()},
        },
    }


def processor() -> str:
    """The processor's name from Linux, otherwise from Python."""
    table = Path("/proc/cpuinfo")
    lines = table.read_text().splitlines() if table.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def on_processor() -> dict[str, Any]:
    return {"vector_units": vector_units(), "products": "oneDNN" if AVAILABLE else "torch"}


def vector_units() -> dict[str, str]:
    """Those that torch uses, and the limits that were set."""
    limits = {name: os.environ[name] for name in LIMITS if name in os.environ}
    return {"torch": torch.backends.cpu.get_cpu_capability(), **limits}


def installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        where(found["machine"]),
        "",
        "| what | fairseq | ours | ratio (quartiles) | goal |",
        "|---|---|---|---|---|",
    ]
    for line in found["decoding"]:
        each = f"decoding, batch {line['batch']}, {line['iterations']['mean']:.2f} iterations"
        rates = [f"{line[f'{side}_sentences_per_second']:.2f} sentences/s" for side in ("fairseq", "ours")]
        lines.append(row(each, *rates, ratio(line), f">= {line['goal']}"))
    line = found["training"]
    rates = [f"{line[f'{side}_words_per_second']:.0f} words/s" for side in ("fairseq", "ours")]
    lines.append(row(f"training step, {line['tokens']} tokens", *rates, ratio(line), f">= {line['goal']}"))
    line = found["labels"]
    parts = [f"{line[f'{side}_share']:.2%} of the step" for side in ("fairseq", "ours")]
    lines.append(row("noise and expert labels", *parts, ratio(line), f"< {line['goal']:.0%}"))
    lines += memory(found)
    lines += ["", "| fairseq's autoregressive Transformer | sentences/s |", "|---|---|"]
    for line in found["autoregressive"]:
        search = "greedy" if line["beam"] == 1 else f"beam {line['beam']}"
        lines.append(f"| batch {line['batch']}, {search} | {line['sentences_per_second']:.2f} |")
    return "\n".join(lines) + "\n"


def where(machine: dict[str, Any]) -> str:
    if "products" not in machine:
        return str(machine["device"])
    units = ", ".join(f"{name} {value}" for name, value in machine["vector_units"].items())
    return f"{machine['device']}: {machine['processor']} ({units}; products by {machine['products']})"


def memory(found: dict[str, Any]) -> list[str]:
    """Peak memory, where the system tells it."""
    measured = [(f"decoding, batch {line['batch']}", line) for line in found["decoding"]]
    measured.append((f"training step, {found['training']['tokens']} tokens", found["training"]))
    sides = ("fairseq", "ours")
    rows = [
        row(name, *(f"{line[f'{side}_peak_bytes'] / 1e6:,.0f} MB" for side in sides))
        for name, line in measured
        if all(line[f"{side}_peak_bytes"] is not None for side in sides)
    ]
    return ["", "| peak memory | fairseq | ours |", "|---|---|---|", *rows] if rows else []


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def ratio(line: dict[str, Any]) -> str:
    spread = line["ratio"]
    return f"{spread['median']:.2f} ({spread['lower_quartile']:.2f} to {spread['upper_quartile']:.2f})"


def deliver(found: dict[str, Any], out: Path | None, page: str) -> None:
    """The JSON goes to ``out`` or standard output, the table to standard error."""
    text = json.dumps(found, indent=2) + "\n"
    sys.stderr.write(page)  # first: it is there if the file cannot be written
    if out is None:
        sys.stdout.write(text)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")


def finish(main: Callable[[], None], name: str) -> None:
    try:
        main()
    except UserError as error:
        sys.exit(f"{name}: error: {error}")
