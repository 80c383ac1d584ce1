#!/usr/bin/env python3
"""``python bench/translation.py``: translating, beside CTranslate2; see README.md."""

from __future__ import annotations

import argparse
import copy
import json
import logging
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from sacrebleu.metrics import BLEU
from torch import Tensor
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import decoding, report, systems, weights
from bench.clock import CLOCKS, Clock, spread
from bench.main import BASE, NARROW, QUICK, Plan
from bench.systems import Weights
from lev_plugins import checkpoints
from lev_plugins.errors import UserError, require
from lev_plugins.generators import RefinementGenerator, RefinementOptions
from lev_plugins.inference.reading import read_models
from lev_plugins.layers import in_8_bits

FORMAT = 1  # of the JSON
CPU = torch.device("cpu")
PEER = "ctranslate2"
FAST = {"encoder_layers": 10, "decoder_layers": 2, "early_exit": "1,1,2"}  # as --arch levt_fast
GAMMA = 2.0  # of examples/translation
PEERS = [("float32", 1), ("int8", 1), ("int8", 4)]  # precision, beam
THEIRS = "CTranslate2, int8, beam 1"  # whom a ratio compares with

Sample = dict[str, Any]
Decoder = Callable[[Sample], list[list[str]]]


@dataclass
class Bench:
    """What is decoded, and by whom: a decoder returns the tokens of each sentence."""

    sources: list[Tensor]
    dictionary: Any
    systems: dict[str, Decoder]
    references: list[str] | None = None  # without pieces, in the order of the sources
    iterations: dict[str, list[int]] | None = None


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
    made.add_argument("--weights", metavar="DIR", type=Path, help="keep the trained weights in this folder")
    made.add_argument("--sentences", metavar="N", type=int, default=0, help="--run: the first N of the test (0: all)")
    return made


# ---- the systems -----------------------------------------------------------------------------------------------------


def refiner(model: Any, dictionary: Any, precision: str, options: RefinementOptions) -> Decoder:
    prepared: Any = systems.for_decoding(model, CPU)
    if precision == "int8":
        in_8_bits(prepared)
    generator = RefinementGenerator([prepared], dictionary, options)

    def decode(sample: Sample) -> list[list[str]]:
        found = [hypotheses[0] for hypotheses in generator.generate([prepared], copy.deepcopy(sample))]
        decode.steps += [each["steps"] + 1 for each in found]  # type: ignore[attr-defined]
        return [dictionary.string(each["tokens"]).split() for each in found]

    decode.steps = []  # type: ignore[attr-defined]
    return decode


def translator(folder: Path, dictionary: Any, beam: int, precision: str, forced: bool) -> Decoder:
    """CTranslate2; with ``forced``, outputs as long as the longest source, since the weights are random."""
    import ctranslate2

    model = ctranslate2.Translator(str(folder / precision), intra_threads=1, inter_threads=1, compute_type=precision)

    def decode(sample: Sample) -> list[list[str]]:
        lines = [words_of(row, dictionary) for row in sample["net_input"]["src_tokens"]]
        longest = max(map(len, lines))
        limits = {"min_decoding_length": longest} if forced else {}
        limits["max_decoding_length"] = longest if forced else int(1.2 * longest + 10)
        found = model.translate_batch(lines, beam_size=beam, max_batch_size=len(lines), **limits)
        return [each.hypotheses[0] for each in found]

    return decode


def words_of(row: Tensor, dictionary: Any) -> list[str]:
    marks = (dictionary.pad(), dictionary.bos(), dictionary.eos())
    return [dictionary[i] for i in row.tolist() if i not in marks]


def converted(checkpoint: Path, data: Path, folder: Path) -> None:
    import ctranslate2

    for precision in sorted({precision for precision, _ in PEERS}):
        converter = ctranslate2.converters.FairseqConverter(str(checkpoint), str(data))
        converter.convert(str(folder / precision), quantization=None if precision == "float32" else precision)


def peers(folder: Path, dictionary: Any, forced: bool) -> dict[str, Decoder]:
    return {
        f"CTranslate2, {precision}, beam {beam}": translator(folder, dictionary, beam, precision, forced)
        for precision, beam in PEERS
    }


# ---- synthetic weights: time alone -----------------------------------------------------------------------------------


