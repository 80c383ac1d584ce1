"""Vectors of words from their letters, in place of a table of embeddings.

The vector of a word is the mean of the vectors of its letter n-grams (``edits.candidates``), plus a row of its own
if it occurs in the training text, plus a vector for how often it does, and one for its capitals. So a misspelt word
lies near the word that was meant, even if it does not occur in the training text.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from V + 1 on the U unknown words of the batch.
Shapes: n words, P n-grams of all words, R words of a sample; see also ``lev_plugins.nn``.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from fairseq.utils import move_to_cuda
from torch import Tensor, nn

from lev_plugins.edits.actions import positions_where
from lev_plugins.edits.batch_words import BatchWords, look_up_words
from lev_plugins.edits.candidates import (
    CAPITALISED,
    CASES,
    LEVELS,
    LISTED,
    MAX_DISTANCE,
    SHAPES,
    UPPERCASE,
    WordIndex,
)
from lev_plugins.nn.weight_cache import EvalCache

NGRAM_SCALE = 3.0  # makes the mean of some thirty vectors about as long as an embedding row
NORM_EPS = 1e-2  # vectors that are shorter than this, such as zeros, are not normalised to length 1


# ---- the words of a training step ------------------------------------------------------------------------------------


class SampleSizes(NamedTuple):
    """How many words of a large dictionary a training step computes vectors and scores of, besides those it reads."""

    random: int = 4096
    frequent: int = 2048
    rivals: int = 16  # the nearest candidates of each word that is replaced


SAMPLE_SIZES = SampleSizes()


class VocabularySample(NamedTuple):
    """The words that a training step scores, as R classes; without ``ids``, the whole dictionary."""

    ids: Tensor | None = None  # (R,)
    class_of: Tensor | None = None  # (V + 1,) the class of each word; -1: none; the placeholder's is R
    log_weights: Tensor | None = None  # (R,) logarithm of the number of words that each class represents

    def select(self, values: Tensor) -> Tensor:
        """Returns the rows of the sampled words: (V, ...) -> (R, ...)."""
        return values if self.ids is None else values[self.ids]

    def classes(self, ids: Tensor) -> Tensor:
        return ids if self.class_of is None else self.class_of[ids]

    def words(self, classes: Tensor) -> Tensor:
        return classes if self.ids is None else self.ids[classes]

    def unweighted(self, scores: Tensor) -> Tensor:
        """Returns the scores (n, R) that the words have in the whole dictionary."""
        return scores if self.log_weights is None else scores - self.log_weights


WHOLE_VOCABULARY = VocabularySample()


def draw_sample(required: Tensor, number: int) -> VocabularySample:
    """Returns the ``required`` words, a mask (V,), and a random ``number`` of others, which represent all others.

    So the sum of exp(score) over the sample is on average that over the dictionary.

    >>> sample = draw_sample(torch.tensor([False, True, False, False, False, True]), number=2)
    >>> sample.ids[:2].tolist(), len(set(sample.ids.tolist())), sample.log_weights.exp().tolist()
    ([1, 5], 4, [1.0, 1.0, 2.0, 2.0])
    >>> sample.classes(torch.tensor([5, 1, 6])).tolist(), sample.words(torch.tensor([1, 0])).tolist()
    ([1, 0, 4], [5, 1])
    """
    count = int(required.sum())  # one device-to-host copy
    certain, rest = positions_where(required, count), positions_where(~required, len(required) - count)
    random = rest[torch.randperm(len(rest), device=rest.device)[:number]]
    ids = torch.cat([certain, random])
    class_of = torch.full((len(required) + 1,), -1, device=ids.device)
    class_of[ids] = torch.arange(len(ids), device=ids.device)
    class_of[-1:] = len(ids)
    log_weights = torch.zeros(len(ids), device=ids.device)
    if len(random):
        log_weights[len(certain) :] = math.log(len(rest) / len(random))
    return VocabularySample(ids, class_of, log_weights)


# ---- vectors ---------------------------------------------------------------------------------------------------------


VectorOf = Callable[[Tensor, Tensor], Tensor]


class WordFeatures(NamedTuple):
    """The rows of tables that make up the vectors of tokens, (B, T) each.

    ONNX graphs read them as one array in this order (``editor.word_features``); of an ``NgramEmbedding``, the first
    four.
    """

    ids: Tensor
    own_rows: Tensor  # the word whose own row is added: <unk> if the word does not occur in the training text
    level: Tensor  # how familiar the word is; 0: it does not occur in the training text
    shapes: Tensor
    guesses: Tensor | None = None  # the word that is probably meant, if the level is 0; otherwise 0
    distances: Tensor | None = None  # the edit distance to it
    joined_level: Tensor | None = None  # how familiar the word is that this one and the next one make if joined


class WordVectors(NamedTuple):
    """What the vectors of all words of a batch are computed from, once for the batch.

    Special symbols and the placeholder have no n-grams: their sum is 0.
    """

    ngram_means: "CollectingTable"  # (V + 1 + U, C)
    own: "CollectingTable"  # (V + 1, C)
    shapes: Tensor  # (V + 1 + U,)
    counts: Tensor  # (V + 1 + U,) occurrences in the training text
    guesses: Tensor  # (2, V + 1 + U) see ``WordFeatures``, and the edit distance; (2, U) in an ``NgramEmbedding``
    letter_hashes: Tensor  # (2, V + 1 + U), or (2, U)
    words: BatchWords
    sample: VocabularySample = WHOLE_VOCABULARY  # the words of the dictionary that have vectors

    def vector_of(self, ids: Tensor, own_rows: Tensor) -> Tensor:
        """Returns the mean of the n-grams of words plus their own rows: (...), (...) -> (..., C)."""
        return self.ngram_means.rows(ids) + self.own.rows(own_rows)

    def spelling_of(self, ids: Tensor) -> Tensor:
        """Returns the mean of the n-grams of words, of length 1, or 0 where there are none: (...) -> (..., C)."""
        return F.normalize(self.ngram_means.rows(ids), dim=-1, eps=NORM_EPS)


class NgramEmbedding(nn.Module):
    """Computes the vectors of words from their letter n-grams, also of words that the dictionary lacks."""

    ngrams: Tensor  # (P,) of the words of the dictionary and the placeholder
    ngram_starts: Tensor  # (V + 2,)
    counts: Tensor  # (V + 1,)
    shapes: Tensor  # (V + 1,)
    levels: Tensor  # the smallest number of occurrences of each level of familiarity from 1 on

    def __init__(self, dictionary: Dictionary, dim: int, index: WordIndex) -> None:
        """
        Args:
            dictionary: has the ids of <pad> and <unk>
            dim: the width of the vectors
            index: the words of the dictionary, and the number of buckets for n-grams
        """
        super().__init__()
        self.index, self.vocabulary, self.embedding_dim = index, len(index.words), dim
        self.padding_idx, self.unk = dictionary.pad(), dictionary.unk()
        ngrams, starts, shapes, _ = index.spellings
        tables = {"ngrams": ngrams, "ngram_starts": starts, "counts": index.all_counts, "shapes": shapes}
        for name, values in {**tables, "levels": np.array(LEVELS)}.items():
            self.register_buffer(name, torch.from_numpy(values), persistent=False)
        self.own = nn.Embedding(self.vocabulary + 1, dim)
        self.grams = nn.Parameter(torch.empty(index.buckets, dim).normal_(std=dim**-0.5))
        self.familiarity, self.capitals = nn.Embedding(len(LEVELS) + 1, dim), nn.Embedding(SHAPES, dim)
        nn.init.normal_(self.own.weight, std=0.1 * dim**-0.5)
        for table in (self.familiarity, self.capitals):
            nn.init.normal_(table.weight, std=0.5 * dim**-0.5)
        self.ngram_means = EvalCache()

    def vectors(self, words: BatchWords | None, sample: VocabularySample = WHOLE_VOCABULARY) -> WordVectors:
        """Returns the vectors for a batch.

        Args:
            words: the unknown words of the batch
            sample: the words of the dictionary to compute vectors of
        """
        if words is None:
            words = move_to_cuda(look_up_words([], self.index, search=False), self.ngrams.device)
        shapes, own_rows, unknown_means = words["shapes"], self.own.weight, None
        if sample.ids is None:
            means = self.ngram_means.get(lambda: self.mean(self.ngrams, self.ngram_starts), self.grams)
        else:
            rows = F.pad(sample.ids, (0, 1), value=self.vocabulary)
            own_rows, means = own_rows[rows], self.mean(*self.ngrams_of(rows))
        if len(shapes):
            unknown_means = self.mean(words["ngrams"], words["ngram_starts"])
        return WordVectors(
            CollectingTable(means, sample.class_of, unknown_means),
            CollectingTable(own_rows, sample.class_of),
            torch.cat([self.shapes, shapes]),
            torch.cat([self.counts, words["counts"]]),
            words["guesses"],
            words["letter_hashes"],
            words,
            sample,
        )

    def ngrams_of(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the n-grams (P,) of words (n,) of the dictionary one after the other, and their starts (n + 1,)."""
        lengths = self.ngram_starts.diff()[rows]
        starts = F.pad(lengths.cumsum(0), (1, 0))
        size = int(starts[-1])  # one device-to-host copy
        # from the place of an n-gram in the result to its place in the dictionary's array
        shifts = (self.ngram_starts[rows] - starts[:-1]).repeat_interleave(lengths, output_size=size)
        return self.ngrams[shifts + torch.arange(size, device=rows.device)], starts

    def mean(self, ngrams: Tensor, starts: Tensor) -> Tensor:
        """Returns the scaled mean of the vectors of each word's n-grams: (P,), (n + 1,) -> (n, C)."""
        return NGRAM_SCALE * F.embedding_bag(ngrams, self.grams, starts, mode="mean", include_last_offset=True)

    def look_up(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None = None) -> Tensor:
        """Returns the vectors of tokens: (B, T) -> (B, T, C).

        Args:
            tokens: ids
            words: the vectors of the batch
            held_out: (B, T) number of occurrences of each token in the training text to leave out, such as its own
        """
        return self.combine(self.features(tokens, words, held_out), words.vector_of)

    def features(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None) -> WordFeatures:
        level = self.level(tokens, words, held_out)
        return WordFeatures(tokens, self.own_rows(tokens, level), level, words.shapes[tokens])

    def own_rows(self, tokens: Tensor, level: Tensor) -> Tensor:
        """Returns the ids whose own rows are added: <unk> for words that the training text lacks."""
        return tokens.masked_fill(level.eq(0) | (tokens > self.vocabulary), self.unk)

    def level(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None = None) -> Tensor:
        """Returns how familiar each token is, (B, T); 0: it does not occur in the training text."""
        count = words.counts[tokens]
        if held_out is not None:
            count = count - held_out.long()
        return torch.bucketize(count, self.levels, right=True)

    def combine(self, features: WordFeatures, vector_of: VectorOf) -> Tensor:
        """Returns the sum of the rows: (B, T, C).

        Args:
            features: the rows
            vector_of: ``WordVectors.vector_of``, or what stands for it in a graph
        """
        vectors = vector_of(features.ids, features.own_rows)
        return vectors + self.familiarity(features.level) + self.capitals(features.shapes)


