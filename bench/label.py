#!/usr/bin/env python3
"""Texts per second of EncT5 in training and labelling: in batches of any length, of equal length, and packed."""

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

from bench import timing
from lev_plugins.labelling.config import LabelSpec
from lev_plugins.labelling.dataset import LabelledDataset
from lev_plugins.labelling.examples import Example, LabelRequest
from lev_plugins.labelling.model import EncT5, LabelHead, LatentDecoder
from lev_plugins.nn.t5 import T5Shape
from lev_plugins.pretrained.encoders import T5Encoder

PAD, EOS, FIRST_WORD = 1, 2, 4
LABELS = {"classification": 2, "multilabel": 28, "tagging": 17}
MEAN_LENGTH = 12  # of a text, in pieces; lengths are log-normal, as those of sentences roughly are
LENGTH_DEVIATION = 0.7


@dataclass(frozen=True)
class Size:
    texts: int = 256
    repetitions: int = 3
    words: int = 8000
    dim: int = 256
    ffn_dim: int = 512
    heads: int = 4
    layers: int = 4
    tokens: int = 4096  # of a batch
    packed: tuple[int, ...] = (64, 128, 512)  # widths of packed rows


QUICK = Size(texts=24, repetitions=2, words=60, dim=16, ffn_dim=32, heads=2, layers=1, tokens=300, packed=(64,))


def model_of(size: Size, kind: str) -> EncT5:
    torch.manual_seed(1)
    spec = LabelSpec(kind, LABELS[kind])
    shape = T5Shape(size.dim, size.ffn_dim, size.heads, size.dim // size.heads, "gated-gelu")
    encoder = T5Encoder(torch.nn.Embedding(size.words, shape.embed_dim), PAD, shape, size.layers)
    decoder = LatentDecoder(shape, 1, spec, spec.latent_per_label)
    return EncT5(encoder, decoder, LabelHead(shape.embed_dim, spec))


def examples_of(size: Size, kind: str) -> list[Example]:
    """Draws texts of random words with random labels: only the lengths matter."""
    random, examples = np.random.default_rng(1), []
    for length in np.ceil(MEAN_LENGTH * random.lognormal(0, LENGTH_DEVIATION, size.texts)).astype(int):
        tokens = [*random.integers(FIRST_WORD, size.words, length).tolist(), EOS]
        labels = random.integers(0, LABELS[kind], length if kind == "tagging" else 1).tolist()
        examples.append(Example("", tokens, labels, [1] * int(length) if kind == "tagging" else []))
    return examples


def batches_of(
    size: Size, kind: str, sort: bool, width: int, device: torch.device
) -> tuple[list[dict[str, Any]], float]:
    """Returns what the model reads, and the share of its tokens that are not padding."""
    names = tuple(range(LABELS[kind])) if kind == "multilabel" else ()
    dataset = LabelledDataset(examples_of(size, kind), LabelRequest(kind, names, bool(names)), Dictionary(), width)
    order = dataset.ordered_indices() if sort or width else np.arange(len(dataset))
    groups = dataset.batch_by_size(order, max_tokens=size.tokens)
    batches = [dataset.collater([dataset[i] for i in group]) for group in groups]
    inputs = [{name: value.to(device) for name, value in batch["net_input"].items()} for batch in batches]
    cells = sum(each["src_tokens"].numel() for each in inputs)
    return inputs, sum(batch["ntokens"] for batch in batches) / cells


def one_pass(model: EncT5, inputs: list[dict[str, Any]], train: bool) -> Callable[[], None]:
    def work() -> None:
        model.train(train)
        with torch.set_grad_enabled(train):
            for net_input in inputs:
                logits = model(**net_input)
                if train:
                    logits.sum().backward()
                    model.zero_grad()

    return work


def measure(size: Size, device: torch.device) -> list[dict[str, Any]]:
    clock, lines = timing.Clock(device), []
    layouts = [("any length", False, 0), ("equal length", True, 0)]
    layouts += [(f"packed, {width}", False, width) for width in size.packed]
    for kind in LABELS:
        model = model_of(size, kind).to(device)
        batches = {name: batches_of(size, kind, sort, width, device) for name, sort, width in layouts}
        for train in (True, False):
            jobs = {name: one_pass(model, inputs, train) for name, (inputs, _) in batches.items()}
            seconds: dict[str, list[float]] = {name: [] for name in jobs}
            for work in jobs.values():
                work()  # untimed
            for _ in tqdm(range(size.repetitions), desc=kind, disable=None):
                for name, work in jobs.items():
                    seconds[name].append(clock.time(work)[0])
            for name, (_, real) in batches.items():
                rates = timing.spread([size.texts / second for second in seconds[name]])
                line = {"labels": kind, "work": "training" if train else "labelling", "batches": name}
                lines.append({**line, "not_padding": real, "texts_per_second": rates})
    return lines


def main(arguments: list[str] | None = None) -> None:
    args = timing.parser(__doc__).parse_args(arguments)
    device, size = timing.device_of(args.device), QUICK if args.quick else Size()
    lines = measure(size, device)
    rows = [
        [*list(line.values())[:3], f"{line['not_padding']:.0%}", timing.quartiles(line["texts_per_second"], 0)]
        for line in lines
    ]
    page = timing.table(["labels", "work", "batches", "not padding", "texts/s (quartiles)"], rows)
    timing.report({"machine": timing.machine(device), "size": asdict(size), "labelling": lines}, page, args.out)


if __name__ == "__main__":
    timing.run(main)
