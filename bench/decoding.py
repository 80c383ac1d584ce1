"""Decoding: the same sentences, the same weights, both generators; the outputs must be the same."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from torch import Tensor, nn

from bench import systems
from bench.clock import Clock, alternate, peak_memory, spread
from bench.systems import System, Weights
from lev_plugins.layers.linear import pack_weights

GOALS = {1: 1.6, 100: 2.0}
BEAMS = (1, 4)


def measure(
    weights: Weights,
    theirs: System,
    ours: System,
    rows: list[Tensor],
    batch: int,
    repetitions: int,
    device: torch.device,
) -> dict[str, Any]:
    """One line of the table: ``rows`` decoded in batches of ``batch``."""
    samples = batches(rows, batch, weights.source, device)
    their_work, our_work = their_decoder(theirs, device), our_decoder(ours, device)
    jobs = [(partial(their_work, sample), partial(our_work, sample)) for sample in samples]
    pairs, results = alternate(Clock(device), jobs, repetitions, f"decoding, batch {batch}")
    words, steps = compare(results)
    decoded = len(rows) * repetitions
    return {
        "batch": batch,
        "sentences": len(rows),
        "words": words,
        "iterations": {
            "mean": sum(n * count for n, count in steps.items()) / len(rows),
            "histogram": dict(sorted(steps.items())),
        },
        "identical": True,
        **pairs.summary(),
        "goal": GOALS.get(batch),
        "ours_sentences_per_second": decoded / sum(pairs.ours),
        "fairseq_sentences_per_second": decoded / sum(pairs.theirs),
    }


def memory(weights: Weights, rows: list[Tensor], batch: int, device: torch.device) -> dict[str, Any]:
    """Of decoding the last batch, that with the longest sentences."""
    *_, longest = batches(rows, batch, weights.source, device)
    ours = partial(our_decoder, device=device)
    sides = {"ours": (systems.ours, ours), "fairseq": (systems.theirs, partial(their_decoder, device=device))}
    return {
        f"{side}_peak_bytes": peak_memory(device, partial(build, weights), partial(prepared, decoder, longest))
        for side, (build, decoder) in sides.items()
    }


def prepared(
    decoder: Callable[[System], Callable[[dict[str, Any]], Any]], sample: dict[str, Any], system: System
) -> Callable[[], Any]:
    return partial(decoder(system), sample)


def their_decoder(system: System, device: torch.device) -> Callable[[dict[str, Any]], Any]:
    model = systems.for_decoding(system.model, device)
    generator = systems.their_generator(system.task.target_dictionary)
    return lambda sample: generator.generate([model], copied(sample))


def our_decoder(system: System, device: torch.device) -> Callable[[dict[str, Any]], Any]:
    model = systems.for_decoding(system.model, device)
    pack_weights(model)  # as the task does
    generator = systems.our_generator(model, system.task.target_dictionary)
    return lambda sample: generator.generate([model], copied(sample))


def batches(rows: list[Tensor], size: int, dictionary: Dictionary, device: torch.device) -> list[dict[str, Any]]:
    """Sentences of similar length together, as fairseq-generate batches them."""
    rows = sorted(rows, key=lambda row: row.numel())
    groups = [rows[i : i + size] for i in range(0, len(rows), size)]
    return [
        {
            "net_input": {
                "src_tokens": collate_tokens(group, dictionary.pad(), left_pad=True).to(device),
                "src_lengths": torch.tensor([row.numel() for row in group], device=device),
            }
        }
        for group in groups
    ]


def copied(sample: dict[str, Any]) -> dict[str, Any]:
    """fairseq's decoder modifies its input."""
    return {"net_input": {key: value.clone() for key, value in sample["net_input"].items()}}


def compare(results: list[tuple[Any, Any]]) -> tuple[int, Counter[int]]:
    """The number of words, and the number of sentences by iterations; an error if the systems differ."""
    words, steps = 0, Counter[int]()
    for their_batch, our_batch in results:
        for (their, *_), (our, *_) in zip(their_batch, our_batch, strict=True):
            same = their["steps"] == our["steps"] and torch.equal(their["tokens"][1:], our["tokens"])
            if not same:
                raise AssertionError(
                    "both decoders must give the same outputs in the same number of steps, but fairseq's gives "
                    f"{their['tokens'][1:].tolist()} in {their['steps']} and ours {our['tokens'].tolist()} in "
                    f"{our['steps']}: the times below would compare different work"
                )
            words += our["tokens"].numel() - 1
            steps[our["steps"] + 1] += 1
    return words, steps


def measure_autoregressive(
    weights: Weights, model: nn.Module, rows: list[Tensor], batch: int, device: torch.device
) -> list[dict[str, Any]]:
    """fairseq's left-to-right search, greedy and with a beam, with outputs as long as the longest source."""
    clock = Clock(device)
    samples = batches(rows, batch, weights.source, device)
    lines = []
    for beam in BEAMS:
        decode = left_to_right(weights, model, beam, device)
        decode(samples[0])
        times = [clock.time(partial(decode, sample))[0] for sample in samples]
        lines.append(
            {
                "batch": batch,
                "beam": beam,
                "sentences": len(rows),
                "seconds": spread(times),
                "sentences_per_second": len(rows) / sum(times),
            }
        )
    return lines


def left_to_right(
    weights: Weights, model: nn.Module, beam: int, device: torch.device
) -> Callable[[dict[str, Any]], Any]:
    prepared = systems.for_decoding(model, device)
    generator = systems.left_to_right(prepared, weights.target, beam)

    def decode(sample: dict[str, Any]) -> Any:
        length = sample["net_input"]["src_tokens"].size(1) - 2  # without the boundaries
        generator.max_len_a, generator.max_len_b, generator.min_len = 0, length, length
        return generator.generate([prepared], copied(sample))

    return decode
