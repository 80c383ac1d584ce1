"""EncT5 from a pre-trained T5: its sizes, and its weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import nn

from lev_plugins.errors import UserError, require
from lev_plugins.layers.t5 import FEED_FORWARDS
from lev_plugins.models.backbones import library
from lev_plugins.text.pretrained import DICTIONARY

__all__ = ["backbone_sizes", "load_backbone", "own_name"]

ENCODER_PARTS = {0: "self_attn", 1: "ffn"}
DECODER_PARTS = {0: "self_attn", 1: "cross_attn", 2: "ffn"}
FEED_FORWARD_NAMES = {"wi": "inner", "wi_0": "inner", "wi_1": "linear", "wo": "outer"}
BLOCK_WEIGHT = re.compile(r"(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.(?:\w+\.)?(\w+)\.weight")


def backbone_sizes(folder: Path) -> dict[str, Any]:
    library.need_transformers("--backbone")
    config = library.read_config(folder)
    family = library.family_of(config)
    require(family == "t5", f"--arch enct5 requires a T5, but --backbone {folder} contains a {family}")
    require(
        config.feed_forward_proj in FEED_FORWARDS,
        f"--backbone {folder}: its feed-forward layers must be {' or '.join(FEED_FORWARDS)}, but are "
        f"{config.feed_forward_proj}: choose another model",
    )
    return {
        "embed_dim": config.d_model,
        "ffn_embed_dim": config.d_ff,
        "layers": config.num_layers,
        "attention_heads": config.num_heads,
        "head_dim": config.d_kv,
        "feed_forward": config.feed_forward_proj,
        "distance_buckets": config.relative_attention_num_buckets,
        "farthest_distance": config.relative_attention_max_distance,
    }


def own_name(theirs: str) -> str | None:
    """EncT5's name for a weight of ``transformers``' T5; None if EncT5 does not use it.

    >>> own_name("encoder.block.3.layer.1.DenseReluDense.wi_0.weight")
    'encoder.layers.3.ffn.inner.weight'
    >>> own_name("decoder.block.0.layer.1.layer_norm.weight")
    'decoder.layers.0.cross_attn_norm.weight'
    >>> own_name("lm_head.weight") is None
    True
    """
    fixed = {
        "shared.weight": "encoder.tokens.weight",
        "encoder.final_layer_norm.weight": "encoder.norm.weight",
        "decoder.final_layer_norm.weight": "decoder.norm.weight",
        "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight": "encoder.distances.table.weight",
    }
    match = BLOCK_WEIGHT.fullmatch(theirs)
    if theirs in fixed or match is None or match[4] == "relative_attention_bias":
        return fixed.get(theirs)
    side, block, layer, leaf = match[1], match[2], int(match[3]), match[4]
    part = (ENCODER_PARTS if side == "encoder" else DECODER_PARTS)[layer]
    if leaf == "layer_norm":
        return f"{side}.layers.{block}.{part}_norm.weight"
    return f"{side}.layers.{block}.{part}.{FEED_FORWARD_NAMES.get(leaf, leaf)}.weight"


def load_backbone(model: nn.Module, cfg: Any, task: Any) -> None:
    """Load the encoder of --backbone and, with --decoder-init backbone, the first blocks of its decoder."""
    folder = Path(cfg.backbone)
    task.require_words_of(folder / DICTIONARY)
    theirs, missing = library.read_model(library.class_of(library.read_config(folder)), folder)
    require_side("encoder", missing, folder)
    sides = ["encoder"]
    if str(cfg.decoder_init) == "backbone":
        sides.append("decoder")
        require_side("decoder", missing, folder)
        there = theirs.config.num_decoder_layers
        require(
            cfg.decoder_layers <= there,
            f"--decoder-init backbone: --decoder-layers must be at most {there}, as in --backbone {folder}, but is "
            f"{cfg.decoder_layers}",
        )
    weights = {own_name(name): weight for name, weight in theirs.state_dict().items()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.split(".")[0] in sides and name != "decoder.latents.weight":
                parameter.copy_(weights[name])


def require_side(side: str, missing: set[str], folder: Path) -> None:
    absent = sorted(name for name in missing if name.startswith(f"{side}.block"))
    if absent:
        raise UserError(
            f"--backbone {folder} is a T5 without {'an' if side == 'encoder' else 'a'} {side}: {absent[0]} and "
            f"{len(absent) - 1} more weights are missing: import a complete T5"
        )
