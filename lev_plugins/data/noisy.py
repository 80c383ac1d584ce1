"""Noise in the source of a pair, put in while batches are made: other noise in every epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from fairseq.data import BaseWrapperDataset, Dictionary, FairseqDataset
from torch import Tensor

from lev_plugins.data.corruption import Corruption
from lev_plugins.data.corruption.draws import stream
from lev_plugins.errors import require

# An unknown word on its way through plain text: a character for private use, which no kind of noise changes and which
# no dictionary has
UNKNOWN = "\ue000"
SIDES = ("source", "target")


class NoisySourceDataset(BaseWrapperDataset):
    """Replaces the source of a pair by a noisy text: of the source itself, or of the target.

    The noise of an example depends on (seed, epoch, index) alone: not on the worker, the batch or the process, and not
    on what was read before. It is what ``lev-plugins noise --seed SEED --epoch EPOCH`` makes of line ``index`` of the
    text.

    pair        gives examples that have a "source" and a "target"
    corrupt     the noise; its seed is the seed
    decode      the tokens of the side that is read -> plain text
    encode      plain text -> source tokens, with the boundaries that the sources of the pair have
    side        which text becomes noisy: "source" where the sources are clean, "target" where they are noisy already
                and the targets are their clean texts
    share       of the examples whose source is replaced; the others stay as they are
    longest     a noisy source of more tokens is not used: the source stays as it is
    every_epoch False: the noise of epoch 0 in every epoch, for validation
    """

    def __init__(
        self,
        pair: FairseqDataset,
        corrupt: Corruption,
        decode: Callable[[Tensor], str],
        encode: Callable[[str], Tensor],
        side: str = "source",
        share: float = 1.0,
        longest: int | None = None,
        every_epoch: bool = True,
    ):
        super().__init__(pair)
        require(side in SIDES, f"side must be {' or '.join(SIDES)}, but is {side!r}")
        require(0 <= share <= 1, f"share must be between 0 and 1, but is {share}")
        self.corrupt, self.decode, self.encode = corrupt, decode, encode
        self.side, self.share, self.longest, self.every_epoch = side, share, longest, every_epoch
        self.epoch = 1

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.epoch = epoch

    def __getitem__(self, index: int) -> dict[str, Any]:
        example = self.dataset[index]
        epoch = self.epoch if self.every_epoch else 0
        index = int(index)  # NumPy's integers among them, which are of 64 bits
        if self.share < 1 and stream(self.corrupt.seed, epoch, index, " share")() >= self.share:
            return example
        noisy = self.encode(self.corrupt(self.decode(example[self.side]), index, epoch))
        if self.longest is not None and noisy.numel() > self.longest:
            return example
        return {**example, "source": noisy}


class TextCodec:
    """Plain text <-> the tokens of a binarised side, through fairseq's ``--bpe`` and ``--tokenizer``.

    Unknown words cannot be printed. They travel as ``UNKNOWN`` and are unknown again afterwards.
    """

    def __init__(self, dictionary: Dictionary, bpe: Any = None, tokenizer: Any = None, prepend_bos: bool = False):
        require(
            UNKNOWN not in dictionary.indices,
            "the dictionary has the character U+E000, which stands for unknown words when noise is put in: rename it",
        )
        self.dictionary, self.prepend_bos = dictionary, prepend_bos
        self.layers = [layer for layer in (tokenizer, bpe) if layer is not None]  # from the text inwards

    def decode(self, tokens: Tensor) -> str:
        text = self.dictionary.string(tokens, unk_string=UNKNOWN)
        for layer in reversed(self.layers):
            text = layer.decode(text)
        return text

    def encode(self, text: str) -> Tensor:
        for layer in self.layers:
            text = layer.encode(text)
        tokens = self.dictionary.encode_line(text, add_if_not_exist=False).long()
        if not self.prepend_bos:
            return tokens
        return torch.cat([tokens.new_tensor([self.dictionary.bos()]), tokens])
