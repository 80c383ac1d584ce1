#!/usr/bin/env python3
"""``python bench/outside.py``: a sentence at a time, the time outside matrix products; see README.md."""

import argparse
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import decoding, report
from bench.main import BASE, NARROW, QUICK, Plan, synthetic_work
from bench.systems import ours, theirs

FORMAT = 1  # of the JSON
RUNS = 5
CPU = torch.device("cpu")
INSIDE = (  # matrix products and attention, as torch and oneDNN call them
    "aten::addmm",
    "aten::mm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::_softmax",
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::mkldnn_linear",
    "mkldnn::_linear_pointwise",
)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/outside.py", description="The time of decoding that is not spent in matrix products, as JSON"
    )
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    sizes = made.add_mutually_exclusive_group()
    sizes.add_argument("--narrow", action="store_true", help="a model 128 wide, not one 512 wide")
    sizes.add_argument("--quick", action="store_true", help="a tiny model, to check that it runs")
    made.add_argument("--weights", metavar="FILE", type=Path, help="as for bench/run.py")
    return made


def least(measured: Callable[[], float]) -> float:
    """Of several times by the clock on the wall, the one that other processes disturbed least."""
    return min(measured() for _ in range(RUNS))


def seconds(decode: Callable[[], Any]) -> float:
    begin = perf_counter()
    decode()
    return perf_counter() - begin


def seconds_inside(decode: Callable[[], Any]) -> float:
    with profile(activities=[ProfilerActivity.CPU]) as found:
        decode()
    return sum(event.self_cpu_time_total for event in found.key_averages() if event.key in INSIDE) / 1e6


def measure(plan: Plan, kept: Path | None) -> dict[str, Any]:
    """Seconds for a sentence, of both systems: all, without the profiler, and those inside the products, with it."""
    work = synthetic_work(plan, kept)
    batch, count, _ = plan.decoded[0]
    samples = decoding.batches(work.sources[:count], batch, work.weights.source, CPU)
    decoders = {
        "fairseq": decoding.their_decoder(theirs(work.weights), CPU),
        "ours": decoding.our_decoder(ours(work.weights), CPU),
    }
    totals = {name: {"seconds": 0.0, "inside": 0.0} for name in decoders}
    for sample in tqdm(samples, desc="decoding", disable=None):
        for name, decode in decoders.items():
            job = partial(decode, sample)
            totals[name]["seconds"] += least(partial(seconds, job)) / count
            totals[name]["inside"] += least(partial(seconds_inside, job)) / count
    found: dict[str, Any] = {"sentences": count, "width": plan.small.dim * plan.widening, "runs": RUNS}
    for name, each in totals.items():
        found[name] = each | {"outside": each["seconds"] - each["inside"]}
    return found


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    titles = ("milliseconds for a sentence", "fairseq", "lev-plugins", "ratio")
    lines = [report.row(*titles), report.row(*["---"] * len(titles))]
    for title, key in (("all", "seconds"), ("matrix products and attention", "inside"), ("the rest", "outside")):
        pair = [found["outside"][name][key] for name in ("fairseq", "ours")]
        lines.append(report.row(title, *(f"{1000 * each:.1f}" for each in pair), f"{pair[0] / pair[1]:.2f}"))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    plan = QUICK if args.quick else NARROW if args.narrow else BASE
    found = report.about(CPU) | {"format": FORMAT, "clock": "wall", "outside": measure(plan, args.weights)}
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/outside.py")
