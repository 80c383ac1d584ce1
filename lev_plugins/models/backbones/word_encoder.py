"""What a pre-trained encoder says of whole words: ``levt --backbone``.

The encoder reads the pieces of all words of a text, as it did in its own training, and a word is the mean of its
pieces, projected to the width of the model. So the encoder's dictionary is of no concern to anything else: words stay
what is edited. All blocks are read, since the last one may have forgotten much of single words: that of MiniLM was
trained for one vector of a whole sentence.

Shapes: B rows, S words, C channels of the model, N pieces of all words of a batch.
"""

from argparse import Namespace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.layers.linear import Linear
from lev_plugins.models.backbones.enct5_weights import backbone_sizes, load_backbone
from lev_plugins.models.enct5_encoders import encoder_of
from lev_plugins.optim.scaled_adam import scale_learning_rate
from lev_plugins.spelling.candidates import WordIndex
from lev_plugins.spelling.word_pieces import WordPieces
from lev_plugins.text.ids import end_to_end
from lev_plugins.text.pretrained import DICTIONARY


class BackboneWords(nn.Module):
    def __init__(self, folder: Path, cfg: Any, dictionary: Any, index: WordIndex, dim: int):
        super().__init__()
        sizes = Namespace(**backbone_sizes(folder, "levt"), dropout=cfg.dropout)
        symbols = Dictionary.load(str(folder / DICTIONARY))
        reader = index.pieces = WordPieces(folder, symbols)
        self.frozen = cfg.freeze_backbone
        self.encoder = encoder_of(symbols, sizes).requires_grad_(not self.frozen)
        self.block_dim, read = sizes.embed_dim, sizes.layers * sizes.embed_dim
        self.project = Linear(read, dim)
        nn.init.normal_(self.project.weight, std=read**-0.5)
        nn.init.zeros_(self.project.bias)
        own = {dictionary.eos(): symbols.eos(), dictionary.unk(): symbols.unk()}
        rows = [[own[i]] if i in own else reader.pieces(word) for i, word in enumerate([*index.words, ""])]
        reader.known = end_to_end(rows)

    def load(self, folder: Path, cfg: Any) -> None:
        """The weights of the folder, to start a training."""
        load_backbone(self.encoder, Namespace(**backbone_sizes(folder, "levt")), folder)
        scale_learning_rate(self.encoder.parameters(), cfg.backbone_lr_factor)

    def upgraded(self, weight: Tensor) -> Tensor:
        """That of ``project``; a checkpoint that has weights for the last block alone does not read the others."""
        old = weight.shape == (self.project.out_features, self.block_dim)
        return F.pad(weight, (self.project.in_features - self.block_dim, 0)) if old else weight

    def train(self, mode: bool = True) -> Any:
        super().train(mode)
        self.encoder.train(mode and not self.frozen)
        return self

    def forward(self, tokens: Tensor, pieces: Tensor, where: Tensor, word: Tensor) -> Tensor:
        """(B, S) -> (B, S, C), from the tokens' pieces in rows (``PiecesInRows``)

        The pieces are projected first, since the states of all blocks are wide.
        """
        x = self.encoder(pieces, None, of_all_blocks=self.project).flatten(0, 1)[where]  # (N, C)
        x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
        summed = x.new_zeros(tokens.numel(), x.size(1)).scatter_add(0, word[:, None].expand_as(x), x)
        counts = summed[:, -1:]
        nothing = self.project.bias.to(x)  # of padding and <s>, which have no pieces
        return torch.where(counts > 0, summed[:, :-1] / counts.clamp(min=1), nothing).view(*tokens.shape, -1)