def synthetic(plan: Plan, kept: Path | None, folder: Path) -> Bench:
    made: dict[str, Decoder] = {}
    base = None
    for name, early_exit in (("levt", None), ("levt_fast", FAST["early_exit"])):
        given = grown(plan, name, early_exit, kept)
        base = base or given
        model = systems.ours(given).model
        for precision in ("fp32", "int8"):
            made[f"{name}, {precision}"] = refiner(
                model, given.target, precision, RefinementOptions(trained_later=False)
            )
    assert base is not None
    save_transformer(base, folder)
    converted(folder / "checkpoint.pt", folder, folder)
    made |= peers(folder, base.target, forced=True)
    count = max(sentences for _, sentences, _ in plan.decoded)
    return Bench(weights.sentences(count, plan.small.words, seed=1), base.target, made)


def grown(plan: Plan, name: str, early_exit: Any, kept: Path | None) -> Weights:
    """A LevT that repeats sentences; the fast one is trained with its exits, and grows in its encoder."""
    file = None if kept is None else kept / f"{name}.pt"
    size = plan.small if early_exit is None else replace(plan.small, early_exit=str(early_exit))
    small = weights.kept_or_trained(file, size, plan.updates, plan.batch, plan.learning_rate)
    fast = plan.layers > plan.small.layers and early_exit is not None
    layers = (FAST["encoder_layers"], FAST["decoder_layers"]) if fast else (plan.layers, plan.layers)
    return weights.grow(small, plan.widening, layers, plan.words)  # type: ignore[arg-type]


def save_transformer(given: Weights, folder: Path) -> None:
    """fairseq's Transformer of the same size, with random weights, and its dictionaries."""
    for side in ("source", "target"):
        given.target.save(str(folder / f"dict.{side}.txt"))
    options = {**given.options, "arch": "transformer", "task": "translation"}
    options |= {"source_lang": "source", "target_lang": "target", "left_pad_source": True, "left_pad_target": False}
    model = systems.autoregressive(given)
    checkpoints.save({"args": Namespace(**options), "model": model.state_dict()}, folder / "checkpoint.pt")


# ---- the models of examples/translation ------------------------------------------------------------------------------


def trained(run: Path, count: int, folder: Path) -> Bench:
    teacher = run / "average" / "teacher.pt"
    require(teacher.is_file(), f"--run {run} has no average/teacher.pt: give the folder OUT of examples/translation")
    data = run / "binarise" / "data"
    made: dict[str, Decoder] = {}
    options = RefinementOptions(gamma=GAMMA, trained_later=False)
    loaded = None
    for name in ("levt", "levt_fast"):
        checkpoint = run / name / "checkpoint_best.pt"
        if checkpoint.is_file():
            loaded = read_models([checkpoint], {"data": str(data)})
            for precision in ("fp32", "int8"):
                made[f"{name}, {precision}"] = refiner(
                    loaded.models[0], loaded.task.target_dictionary, precision, options
                )
    require(loaded is not None, f"--run {run} has no levt/checkpoint_best.pt yet")
    assert loaded is not None
    loaded.task.load_dataset("test")
    sources = [loaded.task.dataset("test").src[i] for i in range(len(loaded.task.dataset("test")))]
    count = count or len(sources)
    converted(teacher, data, folder)
    made |= peers(folder, loaded.task.target_dictionary, forced=False)
    references = (run / "pieces" / "test.reference").read_text(encoding="utf-8").splitlines()
    return Bench(sources[:count], loaded.task.target_dictionary, made, references[:count])


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
        if hasattr(decode, "steps"):
            decode.steps.clear()
    total = rounds * len(samples)
    with tqdm(total=total, desc=f"batch {batch}", disable=not sys.stderr.isatty()) as bar:
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
        steps = getattr(bench.systems[name], "steps", None)
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
            yield trained(args.run, args.sentences, Path(folder))
        else:
            yield synthetic(plan, args.weights, Path(folder))


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    require(find_spec(PEER) is not None, f"the package {PEER} is not installed: pip install {PEER}")
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    plan = QUICK if args.quick else NARROW if args.narrow else BASE
    with prepared(args, plan) as bench:
        found = report.about(CPU) | {"format": FORMAT, "clock": CLOCKS["cpu"]}
        found["versions"][PEER] = report.installed(PEER)
        rounds = [(batch, len(bench.sources), 1) for batch, *_ in plan.decoded] if args.run else plan.decoded
        found["translation"] = [line for each in rounds for line in measure(bench, *each)]
    text = json.dumps(found, indent=2) + "\n"
    if args.out is None:
        sys.stdout.write(text)
    else:
        args.out.write_text(text, encoding="utf-8")
    sys.stderr.write(table(found))


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(f"bench/translation.py: error: {error}")