class IntendedWordEmbedding(NgramEmbedding):
    """Adds to the vector of a word that training has not seen a vector of the word that is probably meant.

    A word that differs from a known one only by the usual capitals counts as that word. To every word, a vector is
    added for how familiar it is if joined with its neighbours in the text, for words that were split by mistake.
    """

    intended: Tensor  # (2, V + 1) guesses, and their edit distances, for words that occur once, when that is held out
    letter_hashes: Tensor  # (2, V + 1)
    known_hashes: Tensor  # (n,) letter hashes of the dictionary's words, ascending
    known_counts: Tensor  # (n,)

    def __init__(self, dictionary: Dictionary, dim: int, index: WordIndex, sizes: SampleSizes = SAMPLE_SIZES) -> None:
        """
        Args:
            dictionary: has the ids of <pad> and <unk>
            dim: the width of the vectors
            index: the words of the dictionary, and the number of buckets for n-grams
            sizes: of the samples of a large dictionary
        """
        super().__init__(dictionary, dim, index)
        self.sizes = sizes
        self.from_guess = nn.Linear(dim, dim, bias=False)
        self.slips = nn.Embedding((MAX_DISTANCE if index.lexicon is None else LISTED) + 1, dim)  # by the edit distance
        nn.init.normal_(self.from_guess.weight, std=dim**-0.5)
        nn.init.normal_(self.slips.weight, std=0.5 * dim**-0.5)
        # for each familiarity of the pair with the next word, and then with the previous word; not an ``nn.Embedding``,
        # as these vectors begin at 0 even with --apply-bert-init
        self.joined = nn.ParameterDict({"weight": torch.zeros(2 * (len(LEVELS) + 1), dim)})
        arrays = (index.spellings.letter_hashes, *index.hash_counts)
        for name, values in zip(("letter_hashes", "known_hashes", "known_counts"), arrays, strict=True):
            self.register_buffer(name, torch.from_numpy(values), persistent=False)
        self.register_buffer("intended", torch.zeros(2, self.vocabulary + 1, dtype=torch.long), persistent=False)
        self.prepared = False
        self.unit_vectors = EvalCache()

    def prepare_training(self) -> None:
        """Computes the guesses for words that occur once in the training text, at the first step."""
        if not self.prepared:
            self.intended[:, :-1] = torch.from_numpy(self.index.held_out_guesses()).to(self.intended.device)
            self.prepared = True

    def vectors(self, words: BatchWords | None, sample: VocabularySample = WHOLE_VOCABULARY) -> WordVectors:
        vectors = super().vectors(words, sample)
        return vectors._replace(
            guesses=torch.cat([self.intended, vectors.guesses], 1),
            letter_hashes=torch.cat([self.letter_hashes, vectors.letter_hashes], 1),
        )

    def sample(self, tokens: Tensor, words: BatchWords, candidates: Tensor) -> VocabularySample:
        """Returns the words to score in a training step; a small dictionary is not sampled.

        Args:
            tokens: all ids that the step reads or predicts
            words: the unknown words of the batch
            candidates: (n, K) those of the words that are replaced, most similar first
        """
        if self.vocabulary <= 3 * (self.sizes.random + self.sizes.frequent):  # a sample would hardly be smaller
            return WHOLE_VOCABULARY
        required = self.counts.new_zeros(len(self.counts) + len(words["shapes"]), dtype=torch.bool)
        guesses = self.intended[0, tokens.clamp(max=self.vocabulary)]
        for ids in (tokens, guesses, words["guesses"][0], candidates[:, : self.sizes.rivals].flatten()):
            required[ids] = True
        required[self.counts[:-1].topk(self.sizes.frequent).indices] = True
        required[: self.index.specials] = True
        return draw_sample(required[: self.vocabulary], self.sizes.random)

    def features(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None) -> WordFeatures:
        level, shapes = self.level(tokens, words, held_out), words.shapes[tokens]
        # only words of level 0 have a guess that is in every sample
        guesses, distances = words.guesses[:, tokens] * level.eq(0)
        case = shapes % CASES
        usual_case = case.eq(CAPITALISED) | case.eq(UPPERCASE)
        is_guess = level.eq(0) & distances.eq(0) & usual_case  # the word itself, with other capitals
        level = torch.where(is_guess, self.level(guesses, words), level)
        own_rows = self.own_rows(torch.where(is_guess, guesses, tokens), level)
        hashes = words.letter_hashes[:, tokens]
        counts = joined_counts(hashes, shapes >= CASES, self.known_hashes, self.known_counts)
        joined_level = torch.bucketize(counts, self.levels, right=True)
        return WordFeatures(tokens, own_rows, level, shapes, guesses, distances, joined_level)

    def combine(self, features: WordFeatures, vector_of: VectorOf) -> Tensor:
        assert features.guesses is not None and features.distances is not None and features.joined_level is not None
        guess = vector_of(features.guesses, features.guesses)
        unseen = features.level.eq(0)[:, :, None]
        intended = (self.from_guess(guess) + self.slips(features.distances)) * unseen
        with_previous = len(LEVELS) + 1 + F.pad(features.joined_level[:, :-1], (1, 0))
        table = self.joined["weight"]
        joined = F.embedding(features.joined_level, table) + F.embedding(with_previous, table)
        return super().combine(features, vector_of) + intended + joined

    def directions(self, words: WordVectors) -> Tensor:
        """Returns the vectors of the dictionary's words, of length 1: (V, C), or (R, C) of a sample."""
        size = self.vocabulary if words.sample.ids is None else len(words.sample.ids)

        def normalise() -> Tensor:
            return F.normalize(words.ngram_means.weight[:size] + words.own.weight[:size], dim=-1, eps=NORM_EPS)

        return self.unit_vectors.get(normalise, self.grams, self.own.weight)


