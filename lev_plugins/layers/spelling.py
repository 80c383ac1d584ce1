"""Words that know their spelling.

The vector of a word is the mean of its parts' vectors (``text.spelling``), plus a row of its own if training has seen
it, plus one for how often. A misspelt word so lies beside the word that was meant, though training has never seen it.
Words are written by the same vectors, and by how few slips they are away from the word they replace: what looks alike
scores alike before training begins.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from ``BORROWED`` on the U unknown words of a batch.
Shapes: n words that are compared or replaced, K words near each, P parts of all words; see also ``lev_plugins.layers``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits import BORROWED, slips
from lev_plugins.text.spelling import Unknown, letters_of, parts_of, shapes_of

__all__ = ["Spelling", "WordVectors"]

LEVELS = torch.tensor([1, 2, 4, 8, 16, 32, 64])  # occurrences from which a word counts as more familiar
LOUD = 3.0  # a mean of some thirty vectors is short: with this, it is about as long as a row of the table
NEAR = 48  # words of the dictionary from which slips are counted: those that have most parts in common
FAR = 4  # slips: more do not matter
CASES = 3  # shapes with the same blank
TOGETHER = 512  # words that are compared with the dictionary at a time
SHORT = 1e-2  # vectors below this length, such as that of a word without spelling, stay shorter than 1
FAST = 10.0  # an optimiser changes all parameters by like amounts: weights of a score must move faster than vectors


class Weights(NamedTuple):
    """What has a say in the choice of a word, as it is before training."""

    vectors: Any = 10.0  # its vector is like what the model asks for
    alike: Any = 5.0  # it has the parts of the word that it replaces
    slip_0: Any = 14.0  # ... or is so few slips away from it
    slip_1: Any = 14.0
    slip_2: Any = 7.0
    slip_3: Any = 2.0
    frequency: Any = 0.7  # its logarithm
    handed: Any = 1.0  # share of the replaced word in what the model asks for
    itself: Any = 29.0  # a word that would replace itself loses this; one with another blank or case, less
    blank: Any = 8.0
    case: Any = 5.0

    @property
    def of_slips(self) -> list[Any]:
        return [self.slip_0, self.slip_1, self.slip_2, self.slip_3, 0 * self.slip_3]  # FAR: nothing


BEFORE = Weights()


class Likeness(NamedTuple):
    """The words of the dictionary that have most in common with each of n words."""

    near: Tensor  # (n, K)
    alike: Tensor  # (n, K) the number of parts that two share, divided by the geometric mean of what each has
    slips: Tensor  # (n, K) from one to the other, at most FAR


class Guess(NamedTuple):
    """The word of the dictionary that is most like another, and frequent."""

    word: Tensor  # (n,)
    slips: Tensor  # (n,)


class WordVectors(NamedTuple):
    """All words that a batch may have; the placeholder and special symbols have no spelling, but zeros."""

    spelled: Tensor  # (V + 1 + U, C)
    unknown: Unknown
    likeness: Likeness  # of each unknown word
    guess: Guess  # (U,)


class Spelling(nn.Module):
    """In place of a table of embeddings."""

    parts: Tensor  # (P,) of the words of the dictionary and the placeholder
    starts: Tensor  # (V + 2,)
    counts: Tensor  # (V + 1,) occurrences in the training text
    shapes: Tensor  # (V + 1,)
    letters: Tensor  # (V + 1, L)

    def __init__(self, words: list[str], counts: list[int], specials: int, pad: int, unk: int, dim: int, buckets: int):
        """``words``: the dictionary, of which the first are ``specials``."""
        super().__init__()
        self.vocabulary, self.buckets, self.embedding_dim = len(words), buckets, dim
        self.padding_idx, self.unk = pad, unk
        spelt = [*[""] * specials, *words[specials:], ""]
        parts, starts = parts_of(spelt, buckets)
        familiar = int(LEVELS[-1])
        for name, value in (
            ("parts", parts),
            ("starts", starts),
            ("counts", torch.tensor([*[familiar] * specials, *counts[specials:], familiar])),
            ("shapes", shapes_of([*words, ""])),
            ("letters", letters_of(spelt)),
        ):
            self.register_buffer(name, value, persistent=False)
        self.own = nn.Embedding(len(words) + 1, dim)
        self.grams = nn.Parameter(torch.empty(buckets, dim).normal_(std=dim**-0.5))
        self.familiarity = nn.Embedding(len(LEVELS) + 1, dim)
        self.from_guess = nn.Linear(dim, dim, bias=False)
        self.slips = nn.Embedding(FAR + 1, dim)
        self.query = nn.Linear(dim, dim)
        self.weights = nn.Parameter(torch.tensor(BEFORE) / FAST)
        self.bias = nn.Parameter(torch.zeros(len(words)))
        nn.init.normal_(self.own.weight, std=0.1 * dim**-0.5)
        nn.init.normal_(self.from_guess.weight, std=dim**-0.5)
        for levels in (self.familiarity, self.slips):
            nn.init.normal_(levels.weight, std=0.5 * dim**-0.5)
        nn.init.zeros_(self.query.weight)  # before training, the word that is replaced decides alone
        nn.init.zeros_(self.query.bias)
        self.matrices: dict[torch.device, Matrix] = {}
        self.guesses: Guess | None = None
        self.of_words: tuple[tuple[int, int], Tensor] | None = None

    @property
    def lengths(self) -> Tensor:
        """(V + 1,) number of parts"""
        return self.starts.diff()

    @property
    def log_counts(self) -> Tensor:
        """(V,)"""
        return (self.counts[:-1] + 1.0).log()

    def matrix(self) -> Matrix:
        device = self.parts.device
        if device not in self.matrices:
            self.matrices = {device: Matrix.of(self.parts, self.starts, self.buckets)}
        return self.matrices[device]

    def vectors(self, unknown: Unknown | None) -> WordVectors:
        """Once per batch."""
        if unknown is None:
            nothing = self.parts.new_empty(0)
            letters = self.letters.new_empty(0, 1)
            unknown = Unknown(nothing, nothing, self.parts.new_zeros(1), nothing, letters)
        spelled = [self.spelled()]
        if unknown.ids.numel():
            rare = Matrix.of(unknown.parts, unknown.starts, self.buckets)
            spelled.append(LOUD * Product.apply(self.grams, rare.mean, rare.mean_back))
        likeness = self.likeness(unknown.parts, unknown.starts, unknown.letters)
        return WordVectors(torch.cat(spelled), unknown, likeness, self.guess(likeness))

    def spelled(self) -> Tensor:
        """(V + 1, C); without gradients, computed once for as long as the table stays the same."""
        if torch.is_grad_enabled():
            return LOUD * Product.apply(self.grams, self.matrix().mean, self.matrix().mean_back)
        state = self.grams.data_ptr(), 0 if self.grams.is_inference() else self.grams._version
        if self.of_words is None or self.of_words[0] != state:
            self.of_words = state, LOUD * Product.apply(self.grams, self.matrix().mean, self.matrix().mean_back)
        return self.of_words[1]

    def guess(self, found: Likeness) -> Guess:
        """(n,)"""
        likely = found.alike.new_tensor(BEFORE.of_slips)[found.slips] + BEFORE.alike * found.alike
        best = (likely + BEFORE.frequency * self.log_counts[found.near]).argmax(1, keepdim=True)
        return Guess(*(each.gather(1, best)[:, 0] for each in (found.near, found.slips)))

    def guesses_for_held_out(self) -> Guess:
        """(V + 1,) for words seen once, as if never seen; computed once, since it depends on the dictionary alone."""
        if self.guesses is None or self.guesses.word.device != self.counts.device:
            found = Guess(*(torch.zeros_like(self.counts) for _ in Guess._fields))
            for rows in self.counts.eq(1).nonzero()[:, 0].split(TOGETHER):
                guesses = self.guess(self.of_dictionary(rows, but_itself=True))
                for all_of_them, some in zip(found, guesses, strict=True):
                    all_of_them[rows] = some
            self.guesses = found
        return self.guesses

    def of_dictionary(self, rows: Tensor, but_itself: bool = False) -> Likeness:
        """Words of the dictionary compared with all of them."""
        lengths = self.lengths[rows]
        starts = F.pad(lengths.cumsum(0), (1, 0))
        inside = torch.arange(int(starts[-1]), device=rows.device) - starts[:-1].repeat_interleave(lengths)
        parts = self.parts[self.starts[rows].repeat_interleave(lengths) + inside]
        return self.likeness(parts, starts, self.letters[rows], rows if but_itself else None)

    @torch.no_grad()
    def likeness(self, parts: Tensor, starts: Tensor, letters: Tensor, without: Tensor | None = None) -> Likeness:
        """Of words with ``parts`` (P,) that begin at ``starts`` (n + 1,), and ``letters`` (n, L).

        ``without`` (n,) is for each a word of the dictionary that does not count.
        """
        alike = self.in_common(parts, starts)
        if without is not None:
            alike = alike.scatter(1, without[:, None], -1.0)
        most, near = alike.topk(min(NEAR, self.vocabulary), 1)
        number = slips(letters, self.letters[near]).clamp(max=FAR)
        return Likeness(near, most, number.masked_fill(most <= 0, FAR))

    def rows(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        """Their rows in ``WordVectors.spelled``."""
        if not unknown.ids.numel():
            return tokens
        return torch.where(tokens >= BORROWED, self.vocabulary + 1 + self.place(tokens, unknown), tokens)

    def look_up(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None = None) -> Tensor:
        """(B, T) -> (B, T, C); a word that is ``held_out`` (B, T) does not count its own occurrence."""
        spelled = F.embedding(self.rows(tokens, words.unknown), words.spelled)
        known = tokens.masked_fill(tokens >= BORROWED, self.unk)
        count = self.counts[known].masked_fill(tokens >= BORROWED, 0)
        if held_out is not None:
            count = count - held_out.long()
        level = torch.bucketize(count, LEVELS.to(count.device), right=True)
        own = self.own(known.masked_fill(level.eq(0), self.unk))
        x = spelled + own + self.familiarity(level)
        return x + self.meant(tokens, words, held_out is not None) * level.eq(0)[:, :, None]

    def meant(self, tokens: Tensor, words: WordVectors, held_out: bool) -> Tensor:
        """(B, T) -> (B, T, C): what an unknown word may be meant to be."""
        found = Guess(*(torch.zeros_like(tokens) for _ in Guess._fields))
        if held_out:
            found = Guess(*(each[tokens.clamp(max=self.vocabulary)] for each in self.guesses_for_held_out()))
        if words.unknown.ids.numel():
            place = self.place(tokens, words.unknown)
            pairs = zip(words.guess, found, strict=True)
            found = Guess(*(torch.where(tokens >= BORROWED, mine[place], theirs) for mine, theirs in pairs))
        guessed = F.embedding(found.word, words.spelled) + self.own(found.word)
        return self.from_guess(guessed) + self.slips(found.slips)

    def place(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        """Which of the unknown words each is; of the others, any."""
        return torch.searchsorted(unknown.ids, tokens.contiguous()).clamp(max=len(unknown.ids) - 1)

    def spelt(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """Their spelling alone, of length 1, or 0 where there is none: (...) -> (..., C)"""
        return F.normalize(F.embedding(self.rows(tokens, words.unknown), words.spelled), dim=-1, eps=SHORT)

    def logits(self, states: Tensor, replaced: Tensor, words: WordVectors) -> Tensor:
        """Scores (n, V) of the words for holes that take the place of words ``replaced`` (n,); padding: of none."""
        weights = Weights(*(FAST * self.weights))
        table = F.normalize(words.spelled[: self.vocabulary] + self.own.weight[: self.vocabulary], dim=-1, eps=SHORT)
        query = F.normalize(self.query(states) + weights.handed * self.spelt(replaced, words), dim=-1, eps=SHORT)
        scores = weights.vectors * F.linear(query, table) + self.bias + weights.frequency * self.log_counts
        like = self.likeness_of(replaced, words)
        alike = weights.alike * like.alike + torch.stack(weights.of_slips)[like.slips]
        scores = scores.scatter_add(1, like.near, alike.to(scores.dtype))
        itself = replaced.where(replaced < self.vocabulary, self.padding_idx)[:, None]
        scores = scores.scatter_add(1, itself, -weights.itself.to(scores.dtype).expand(len(replaced), 1))
        return scores - self.misshapen(replaced, words, weights).to(scores.dtype)

    def misshapen(self, tokens: Tensor, words: WordVectors, weights: Weights) -> Tensor:
        """(n, V) what words of another shape than ``tokens`` (n,) lose; nothing where those are padding."""
        wanted, given = self.shapes[None, :-1], torch.arange(2 * CASES, device=tokens.device)[:, None]
        blank = (wanted // CASES).ne(given // CASES)
        case = (wanted % CASES).ne(given % CASES)
        losses = F.pad(weights.blank * blank + weights.case * case, (0, 0, 0, 1))  # (shapes + 1, V)
        shapes = torch.cat([self.shapes, words.unknown.shapes])[self.rows(tokens, words.unknown)]
        return F.embedding(shapes.masked_fill(tokens.eq(self.padding_idx), 2 * CASES), losses)

    def likeness_of(self, tokens: Tensor, words: WordVectors) -> Likeness:
        """Of ``tokens`` (n,); the unknown words of the batch were compared before."""
        borrowed = tokens >= BORROWED
        known = self.of_dictionary(tokens[~borrowed])
        unknown = (each[torch.searchsorted(words.unknown.ids, tokens[borrowed])] for each in words.likeness)
        back = (~borrowed).to(torch.uint8).argsort(stable=True).argsort()
        return Likeness(*(torch.cat(both)[back] for both in zip(unknown, known, strict=True)))

    @torch.no_grad()
    def in_common(self, parts: Tensor, starts: Tensor) -> Tensor:
        """(n, V): the number of parts that two words share, divided by the geometric mean of what each has."""
        lengths = starts.diff()
        words = torch.arange(len(lengths), device=parts.device).repeat_interleave(lengths)
        given = torch.zeros(self.buckets, len(lengths), device=parts.device)
        given[parts, words] = 1.0
        shared = (self.matrix().ones @ given)[: self.vocabulary].T  # (n, V)
        size = self.lengths[:-1].clamp(min=1)
        return shared * lengths.clamp(min=1)[:, None].rsqrt() * size.rsqrt()


class Matrix(NamedTuple):
    """Words by parts, as sparse matrices."""

    ones: Tensor  # (words, buckets) 1 where a word has a part
    mean: Tensor  # ... divided by the number of its parts
    mean_back: Tensor  # (buckets, words) transposed

    @classmethod
    def of(cls, parts: Tensor, starts: Tensor, buckets: int) -> Matrix:
        lengths = starts.diff()
        words = torch.arange(len(lengths), device=parts.device).repeat_interleave(lengths)
        ones = torch.ones(len(parts), device=parts.device)
        share = ones / lengths[words]
        size = len(lengths), buckets
        by_part = parts.argsort(stable=True)
        part_starts = torch.bincount(parts, minlength=buckets).cumsum(0)
        part_starts = torch.cat([part_starts.new_zeros(1), part_starts])
        return cls(
            csr(starts, parts, ones, size),
            csr(starts, parts, share, size),
            csr(part_starts, words[by_part], share[by_part], size[::-1]),
        )


def csr(starts: Tensor, columns: Tensor, values: Tensor, size: tuple[int, ...]) -> Tensor:
    return torch.sparse_csr_tensor(starts, columns, values, size, check_invariants=False)


class Product(torch.autograd.Function):
    """A sparse matrix times a table, with the transposed matrix for the gradient; in 32 bits."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, matrix: Tensor, back: Tensor) -> Tensor:
        ctx.back = back
        return (matrix @ table.float()).to(table.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        gradient = gradients[0]
        return (ctx.back @ gradient.float()).to(gradient.dtype), None, None
