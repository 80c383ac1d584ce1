#!/usr/bin/env python3
"""Decoding speed of a LevT beside fairseq's LevT with the same weights, and beside fairseq's Transformer.

Outputs and numbers of iterations must be equal, or the benchmark stops with an error.
"""

import copy
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import levt, timing
from bench.levt import Weights
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.layers.linear import pack_weights

GOALS = {1: 1.6, 100: 2.0}
BEAMS = (1, 4)

Decoder = Callable[[dict[str, Any]], Any]


def prepared(model: nn.Module, device: torch.device) -> Any:
    """Returns a copy, prepared as ``fairseq-generate`` prepares a model."""
    copied: Any = copy.deepcopy(model).to(device).eval()
    copied.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
    return copied


def generate(generator: Any, model: nn.Module, net_input: dict[str, Tensor]) -> Any:
    """Decodes one batch, of which fairseq's decoder modifies its copy."""
    return generator.generate([model], {"net_input": {name: value.clone() for name, value in net_input.items()}})


def fairseq_decoder(weights: Weights, device: torch.device) -> Decoder:
    model = prepared(levt.fairseq_system(weights).model, device)
    return partial(generate, IterativeRefinementGenerator(weights.dictionary), model)


def our_decoder(weights: Weights, device: torch.device) -> Decoder:
    model = prepared(levt.our_system(weights).model, device)
    pack_weights(model)  # as the task does
    return partial(
        generate, RefinementGenerator([model], weights.dictionary, RefinementOptions(inference_mode=True)), model
    )


def transformer_decoder(weights: Weights, device: torch.device, beam: int) -> Decoder:
    """Decodes left to right, each output as long as the longest source, because the weights are random."""
    model = prepared(levt.transformer(weights), device)
    generator = SequenceGenerator([model], weights.dictionary, beam_size=beam)

    def decode(net_input: dict[str, Tensor]) -> Any:
        generator.max_len_a, generator.max_len_b = 0, net_input["src_tokens"].size(1) - 2  # without the boundaries
        generator.min_len = generator.max_len_b
        return generate(generator, model, net_input)

    return decode


def batches(rows: list[Tensor], size: int, weights: Weights, device: torch.device) -> list[dict[str, Any]]:
    """Returns batches of sentences of similar length, as ``fairseq-generate`` makes them."""
    rows = sorted(rows, key=len)
    return [levt.collated(rows[i : i + size], weights.dictionary, device) for i in range(0, len(rows), size)]


def mean_iterations(results: list[tuple[Any, Any]]) -> float:
    """Returns the mean number of iterations; raises an error if the two systems differ."""
    steps = []
    for peer_batch, our_batch in results:
        for (peer, *_), (ours, *_) in zip(peer_batch, our_batch, strict=True):
            same = peer["steps"] == ours["steps"] and peer["tokens"][1:].tolist() == ours["tokens"].tolist()
            if not same:
                raise AssertionError(
                    "both decoders must give the same outputs in the same number of steps, but fairseq's gives "
                    f"{peer['tokens'][1:].tolist()} in {peer['steps']} and ours {ours['tokens'].tolist()} in "
                    f"{ours['steps']}: the times would compare different work"
                )
            steps.append(ours["steps"] + 1)
    return sum(steps) / len(steps)


def measure(
    weights: Weights, rows: list[Tensor], batch: int, repetitions: int, device: torch.device
) -> list[dict[str, Any]]:
    """Returns a line per system: fairseq's LevT (with the ratio of ours), and its Transformer for each beam."""
    clock, samples = timing.Clock(device), batches(rows, batch, weights, device)
    peer, ours = fairseq_decoder(weights, device), our_decoder(weights, device)
    jobs = [(partial(peer, sample), partial(ours, sample)) for sample in samples]
    times, results = timing.alternate(clock, jobs, repetitions, f"batch {batch}")
    count = len(rows) * repetitions
    lines: list[dict[str, Any]] = [
        {
            "batch": batch,
            "peer": "LevT",
            "iterations": mean_iterations(results),
            "goal": GOALS.get(batch),
            "peer_per_second": count / sum(times.peer),
            "ours_per_second": count / sum(times.ours),
            **times.summary(),
        }
    ]
    for beam in BEAMS:
        decode = transformer_decoder(weights, device, beam)
        jobs = [(partial(decode, sample), partial(ours, sample)) for sample in samples]
        times, _ = timing.alternate(clock, jobs, 1, f"batch {batch}, Transformer, beam {beam}")
        name, rate = f"Transformer, beam {beam}", len(rows) / sum(times.peer)
        lines.append({"batch": batch, "peer": name, "peer_per_second": rate, **times.summary()})
    return lines


def page(lines: list[dict[str, Any]]) -> str:
    rows = []
    for line in lines:
        ours = f"{line['ours_per_second']:.1f}" if "ours_per_second" in line else ""
        rate, goal = f"{line['peer_per_second']:.1f}", line.get("goal")
        rows.append([line["batch"], line["peer"], rate, ours, timing.quartiles(line["ratio"]), goal or ""])
    return timing.table(["batch", "fairseq's", "sentences/s", "ours", "ratio (quartiles)", "goal"], rows)


def main(arguments: list[str] | None = None) -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--narrow", action="store_true", help="the model that is trained, 128 wide, not grown to 512")
    flags.add_argument("--weights", metavar="FILE", type=Path, help="file that keeps the trained weights")
    args = flags.parse_args(arguments)
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    device = timing.device_of(args.device)
    size = levt.QUICK if args.quick else levt.NARROW if args.narrow else levt.BASE
    weights = levt.grown_weights(size, args.weights)
    plan = ((1, 4, 1), (100, 8, 1)) if args.quick else ((1, 30, 3), (100, 100, 9 if args.narrow else 3))
    lines = [
        line
        for batch, count, repetitions in plan
        for line in measure(weights, levt.sentences(count, size.words, seed=1), batch, repetitions, device)
    ]
    results = {"machine": timing.machine(device), "size": vars(size), "decoding": lines}
    timing.report(results, page(lines), args.out)


if __name__ == "__main__":
    timing.run(main)
