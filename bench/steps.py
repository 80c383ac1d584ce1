"""The cost of one step of beam search: ``pbd`` beside fairseq's ``transformer``, as JSON.

Both have the same depth, unless ``--pbd-layers`` says otherwise. A step is the work of a model between two choices of
tokens by fairseq's ``SequenceGenerator``: it reorders the incremental state and the encoder's output, then computes
log-probabilities for the newest token of every row. Encoding the source, and the first step, which projects it, happen
once per sentence and are not counted. Weights, tokens and beams are random, because they do not change the cost of a
step.
"""

import argparse
import logging
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import EnsembleModel
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from torch import Tensor, nn
from tqdm import tqdm

from bench import report
from bench.clock import CLOCKS, Clock, Pairs, device_of
from bench.systems import Size, for_decoding, transformer_options
from bench.weights import dictionary
from lev_plugins.models.pbd import PBD, PBDConfig

FORMAT = 1  # of the JSON
GOAL = 1.15  # our step over fairseq's, at most
BEAM = 5
POSITIONS = 1024


@dataclass(frozen=True)
class Plan:
    size: Size
    sources: tuple[int, ...] = (25, 50, 100, 200, 400)  # lengths
    sentences: tuple[int, ...] = (1, 16)
    steps: int = 25
    repetitions: int = 5


BASE = Plan(size=Size(dim=512, ffn_dim=2048, heads=8, layers=6, words=8000))
SMALL = Plan(size=Size(dim=256, ffn_dim=1024, heads=4, layers=2, words=100))  # characters
QUICK = Plan(
    size=Size(dim=16, ffn_dim=32, heads=2, layers=2, words=40), sources=(8, 16), sentences=(2,), steps=4, repetitions=2
)
PLANS = {"base": BASE, "small": SMALL, "quick": QUICK}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="bench/pbd_step.py", description=(__doc__ or "").splitlines()[0])
    made.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    made.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cpu: one core (default: cpu)")
    made.add_argument("--size", choices=list(PLANS), default="base", help="of the models (default: base)")
    made.add_argument("--sentences", metavar="N", type=int, help="of a batch (default: 1, and 16)")
    made.add_argument("--pbd-layers", metavar="N", type=int, help="blocks per side of the pbd (default: as fairseq's)")
    return made


def main(arguments: list[str] | None = None) -> None:
    args = parser().parse_args(arguments)
    logging.getLogger("fairseq").setLevel(logging.WARNING)
    plan = PLANS[args.size]
    plan = replace(plan, sentences=(args.sentences,) if args.sentences else plan.sentences)
    measured = measure(plan, device_of(args.device), args.pbd_layers)
    report.deliver(measured, args.out, table(measured))


def measure(plan: Plan, device: torch.device, depth: int | None = None) -> dict[str, Any]:
    vocabulary = dictionary(plan.size.words)
    size = replace(plan.size, layers=depth or plan.size.layers)
    theirs, ours = transformer(plan.size, vocabulary), pbd(size, vocabulary)
    lines = [
        compare(theirs, ours, vocabulary, plan, length, sentences, device)
        for sentences in plan.sentences
        for length in plan.sources
    ]
    return report.about(device) | {
        "format": FORMAT,
        "clock": CLOCKS[device.type],
        "plan": asdict(plan),
        "pbd_layers": size.layers,
        "beam": BEAM,
        "parameters": {
            "fairseq": sum(p.numel() for p in theirs.parameters()),
            "ours": sum(p.numel() for p in ours.parameters()),
        },
        "goal": GOAL,
        "steps": lines,
    }


def task(vocabulary: Dictionary) -> TranslationTask:
    cfg = TranslationConfig(data="", source_lang="source", target_lang="target")
    return TranslationTask(cfg, vocabulary, vocabulary)


def transformer(size: Size, vocabulary: Dictionary) -> nn.Module:
    positions = {"max_source_positions": POSITIONS, "max_target_positions": POSITIONS}
    options = Namespace(**(transformer_options(size) | positions), arch="transformer")
    base_architecture(options)
    return TransformerModel.build_model(options, task(vocabulary))


