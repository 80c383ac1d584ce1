#!/usr/bin/env python3
"""Decoding speed of a LevT beside fairseq's LevT with the same weights, and beside fairseq's Transformer.

In 32 bits, outputs and numbers of iterations must be equal, or the benchmark stops with an error. With ``--profile``,
it counts kernels and copies to the host, and how long a GPU has nothing to do.
"""

import copy
import logging
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.sequence_generator import SequenceGenerator
from torch import Tensor, nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import levt, timing
from bench.levt import Weights
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.nn.linear import pack_weights

GOALS: dict[int | str, float] = {1: 1.6, 100: 2.0}
BEAMS = (1, 4)
MAX_TOKENS = 8000
BY_TOKENS = f"{MAX_TOKENS:,} tokens"  # in place of a number of sentences
PLANS: dict[str, list[tuple[int | str, int, int]]] = {  # what is in a batch, sentences, repetitions
    "quick": [(1, 4, 1), (100, 8, 1)],
    "cpu": [(1, 30, 3), (100, 100, 3)],
    "narrow": [(1, 30, 3), (100, 100, 9)],
    "cuda": [(1, 60, 3), (100, 1000, 3), (BY_TOKENS, 3000, 2)],
}

Decoder = Callable[[dict[str, Any]], Any]


class Place(NamedTuple):
    """Where a model is, and the type of its weights."""

    device: torch.device
    dtype: torch.dtype = torch.float32


def prepared(model: nn.Module, place: Place) -> Any:
    """Returns a copy, prepared as ``fairseq-generate`` prepares a model."""
    copied: Any = copy.deepcopy(model).to(place.device, place.dtype).eval()
    copied.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
    return copied


def generate(generator: Any, model: nn.Module, net_input: dict[str, Tensor]) -> Any:
    """Decodes one batch, of which fairseq's decoder modifies its copy."""
    return generator.generate([model], {"net_input": {name: value.clone() for name, value in net_input.items()}})


def fairseq_decoder(weights: Weights, place: Place) -> Decoder:
    model = prepared(levt.fairseq_system(weights).model, place)
    return partial(generate, IterativeRefinementGenerator(weights.dictionary), model)


def our_decoder(weights: Weights, place: Place) -> Decoder:
    model = prepared(levt.our_system(weights).model, place)
    pack_weights(model)  # as the task does
    return partial(
        generate, RefinementGenerator([model], weights.dictionary, RefinementOptions(inference_mode=True)), model
    )


def transformer_decoder(weights: Weights, place: Place, beam: int) -> Decoder:
    """Decodes left to right, each output as long as the longest source, because the weights are random."""
    model = prepared(levt.transformer(weights), place)
    generator = SequenceGenerator([model], weights.dictionary, beam_size=beam)

    def decode(net_input: dict[str, Tensor]) -> Any:
        generator.max_len_a, generator.max_len_b = 0, net_input["src_tokens"].size(1) - 2  # without the boundaries
        generator.min_len = generator.max_len_b
        return generate(generator, model, net_input)

    return decode


def batches(rows: list[Tensor], size: int | str, weights: Weights, device: torch.device) -> list[dict[str, Any]]:
    """Returns batches of sentences of similar length, as ``fairseq-generate`` makes them."""
    groups, rows = list[list[Tensor]](), sorted(rows, key=len)
    while rows:
        count = (
            size
            if isinstance(size, int)
            else max(1, sum((i + 1) * len(row) <= MAX_TOKENS for i, row in enumerate(rows)))
        )
        groups.append(rows[:count])
        rows = rows[count:]
    return [levt.collated(group, weights.dictionary, device) for group in groups]


def compare(results: list[tuple[Any, Any]], must_agree: bool) -> dict[str, float]:
    """Returns the mean number of our iterations, and the share of the outputs that are equal, in as many iterations.

    results: those of both systems, for each batch
    must_agree: raise an error where they differ
    """
    steps, equal = [], 0
    for peer_batch, our_batch in results:
        for (peer, *_), (ours, *_) in zip(peer_batch, our_batch, strict=True):
            same = peer["steps"] == ours["steps"] and peer["tokens"][1:].tolist() == ours["tokens"].tolist()
            equal += same
            if must_agree and not same:
                raise AssertionError(
                    "both decoders must give the same outputs in the same number of steps, but fairseq's gives "
                    f"{peer['tokens'][1:].tolist()} in {peer['steps']} and ours {ours['tokens'].tolist()} in "
                    f"{ours['steps']}: the times would compare different work"
                )
            steps.append(ours["steps"] + 1)
    return {"iterations": sum(steps) / len(steps), "equal_outputs": equal / len(steps)}