# ---- words that were split by mistake --------------------------------------------------------------------------------


def joined_counts(hashes: Tensor, after_blank: Tensor, known_hashes: Tensor, counts: Tensor) -> Tensor:
    """Returns how often the word occurs that each word and the next one make if joined, (B, T).

    It is 0 where one of the two has no letters, and where there is no blank between them. Different words with the same
    hash are taken for each other. See ``edits.candidates.letter_hashes``.

    hashes: (2, B, T) letter hashes of the words
    after_blank: (B, T) True = there is a blank before the word
    known_hashes: (n,) letter hashes of the dictionary's words, ascending
    counts: (n,) of these words

    >>> from lev_plugins.edits.candidates import letter_hashes
    >>> to_day, (today,) = torch.tensor(letter_hashes(["to", "day"])), letter_hashes(["today"])[0]
    >>> after_blank = torch.tensor([[True, True]])
    >>> joined_counts(to_day[:, None], after_blank, torch.tensor([today]), torch.tensor([4])).tolist()
    [[4, 0]]
    """
    if not len(known_hashes):
        return torch.zeros_like(hashes[0])
    (left, _), (right, power) = hashes[..., :-1], hashes[..., 1:]
    both = left * power + right
    place = torch.searchsorted(known_hashes, both).clamp(max=len(known_hashes) - 1)
    occurs = known_hashes[place].eq(both) & left.ne(0) & right.ne(0) & after_blank[:, 1:]
    return F.pad(counts[place] * occurs, (0, 1))


