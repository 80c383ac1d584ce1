"""The encoder of an EncT5, and the pre-trained one of a levt: its sizes, its layers and its weights."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from fairseq.data import Dictionary
from torch import nn

from lev_plugins.edits.embedding import NgramEmbedding
from lev_plugins.nn.t5 import EPSILON, FEED_FORWARDS, T5Shape
from lev_plugins.pretrained import library
from lev_plugins.pretrained.encoders import BertEncoder, T5Encoder
from lev_plugins.pretrained.library_encoder import LibraryEncoder
from lev_plugins.utils.errors import require
from lev_plugins.utils.json_schema import read_object

# EncT5's flag -> the setting in the library's configuration. The decoder of an EncT5 with a BERT has blocks of T5 1.1.
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
OWN = {"t5": "t5", "mt5": "t5", "bert": "bert"}  # model_type in config.json -> --encoder, for layers of our own
FFN_RATIO = 4  # feed-forward width of a new decoder, as a multiple of its width, where the encoder does not name one
# the values for which our own layers are written; T5s and BERTs with any other are read with the library's
FIXED: dict[str, dict[str, list[Any]]] = {
    "t5": {"feed_forward_proj": FEED_FORWARDS, "layer_norm_epsilon": [None, EPSILON]},  # None: the library's default
    "bert": {"hidden_act": ["gelu"], "type_vocab_size": [2], "layer_norm_eps": [1e-12]},
}
# our name of a module -> the library's; {ffn} is the index of the feed-forward layer in a block: 1 in an encoder, and 2
# in a decoder, where cross-attention comes before it
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


def backbone_sizes(folder: Path) -> dict[str, Any]:
    """Returns the sizes of a pre-trained encoder by EncT5's flags; for a T5 or BERT, without ``transformers``."""
    config = read_object(folder / "config.json")
    family = OWN.get(str(config.get("model_type")))
    if family is None or any(config.get(name) not in values for name, values in FIXED[family].items()):
        return library_sizes(folder)
    lacking = [name for name in CONFIG_NAMES[family].values() if name not in config]
    require(not lacking, f"{folder / 'config.json'} lacks {', '.join(lacking)}: import the model again")
    sizes = {flag: config[name] for flag, name in CONFIG_NAMES[family].items()}
    return {
        "encoder": family,
        "encoder_config": None,
        "head_dim": sizes["embed_dim"] // sizes["attention_heads"],
        **sizes,
    }


def library_sizes(folder: Path) -> dict[str, Any]:
    config, entries = library.read_config(folder), read_object(folder / "config.json")
    require("text_positions" in entries, f"{folder / 'config.json'} lacks text_positions: import the model again")
    entries.pop("_name_or_path", None)  # where the model was imported from
    dim, heads = config.hidden_size, config.num_attention_heads
    return {
        "encoder": config.model_type,
        "encoder_config": json.dumps(entries),
        "embed_dim": dim,
        "ffn_embed_dim": getattr(config, "intermediate_size", FFN_RATIO * dim),
        "layers": config.num_hidden_layers,
        "attention_heads": heads,
        "head_dim": dim // heads,
    }


LabelEncoder = T5Encoder | BertEncoder | LibraryEncoder


def encoder_of(
    words: Dictionary,
    sizes: Any,
    tokens: NgramEmbedding | None = None,
    word_dropout: float = 0.0,
    with_cls: bool = False,
) -> LabelEncoder:
    """Returns the encoder for ``sizes``, named as EncT5's flags.

    ``tokens`` computes vectors in place of a table. ``with_cls``: all but a T5 also return the state of [CLS].
    """
    if sizes.encoder_config is not None:
        return LibraryEncoder(words, sizes, with_cls)
    if sizes.encoder == "bert":
        return BertEncoder(words, sizes, with_cls)
    t5 = T5Shape(**{size.name: getattr(sizes, size.name) for size in fields(T5Shape)})
    table = tokens or nn.Embedding(len(words), t5.embed_dim)
    if isinstance(table, nn.Embedding):
        nn.init.normal_(table.weight)
    return T5Encoder(table, words.pad(), t5, sizes.layers, word_dropout)


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
    t5 = sizes.encoder == "t5" and not isinstance(encoder, LibraryEncoder)
    require(
        decoder is None or t5,
        f"--decoder-init backbone needs the decoder of a T5, but --backbone {folder} is a {sizes.encoder}: leave it "
        "out",
    )
    model, missing = library.read_complete(folder)
    library.require_pretrained(model, missing, folder)
    sides = {"encoder": encoder}
    if decoder is not None:
        sides["decoder"], available = decoder, model.config.num_decoder_layers
        require(
            sizes.decoder_layers <= available,
            f"--decoder-init backbone: --decoder-layers must be at most {available}, as in --backbone {folder}, "
            f"but is {sizes.decoder_layers}",
        )
        lacking = library.missing_in(model.decoder, model, missing)
        require(not lacking, f"--backbone {folder} lacks {', '.join(lacking)}: import a complete model")
    gated = t5 and sizes.feed_forward == "gated-gelu"
    weights = (model if t5 else library.encoder_part(model)).state_dict()
    for name, parameter in nn.ModuleDict(sides).named_parameters():
        if name == "decoder.latents.weight":
            continue
        if isinstance(encoder, LibraryEncoder):
            names = [name.removeprefix("encoder.stack.")]
        else:
            names = [t5_name(name, gated)] if t5 else bert_names(name)
        with torch.no_grad():
            parameter.copy_(torch.cat([weights[part] for part in names]))
