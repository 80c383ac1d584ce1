#!/usr/bin/env python3
"""``python bench/translation.py``: translating, beside CTranslate2; see README.md."""

import argparse
import copy
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import decoding, peer, report, systems, weights
from bench.clock import CLOCKS, Clock, spread
from bench.graphs import Light
from bench.main import BASE, NARROW, QUICK, Plan
from bench.peer import PEER, Decoder, Sample
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import require
from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.inference.load_model import read_models
from lev_plugins.layers.int8 import in_8_bits
from lev_plugins.models.levt import PRESETS
from lev_plugins.text.lines import read_lines

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
FAST = PRESETS["levt_fast"]
GAMMA = 2.0  # of examples/translation
PEERS = [("float32", 1), ("int8", 1), ("int8", 4)]  # precision, beam
THEIRS = "CTranslate2, int8, beam 1"  # whom a ratio compares with


@dataclass
class Bench:
    """What is decoded, and by whom."""

    sources: list[Tensor]
    dictionary: Any
    systems: dict[str, Decoder]
    references: list[str] | None = None  # without pieces, in the order of the sources


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="bench/translation.py", description="Speed of translating, beside CTranslate2's Transformer, as JSON"
    )
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    sizes = made.add_mutually_exclusive_group()
    sizes.add_argument(
        "--run", metavar="DIR", type=Path, help="the models of examples/translation (its OUT), with BLEU"
    )
    sizes.add_argument(
        "--narrow", action="store_true", help="a model 128 wide that repeats sentences, not one 512 wide"
    )
    sizes.add_argument("--quick", action="store_true", help="a tiny model and few measurements, to check that it runs")
    made.add_argument("--weights", metavar="FILE", type=Path, help="as for bench/run.py")
    made.add_argument(
        "--equal-lengths", action="store_true", help="--run: CTranslate2 writes as many words as the source has"
    )
    made.add_argument("--sentences", metavar="N", type=int, default=0, help="--run: the first N of the test (0: all)")
    return made


# ---- the systems -----------------------------------------------------------------------------------------------------


class Refiner:
    """A LevT; ``steps`` has the number of iterations of each sentence, the last included."""

    def __init__(self, model: Any, dictionary: Any, precision: str, gamma: float = 0.0):
        self.model: Any = systems.for_decoding(model, CPU)
        if precision == "int8":
            in_8_bits(self.model)
        options = RefinementOptions(gamma=gamma, trained_later=False)
        self.generator = RefinementGenerator([self.model], dictionary, options)
        self.dictionary = dictionary
        self.steps: list[int] = []

    def __call__(self, sample: Sample) -> list[list[str]]:
        found = [hypotheses[0] for hypotheses in self.generator.generate([self.model], copy.deepcopy(sample))]
        self.steps += [each["steps"] + 1 for each in found]
        return [self.dictionary.string(each["tokens"]).split() for each in found]


def refiners(name: str, model: Any, dictionary: Any, folder: Path, gamma: float = 0.0) -> dict[str, Decoder]:
    """In torch and as graphs, of which the ``folder`` gets one."""
    made: dict[str, Decoder] = {f"{name}, {how}": Refiner(model, dictionary, how, gamma) for how in ("fp32", "int8")}
    options = RefinementOptions(gamma=gamma)
    place = folder / f"{name}-graphs"
    return made | {f"{name}, graphs, {how}": Light(model, dictionary, place, how, options) for how in ("fp32", "int8")}


def peers(
    checkpoint: Path,
    data: Path,
    folder: Path,
    dictionary: Any,
    forced: bool,
    searches: list[tuple[str, int]] = PEERS,
    name: str = "CTranslate2",
) -> dict[str, Decoder]:
    peer.converted(checkpoint, data, folder, sorted({precision for precision, _ in searches}))
    return {
        f"{name}, {precision}, beam {beam}": peer.translator(folder, dictionary, precision, beam, forced)
        for precision, beam in searches
    }


# ---- synthetic weights: time alone -----------------------------------------------------------------------------------


def synthetic(plan: Plan, kept: Path | None, folder: Path) -> Bench:
    """LevTs that repeat sentences: one is trained, and grows to the depths of both."""
    small = weights.kept_or_trained(kept, plan.small, plan.updates, plan.batch, plan.learning_rate)
    depths = {"levt": (plan.layers, plan.layers)}
    if plan.layers > plan.small.layers:
        depths["levt_fast"] = FAST["encoder_layers"], FAST["decoder_layers"]
    grown = {name: weights.grow(small, plan.widening, layers, plan.words) for name, layers in depths.items()}
    made: dict[str, Decoder] = {}
    for name, given in grown.items():
        made |= refiners(name, systems.ours(given).model, given.target, folder)
    base, fast = grown["levt"], grown.get("levt_fast")
    made |= peers(peer.saved_transformer(base, folder), folder, folder, base.target, forced=True)
    if fast is not None:
        place = folder / "fast"
        place.mkdir()
        made |= peers(
            peer.saved_transformer(fast, place),
            place,
            place,
            fast.target,
            True,
            [("int8", 1)],
            "CTranslate2 as levt_fast",
        )
    count = max(sentences for _, sentences, _ in plan.decoded)
    return Bench(weights.sentences(count, plan.small.words, seed=1), base.target, made)


