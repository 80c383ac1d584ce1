"""EncT5 from a pre-trained T5 or BERT: its sizes, and its weights."""

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

ENCODERS = ["t5", "bert"]

ENCODER_PARTS = {0: "self_attn", 1: "ffn"}
DECODER_PARTS = {0: "self_attn", 1: "cross_attn", 2: "ffn"}
FEED_FORWARD_NAMES = {"wi": "inner", "wi_0": "inner", "wi_1": "linear", "wo": "outer"}
BERT_EMBEDDINGS = {
    "tokens": "word_embeddings",
    "positions": "position_embeddings",
    "sides": "token_type_embeddings",
    "norm": "LayerNorm",
}
BERT_PARTS = {
    "self_attn.in_proj": [f"attention.self.{part}" for part in ("query", "key", "value")],
    "self_attn.out_proj": ["attention.output.dense"],
    "self_attn_residual.norm": ["attention.output.LayerNorm"],
    "ffn.fc1": ["intermediate.dense"],
    "ffn.fc2": ["output.dense"],
    "ffn_residual.norm": ["output.LayerNorm"],
}
BLOCK_WEIGHT = re.compile(r"(encoder|decoder)\.block\.(\d+)\.layer\.(\d)\.(?:\w+\.)?(\w+)\.weight")


def backbone_sizes(folder: Path) -> dict[str, Any]:
    library.need_transformers("--backbone")
    config = library.read_config(folder)
    family = library.family_of(config)
    require(family in ENCODERS, f"--arch enct5 requires a T5 or a BERT, but --backbone {folder} contains a {family}")
    return bert_sizes(config, folder) if family == "bert" else t5_sizes(config, folder)


def t5_sizes(config: Any, folder: Path) -> dict[str, Any]:
    require(
        config.feed_forward_proj in FEED_FORWARDS,
        f"--backbone {folder}: its feed-forward layers must be {' or '.join(FEED_FORWARDS)}, but are "
        f"{config.feed_forward_proj}: choose another model",
    )
    return {
        "encoder": "t5",
        "embed_dim": config.d_model,
        "ffn_embed_dim": config.d_ff,
        "layers": config.num_layers,
        "attention_heads": config.num_heads,
        "head_dim": config.d_kv,
        "feed_forward": config.feed_forward_proj,
        "distance_buckets": config.relative_attention_num_buckets,
        "farthest_distance": config.relative_attention_max_distance,
    }


def bert_sizes(config: Any, folder: Path) -> dict[str, Any]:
    """The decoder has blocks of T5 1.1 of the same width."""
    for name, known in (("hidden_act", "gelu"), ("type_vocab_size", 2), ("layer_norm_eps", 1e-12)):
        value = getattr(config, name)
        require(
            value == known, f"--backbone {folder}: its {name} must be {known}, but is {value}: choose another model"
        )
    return {
        "encoder": "bert",
        "embed_dim": config.hidden_size,
        "ffn_embed_dim": config.intermediate_size,
        "layers": config.num_hidden_layers,
        "attention_heads": config.num_attention_heads,
        "head_dim": config.hidden_size // config.num_attention_heads,
        "positions": config.max_position_embeddings,
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
    load = load_bert if cfg.encoder == "bert" else load_t5
    with torch.no_grad():
        load(model, cfg, folder)


def load_t5(model: nn.Module, cfg: Any, folder: Path) -> None:
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
    for name, parameter in model.named_parameters():
        if name.split(".")[0] in sides and name != "decoder.latents.weight":
            parameter.copy_(weights[name])


def load_bert(model: nn.Module, cfg: Any, folder: Path) -> None:
    require(
        str(cfg.decoder_init) == "scratch",
        f"--decoder-init backbone needs the decoder of a T5, but --backbone {folder} is a BERT: leave it out",
    )
    theirs, missing = library.read_model("BertModel", folder, add_pooling_layer=False)
    lacking = sorted(missing)
    require(
        not lacking,
        f"--backbone {folder} lacks {len(lacking)} weights of a BERT, such as {''.join(lacking[:1])}: import it again",
    )
    weights = theirs.state_dict()
    for name, parameter in model.get_submodule("encoder").named_parameters():
        parameter.copy_(torch.cat([weights[part] for part in bert_names(name)]))


def bert_names(own: str) -> list[str]:
    """Those of ``transformers``' weights that EncT5 has in one.

    >>> bert_names("layers.3.self_attn.out_proj.weight")
    ['encoder.layer.3.attention.output.dense.weight']
    >>> bert_names("layers.0.self_attn.in_proj.bias")[0]
    'encoder.layer.0.attention.self.query.bias'
    """
    parts = own.split(".")
    leaf = parts.pop()
    if parts[0] != "layers":
        return [f"embeddings.{BERT_EMBEDDINGS[parts[0]]}.{leaf}"]
    block, name = parts[1], ".".join(parts[2:])
    return [f"encoder.layer.{block}.{part}.{leaf}" for part in BERT_PARTS[name]]


def require_side(side: str, missing: set[str], folder: Path) -> None:
    absent = sorted(name for name in missing if name.startswith(f"{side}.block"))
    if absent:
        raise UserError(
            f"--backbone {folder} is a T5 without {'an' if side == 'encoder' else 'a'} {side}: {absent[0]} and "
            f"{len(absent) - 1} more weights are missing: import a complete T5"
        )