# ---- a table that is looked up many times in one pass ----------------------------------------------------------------


class CollectingTable:
    """A matrix (R, C) whose look-ups add their gradients to one matrix.

    Each ``torch.nn.functional.embedding`` makes a gradient of the size of the table, most of it zeros: with a large
    dictionary, that takes longer than the rest of a small model. A table is for one forward and at most one backward.

    >>> weight = torch.zeros(3, 2, requires_grad=True)
    >>> table = CollectingTable(weight)
    >>> (table.rows(torch.tensor([2, 2])).sum() + 5 * table.rows(torch.tensor([0])).sum()).backward()
    >>> weight.grad.tolist()
    [[5.0, 5.0], [0.0, 0.0], [2.0, 2.0]]
    >>> CollectingTable(torch.tensor([[7.0], [8.0]]), torch.tensor([-1, 1, 0])).rows(torch.tensor([2, 1])).tolist()
    [[7.0], [8.0]]
    >>> CollectingTable(torch.tensor([[7.0], [8.0]]), more=torch.tensor([[9.0]])).rows(torch.tensor([2, 1])).tolist()
    [[9.0], [8.0]]
    """

    def __init__(self, weight: Tensor, row_of: Tensor | None = None, more: Tensor | None = None) -> None:
        """
        Args:
            weight: (R, C)
            row_of: (n,) the row of each id, if it is not the id itself; -1: there is none
            more: (M, C) rows after those of ``weight``; the two are copied into one matrix only for training
        """
        self.collected: list[Tensor] = []
        self.learns = torch.is_grad_enabled() and weight.requires_grad
        if row_of is not None and more is not None:
            row_of = torch.cat([row_of, len(weight) + torch.arange(len(more), device=row_of.device)])
        if self.learns and more is not None:
            weight, more = torch.cat([weight, more]), None
        self.row_of, self.more = row_of, more
        self.weight: Tensor = _Collect.apply(weight, self.collected) if self.learns else weight

    def rows(self, ids: Tensor) -> Tensor:
        """Returns the rows of ids: (...) -> (..., C)."""
        if self.row_of is not None:
            ids = self.row_of[ids]
        if self.more is not None:
            return torch.where(
                ids[..., None] < len(self.weight),
                F.embedding(ids.clamp(max=len(self.weight) - 1), self.weight),
                F.embedding((ids - len(self.weight)).clamp(min=0), self.more),
            )
        if not self.learns:
            return F.embedding(ids, self.weight)
        return _Rows.apply(self.weight, ids, self.collected)


class _Collect(torch.autograd.Function):
    """Passes the matrix on. In backward, it runs after all look-ups, whose input it is, and returns what they added."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, collected: list[Tensor]) -> Tensor:
        ctx.collected, ctx.dtype = collected, weight.dtype
        ctx.set_materialize_grads(False)
        return weight.view_as(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, None]:
        direct = gradients[0]  # from uses of the matrix other than look-ups
        if not ctx.collected:
            return direct, None
        total = ctx.collected.pop().to(ctx.dtype)
        return (total if direct is None else total.add_(direct)), None


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, ids: Tensor, collected: list[Tensor]) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.collected, ctx.size = collected, weight.shape
        return F.embedding(ids, weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[None, None, None]:
        (ids,) = ctx.saved_tensors
        gradient = gradients[0].flatten(0, -2)
        if not ctx.collected:
            ctx.collected.append(gradient.new_zeros(ctx.size, dtype=torch.float32))
        ctx.collected[0].index_add_(0, ids.flatten(), gradient.float())
        return None, None, None
