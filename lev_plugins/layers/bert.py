"""The encoder of BERT: learned positions and sides of a pair, then post-norm blocks.

Shapes: B batch, S source length, C channels (see ``lev_plugins.layers``).
"""

import torch
from torch import Tensor, nn

from lev_plugins.layers.initialisation import bert_init
from lev_plugins.layers.transformer import EncoderLayer, LayerShape, dropout, gathered, padding_of, spread

EPSILON = 1e-12
SIDES = 2  # a text, and the text it is compared with


class BertEncoder(nn.Module):
    """fairseq's source has no [CLS] in front, and one [SEP] (its </s>) after each text: [CLS] is added here.

    The state of [CLS] is not returned, so that each token of the source has one.
    """

    def __init__(self, words: int, pad: int, cls: int, sep: int, shape: LayerShape, layers: int, positions: int):
        super().__init__()
        self.pad, self.cls, self.sep, self.dropout = pad, cls, sep, shape.dropout
        self.tokens = nn.Embedding(words, shape.dim)
        self.positions = nn.Embedding(positions, shape.dim)
        self.sides = nn.Embedding(SIDES, shape.dim)
        self.norm = nn.LayerNorm(shape.dim)
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(layers))
        self.apply(bert_init)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = EPSILON

    def states(self, tokens: Tensor) -> Tensor:
        """(B, S), padded on the right -> (B, S, C)"""
        tokens = torch.cat([tokens.new_full((len(tokens), 1), self.cls), tokens], 1)
        mask, real = padding_of(tokens, self.pad)
        x = gathered(dropout(self.embedded(tokens), self.dropout, self.training), real)
        for layer in self.layers:
            x = layer(x, mask, real)
        return spread(x, real)[:, 1:]

    def embedded(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.size(1), device=tokens.device)
        return self.norm(self.tokens(tokens) + self.positions(places) + self.sides(sides_of(tokens, self.sep)))


def sides_of(tokens: Tensor, sep: int) -> Tensor:
    """0 up to the first ``sep``, 1 after it.

    >>> sides_of(torch.tensor([[0, 5, 2, 6, 2, 1]]), sep=2)
    tensor([[0, 0, 0, 1, 1, 1]])
    """
    ends = tokens.eq(sep).long()
    return (ends.cumsum(1) - ends).clamp(max=SIDES - 1)
