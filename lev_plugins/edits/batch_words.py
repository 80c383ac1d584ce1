"""Words of a batch, known and unknown: what a text task reads and prints.

In the tensors of a batch, a word is an id: 0 ... V - 1 the dictionary, V the placeholder, and from V + 1 on the U
unknown words of the batch, in the order in which they first occur. ``EditingDictionary.unknown_to_unk`` replaces the
latter with <unk>, for models that do not read spellings and for comparisons with targets. The spellings of the unknown
words, and their candidates, are a part of the batch (``BatchWords``), and so are the words themselves, for printing.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypedDict

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.edits.actions import unknown_to_unk
from lev_plugins.edits.candidates import Candidates, Spellings, WordIndex
from lev_plugins.text.ids import ids_of, with_unknown_ids

PLACEHOLDER = "<plh>"


class SpeltRow(NamedTuple):
    """A text as ids, and the spellings of its unknown words."""

    ids: Tensor  # (N,)
    unknown: Sequence[str] = ()  # the spelling of each <unk> among the ids, in order; () = not recorded
    marks: Tensor | None = None  # (N,) of a draft: see lev_plugins.text.mark_bits

    def batch_ids(self, numbers: dict[str, int], offset: int) -> Tensor:
        """Returns the ids (N,) with those of unknown words in place of <unk>, by ``with_unknown_ids``.

        >>> numbers = {"teh": 0}
        >>> SpeltRow(torch.tensor([0, 3, 5, 3, 2]), ["fo", "teh"]).batch_ids(numbers, offset=11), numbers
        (tensor([ 0, 12,  5, 11,  2]), {'teh': 0, 'fo': 1})
        """
        if not self.unknown:
            return self.ids
        return torch.tensor(with_unknown_ids(self.ids.tolist(), self.unknown, numbers, offset))


class EditingDictionary(Dictionary):
    """fairseq's dictionary, which also prints ids past its end.

    The id after the last word of the file is the placeholder, for models that have their own symbol for it. It is not
    an entry: files and sizes stay as ``fairseq-preprocess`` wrote them, so an autoregressive model trained on the same
    data can use the same dictionary. Only the history of ``--retain-iter-history`` prints it. Its id is stored when the
    file is read, because ``fairseq-generate --remove-bpe`` adds words of its output to the dictionary.

    After it come the unknown words that ``learn`` has numbered: a word of a draft that the editor keeps is printed as
    it was written, whenever fairseq prints it.
    """

    placeholder_index: int | None = None

    def __init__(self, **symbols: bool) -> None:
        """``symbols``: fairseq's argument ``add_special_symbols``, which version 0.12.2 lacks."""
        super().__init__(**symbols)
        self.learned, self.learned_ids = list[str](), dict[str, int]()

    @classmethod
    def load(cls, *args: object, **kwargs: object) -> "EditingDictionary":
        dictionary = super().load(*args, **kwargs)
        dictionary.placeholder_index = len(dictionary)
        return dictionary

    def __getitem__(self, index: int) -> str:
        place = index - self.size
        if place > 0:
            return self.learned[place - 1] if place <= len(self.learned) else self.unk_word
        return PLACEHOLDER if index == self.placeholder_index else super().__getitem__(index)

    def string(self, tensor: Tensor | Sequence[int], *args: object, **kwargs: object) -> str:
        """Returns fairseq's text of a row, which is copied from the GPU as a whole instead of token by token."""
        return super().string(tensor.cpu() if torch.is_tensor(tensor) else tensor, *args, **kwargs)

    @property
    def size(self) -> int:
        """V, the number of words in the file; ``len()`` also counts those that ``--remove-bpe`` has added."""
        return len(self) if self.placeholder_index is None else self.placeholder_index

    def draft(self, words: Iterable[str], marks: Sequence[int] = ()) -> SpeltRow:
        """Returns the ids of ``words`` between <s> and </s>; words spelt like special symbols are unknown words.

        ``marks`` are those of <s> and of the words, in their order.

        >>> dictionary = EditingDictionary()
        >>> _ = dictionary.add_symbol("a")
        >>> dictionary.draft(["a", "Zürich", "</s>"])[:2]
        (tensor([0, 4, 3, 3, 2]), ['Zürich', '</s>'])
        """
        words = list(words)
        # words that --remove-bpe has added have ids past the file
        inner = [i if i < self.size else self.unk() for i in ids_of(words, self)]
        unknown = [word for word, i in zip(words, inner, strict=True) if i == self.unk()]
        ids = torch.tensor([self.bos(), *inner, self.eos()])
        return SpeltRow(ids, unknown, torch.tensor([*marks, 0]) if marks else torch.zeros_like(ids))

    def learn(self, words: Iterable[str]) -> list[int]:
        """Returns the ids by which unknown words are printed from now on.

        >>> dictionary = EditingDictionary()
        >>> dictionary.learn(["Zürich", "</s>"]), dictionary.learn(["Bern", "Zürich"]), dictionary[7]
        ([5, 6], [7, 5], 'Bern')
        """
        ids = []
        for word in words:
            if word not in self.learned_ids:
                self.learned.append(word)
                self.learned_ids[word] = self.size + len(self.learned)
            ids.append(self.learned_ids[word])
        return ids

    def unknown_to_unk(self, tokens: Tensor) -> Tensor:
        """Returns the ids that a model without spellings can look up."""
        return unknown_to_unk(tokens, self.size, self.unk())


