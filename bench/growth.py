"""What decoding and training cost as sentences, batches and dictionaries grow.

python bench/growth.py --out found.json --figure growth.svg
python bench/growth.py --read found.json --figure growth.svg     # draw again
"""

import argparse
import json
import logging
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import Tensor

from bench import decoding, main, report, training, weights
from bench.clock import CLOCKS
from bench.systems import Weights, ours, theirs
from lev_plugins.errors import require
from lev_plugins.figures import canvas, check_figures, save_figure

KINDS = {  # of growth: the key in the JSON, and what it counts
    "length": ("words", "words in a sentence"),
    "batch": ("sentences", "sentences in a batch"),
    "dictionary": ("entries", "dictionary entries"),
}
SIDES = {"fairseq": ("o", "--"), "ours": ("s", "-")}  # marker and line
DEVICE = torch.device("cpu")


@dataclass(frozen=True)
class Plan:
    model: main.Plan
    lengths: tuple[int, ...] = (8, 12, 16, 20, 25, 30)  # words of a sentence: those that the model is trained on
    batches: tuple[int, ...] = (1, 4, 16, 64)
    words: tuple[int, ...] = (504, 2000, 8000, 32000)  # of the dictionary
    sentences: int = 64  # for a batch or a dictionary
    of_length: int = 12  # sentences of one length
    repetitions: int = 3
    train_tokens: int = 2000


FULL = Plan(main.NARROW)
QUICK = Plan(main.QUICK, (8, 9), (1, 2), (60, 80), sentences=4, of_length=2, repetitions=1, train_tokens=100)


def measure(plan: Plan, kept: Path | None) -> dict[str, Any]:
    model = plan.model
    small = weights.kept_or_trained(kept, model.small, model.updates, model.batch, model.learning_rate)
    usual = weights.grow(small, model.widening, (model.layers, model.layers), model.words)
    used = model.small.words
    rows = weights.sentences(plan.sentences, used, seed=1)
    many = weights.sentences(100 * plan.of_length, used, seed=2)
    found: dict[str, Any] = {
        **report.about(DEVICE),
        "format": main.FORMAT,
        "clock": CLOCKS["cpu"],
        "plan": asdict(plan),
    }
    found["length"] = [
        {"words": length, **decoded(usual, of_length(many, length, plan.of_length), 1, plan)} for length in plan.lengths
    ]
    found["batch"] = [{"sentences": batch, **decoded(usual, rows, batch, plan)} for batch in plan.batches]
    found["dictionary"], to_learn = [], weights.sentences(plan.train_tokens, used, seed=2)
    for entries in plan.words:
        grown = weights.grow(small, model.widening, (model.layers, model.layers), entries)
        batch = weights.one_batch(weights.pair(to_learn, grown.source), plan.train_tokens)
        step = training.measure(theirs(grown), ours(grown), batch, plan.repetitions, DEVICE)
        step |= training.memory(grown, batch, DEVICE)
        found["dictionary"].append({"entries": entries, **decoded(grown, rows, 1, plan), "training": step})
    return found


def of_length(rows: Sequence[Tensor], words: int, count: int) -> list[Tensor]:
    return [row for row in rows if row.numel() == words + 2][:count]  # 2: <s> and </s>


def decoded(given: Weights, rows: list[Tensor], batch: int, plan: Plan) -> dict[str, Any]:
    """Milliseconds for a sentence, and their ratio."""
    line = decoding.measure(given, theirs(given), ours(given), rows, batch, plan.repetitions, DEVICE)
    rates = {side: line[f"{side}_sentences_per_second"] for side in SIDES}
    return {**{f"{side}_ms": 1000 / rate for side, rate in rates.items()}, "ratio": line["ratio"]}


def page(found: dict[str, Any]) -> str:
    lines = [report.where(found["machine"]), "", "| | fairseq | ours | ratio (quartiles) |", "|---|---|---|---|"]
    for kind, (key, title) in KINDS.items():
        for each in found[kind]:
            cells = [f"{each[f'{side}_ms']:.1f} ms" for side in SIDES]
            lines.append(report.row(f"{title}: {each[key]:,}", *cells, report.ratio(each)))
    for each in found["dictionary"]:
        step = each["training"]
        cells = [memory(step, side) for side in SIDES]
        lines.append(report.row(f"training, dictionary entries: {each['entries']:,}", *cells, report.ratio(step)))
    return "\n".join(lines) + "\n"


def memory(step: dict[str, Any], side: str) -> str:
    """With peak memory, where the system reports it."""
    peak = step[f"{side}_peak_bytes"]
    seconds = f"{step[f'{side}_seconds']['median']:.2f} s"
    return seconds if peak is None else f"{seconds}, {peak / 1e6:,.0f} MB"


def draw(found: dict[str, Any], paths: Sequence[Path]) -> None:
    views = [(kind, milliseconds, "milliseconds per sentence") for kind in KINDS]
    views.append(("dictionary", megabytes, "peak memory of training, MB"))
    with canvas(10, 6) as figure:
        panels = figure.subplots(2, 2).flatten()
        for axes, (kind, value, what) in zip(panels, views, strict=True):
            (key, title), rows = KINDS[kind], found[kind]
            places = [row[key] for row in rows]
            for side, (marker, line) in SIDES.items():
                values = [value(row, side) for row in rows]
                axes.plot(places, values, line, marker=marker, color="black", label=side)
            axes.set(xlabel=title, ylabel=what, ylim=(0, None))
            if kind != "length":
                axes.set_xscale("log", base=2)
                axes.set_xticks(places, [f"{place:,}" for place in places])
        panels[0].legend(fontsize=8)
        save_figure(figure, paths)


def milliseconds(row: dict[str, Any], side: str) -> float:
    return float(row[f"{side}_ms"])


def megabytes(row: dict[str, Any], side: str) -> float:
    peak = row["training"][f"{side}_peak_bytes"]
    return math.nan if peak is None else float(peak) / 1e6


def run() -> None:
    parser = argparse.ArgumentParser(prog="bench/growth.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument(
        "--figure", metavar="FILE", type=Path, nargs="+", default=[], help="save the figure as .png, .svg or .pdf"
    )
    parser.add_argument("--read", metavar="FILE", type=Path, help="measure nothing: read this JSON")
    parser.add_argument("--weights", metavar="FILE", type=Path, help="save the trained weights, or read them")
    parser.add_argument("--quick", action="store_true", help="a tiny model and few measurements, to check that it runs")
    args = parser.parse_args()
    if args.figure:
        check_figures("--figure", args.figure)
    require(
        args.read is None or not (args.out or args.weights or args.quick),
        "--read measures nothing: leave out --out, --weights and --quick",
    )
    require(args.read is None or args.read.is_file(), f"--read: there is no file {args.read}")
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    if args.read is not None:
        found = json.loads(args.read.read_text(encoding="utf-8"))
        sys.stderr.write(page(found))
    else:
        found = measure(QUICK if args.quick else FULL, args.weights)
        report.deliver(found, args.out, page(found))
    if args.figure:
        draw(found, args.figure)


if __name__ == "__main__":
    report.finish(run, "bench/growth.py")
