"""Which library multiplies matrices on this processor: torch's own product (MKL in most builds), or oneDNN.

MKL does not use the widest vector units of processors that are not Intel's, and oneDNN does; but on some processors
these are no faster, or there are none. Where a weight stays the same, oneDNN can also read it in an order of its own,
which helps most with few rows. So both are timed when the first large product is asked for: forward, backward, and
forward with the weight in oneDNN's order. That takes some hundredths of a second. The verdict is kept in the user's
cache folder: all processes of a training, and the one that continues it, multiply alike.

``LEV_PLUGINS_PRODUCTS=torch`` or ``=onednn`` decides instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.errors import require

VARIABLE = "LEV_PLUGINS_PRODUCTS"
LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")  # variables that limit the vector units
ROWS, WIDTH = 128, 512  # the product that is timed
SHORT, WIDE = 24, 2048  # ... with a packed weight: the first one of a feed-forward layer, for one sentence
ROUNDS = 9
WORTH_IT = 0.95  # oneDNN must take less than this share of the other's time


class OneDNN(NamedTuple):
    """Where oneDNN is used."""

    forward: bool
    backward: bool
    packed: bool  # forward, with weights in its own order


def available() -> bool:
    names = ("_linear_pointwise", "_reorder_linear_weight")
    return torch.backends.mkldnn.is_available() and all(hasattr(torch.ops.mkldnn, name) for name in names)


def onednn(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    operator: Any = torch.ops.mkldnn._linear_pointwise.default
    return operator(x, weight, bias, "none", [], "")  # "none": no activation fused to it


def packed(weight: Tensor) -> Tensor:
    """A weight in the order in which ``onednn`` reads it fastest; nothing else can read it."""
    operator: Any = torch.ops.mkldnn._reorder_linear_weight.default
    return operator(weight.detach().contiguous())


class Library(NamedTuple):
    """Of x (n, I), weight (O, I), gradient (n, O)."""

    product: Callable[..., Tensor]  # x, weight and bias
    into_x: Callable[[Tensor, Tensor], Tensor]  # gradient and weight
    into_weight: Callable[[Tensor, Tensor], Tensor]  # gradient and x


TORCH = Library(F.linear, lambda gradient, weight: gradient @ weight, lambda gradient, x: gradient.t() @ x)
ONEDNN = Library(
    onednn,
    lambda gradient, weight: onednn(gradient, weight.t()),
    # (I, n) x (n, O), transposed: the fastest order for many output classes
    lambda gradient, x: onednn(x.t(), gradient.t()).t(),
)


def for_products() -> Library:
    return ONEDNN if verdict().forward else TORCH


def for_gradients() -> Library:
    return ONEDNN if verdict().backward else TORCH


@cache
def verdict() -> OneDNN:
    wish = os.environ.get(VARIABLE, "auto")
    require(wish in ("auto", "torch", "onednn"), f"{VARIABLE} must be auto, torch or onednn, but is {wish!r}")
    if wish == "torch" or not available():
        return OneDNN(False, False, False)
    return OneDNN(True, True, True) if wish == "onednn" else remembered(measure)


def measure() -> OneDNN:
    """Times of a product, of its two gradients, and of a product of few rows with a packed weight."""
    x, gradient, weight = torch.ones(ROWS, WIDTH), torch.ones(ROWS, WIDTH), torch.ones(WIDTH, WIDTH)
    wide = torch.ones(WIDE, WIDTH)
    both = TORCH, ONEDNN
    pairs = (
        [partial(library.product, x, weight) for library in both],
        [partial(library.into_x, gradient, weight) for library in both],
        [partial(library.into_weight, gradient, x) for library in both],
        [partial(F.linear, x[:SHORT], wide), partial(onednn, x[:SHORT], packed(wide))],
    )
    with torch.no_grad():
        (mine, theirs), *gradients, (short, their_short) = (best_times(*pair) for pair in pairs)
    back, their_back = (sum(times) for times in zip(*gradients, strict=True))
    return OneDNN(theirs < WORTH_IT * mine, their_back < WORTH_IT * back, their_short < WORTH_IT * short)


def best_times(*programs: Callable[[], Any]) -> list[float]:
    """Seconds; they take turns, so that other work on the machine slows all of them."""
    for program in programs:
        program()  # oneDNN prepares each new shape
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(ROUNDS):
        for program, found in zip(programs, times, strict=True):
            start = time.perf_counter()
            program()
            found.append(time.perf_counter() - start)
    return [min(found) for found in times]


def remembered(decide: Callable[[], OneDNN]) -> OneDNN:
    """What was decided before on such a machine; of processes that decide at the same time, the first one's."""
    try:
        path = record()
    except RuntimeError:  # a user without a home
        return decide()
    found = read(path)
    if found is not None:
        return found
    decided = decide()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".new") as file:
            file.write(json.dumps(decided._asdict()))
            file.flush()
            os.link(file.name, path)
    except OSError:  # another process was faster, or there is no place for it
        return read(path) or decided
    return decided


def record() -> Path:
    """A file for each kind of machine."""
    machine = [torch.__version__, torch.backends.cpu.get_cpu_capability(), processor()]
    machine += [os.environ.get(name, "") for name in LIMITS]
    machine += OneDNN._fields  # records of versions that measured less are not used
    name = hashlib.sha256("\n".join(machine).encode()).hexdigest()[:16]
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "lev-plugins" / f"products-{name}.json"


def read(path: Path) -> OneDNN | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return OneDNN(*(bool(found[name]) for name in OneDNN._fields))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    named = dict(line.split(":", 1) for line in lines if ":" in line)
    known = {name.strip(): value.strip() for name, value in named.items()}
    return " ".join(known.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name"))
