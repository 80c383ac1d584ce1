"""The encoder of a pre-trained T5 or BERT in EncT5 and in a levt: its sizes, and its weights."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from lev_plugins.errors import require
from lev_plugins.json_schema import read_object
from lev_plugins.layers.t5 import FEED_FORWARDS
from lev_plugins.models.backbones import library

# EncT5's flag -> the setting in the library's configuration; a BERT's decoder has blocks of T5 1.1 of the same width
CONFIG_NAMES = {
    "t5": {
        "embed_dim": "d_model",
        "ffn_embed_dim": "d_ff",
        "layers": "num_layers",
        "attention_heads": "num_heads",
        "head_dim": "d_kv",
        "feed_forward": "feed_forward_proj",
        "distance_buckets": "relative_attention_num_buckets",
        "farthest_distance": "relative_attention_max_distance",
    },
    "bert": {
        "embed_dim": "hidden_size",
        "ffn_embed_dim": "intermediate_size",
        "layers": "num_hidden_layers",
        "attention_heads": "num_attention_heads",
        "positions": "max_position_embeddings",
    },
}
ENCODERS = list(CONFIG_NAMES)
# settings that EncT5 does not offer, and their values there
FIXED: dict[str, dict[str, list[Any]]] = {
    "t5": {"feed_forward_proj": FEED_FORWARDS},
    "bert": {"hidden_act": ["gelu"], "type_vocab_size": [2], "layer_norm_eps": [1e-12]},
}
# EncT5's name of a part -> the library's; in blocks, {block} is the number, and {ffn} 1 in an encoder, 2 in a decoder
T5_OUTSIDE = {
    "encoder.tokens": "shared",
    "encoder.norm": "encoder.final_layer_norm",
    "decoder.norm": "decoder.final_layer_norm",
    "encoder.distances.table": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
}
T5_LAYERS = {"self_attn": "0.SelfAttention", "cross_attn": "1.EncDecAttention", "ffn": "{ffn}.DenseReluDense"}
BERT_OUTSIDE = {
    "tokens": "word_embeddings",
    "positions": "position_embeddings",
    "sides": "token_type_embeddings",
    "norm": "LayerNorm",
}
BERT_LAYERS = {
    "self_attn.in_proj": [f"attention.self.{part}" for part in ("query", "key", "value")],
    "self_attn.out_proj": ["attention.output.dense"],
    "self_attn_residual.norm": ["attention.output.LayerNorm"],
    "ffn.fc1": ["intermediate.dense"],
    "ffn.fc2": ["output.dense"],
    "ffn_residual.norm": ["output.LayerNorm"],
}


def backbone_sizes(folder: Path, arch: str = "enct5") -> dict[str, Any]:
    """Returns the sizes of a pre-trained encoder by EncT5's flags; this needs no ``transformers``."""
    config = read_object(folder / "config.json")
    family = library.backbone_family(config.get("model_type"))
    require(family in ENCODERS, f"--arch {arch} requires a T5 or a BERT, but --backbone {folder} contains a {family}")
    lacking = [name for name in (*CONFIG_NAMES[family].values(), *FIXED[family]) if name not in config]
    require(not lacking, f"{folder / 'config.json'} lacks {', '.join(lacking)}: import the model again")
    for name, values in FIXED[family].items():
        require(
            config[name] in values,
            f"--backbone {folder}: its {name} must be {' or '.join(map(str, values))}, but is {config[name]}: "
            "choose another model",
        )
    sizes = {flag: config[name] for flag, name in CONFIG_NAMES[family].items()}
    return {"encoder": family, "head_dim": sizes["embed_dim"] // sizes["attention_heads"], **sizes}


def t5_name(name: str, gated: bool) -> str:
    """Returns the library's name for a weight; ``gated``: with the feed-forward layers of T5 1.1.

    >>> t5_name("encoder.layers.3.ffn.inner.weight", gated=True)
    'encoder.block.3.layer.1.DenseReluDense.wi_0.weight'
    >>> t5_name("decoder.layers.0.cross_attn_norm.weight", gated=True)
    'decoder.block.0.layer.1.layer_norm.weight'
    """
    part, _, leaf = name.rpartition(".")
    if part in T5_OUTSIDE:
        return f"{T5_OUTSIDE[part]}.{leaf}"
    side, _, block, part, *rest = part.split(".")
    layer = T5_LAYERS[part.removesuffix("_norm")].format(ffn=1 if side == "encoder" else 2)
    if part.endswith("_norm"):
        layer, rest = layer.split(".")[0], ["layer_norm"]
    names = {"inner": "wi_0" if gated else "wi", "linear": "wi_1", "outer": "wo"}
    return ".".join([f"{side}.block.{block}.layer.{layer}", *(names.get(part, part) for part in rest), leaf])


def bert_names(name: str) -> list[str]:
    """Returns the names of the library's weights that are one weight here.

    >>> bert_names("encoder.layers.3.self_attn.out_proj.weight")
    ['encoder.layer.3.attention.output.dense.weight']
    >>> bert_names("encoder.layers.0.self_attn.in_proj.bias")[0]
    'encoder.layer.0.attention.self.query.bias'
    """
    _, *parts, leaf = name.split(".")
    if parts[0] != "layers":
        return [f"embeddings.{BERT_OUTSIDE[parts[0]]}.{leaf}"]
    return [f"encoder.layer.{parts[1]}.{part}.{leaf}" for part in BERT_LAYERS[".".join(parts[2:])]]


def load_backbone(encoder: nn.Module, sizes: Any, folder: Path, decoder: nn.Module | None = None) -> None:
    """Copies the weights of --backbone to an ``encoder`` and, with --decoder-init backbone, to a ``decoder``.

    ``sizes`` has those of ``backbone_sizes``.
    """
    bert = sizes.encoder == "bert"
    gated = not bert and sizes.feed_forward == "gated-gelu"
    if bert:
        require(
            decoder is None,
            f"--decoder-init backbone needs the decoder of a T5, but --backbone {folder} is a BERT: leave it out",
        )
        model, missing = library.read_model("BertModel", folder, add_pooling_layer=False)
    else:
        model, missing = library.read_model(library.class_of(library.read_config(folder)), folder)
        available = model.config.num_decoder_layers
        if decoder is not None:
            require(
                sizes.decoder_layers <= available,
                f"--decoder-init backbone: --decoder-layers must be at most {available}, as in --backbone {folder}, "
                f"but is {sizes.decoder_layers}",
            )
    weights = model.state_dict()
    sides = {"encoder": encoder} if decoder is None else {"encoder": encoder, "decoder": decoder}
    for name, parameter in nn.ModuleDict(sides).named_parameters():
        if name != "decoder.latents.weight":
            names = bert_names(name) if bert else [t5_name(name, gated)]
            lacking = sorted(missing.intersection(names))
            require(not lacking, f"--backbone {folder} lacks {', '.join(lacking)}: import a complete model")
            with torch.no_grad():
                parameter.copy_(torch.cat([weights[part] for part in names]))
