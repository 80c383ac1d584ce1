#!/usr/bin/env python3
"""``python bench/labelling.py``: examples per second of EncT5, packed or not; see README.md."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.clock import CLOCKS, Clock, device_of, spread
from bench.noise import english
from lev_plugins.data.labels.dataset import LabelledDataset
from lev_plugins.data.labels.examples import Example, Question
from lev_plugins.layers.t5 import T5Shape
from lev_plugins.models.enct5 import EncT5, LabelHead, LatentDecoder
from lev_plugins.models.enct5_config import LabelSpec
from lev_plugins.models.enct5_encoders import T5LabelEncoder

FORMAT = 1  # of the JSON
PAD, EOS, FIRST = 1, 2, 4
LABELS = {"classification": 2, "multilabel": 28, "tagging": 17}


@dataclass(frozen=True)
class Plan:
    texts: int = 256
    repetitions: int = 3
    words: int = 8000
    dim: int = 256
    ffn_dim: int = 512
    heads: int = 4
    layers: int = 4
    tokens: int = 4096  # of a batch
    rows: tuple[int, ...] = (64, 128, 512)  # widths of packed rows
    length: int = 0  # pieces of a text; 0: as many as a line of English has words


QUICK = Plan(texts=24, repetitions=2, words=60, dim=16, ffn_dim=32, heads=2, layers=1, tokens=300, rows=(64,))


def model_of(plan: Plan, spec: LabelSpec, interaction: bool) -> EncT5:
    torch.manual_seed(1)
    shape = T5Shape(plan.dim, plan.ffn_dim, plan.heads, plan.dim // plan.heads, "gated-gelu")
    tokens = torch.nn.Embedding(plan.words, shape.embed_dim)
    encoder = T5LabelEncoder(tokens, PAD, shape, plan.layers)
    return EncT5(encoder, LatentDecoder(shape, 1, spec, interaction), LabelHead(shape.embed_dim, spec))


def examples_of(plan: Plan, kind: str) -> list[Example]:
    """Lines as long as lines of English, one piece per word: only the lengths matter."""
    draw = np.random.default_rng(1)
    found = []
    for line in english(plan.texts):
        length = plan.length or len(line.split())
        tokens = [*draw.integers(FIRST, plan.words, length).tolist(), EOS]
        labels = draw.integers(0, LABELS[kind], length if kind == "tagging" else 1).tolist()
        found.append(Example("", tokens, labels, [1] * length if kind == "tagging" else []))
    return found


def batches_of(plan: Plan, kind: str, examples: list[Example], sort: bool, pack: int) -> tuple[list[Any], float]:
    """The batches that the model reads, and their share of tokens that are not padding."""
    names = tuple(range(LABELS[kind])) if kind == "multilabel" else ()
    dataset = LabelledDataset(examples, Question(kind, names, bool(names)), Dictionary(), pack)
    indices = dataset.ordered_indices() if sort or pack else np.arange(len(dataset))
    batches = [
        dataset.collater([dataset[i] for i in batch])
        for batch in dataset.batch_by_size(indices, max_tokens=plan.tokens)
    ]
    cells = sum(batch["net_input"]["src_tokens"].numel() for batch in batches)
    return batches, sum(batch["ntokens"] for batch in batches) / cells


def work(model: EncT5, batches: list[Any], train: bool) -> Callable[[], None]:
    def once() -> None:
        model.train(train)
        with torch.set_grad_enabled(train):
            for batch in batches:
                logits = model(**batch["net_input"]).logits
                if train:
                    logits.sum().backward()
                    model.zero_grad()

    return once


def measure(plan: Plan, device: torch.device) -> dict[str, Any]:
    found = report.about(device) | {"format": FORMAT, "clock": CLOCKS[device.type], "plan": asdict(plan)}
    clock, lines = Clock(device), []
    ways = [("as they come", False, 0), ("by length", True, 0), *((f"packed, {n}", False, n) for n in plan.rows)]
    for kind in LABELS:
        examples = examples_of(plan, kind)
        spec = LabelSpec(kind, LABELS[kind])
        model = model_of(plan, spec, spec.latent_per_label).to(device)
        for train in (True, False):
            jobs = {}
            for name, sort, pack in ways:
                batches, real = batches_of(plan, kind, examples, sort, pack)
                jobs[name] = (work(model, to_device(batches, device), train), real)
            seconds = take_turns(clock, {name: job for name, (job, _) in jobs.items()}, plan.repetitions)
            for name, (_, real) in jobs.items():
                rates = spread([len(examples) / second for second in seconds[name]])
                line = {"kind": kind, "what": "training" if train else "labelling", "rows": name}
                lines.append({**line, "real_tokens": real, "examples_per_second": rates})
    return found | {"lines": lines}


def to_device(batches: list[Any], device: torch.device) -> list[Any]:
    moved = []
    for batch in batches:
        moved.append({**batch, "net_input": {name: t.to(device) for name, t in batch["net_input"].items()}})
    return moved


def take_turns(clock: Clock, jobs: dict[str, Callable[[], None]], repetitions: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()  # untimed
    for _ in tqdm(range(repetitions), disable=None):
        for name, job in jobs.items():
            seconds[name].append(clock.time(job)[0])
    return seconds


def table(found: dict[str, Any]) -> str:
    rows = [report.row("labels", "what", "rows", "no padding", "examples/s (quartiles)"), "|---" * 5 + "|"]
    for line in found["lines"]:
        rate = line["examples_per_second"]
        speed = f"{rate['median']:,.0f} ({rate['lower_quartile']:,.0f} to {rate['upper_quartile']:,.0f})"
        rows.append(report.row(line["kind"], line["what"], line["rows"], f"{line['real_tokens']:.0%}", speed))
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench/labelling.py", description="Examples a second of EncT5, as JSON")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cpu: one core (default: cpu)")
    parser.add_argument("--quick", action="store_true", help="a tiny model and few texts, to check that it runs")
    args = parser.parse_args(arguments)
    found = measure(QUICK if args.quick else Plan(), device_of(args.device))
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/labelling.py")
