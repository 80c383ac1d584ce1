"""Dictionaries: one for both sides, and one that prints more than it holds: placeholders, unknown words of drafts."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.edits import BORROWED, known

PLACEHOLDER = "<plh>"


class Draft(NamedTuple):
    """More than its ids in a dataset: how unknown words are spelt, and what a person asks for."""

    ids: Tensor  # (N,), borrowed ones for unknown words
    requests: Tensor  # (N,), see lev_plugins.edits.requests


class EditingDictionary(Dictionary):
    """fairseq's dictionary, with ids past its end that only the printing of a text knows.

    The index after the last word of the file is the placeholder of a model with a symbol of its own for it.
    It is no entry: files, lengths and vocabularies stay what ``fairseq-preprocess`` wrote, so an autoregressive
    model trained on the same data works with the same dictionary. Only a generation history ever prints it.
    The index is taken down when the file is read: ``fairseq-generate --remove-bpe`` adds the words of its
    output to the dictionary as it goes.

    A word of a draft that the dictionary does not know can borrow an id, so that it is printed as it was written
    where an editor keeps it. A model reads it as <unk> (``known``).
    """

    placeholder_index: int | None = None

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.borrowed: dict[str, int] = {}
        self.lent: list[str] = []

    @classmethod
    def load(cls, *args: Any, **kwargs: Any) -> EditingDictionary:
        dictionary = super().load(*args, **kwargs)
        dictionary.placeholder_index = len(dictionary)
        return dictionary

    def __getitem__(self, index: int) -> str:
        if index >= BORROWED:
            return self.lent[index - BORROWED] if index - BORROWED < len(self.lent) else self.unk_word
        return PLACEHOLDER if index == self.placeholder_index else super().__getitem__(index)

    def ids(self, words: list[str]) -> list[int]:
        """Ids of a draft's words; one that is unknown gets the same borrowed id whenever it comes.

        Words spelt like special symbols (``</s>``) are words as well, which no dictionary knows.

        >>> dictionary = EditingDictionary()
        >>> _ = dictionary.add_symbol("a")
        >>> ids = dictionary.ids(["a", "Zürich", "Zürich"])
        >>> [dictionary[i] for i in ids], dictionary.known(torch.tensor(ids))
        (['a', 'Zürich', 'Zürich'], tensor([4, 3, 3]))
        """
        return [i if (i := self.index(word)) >= self.nspecial else self._borrow(word) for word in words]

    def _borrow(self, word: str) -> int:
        if word not in self.borrowed:
            self.borrowed[word] = BORROWED + len(self.lent)
            self.lent.append(word)
        return self.borrowed[word]

    def draft(self, words: list[str], requests: list[int]) -> Draft:
        """With both boundaries; the first of the requests is for ``<s>``, and nothing is asked of ``</s>``."""
        ids = [self.bos(), *self.ids(words), self.eos()]
        return Draft(torch.tensor(ids), torch.tensor([*requests, 0]))

    def known(self, tokens: Tensor) -> Tensor:
        """What a model may look up: <unk> in place of borrowed ids."""
        return known(tokens, self.unk())
