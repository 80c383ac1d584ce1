#!/usr/bin/env python3
"""``python bench/passes.py``: graphs beside CTranslate2, one sentence at a time, without training; see README.md.

All weights are random. Each pass of our graphs is computed, but what it says is replaced by what a trained model would
say: in the last iteration but one, everything is right; before it, one word is wrong, which the next one replaces.
CTranslate2 writes as many words as the source has.
"""

import argparse
import logging
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import decoding, peer, report, systems, weights
from bench.clock import CLOCKS, Clock, spread
from bench.graphs import BITS, Light
from bench.peer import PEER
from bench.systems import Size, Weights
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators.refinement import Array, Choices, Sentence
from lev_plugins.runtime.refinement import GraphPolicies

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
WRONG = 0.05  # of the words of a draft
ITERATIONS = 3.26  # that a levt takes on Multi30k: RESULTS.md
THEIRS = "CTranslate2, int8, greedy"
WIDE = Size(dim=512, ffn_dim=2048, heads=8, layers=6, words=8000)
# the models of examples/translation, and the one of the other benches
SIZES = [Size(width, 2 * width, heads=4, layers=4, words=6008) for width in (128, 256)] + [WIDE]
QUICK = [Size(dim=16, ffn_dim=32, heads=2, layers=1, words=60)]


class Told(GraphPolicies):
    """The policies for a batch of one sentence, whose target is its source."""

    iterations = 2  # after which nothing changes

    def __init__(self, *given: Any):
        super().__init__(*given)
        self.left = self.iterations - 2  # iterations that write a wrong word

    def decide(self, sentences: list[Sentence]) -> tuple[Array, Array]:
        super().decide(sentences)
        (sentence,) = sentences
        wanted, rows = self.sources[sentence.number], sentence.tokens
        if len(rows) == len(wanted):
            places = [*range(len(rows))]
        else:  # what is left of the text, in its order
            places, following = [], 0
            for row in rows:
                places.append(wanted.index(row, following))
                following = places[-1] + 1
        deleted = np.array([[-9.0 if wanted[place] == row else 9.0 for place, row in zip(places, rows, strict=True)]])
        missing = np.diff(places) - 1
        inserted = np.where(missing, 9.0, -9.0)
        return deleted, np.stack([np.maximum(missing, 1), inserted, -np.logaddexp(0.0, inserted)])[:, None]

    def token(self, sentences: list[Sentence]) -> Choices:
        choices, (sentence,) = super().token(sentences), sentences
        placeholder, text = self.graphs.placeholder, [*self.sources[sentence.number]]
        if self.left:
            # another one each time: what comes back to the same text is finished
            text[self.left] = text[self.left + 1]
            self.left -= 1
        pairs = list(zip(sentence.words, text, strict=True))
        words = [word if word.token == placeholder else word._replace(token=token) for word, token in pairs]
        sentence.write(words)
        return choices._replace(tokens=[token for word, token in pairs if word.token == placeholder])


def measure(size: Size, sentences: int, rounds: int) -> list[dict[str, Any]]:
    words = weights.dictionary(size.words)
    given = Weights(weights.levt_options(size), {}, words, words)
    given.state = systems.theirs(given).model.state_dict()
    rows = weights.sentences(sentences, size.words, seed=1)
    plain, drafted = (decoding.batches(rows, 1, words, CPU) for _ in range(2))
    for seed, sample in enumerate(drafted):
        sample["net_input"]["draft"] = weights.spoilt(sample["net_input"]["src_tokens"], WRONG, words, seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model: Any = systems.ours(given).model.eval()
        light = {how: Light(model, words, folder / "graphs", how, RefinementOptions()) for how in BITS}
        peer.converted(peer.saved_transformer(given, folder), folder, folder, ["int8"])
        theirs = peer.translator(folder, words, "int8")
        whole, part = divmod(ITERATIONS, 1)
        counts = [int(whole) + (i < part * len(rows)) for i in range(len(rows))]
        often = np.random.default_rng(1).permutation(counts).tolist()
        twice, wrong = [2] * len(rows), f"{WRONG:.0%} wrong"
        jobs = {
            f"translating, {ITERATIONS} iterations": (plain, often, RefinementOptions()),
            "translating, 2 iterations": (plain, twice, RefinementOptions()),
            f"correcting, {wrong}": (drafted, twice, RefinementOptions()),
            f"correcting, {wrong}, 1 iteration": (drafted, twice, RefinementOptions(max_iter=0)),
        }
        names = {THEIRS: theirs, **{f"graphs, {how}": one for how, one in light.items()}}
        return [
            {"width": size.dim, "layers": size.layers, "what": what, "system": name, **line}
            for what, job in jobs.items()
            for name, line in compared(names, *job, rounds).items()
        ]


def compared(
    names: dict[str, Any], samples: list[Any], counts: list[int], options: RefinementOptions, rounds: int
) -> dict[str, dict[str, Any]]:
    """The systems take turns at each sentence."""
    clock, times = Clock(CPU), {name: list[float]() for name in names}
    for light in names.values():
        if isinstance(light, Light):
            light.steps.clear()
            light.refiner.options = options
    for turn in range(rounds + 1):  # the first warms up
        for sample, Told.iterations in zip(samples, counts, strict=True):
            for name, decode in names.items():
                took, _ = clock.time(partial(decode, sample))
                times[name] += [took] if turn else []
    return {
        name: {
            "ms": 1000 * spread(some)["median"],
            "sentences_per_second": len(some) / sum(some),
            "ratio": spread([a / b for a, b in zip(times[THEIRS], some, strict=True)]),
            "iterations_mean": float(np.mean(names[name].steps)) if name != THEIRS else None,
            "load_average": os.getloadavg()[0],
        }
        for name, some in times.items()
    }


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    titles = ("wide", "blocks", "what", "system", "iterations", "ms", "sentences/s", "ratio (quartiles)")
    lines = [report.row(*titles), report.row(*["---"] * len(titles))]
    for line in found["passes"]:
        steps = "" if line["iterations_mean"] is None else f"{line['iterations_mean']:.2f}"
        size = str(line["width"]), f"{line['layers']} + {line['layers']}"
        speed = f"{line['ms']:.2f}", f"{line['sentences_per_second']:.0f}"
        lines.append(report.row(*size, line["what"], line["system"], steps, *speed, report.ratio(line)))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    made = argparse.ArgumentParser(prog="bench/passes.py", description="Graphs beside CTranslate2, untrained, as JSON")
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--widths", metavar="N", type=int, nargs="+", help="only these (default: 128, 256 and 512)")
    made.add_argument("--quick", action="store_true", help="a tiny model, to check that it runs")
    args = made.parse_args(arguments)
    peer.require_installed()
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    Light.policies = Told
    found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"]}
    found["versions"] |= {PEER: report.installed(PEER), "onnxruntime": report.installed("onnxruntime")}
    sizes = QUICK if args.quick else [size for size in SIZES if size.dim in (args.widths or (128, 256, 512))]
    amount = (4, 1) if args.quick else (30, 3)
    found["passes"] = [line for size in sizes for line in measure(size, *amount)]
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/passes.py")