class CandidateTensors(TypedDict):
    """The ``Candidates`` for n replaced words, as tensors."""

    ids: Tensor  # (n, K)
    ngram_overlap: Tensor  # (n, K)
    edit_distance: Tensor  # (n, K)


class BatchWords(TypedDict):
    """The U unknown words of a batch."""

    ngrams: Tensor  # (P,) the first four fields are those of ``Spellings``
    ngram_starts: Tensor  # (U + 1,)
    shapes: Tensor  # (U,)
    letter_hashes: Tensor  # (2, U)
    counts: Tensor  # (U,) see ``WordIndex.counts_of_unknown``
    candidates: CandidateTensors  # (U, K)
    guesses: Tensor  # (2, U) the likeliest candidate, and its edit distance
    pieces: tuple[Tensor, ...]  # with a backbone, the pieces of all words of the sources: ``PiecesInRows``


class EditingStates(TypedDict):
    """The states of Algorithm 1 in which any levt learns from a batch, and the expert's labels.

    y'_ins is the target with a placeholder for each missing token, so both have the length T.
    """

    target: Tensor  # (B, T) y*, whose tokens in the places of the placeholders are t*
    kept_tokens: Tensor  # (B, T) y_ins: the target without its missing tokens
    missing_counts: Tensor  # (B, T - 1) p*: how many tokens are missing in each slot of y_ins
    placeholder_index: Tensor  # (n,) positions of the placeholders in the flattened y'_ins, and of t* in the target
    # the next three are for --spelling; where y_ins is not made from y0 (u < beta), nothing was deleted
    replaced: Tensor  # (B, T) the deleted word of y0 that each placeholder of y'_ins replaces, or padding
    removed: Tensor  # (B, T) the first of the words of y0 that were deleted after each token of y_ins, or padding
    removed_counts: Tensor  # (B, T) the number of these words
    from_draft: Tensor | None  # (B,) v < alpha and there is a draft: y_del is y0, the draft
    candidates: CandidateTensors | None  # with --spelling, for the n replaced words
    # with a backbone, the positions in the source of the tokens of y_ins, and of those of y'_ins: (B, T) each
    kept_alignment: Tensor | None
    target_alignment: Tensor | None


def candidate_tensors(candidates: Candidates) -> CandidateTensors:
    ids, ngram_overlap, edit_distance = map(torch.from_numpy, candidates)
    return {"ids": ids, "ngram_overlap": ngram_overlap, "edit_distance": edit_distance}


def look_up_words(words: Sequence[str], index: WordIndex, search: bool = True) -> BatchWords:
    """Looks up unknown words; without ``search`` they get no candidates, for models that do not replace words.

    >>> index = WordIndex(["", "the", "form"], [0, 50, 9], buckets=1000)
    >>> words = look_up_words(["teh", "frm"], index)
    >>> words["ngram_starts"].tolist(), words["candidates"]["ids"][:, 0].tolist(), words["guesses"].tolist()
    ([0, 16, 32], [1, 2], [[1, 2], [1, 1]])
    """
    candidates = index.nearest(words if search else [])
    ngrams, ngram_starts, shapes, hashes = map(torch.from_numpy, Spellings.of_words(words, index.buckets))
    return {
        "ngrams": ngrams,
        "ngram_starts": ngram_starts,
        "shapes": shapes,
        "letter_hashes": hashes,
        "counts": torch.from_numpy(index.counts_of_unknown(words)),
        "candidates": candidate_tensors(candidates),
        "guesses": torch.from_numpy(index.guesses(candidates)),
        "pieces": (),
    }


def with_pieces(batch_words: BatchWords, sources: Tensor, words: Sequence[str], index: WordIndex) -> BatchWords:
    """Adds the pieces that a backbone reads of ``sources`` (B, S) with unknown ``words``, if the model has one."""
    if index.pieces is None:
        return batch_words
    return {**batch_words, "pieces": tuple(map(torch.from_numpy, index.pieces.in_rows(sources.numpy(), words)))}
