"""Noise in the sources of a dataset, added while batches are made and different in every epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairseq.data import Dictionary, FairseqDataset
from torch import Tensor

from lev_plugins.errors import require
from lev_plugins.fairseq_fixes.batching import HearsOfEpochs
from lev_plugins.noise import Corruption
from lev_plugins.noise.draws import stream

# Stands for an unknown word in plain text: a private-use character that no noise changes and no dictionary contains
UNKNOWN = "\ue000"


class NoisySourceDataset(HearsOfEpochs):
    """Replaces the source of each example by its target with noise.

    The noise of an example depends only on (seed, epoch, index), not on worker, batch or process, nor on examples read
    before. It is the noise that ``lev-plugins noise --seed SEED --epoch EPOCH`` adds to line ``index`` of the text.

    pair     gives examples that have a "source" and a "target"
    corrupt  the noise; its seed is the seed
    decode   target tokens -> plain text
    encode   plain text -> source tokens
    share    share of the examples whose source is replaced; the others stay unchanged
    longest  if the noisy source would have more tokens, the source stays unchanged
    """

    def __init__(
        self,
        pair: FairseqDataset,
        corrupt: Corruption,
        decode: Callable[[Tensor], str],
        encode: Callable[[str], Tensor],
        share: float = 1.0,
        longest: int | None = None,
    ):
        super().__init__(pair)
        self.corrupt, self.decode, self.encode = corrupt, decode, encode
        self.share, self.longest = share, longest

    def __getitem__(self, index: int) -> dict[str, Any]:
        example = self.dataset[index]
        text = self.noisy_text(example["target"], index, self.epoch)
        noisy = None if text is None else self.encode(text)
        if noisy is None or (self.longest is not None and noisy.numel() > self.longest):
            return example
        return {**example, "source": noisy}

    def noisy_text(self, target: Tensor, index: int, epoch: int) -> str | None:
        """None: this example gets no noise in this epoch."""
        index = int(index)  # may be a NumPy integer, which has only 64 bits
        if self.share < 1 and stream(self.corrupt.seed, epoch, index, " share")() >= self.share:
            return None
        return self.corrupt(self.decode(target), index, epoch)


class TextCodec:
    """Plain text <-> the tokens of a binarised side, through fairseq's ``--bpe`` and ``--tokenizer``.

    Unknown words have no spelling: ``UNKNOWN`` stands for them in text.
    """

    def __init__(self, dictionary: Dictionary, bpe: Any = None, tokenizer: Any = None):
        require(
            UNKNOWN not in dictionary.indices,
            "the dictionary contains the character U+E000, which --noise-kind reserves for unknown words: remove it",
        )
        self.dictionary = dictionary
        self.layers = [layer for layer in (tokenizer, bpe) if layer is not None]  # from the text inwards

    def decode(self, tokens: Tensor) -> str:
        text = self.dictionary.string(tokens, unk_string=UNKNOWN)
        for layer in reversed(self.layers):
            text = layer.decode(text)
        return text

    def encode(self, text: str) -> Tensor:
        return self.dictionary.encode_line(self.cut(text), add_if_not_exist=False).long()

    def cut(self, text: str) -> str:
        for layer in self.layers:
            text = layer.encode(text)
        return text


class NoisyWords:
    """The noise of a dataset as words, whose unknown ones keep their spelling."""

    def __init__(self, noise: NoisySourceDataset, codec: TextCodec, longest: int):
        self.noise, self.codec, self.longest = noise, codec, longest

    def __call__(self, target: Tensor, index: int, epoch: int) -> list[str] | None:
        """None: this example gets no noise, or would be too long with it."""
        text = self.noise.noisy_text(target, index, epoch)
        words = None if text is None else self.codec.cut(text).split()
        return None if words is None or len(words) + 2 > self.longest else words
