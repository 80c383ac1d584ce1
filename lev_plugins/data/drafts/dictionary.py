"""A dictionary that can also print placeholders and the unknown words of drafts."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.edits import BORROWED, known

PLACEHOLDER = "<plh>"


class Draft(NamedTuple):
    """A draft with ids for unknown words, and the user's requests."""

    ids: Tensor  # (N,), borrowed ids for unknown words
    requests: Tensor  # (N,), see lev_plugins.edits.requests


class EditingDictionary(Dictionary):
    """fairseq's dictionary, with ids past its end that are only used for printing.

    The index after the last word of the file is the placeholder, for models that have their own symbol for it. It is
    not an entry: files and sizes stay as ``fairseq-preprocess`` wrote them, so an autoregressive model trained on the
    same data can use the same dictionary. Only a generation history prints it. The index is stored when the file is
    read, because ``fairseq-generate --remove-bpe`` adds words of its output to the dictionary.

    An unknown word of a draft can borrow an id, so that it is printed as it was written if the editor keeps it.
    Models read it as <unk> (``known``).
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
        """Ids of a draft's words; the same unknown word always gets the same borrowed id.

        Words spelt like special symbols (``</s>``) are unknown words.

        >>> dictionary = EditingDictionary()
        >>> _ = dictionary.add_symbol("a")
        >>> ids = dictionary.ids(["a", "Zürich", "Zürich"])
        >>> [dictionary[i] for i in ids], dictionary.known(torch.tensor(ids))
        (['a', 'Zürich', 'Zürich'], tensor([4, 3, 3]))
        """
        ids = lend(words, self, self.borrowed)
        self.lent.extend(islice(self.borrowed, len(self.lent), None))
        return ids

    def return_borrowed(self) -> None:
        """Ids that are on loan lose their meaning, and the memory that they take ends."""
        self.borrowed.clear()
        self.lent.clear()

    def draft(self, words: list[str], requests: list[int]) -> Draft:
        """With both boundaries; the first request is for ``<s>``, and ``</s>`` has none."""
        ids = [self.bos(), *self.ids(words), self.eos()]
        return Draft(torch.tensor(ids), torch.tensor([*requests, 0]))

    def known(self, tokens: Tensor) -> Tensor:
        """The ids that a model can look up: <unk> in place of borrowed ids."""
        return known(tokens, self.unk())


def lend(words: list[str], dictionary: Dictionary, borrowed: dict[str, int]) -> list[int]:
    """The ids of words; in place, each new unknown word is added to those ``borrowed``, in order.

    >>> dictionary, borrowed = Dictionary(), {}
    >>> _ = dictionary.add_symbol("a")
    >>> [i - BORROWED if i >= BORROWED else i for i in lend(["Zug", "a", "Zug"], dictionary, borrowed)], list(borrowed)
    ([0, 4, 0], ['Zug'])
    """
    return [
        i
        if (i := dictionary.index(word)) >= dictionary.nspecial
        else borrowed.setdefault(word, BORROWED + len(borrowed))
        for word in words
    ]