# ---- the models of examples/translation ------------------------------------------------------------------------------


def trained(run: Path, count: int, equal: bool, folder: Path) -> Bench:
    """``equal``: CTranslate2 writes as many words as the source has, so its model need not be good."""
    teacher, data = run / "average" / "teacher.pt", run / "binarise" / "data"
    require(teacher.is_file(), f"--run {run} has no average/teacher.pt: give the folder OUT of examples/translation")
    paths = {name: run / name / "checkpoint_best.pt" for name in ("levt", "levt_fast")}
    loaded = {name: read_models([path], {"data": str(data)}) for name, path in paths.items() if path.is_file()}
    require(bool(loaded), f"--run {run} has no levt/checkpoint_best.pt yet")
    task = next(iter(loaded.values())).task
    made: dict[str, Decoder] = {}
    for name, each in loaded.items():
        made |= refiners(name, each.models[0], task.target_dictionary, folder, GAMMA)
    made |= peers(teacher, data, folder, task.target_dictionary, forced=equal)
    task.load_dataset("test")
    sources = task.dataset("test").src
    references = list(read_lines(run / "pieces" / "test.reference"))
    count = min(count or len(sources), len(sources))
    return Bench([sources[i] for i in range(count)], task.target_dictionary, made, references[:count])


# ---- the measurements ------------------------------------------------------------------------------------------------


def measure(bench: Bench, batch: int, count: int, rounds: int) -> list[dict[str, Any]]:
    """The systems take turns at each batch, and another begins each time."""
    rows = bench.sources[:count]
    samples = decoding.batches(rows, batch, bench.dictionary, CPU)
    order = sorted(range(len(rows)), key=lambda i: rows[i].numel())
    clock, names = Clock(CPU), list(bench.systems)
    times: dict[str, list[float]] = {name: [] for name in names}
    outputs: dict[str, list[list[str]]] = {name: [] for name in names}
    for decode in bench.systems.values():
        decode(samples[0])
        if isinstance(decode, Refiner | Light):
            decode.steps.clear()
    total = rounds * len(samples)
    with tqdm(total=total, desc=f"batch {batch}", disable=None) as bar:
        for turn in range(total):
            sample = samples[turn % len(samples)]
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                took, found = clock.time(partial(bench.systems[name], sample))
                times[name].append(took)
                if turn < len(samples):
                    outputs[name] += found
            bar.update()
    lines = []
    for name in names:
        system = bench.systems[name]
        steps = system.steps if isinstance(system, Refiner | Light) else None
        lines.append(
            {
                "batch": batch,
                "system": name,
                "sentences": len(rows),
                "sentences_per_second": len(rows) * rounds / sum(times[name]),
                "ratio": spread([theirs / own for theirs, own in zip(times[THEIRS], times[name], strict=True)]),
                "iterations_mean": sum(steps) / len(steps) if steps else None,
                "bleu": bleu(outputs[name], order, bench.references),
            }
        )
    return lines


def bleu(outputs: list[list[str]], order: list[int], references: list[str] | None) -> float | None:
    """``outputs`` are in pieces, sorted as ``order``."""
    if references is None:
        return None
    texts = ["".join(pieces).replace("▁", " ").strip() for pieces in outputs]
    return BLEU(tokenize="none", force=True).corpus_score(texts, [[references[i] for i in order]]).score


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    titles = ("batch", "system", "iterations", "sentences/s", f"times {THEIRS} (quartiles)", "BLEU")
    lines = [report.row(*titles), report.row(*["---"] * len(titles))]
    for line in found["translation"]:
        steps = "" if line["iterations_mean"] is None else f"{line['iterations_mean']:.2f}"
        score = "" if line["bleu"] is None else f"{line['bleu']:.2f}"
        rate = f"{line['sentences_per_second']:.1f}"
        lines.append(report.row(str(line["batch"]), line["system"], steps, rate, report.ratio(line), score))
    return "\n".join(lines) + "\n"


@contextmanager
def prepared(args: argparse.Namespace, plan: Plan) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder:
        if args.run:
            yield trained(args.run, args.sentences, args.equal_lengths, Path(folder))
        else:
            yield synthetic(plan, args.weights, Path(folder))


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    peer.require_installed()
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    plan = QUICK if args.quick else NARROW if args.narrow else BASE
    with prepared(args, plan) as bench:
        found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"]}
        found["versions"][PEER] = report.installed(PEER)
        rounds = [(batch, len(bench.sources), 1) for batch, *_ in plan.decoded] if args.run else plan.decoded
        found["translation"] = [line for each in rounds for line in measure(bench, *each)]
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/translation.py")
