#!/usr/bin/env python3
"""``python bench/label_sets.py``: what labels cost EncT5 as a set of them grows; see README.md."""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from fairseq.data import Dictionary

from bench import labelling, report
from bench.clock import CLOCKS, Clock, spread
from lev_plugins.data.labels.dataset import LabelledDataset
from lev_plugins.data.labels.examples import Question
from lev_plugins.models.enct5_config import LabelSpec
from lev_plugins.ranges import at_least

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
SIZES = (1, 3, 10, 30, 100, 300, 1000)  # labels in the set
OF_INTEREST = 10
TOGETHER = 8  # texts in a batch
WAYS = {  # name: what --latents is, whether labels see each other, how many labels are asked for (0: all)
    "a latent for each label": ("label", True, 0),
    "... without interaction": ("label", False, 0),
    f"... {OF_INTEREST} labels of interest": ("label", True, OF_INTEREST),
    "one latent for all": ("one", False, 0),
}


def batches_of(plan: labelling.Plan, asked: int, a_latent_each: bool) -> list[Any]:
    question = Question("multilabel", tuple(range(asked)), a_latent_each)
    dataset = LabelledDataset(labelling.examples_of(plan, "multilabel"), question, Dictionary())
    indices = dataset.ordered_indices()
    return [
        dataset.collater([dataset[i] for i in batch])
        for batch in dataset.batch_by_size(indices, max_sentences=TOGETHER)
    ]


def measure(plan: labelling.Plan, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Milliseconds of labelling a text."""
    found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"], "plan": asdict(plan)}
    found |= {"texts_together": TOGETHER, "lines": []}
    for labels in sizes:
        jobs = {}
        for name, (latents, interaction, asked) in WAYS.items():
            if asked >= labels:
                continue
            spec = LabelSpec("multilabel", labels, latents)
            model = labelling.model_of(plan, spec, interaction)
            batches = batches_of(plan, asked or labels, spec.latent_per_label)
            jobs[name] = labelling.work(model, batches, train=False)
        seconds = labelling.take_turns(Clock(CPU), jobs, plan.repetitions)
        for name in jobs:
            times = spread([1000 * each / plan.texts for each in seconds[name]])
            found["lines"].append({"labels": labels, "way": name, "milliseconds": times})
    return found


def table(found: dict[str, Any]) -> str:
    """Milliseconds, a column for each size."""
    sizes = sorted({line["labels"] for line in found["lines"]})
    rows = [report.row("milliseconds", *(f"{size:,}" for size in sizes)), "|---" * (1 + len(sizes)) + "|"]
    for name in WAYS:
        times = {line["labels"]: line["milliseconds"] for line in found["lines"] if line["way"] == name}
        rows.append(report.row(name, *(f"{times[size]['median']:.1f}" if size in times else "" for size in sizes)))
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench/label_sets.py", description="Cost of labels in EncT5, as JSON")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument("--texts", metavar="N", type=int, default=64, help="texts to label (default: 64)")
    parser.add_argument("--quick", action="store_true", help="a tiny model and few texts, to check that it runs")
    args = parser.parse_args(arguments)
    at_least(args, 1, "texts")
    torch.set_num_threads(1)
    plan = labelling.QUICK if args.quick else labelling.Plan(texts=args.texts)
    found = measure(plan, SIZES[:4] if args.quick else SIZES)
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/label_sets.py")
