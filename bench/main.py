"""The command line: get weights, measure, write JSON and a table."""

import argparse
import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from fairseq.data import LanguagePairDataset
from torch import Tensor

from bench import decoding, report, training, weights
from bench.clock import CLOCKS, device_of
from bench.systems import Size, System, Weights, autoregressive, ours, theirs
from lev_plugins.errors import require

FORMAT = 1  # of the JSON


@dataclass(frozen=True)
class Plan:
    """How much is measured."""

    small: Size  # the model that is trained
    widening: int = 4
    layers: int = 6  # ... and the size it grows to
    words: int = 8000
    updates: int = 120  # enough for most words: a perfect copy would never take a third iteration
    batch: int = 32  # sentences per update
    learning_rate: float = 1e-3
    decoded: tuple[tuple[int, int, int], ...] = ((1, 30, 1), (100, 100, 3))  # batch, sentences, repetitions
    train_tokens: int = 4000
    train_repetitions: int = 3
    label_repetitions: int = 15


BASE = Plan(small=Size(dim=128, ffn_dim=512, heads=2, layers=2, words=504))
QUICK = Plan(
    small=Size(dim=16, ffn_dim=32, heads=2, layers=1, words=60),
    widening=2,
    layers=2,
    words=80,
    updates=250,
    batch=8,
    learning_rate=1e-2,
    decoded=((1, 4, 1), (100, 8, 1)),
    train_tokens=200,
    train_repetitions=2,
    label_repetitions=2,
)


NARROW = replace(BASE, widening=1, layers=BASE.small.layers, decoded=((1, 30, 3), (100, 100, 9)), train_repetitions=9)


@dataclass
class Work:
    """Weights, and the sentences to decode and to train on."""

    weights: Weights
    sources: list[Tensor]
    training: LanguagePairDataset
    origin: str


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/run.py", description="Speed beside fairseq's own Levenshtein Transformer, as JSON"
    )
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cpu: one core (default: cpu)")
    sizes = made.add_mutually_exclusive_group()
    sizes.add_argument("--narrow", action="store_true", help="the model that is trained, 128 wide, not grown to 512")
    sizes.add_argument("--quick", action="store_true", help="a tiny model and few measurements, to check that it runs")
    made.add_argument(
        "--weights",
        metavar="FILE",
        type=Path,
        help="save the trained weights in FILE, or read them from it if it exists",
    )
    made.add_argument("--checkpoint", metavar="CKPT", type=Path, help="measure this levenshtein_transformer instead")
    made.add_argument(
        "--data", metavar="BIN", type=Path, help="binarised data of --checkpoint; its test set is decoded"
    )
    return made


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    require(
        (args.checkpoint is None) == (args.data is None), "--checkpoint and --data go together: give both or neither"
    )
    narrow_checkpoint = args.narrow and args.checkpoint is not None
    require(not narrow_checkpoint, "--narrow is for a model that is trained here: leave out --checkpoint")
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    device = device_of(args.device)
    plan = QUICK if args.quick else NARROW if args.narrow else BASE
    work = real_work(args.checkpoint, args.data, plan) if args.checkpoint else synthetic_work(plan, args.weights)
    measured = measure(work, plan, device)
    report.deliver(measured, args.out, report.table(measured))


def synthetic_work(plan: Plan, kept: Path | None) -> Work:
    small = weights.kept_or_trained(kept, plan.small, plan.updates, plan.batch, plan.learning_rate)
    grown = weights.grow(small, plan.widening, (plan.layers, plan.layers), plan.words)
    used_words = plan.small.words  # the words that occur
    wanted = max(sentences for _, sentences, _ in plan.decoded)
    enough = weights.sentences(plan.train_tokens, used_words, seed=2)
    origin = (
        f"trained for {plan.updates} updates of {plan.batch} synthetic sentences at width {plan.small.dim}, with "
        f"{plan.small.layers} blocks per side and {used_words} words, then grown to the size below"
    )
    return Work(
        grown,
        weights.sentences(wanted, used_words, seed=1),
        weights.one_batch(weights.pair(enough, grown.source), plan.train_tokens),
        origin,
    )


def real_work(checkpoint: Path, data: Path, plan: Plan) -> Work:
    loaded, test, train = weights.from_checkpoint(checkpoint, data)
    wanted = max(sentences for _, sentences, _ in plan.decoded)
    every = max(1, len(test) // wanted)
    sources = [test.src[i] for i in range(0, len(test), every)][:wanted]
    return Work(loaded, sources, weights.one_batch(train, plan.train_tokens), "--checkpoint")


def measure(work: Work, plan: Plan, device: torch.device) -> dict[str, Any]:
    peer, own = theirs(work.weights), ours(work.weights)
    found = report.about(device) | {
        "format": FORMAT,
        "clock": CLOCKS[device.type],
        "plan": asdict(plan),
        "model": describe(work, own),
    }
    found["decoding"] = [
        decoding.measure(work.weights, peer, own, work.sources[:count], batch, repetitions, device)
        | decoding.memory(work.weights, work.sources[:count], batch, device)
        for batch, count, repetitions in plan.decoded
    ]
    left_to_right = autoregressive(work.weights)
    found["autoregressive"] = [
        line
        for batch, count, _ in plan.decoded
        for line in decoding.measure_autoregressive(work.weights, left_to_right, work.sources[:count], batch, device)
    ]
    found["training"] = training.measure(peer, own, work.training, plan.train_repetitions, device)
    found["training"] |= training.memory(work.weights, work.training, device)
    labels = training.measure_labels(peer, work.training, plan.label_repetitions, device)
    found["labels"] = training.shares(labels, found["training"])
    return found


def describe(work: Work, own: System) -> dict[str, Any]:
    options = work.weights.options
    names = ("embed_dim", "ffn_embed_dim", "attention_heads", "layers")
    return {
        "weights": work.origin,
        "parameters": sum(p.numel() for p in own.model.parameters()),
        "words": len(work.weights.target),
        **{f"{side}_{name}": options[f"{side}_{name}"] for side in ("encoder", "decoder") for name in names},
    }
