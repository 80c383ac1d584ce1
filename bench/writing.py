#!/usr/bin/env python3
"""``python bench/writing.py``: a label by EncT5 in one pass, beside a T5 that writes it; see README.md.

Both have an encoder of T5 1.1. The decoder of EncT5 has one block, that of the T5 as many as its encoder. Weights and
texts are random, which changes no time: the T5 is made to write as many pieces as a label has.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import labelling, report
from bench.clock import CLOCKS, Clock, alternate, device_of
from bench.weights import dictionary
from lev_plugins.models.backbones.gated_pretrained import GatedT5, PretrainedConfig
from lev_plugins.models.enct5_config import LabelSpec
from lev_plugins.text.pretrained import DICTIONARY, SYMBOLS

FORMAT = 1  # of the JSON
PAD = labelling.PAD
FLAGS = {"gates": "", "max_source_positions": 1024, "max_target_positions": 1024}


@dataclass(frozen=True)
class Plan:
    model: labelling.Plan
    sources: tuple[int, ...] = (32, 128)  # pieces of a text
    labels: tuple[int, ...] = (1, 4, 16)  # pieces of a label, without </s>
    sentences: tuple[int, ...] = (1, 16)
    repetitions: int = 5


SMALL = Plan(labelling.Plan(words=32128, dim=512, ffn_dim=1024, heads=8, layers=8))
BASE = Plan(replace(SMALL.model, dim=768, ffn_dim=2048, heads=12, layers=12))
QUICK = Plan(labelling.QUICK, sources=(8,), labels=(1, 2), sentences=(2,), repetitions=2)
PLANS = {"small": SMALL, "base": BASE, "quick": QUICK}


def writer(plan: labelling.Plan, words: Dictionary) -> nn.Module:
    """A T5 1.1 as the example's baseline: gated_t5 without gates."""
    from transformers import T5Config

    sizes = {"d_model": plan.dim, "d_ff": plan.ffn_dim, "d_kv": plan.dim // plan.heads}
    depths = {"num_heads": plan.heads, "num_layers": plan.layers, "vocab_size": plan.words}
    kind = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "decoder_start_token_id": PAD}
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words, from_checkpoint=True)
    with tempfile.TemporaryDirectory() as folder:
        T5Config(**sizes, **depths, **kind).save_pretrained(folder)
        words.save(str(Path(folder) / DICTIONARY))
        (Path(folder) / SYMBOLS).touch()
        return GatedT5.build_model(PretrainedConfig(backbone=folder, **FLAGS), task).eval()


def writing(model: nn.Module, words: Dictionary, tokens: torch.Tensor, pieces: int) -> Callable[[], Any]:
    """Greedy search that writes this many pieces and </s>."""
    search = SequenceGenerator([model], words, beam_size=1, min_len=pieces, max_len_a=0, max_len_b=pieces)
    lengths = torch.full((len(tokens),), tokens.size(1), device=tokens.device)
    batch = {"net_input": {"src_tokens": tokens, "src_lengths": lengths}}
    return lambda: search.generate([model], batch)


@torch.no_grad()
def measure(plan: Plan, device: torch.device) -> dict[str, Any]:
    found = report.about(device) | {"format": FORMAT, "clock": CLOCKS[device.type], "plan": asdict(plan)}
    words = dictionary(plan.model.words)
    theirs = writer(plan.model, words).to(device)
    ours = labelling.model_of(plan.model, LabelSpec("classification", 2), False).to(device).eval()
    lines = []
    for sentences in plan.sentences:
        for source in plan.sources:
            tokens = torch.randint(labelling.FIRST, plan.model.words, (sentences, source), device=device)
            tokens[:, -1] = labelling.EOS
            latents = torch.zeros(sentences, 1, dtype=torch.long, device=device)
            where = torch.arange(sentences, device=device)
            for pieces in plan.labels:
                jobs = (writing(theirs, words, tokens, pieces), lambda t=tokens, q=latents, w=where: ours(t, q, w))
                pairs, _ = alternate(Clock(device), [jobs], plan.repetitions, f"{sentences} x {source}, {pieces}")
                summary = {name.replace("fairseq", "t5"): value for name, value in pairs.summary().items()}
                lines.append({"sentences": sentences, "source": source, "pieces": pieces, **summary})
    sizes = {"t5": theirs, "ours": ours}
    parameters = {name: sum(p.numel() for p in model.parameters()) for name, model in sizes.items()}
    return found | {"parameters": parameters, "lines": lines}


def table(found: dict[str, Any]) -> str:
    sizes = ", ".join(f"{name} {number / 1e6:.1f}" for name, number in found["parameters"].items())
    rows = [f"Parameters (millions): {sizes}", ""]
    rows += [report.row("texts", "pieces", "pieces of the label", "T5, ms", "EncT5, ms", "T5 / EncT5 (quartiles)")]
    rows.append("|---" * 6 + "|")
    for line in found["lines"]:
        times = [f"{1000 * line[f'{side}_seconds']['median']:,.1f}" for side in ("t5", "ours")]
        asked = [str(line[name]) for name in ("sentences", "source", "pieces")]
        rows.append(report.row(*asked, *times, report.ratio(line)))
    return "\n".join(rows) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench/writing.py", description="A label by EncT5 and by a T5, as JSON")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cpu: one core (default: cpu)")
    parser.add_argument("--size", choices=list(PLANS), default="small", help="of the T5 1.1 (default: small)")
    args = parser.parse_args(arguments)
    found = measure(PLANS[args.size], device_of(args.device))
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/writing.py")