def launches(weights: Weights, rows: list[Tensor], batch: int | str, place: Place) -> list[list[object]]:
    """Counts what a GPU does in an iteration of each system, and the share of the time in which it does nothing."""
    samples, lines = batches(rows, batch, weights, place.device), []
    for name, decode in (("fairseq", fairseq_decoder(weights, place)), ("lev-plugins", our_decoder(weights, place))):
        decode(samples[0])
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            timed = [timing.Clock(place.device).time(partial(decode, sample)) for sample in samples]
        iterations = sum(1 + max(best["steps"] for best, *_ in hypotheses) for _, hypotheses in timed)
        events = [event for event in profiler.events() or () if event.device_type == DeviceType.CUDA]
        copies = sum("DtoH" in event.name for event in events)
        kernels = sum(not event.name.startswith(("Memcpy", "Memset")) for event in events)
        busy = sum(event.time_range.elapsed_us() for event in events) / 1e6
        idle = 1 - busy / sum(seconds for seconds, _ in timed)
        lines.append([batch, name, round(kernels / iterations, 1), round(copies / iterations, 1), round(idle, 2)])
    return lines


def measure(
    weights: Weights, rows: list[Tensor], batch: int | str, repetitions: int, place: Place
) -> list[dict[str, Any]]:
    """Returns a line per system: fairseq's LevT (with the ratio of ours), and its Transformer for each beam."""
    clock, samples = timing.Clock(place.device), batches(rows, batch, weights, place.device)
    peer, ours = fairseq_decoder(weights, place), our_decoder(weights, place)
    jobs = [(partial(peer, sample), partial(ours, sample)) for sample in samples]
    times, results = timing.alternate(clock, jobs, repetitions, f"batch {batch}")
    count = len(rows) * repetitions
    lines: list[dict[str, Any]] = [
        {
            "batch": batch,
            "peer": "LevT",
            **compare(results, place.dtype is torch.float32),
            "goal": GOALS.get(batch) if place.device.type == "cpu" else None,
            "peer_per_second": count / sum(times.peer),
            "ours_per_second": count / sum(times.ours),
            **times.summary(),
        }
    ]
    for beam in BEAMS:
        decode = transformer_decoder(weights, place, beam)
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
        medians = " / ".join(f"{1000 * line[f'{side}_seconds']['median']:.1f}" for side in ("peer", "ours"))
        rows.append([line["batch"], line["peer"], rate, ours, medians, timing.quartiles(line["ratio"]), goal or ""])
    titles = ["batch", "fairseq's", "sentences/s", "ours", "ms a batch, p50", "ratio (quartiles)", "goal"]
    return timing.table(titles, rows)


def main(arguments: list[str] | None = None) -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--narrow", action="store_true", help="the model that is trained, 128 wide, not grown to 512")
    flags.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], default="float32", help="of the weights")
    flags.add_argument("--profile", action="store_true", help="only count kernels, copies to the host, and idle time")
    flags.add_argument("--weights", metavar="FILE", type=Path, help="file that keeps the trained weights")
    args = flags.parse_args(arguments)
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    device = timing.device_of(args.device)
    size = levt.QUICK if args.quick else levt.NARROW if args.narrow else levt.BASE
    weights = levt.grown_weights(size, args.weights)
    place, lines = Place(device, getattr(torch, args.dtype)), list[Any]()
    plan = "quick" if args.quick else "narrow" if args.narrow and args.device == "cpu" else args.device
    if args.profile:
        for batch, count, _ in PLANS[plan]:
            lines += launches(weights, levt.sentences(min(count, 200), size.words, seed=1), batch, place)
        titles = ["batch", "system", "kernels an iteration", "copies to the host", "idle share"]
        results = {
            "machine": timing.machine(device),
            "profile": [dict(zip(titles, line, strict=True)) for line in lines],
        }
        timing.report(results, timing.table(titles, lines), args.out)
        return
    for batch, count, repetitions in PLANS[plan]:
        lines += measure(weights, levt.sentences(count, size.words, seed=1), batch, repetitions, place)
        results = {"machine": timing.machine(device), "size": vars(size), "dtype": args.dtype, "decoding": lines}
        if args.out:  # what is measured is kept, whatever comes next
            timing.save(results, args.out)
    timing.report(results, page(lines), args.out)


if __name__ == "__main__":
    timing.run(main)
