"""The states of a pre-trained encoder as vectors of whole words: ``levt --backbone``.

The encoder reads the pieces of all words of a text, as it did in its own training. The vector of a word is the mean
over its pieces, projected to the width of the model, so no other part of a levt has to know the encoder's dictionary.
The states after all blocks are concatenated, since the last block may have lost information about single words: that of
MiniLM, for one, was trained to represent a whole sentence by one vector.

Shapes: B rows, S words, C channels of the model, R rows of W pieces, and N pieces of all words of a batch.
"""

from argparse import Namespace
from pathlib import Path

import torch
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.nn.linear import Linear
from lev_plugins.nn.scaled_adam import scale_learning_rate
from lev_plugins.pretrained.weights import backbone_sizes, encoder_of, load_backbone


class WordReader(nn.Module):
    def __init__(
        self, folder: Path, symbols: Dictionary, dim: int, dropout: float, frozen: bool, lr_factor: float = 1.0
    ) -> None:
        """
        Args:
            folder: the pre-trained model (``lev-plugins import-pretrained``)
            symbols: the dictionary of the encoder
            dim: the width of the model
            dropout: the rate in the encoder
            frozen: the encoder's weights are not trained
            lr_factor: the learning rate of the encoder's weights, as a multiple of that of all others
        """
        super().__init__()
        shape = Namespace(**backbone_sizes(folder), dropout=dropout)
        self.folder, self.frozen, self.lr_factor = folder, frozen, lr_factor
        self.encoder = encoder_of(symbols, shape).requires_grad_(not frozen)
        concatenated_dim = shape.layers * shape.embed_dim
        self.project = Linear(concatenated_dim, dim)
        nn.init.normal_(self.project.weight, std=concatenated_dim**-0.5)
        nn.init.zeros_(self.project.bias)

    def load(self) -> None:
        """Reads the pre-trained weights, to start a training."""
        load_backbone(self.encoder, Namespace(**backbone_sizes(self.folder)), self.folder)
        scale_learning_rate(self.encoder.parameters(), self.lr_factor)

    def train(self, mode: bool = True) -> "WordReader":
        super().train(mode)
        self.encoder.train(mode and not self.frozen)
        return self

    def forward(self, tokens: Tensor, rows: Tensor, positions: Tensor, word_positions: Tensor) -> Tensor:
        """Returns the vectors of words: (B, S) -> (B, S, C).

        Args:
            tokens: (B, S) the words
            rows: (R, W) their pieces, as the encoder reads them
            positions: (N,) index of each piece in the flattened rows (R * W)
            word_positions: (N,) index of its word in the flattened tokens (B * S)
        """
        # projected before anything else, since the concatenated states are wide
        x = self.encoder(rows, None, read_blocks=self.project).flatten(0, 1)[positions]  # (N, C)
        x = torch.cat([x, torch.ones_like(x[:, :1])], 1)  # the last column counts the pieces
        sums = x.new_zeros(tokens.numel(), x.size(1)).scatter_add(0, word_positions[:, None].expand_as(x), x)
        counts = sums[:, -1:]
        without_pieces = self.project.bias.to(x)  # padding and <s>
        return torch.where(counts > 0, sums[:, :-1] / counts.clamp(min=1), without_pieces).view(*tokens.shape, -1)