def pbd(size: Size, vocabulary: Dictionary) -> nn.Module:
    cfg = PBDConfig(
        embed_dim=size.dim,
        ffn_embed_dim=size.ffn_dim,
        layers=size.layers,
        attention_heads=size.heads,
        share_all_embeddings=True,
        max_source_positions=POSITIONS,
        max_target_positions=POSITIONS,
    )
    return PBD.build_model(cfg, task(vocabulary))


def compare(
    theirs: nn.Module,
    ours: nn.Module,
    vocabulary: Dictionary,
    plan: Plan,
    length: int,
    sentences: int,
    device: torch.device,
) -> dict[str, Any]:
    """One line of the table: both models take the same steps and alternate in going first."""
    clock, pairs = Clock(device), Pairs()
    models = [for_decoding(model, device) for model in (theirs, ours)]
    search = drawn(vocabulary, plan.steps, length, sentences, device)
    for model in models:
        steps(model, search)()
    for repetition in tqdm(range(plan.repetitions), desc=f"{sentences} x {length}", disable=None):
        for which in (0, 1) if repetition % 2 else (1, 0):
            taken, _ = clock.time(steps(models[which], search))
            (pairs.theirs, pairs.ours)[which].append(taken / plan.steps)
    return {"source_length": length, "sentences": sentences, "steps": plan.steps, **pairs.summary()}


@dataclass(frozen=True)
class Search:
    """A random search."""

    sources: Tensor  # (B, S)
    tokens: Tensor  # (B * beams, steps + 1)
    kept: Tensor  # (steps, B * beams) the row that each row goes on from, always one of its own sentence


def drawn(vocabulary: Dictionary, steps: int, length: int, sentences: int, device: torch.device) -> Search:
    random = torch.Generator().manual_seed(1)
    rows = sentences * BEAM
    words = vocabulary.nspecial, len(vocabulary)
    sources = torch.randint(*words, (sentences, length), generator=random)
    sources[:, -1] = vocabulary.eos()
    tokens = torch.randint(*words, (rows, steps + 1), generator=random)
    first = torch.arange(rows) // BEAM * BEAM
    kept = first + torch.randint(BEAM, (steps, rows), generator=random)
    return Search(sources.to(device), tokens.to(device), kept.to(device))


@torch.no_grad()
def steps(model: nn.Module, search: Search) -> Callable[[], None]:
    """Returns all steps but the first, which runs here."""
    ensemble = EnsembleModel([model])
    sentences = search.sources.size(0)
    lengths = torch.full((sentences,), search.sources.size(1), device=search.sources.device)
    encoded = ensemble.forward_encoder({"src_tokens": search.sources, "src_lengths": lengths})
    beams = torch.arange(sentences, device=search.sources.device).repeat_interleave(BEAM)
    encoded = ensemble.reorder_encoder_out(encoded, beams)
    state: list[dict[str, Any]] = [{}]
    ensemble.forward_decoder(search.tokens[:, :1], encoded, state)

    @torch.no_grad()
    def go_on() -> None:
        source = encoded
        for step, kept in enumerate(search.kept, 2):
            ensemble.reorder_incremental_state(state, kept)
            source = ensemble.reorder_encoder_out(source, kept)
            ensemble.forward_decoder(search.tokens[:, :step], source, state)

    return go_on


def table(found: dict[str, Any]) -> str:
    """Markdown."""
    lines = [
        f"| sentences, beam {found['beam']} | source | fairseq, ms | ours, ms | ours / fairseq (quartiles) | goal |",
        "|---|---|---|---|---|---|",
    ]
    for line in found["steps"]:
        times = [f"{1000 * line[f'{side}_seconds']['median']:.2f}" for side in ("fairseq", "ours")]
        spread = line["ratio"]  # fairseq's over ours
        low, middle, high = (1 / spread[name] for name in ("upper_quartile", "median", "lower_quartile"))
        ratio = f"{middle:.2f} ({low:.2f} to {high:.2f})"
        lines.append(report.row(str(line["sentences"]), str(line["source_length"]), *times, ratio, f"<= {GOAL}"))
    return "\n".join(lines) + "\n"
