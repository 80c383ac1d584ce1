"""Words of a batch, known and unknown: what a text task reads and prints.

In the tensors of a batch, a word is a row of a table: 0 ... V - 1 the dictionary, V the placeholder, and from V + 1 on
the U unknown words of the batch, as they come. Where a model reads no spellings, or texts are compared with
targets, ``unknown_to_unk`` makes them <unk>. How they are spelt, and what they may be meant to be, is in the batch
(``BatchWords``), and the words themselves, for printing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.edits.actions import unknown_to_unk
from lev_plugins.spelling.candidates import Spelt, WordIndex
from lev_plugins.text.ids import ids_of, numbered

PLACEHOLDER = "<plh>"


class SpeltRow(NamedTuple):
    """A text as ids, and how its unknown words are spelt."""

    ids: Tensor  # (N,)
    unknown: Sequence[str] = ()  # the spelling of each <unk> among the ids, in their order; (): not known
    marks: Tensor | None = None  # (N,) of a draft: see lev_plugins.edits.mark_bits


class EditingDictionary(Dictionary):
    """fairseq's dictionary, which also prints rows past its end.

    The index after the last word of the file is the placeholder, for models that have their own symbol for it. It is
    not an entry: files and sizes stay as ``fairseq-preprocess`` wrote them, so an autoregressive model trained on the
    same data can use the same dictionary. Only a generation history prints it. The index is stored when the file is
    read, because ``fairseq-generate --remove-bpe`` adds words of its output to the dictionary.

    After it come the unknown words of the batch that was decoded last (``unknown_words``): a word of a draft that the
    editor keeps is printed as it was written.
    """

    placeholder_index: int | None = None
    unknown_words: Sequence[str] = ()

    @classmethod
    def load(cls, *args: object, **kwargs: object) -> EditingDictionary:
        dictionary = super().load(*args, **kwargs)
        dictionary.placeholder_index = len(dictionary)
        return dictionary

    def __getitem__(self, index: int) -> str:
        place = index - self.size
        if place > 0:
            return self.unknown_words[place - 1] if place <= len(self.unknown_words) else self.unk_word
        return PLACEHOLDER if index == self.placeholder_index else super().__getitem__(index)

    def string(self, tensor: Any, *given: Any, **named: Any) -> str:
        """fairseq-generate prints rows that are on a GPU, which would be asked for each of their tokens."""
        return super().string(tensor.cpu() if torch.is_tensor(tensor) else tensor, *given, **named)

    @property
    def size(self) -> int:
        """V, the number of words in the file."""
        return len(self) if self.placeholder_index is None else self.placeholder_index

    def draft(self, words: Iterable[str], marks: Sequence[int] = ()) -> SpeltRow:
        """Returns a draft with both boundaries; the first of the ``marks`` is that of ``<s>``, and ``</s>`` has none.

        Words spelt like special symbols (``</s>``) are unknown words.

        >>> dictionary = EditingDictionary()
        >>> _ = dictionary.add_symbol("a")
        >>> dictionary.draft(["a", "Zürich", "</s>"])[:2]
        (tensor([0, 4, 3, 3, 2]), ['Zürich', '</s>'])
        """
        words = list(words)
        known = [i if i < self.size else self.unk() for i in ids_of(words, self)]
        unknown = [word for word, i in zip(words, known, strict=True) if i == self.unk()]
        ids = torch.tensor([self.bos(), *known, self.eos()])
        return SpeltRow(ids, unknown, torch.tensor([*marks, 0]) if marks else torch.zeros_like(ids))

    def unknown_to_unk(self, tokens: Tensor) -> Tensor:
        """The ids that a model without spellings can look up."""
        return unknown_to_unk(tokens, self.size, self.unk())


class UnknownWords:
    """The unknown words of a batch, each with a row.

    >>> words = UnknownWords(size=10)
    >>> words.rows(SpeltRow(torch.tensor([0, 3, 5, 3, 2]), ["teh", "fo"])), words.rows(SpeltRow(torch.tensor([3])))
    (tensor([ 0, 11,  5, 12,  2]), tensor([3]))
    >>> words.spelt
    ['teh', 'fo']
    """

    def __init__(self, size: int):
        self.first, self.numbers = size + 1, dict[str, int]()

    def rows(self, text: SpeltRow) -> Tensor:
        if not text.unknown:
            return text.ids
        return torch.tensor(numbered(text.ids.tolist(), text.unknown, self.numbers, self.first))

    @property
    def spelt(self) -> list[str]:
        return list(self.numbers)


class BatchWords(NamedTuple):
    """The U unknown words of a batch. A plain tuple of tensors to fairseq, which moves them to a device."""

    parts: Tensor  # (P,) their groups of letters, word after word
    starts: Tensor  # (U + 1,) where each word begins
    shapes: Tensor  # (U,)
    prints: Tensor  # (2, U) numbers for their letters, and the powers to join them with
    near: Tensor  # (U, K) their candidates: words of the dictionary
    alike: Tensor  # (U, K) ... how much they have in common
    slips: Tensor  # (U, K) ... and how many slips they are away
    guess: Tensor  # (2, U) the likeliest candidate, and its slips
    pieces: tuple[Tensor, ...] = ()  # with a backbone, those of all words of the sources: ``PiecesInRows``

    @classmethod
    def of(cls, words: Sequence[str], index: WordIndex, search: bool = True) -> BatchWords:
        """Without ``search``, for models that do not replace words, no candidates.

        >>> index = WordIndex(["", "the", "form"], [0, 50, 9], buckets=1000)
        >>> words = BatchWords.of(["teh", "frm"], index)
        >>> words.starts.tolist(), words.near[:, 0].tolist(), words.guess.tolist()
        ([0, 16, 32], [1, 2], [[1, 2], [1, 1]])
        """
        found = index.nearest(words if search else [])
        arrays = (*Spelt.of(words, index.buckets), *found, index.guesses(found))
        return cls._make([*map(torch.from_numpy, arrays), ()])

    def in_sources(self, rows: Tensor, words: Sequence[str], index: WordIndex) -> BatchWords:
        """With what a backbone reads of sources (B, S), if there is one."""
        if index.pieces is None:
            return self
        return self._replace(pieces=tuple(map(torch.from_numpy, index.pieces.in_rows(rows.numpy(), words))))


class EditingStates(NamedTuple):
    """What a levt learns from in a batch; T is the length of the target. A plain tuple to fairseq."""

    target: Tensor  # (B, T) y*
    kept_tokens: Tensor  # (B, T) y_ins: the target without its missing tokens
    missing_counts: Tensor  # (B, T - 1) p*
    hole_index: Tensor  # (n,) positions of the missing tokens in the flattened target
    replaced: Tensor  # (B, T) the word of y0 that a missing token replaces
    removed: Tensor  # (B, T) the first word of y0 that y_ins lacks after each
    removed_counts: Tensor  # (B, T) the number of such words
    from_draft: Tensor | None = None  # (B,) True = this row learns to delete from y0, its draft
    nearest: tuple[Tensor, ...] = ()  # with --spelling, the candidates (n, K) for the words that missing tokens replace
    beside: tuple[Tensor, ...] = ()  # with a backbone, places in the source: beside y_ins, and beside y* with holes
