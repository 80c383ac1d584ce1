"""The special symbols of the language that is written, and what the policies may read and write of them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from torch import Tensor

from lev_plugins.edits import deletable, known
from lev_plugins.generators.ensemble import Ensemble


class Symbols(NamedTuple):
    bos: int
    pad: int
    eos: int
    unk: int
    placeholder: int
    never: tuple[int, ...]  # no hole is filled with these
    spells: bool  # the models read how unknown words are spelt; others read <unk>

    @classmethod
    def of(cls, dictionary: Any, ensemble: Ensemble) -> Symbols:
        bos, pad, eos, unk = dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()
        never: tuple[int, ...] = (pad,)  # padding within a sentence would cut it
        if ensemble.placeholder != unk:  # fairseq's LevT, with <unk> as its placeholder, may write these
            never += (bos, eos)
        if ensemble.spells:  # unknown words are kept or replaced
            never += (unk,)
        return cls(bos, pad, eos, unk, ensemble.placeholder, never, ensemble.spells)

    def words(self, tokens: Tensor) -> Tensor:
        """Those that may be deleted: all but boundaries and padding."""
        return deletable(tokens, self.bos, self.eos, self.pad)

    def readable(self, tokens: Tensor) -> Tensor:
        return tokens if self.spells else self.known(tokens)

    def known(self, tokens: Tensor) -> Tensor:
        """<unk> for words that the dictionary lacks."""
        return known(tokens, self.unk)

    def forbid(self, log_probs: Tensor) -> Tensor:
        """(n, V), in place. One symbol after the other: a list as an index would make the CPU wait for a GPU."""
        for symbol in self.never:
            log_probs[:, symbol] = -math.inf
        return log_probs
