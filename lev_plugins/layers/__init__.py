"""Transformer parts shared by the models.

Letters for shapes, here and on every line that reshapes:

    B batch   S source length   T target length   C channels   H heads   K insertions per slot   V vocabulary

Activations are batch first, (B, T, C). In attention masks, ``True`` = may be attended to.
"""

from lev_plugins.layers.embedding import TextEmbedding, token_embedding
from lev_plugins.layers.initialisation import bert_init
from lev_plugins.layers.int8 import Int8Linear, in_8_bits
from lev_plugins.layers.linear import (
    Linear,
    PackedLinear,
    SharedLinear,
    head_projection,
    linear,
    output_of,
    pack_weights,
)
from lev_plugins.layers.output_loss import SummedLoss, computed_at_once, summed_loss
from lev_plugins.layers.respelling import Nearest, Respelling
from lev_plugins.layers.spelling import RIVALS, WHOLE, MeantWords, SpelledWords, WordVectors
from lev_plugins.layers.transformer import (
    CrossAttention,
    DecoderLayer,
    EncoderLayer,
    KeysValues,
    LayerShape,
    Padding,
    RealTokens,
    SelfAttention,
    attend,
    attend_to_both,
    attention_mask,
    gathered,
    padding_of,
    spread,
)

__all__ = [
    "RIVALS",
    "WHOLE",
    "CrossAttention",
    "DecoderLayer",
    "EncoderLayer",
    "Int8Linear",
    "KeysValues",
    "LayerShape",
    "Linear",
    "MeantWords",
    "Nearest",
    "PackedLinear",
    "Padding",
    "RealTokens",
    "Respelling",
    "SelfAttention",
    "SharedLinear",
    "SpelledWords",
    "SummedLoss",
    "TextEmbedding",
    "WordVectors",
    "attend",
    "attend_to_both",
    "attention_mask",
    "bert_init",
    "computed_at_once",
    "gathered",
    "head_projection",
    "in_8_bits",
    "linear",
    "output_of",
    "pack_weights",
    "padding_of",
    "spread",
    "summed_loss",
    "token_embedding",
]
