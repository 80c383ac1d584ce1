#!/usr/bin/env python3
"""``python bench/editing.py``: correcting drafts, beside a Transformer that writes them again; see README.md."""

import argparse
import copy
import logging
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import decoding, peer, report, systems, weights
from bench.clock import CLOCKS, Clock, alternate
from bench.graphs import Light
from bench.main import BASE, QUICK, Plan
from bench.peer import PEER, Decoder
from bench.systems import Weights
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import require
from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.layers.int8 import in_8_bits
from lev_plugins.ranges import at_least

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
OURS = ("fp32", "int8", "graphs, fp32", "graphs, int8")
GOALS = {1: 3.0, 100: 1.0}  # times as fast as the peer in 8 bits, by batch, where 5 % of the words are wrong
LONGER = 12  # times the updates of bench/run.py: deletions are learned as well, and all must be learned well


@dataclass(frozen=True)
class Text:
    """Sentences, and drafts of them in which some words are wrong."""

    sources: list[Tensor]
    drafts: list[Tensor]
    wrong: float


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/editing.py",
        description="Speed of correcting drafts, beside a Transformer of the same size in CTranslate2, as JSON",
    )
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--weights", metavar="FILE", type=Path, help="as for bench/run.py, but others")
    made.add_argument("--narrow", action="store_true", help="the model that is trained, 128 wide, not one 512 wide")
    made.add_argument("--quick", action="store_true", help="a tiny model and few measurements, to check that it runs")
    made.add_argument("--iterations", metavar="N", type=int, default=10, help="at most N (default: 10)")
    made.add_argument(
        "--early-exits",
        action="store_true",
        help="deletion and placeholders read the last block that was trained (the second of six), not the last of all",
    )
    made.add_argument("--wrong", default="0,5,20", help="per cent of the words that are wrong (default: 0,5,20)")
    return made


def text_of(sources: list[Tensor], wrong: float, words: Dictionary) -> Text:
    drafts = [weights.spoilt(source, wrong, words, seed) for seed, source in enumerate(sources)]
    return Text(sources, drafts, wrong)


# ---- the systems -----------------------------------------------------------------------------------------------------


def editor(given: Weights, precision: str, iterations: int, folder: Path) -> Callable[[dict[str, Any]], Any]:
    """In torch, or as graphs, of which the ``folder`` gets one."""
    model = systems.for_decoding(systems.ours(given).model, CPU)
    options = RefinementOptions(max_iter=iterations - 1)
    if precision.startswith("graphs"):
        light = Light(model, given.target, folder / "graphs", precision.split()[-1], options)
        return lambda sample: [[{"tokens": torch.tensor(row), "steps": n}] for row, n in light.refine(sample)]
    if precision == "int8":
        in_8_bits(model)
    generator = RefinementGenerator([model], given.target, options)
    return lambda sample: generator.generate([model], copy.deepcopy(sample))


def writer(given: Weights, folder: Path) -> Decoder:
    """CTranslate2's Transformer of the same size, greedy, in 8 bits, with random weights."""
    peer.converted(peer.saved_transformer(given, folder), folder, folder, ["int8"])
    return peer.translator(folder, given.source, "int8")


# ---- the measurements ------------------------------------------------------------------------------------------------


def samples_of(text: Text, batch: int, given: Weights) -> list[dict[str, Any]]:
    made = decoding.batches(text.sources, batch, given.source, CPU)
    order = sorted(range(len(text.sources)), key=lambda i: text.sources[i].numel())
    for number, sample in enumerate(made):
        rows = [text.drafts[i] for i in order[number * batch : (number + 1) * batch]]
        sample["net_input"]["draft"] = collate_tokens(rows, given.source.pad())
    return made


def measure(
    given: Weights,
    write: Decoder,
    folder: Path,
    text: Text,
    batch: int,
    rounds: int,
    precision: str,
    iterations: int,
) -> dict[str, Any]:
    samples, own = samples_of(text, batch, given), editor(given, precision, iterations, folder)
    jobs = [(partial(write, sample), partial(own, sample)) for sample in samples]
    name = f"{precision}, {text.wrong:.0%} wrong, batch {batch}"
    pairs, results = alternate(Clock(CPU), jobs, rounds, name)
    answers = [hypotheses[0] for _, ours in results for hypotheses in ours]
    expected = sorted(text.sources, key=lambda source: source.numel())
    right = [torch.equal(each["tokens"], source[1:]) for each, source in zip(answers, expected, strict=True)]
    found = pairs.summary()
    return {
        "wrong": text.wrong,
        "batch": batch,
        "precision": precision,
        "sentences": len(text.sources),
        "iterations_mean": float(np.mean([each["steps"] + 1 for each in answers])),
        "sentences_right": float(np.mean(right)),
        "ours_sentences_per_second": len(text.sources) * rounds / sum(pairs.ours),
        f"{PEER}_sentences_per_second": len(text.sources) * rounds / sum(pairs.theirs),
        "ratio": found["ratio"],
        "goal": GOALS.get(batch),
    }


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    titles = ("words wrong", "batch", "ours, in", "iterations", "CTranslate2, int8", "ours", "ratio (quartiles)")
    lines = [report.row(*titles), report.row(*["---"] * len(titles))]
    for line in found["editing"]:
        rates = [f"{line[f'{side}_sentences_per_second']:.1f} sentences/s" for side in (PEER, "ours")]
        start = f"{line['wrong']:.0%}", str(line["batch"]), line["precision"], f"{line['iterations_mean']:.1f}"
        lines.append(report.row(*start, *rates, report.ratio(line)))
    return "\n".join(lines) + "\n"


def run(plan: Plan, args: argparse.Namespace) -> dict[str, Any]:
    updates = plan.updates * (LONGER // 2 if args.quick else LONGER)  # a quick check need not edit well
    small = weights.kept_or_trained(args.weights, plan.small, updates, plan.batch, plan.learning_rate, deleting=True)
    given = small if args.narrow else weights.grow(small, plan.widening, (plan.layers, plan.layers), plan.words)
    if args.early_exits:  # the blocks above those that were trained add nothing, so the edits are the same
        given.options["early_exit"] = f"{plan.small.layers},{plan.small.layers},{plan.layers}"
    rates = [int(rate) / 100 for rate in args.wrong.split(",")]
    found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"]}
    found["versions"][PEER] = report.installed(PEER)
    names = ("encoder_embed_dim", "encoder_ffn_embed_dim", "encoder_layers", "decoder_layers", "early_exit")
    found["model"] = {name: given.options[name] for name in names} | {"words": len(given.target)}
    with tempfile.TemporaryDirectory() as folder:
        write = writer(given, Path(folder))
        found["editing"] = [
            measure(
                given, write, Path(folder), text_of(sources, rate, small.target), batch, rounds, how, args.iterations
            )
            for batch, count, rounds in plan.decoded
            for sources in [weights.sentences(count, plan.small.words, seed=1)]
            for rate in rates
            for how in OURS
        ]
    return found


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    peer.require_installed()
    require(
        all(rate.isdigit() and int(rate) <= 100 for rate in args.wrong.split(",")),
        f"--wrong must be whole numbers up to 100, separated by commas, but is {args.wrong}",
    )
    at_least(args, 1, "iterations")
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    found = run(QUICK if args.quick else BASE, args)
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/editing.py")
