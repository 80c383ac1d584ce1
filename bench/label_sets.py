#!/usr/bin/env python3
"""What labels cost EncT5 as a set of them grows; see README.md.

python bench/label_sets.py                  # a small model and lines of English, up to 1,000 labels
python bench/label_sets.py --eurlex57k      # EURLEX57K at its real size: a base model, 512 pieces, 4,271 labels
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from fairseq.data import Dictionary

from bench import labelling, report
from bench.clock import CLOCKS, Clock, peak_memory, spread
from lev_plugins.data.labels.dataset import LabelledDataset
from lev_plugins.data.labels.examples import Question
from lev_plugins.models.enct5 import EncT5
from lev_plugins.models.enct5_config import LabelSpec
from lev_plugins.ranges import at_least

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
OF_INTEREST = 10
WAYS = {  # name: what --latents is, whether labels see each other, how many labels are asked for (0: all)
    "a latent for each label": ("label", True, 0),
    "... without interaction": ("label", False, 0),
    f"... {OF_INTEREST} labels of interest": ("label", True, OF_INTEREST),
    "one latent for all": ("one", False, 0),
}


@dataclass(frozen=True)
class Sets:
    model: labelling.Plan
    sizes: tuple[int, ...]  # labels in the set
    together: int = 8  # texts in a batch
    learned: int = 0  # texts of a training step, one after the other; 0: training is not measured
    memory: bool = False  # measured, in a new process for each line


SMALL = Sets(labelling.Plan(texts=64), (1, 3, 10, 30, 100, 300, 1000, 4271))
QUICK = Sets(labelling.QUICK, (1, 3, 10, 30), learned=2)
BASE = labelling.Plan(texts=4, words=32128, dim=768, ffn_dim=2048, heads=12, layers=12, length=511)
EURLEX57K = Sets(BASE, (4271,), together=4, learned=1, memory=True)


def prepared(sets: Sets, labels: int, way: str, train: bool, model: EncT5 | None = None) -> Callable[[], None]:
    """A pass over the texts; in training, forward and backward, a text at a time."""
    model = model or model_of(sets, labels, way)
    asked = tuple(range(WAYS[way][2] or labels))
    texts, together = (sets.learned, 1) if train else (sets.model.texts, sets.together)
    examples = labelling.examples_of(sets.model, "multilabel")[:texts]
    dataset = LabelledDataset(examples, Question("multilabel", asked, model.spec.latent_per_label), Dictionary())
    rows = dataset.batch_by_size(dataset.ordered_indices(), max_sentences=together)
    return labelling.work(model, [dataset.collater([dataset[i] for i in batch]) for batch in rows], train)


def model_of(sets: Sets, labels: int, way: str) -> EncT5:
    latents, interaction, _ = WAYS[way]
    return labelling.model_of(sets.model, LabelSpec("multilabel", labels, latents), interaction)


def measure(sets: Sets) -> dict[str, Any]:
    """Milliseconds of labelling a text, and of training on one; the memory beside the weights."""
    found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"], "plan": asdict(sets)}
    kinds = ["labelling", "training"] if sets.learned else ["labelling"]
    return found | {"lines": [line for labels in sets.sizes for what in kinds for line in lines(sets, labels, what)]}


def lines(sets: Sets, labels: int, what: str) -> list[dict[str, Any]]:
    train = what == "training"
    texts = sets.learned if train else sets.model.texts
    ways = [way for way, (_, _, asked) in WAYS.items() if asked < (1 if train else labels)]  # training asks for all
    jobs = {way: prepared(sets, labels, way, train) for way in ways}
    seconds = labelling.take_turns(Clock(CPU), jobs, sets.model.repetitions)
    del jobs  # the memory of the next models
    found: list[dict[str, Any]] = []
    for way, times in seconds.items():
        line = {"labels": labels, "way": way, "what": what}
        line["milliseconds"] = spread([1000 * each / texts for each in times])
        if sets.memory:
            build, work = partial(model_of, sets, labels, way), partial(prepared, sets, labels, way, train)
            line["peak_bytes"] = peak_memory(CPU, build, work)
        found.append(line)
    return found


def table(found: dict[str, Any]) -> str:
    """Milliseconds, and memory where it was measured; a column for each size."""
    sizes = sorted({line["labels"] for line in found["lines"]})
    rows = []
    for what in dict.fromkeys(line["what"] for line in found["lines"]):
        rows += [report.row(f"{what}, milliseconds", *(f"{size:,}" for size in sizes)), "|---" * (1 + len(sizes)) + "|"]
        for name in WAYS:
            cells = {e["labels"]: cell(e) for e in found["lines"] if (e["way"], e["what"]) == (name, what)}
            rows.append(report.row(name, *(cells.get(size, "") for size in sizes)))
    return "\n".join(rows) + "\n"


def cell(line: dict[str, Any]) -> str:
    peak = line.get("peak_bytes")
    return f"{line['milliseconds']['median']:,.1f}" + (f", {peak / 1e6:,.0f} MB" if peak else "")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench/label_sets.py", description="Cost of labels in EncT5, as JSON")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--eurlex57k", action="store_true", help="a base model, 4,271 labels; training and memory, too")
    sizes.add_argument("--quick", action="store_true", help="a tiny model and few texts, to check that it runs")
    parser.add_argument("--texts", metavar="N", type=int, help="texts to label (default: 64; with --eurlex57k, 4)")
    args = parser.parse_args(arguments)
    at_least(args, 1, "texts")
    torch.set_num_threads(1)
    sets = QUICK if args.quick else EURLEX57K if args.eurlex57k else SMALL
    found = measure(replace(sets, model=replace(sets.model, texts=args.texts or sets.model.texts)))
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/label_sets.py")
