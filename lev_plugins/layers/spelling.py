"""Words that know their spelling.

The vector of a word is the mean of its parts' vectors (``text.spelling``), plus a row of its own if training has seen
it, plus one for how often. A misspelt word so lies beside the word that was meant, though training has never seen it.
Words are written by the same vectors, and by the share of the parts that they have in common with the word they
replace: what looks alike scores alike before training begins.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from ``BORROWED`` on the U unknown words of a batch.
Shapes: n holes, P parts of all words; see also ``lev_plugins.layers``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits import BORROWED
from lev_plugins.text.spelling import Unknown, parts_of, shapes_of

__all__ = ["Spelling", "WordVectors"]

LEVELS = torch.tensor([1, 2, 4, 8, 16, 32, 64])  # occurrences from which a word counts as more familiar
LOUD = 3.0  # a mean of some thirty vectors is short: with this, it is about as long as a row of the table
MILD = 0.3  # share of a word's log-frequency in its score, before training
SCALE, ALIKE = 20.0, 15.0  # weights of the two similarities, before training
MANY = 32  # parts that a word has and another lacks: more do not matter
OTHER_BLANK, OTHER_CASE = 5.0, 2.0  # what a word with another shape than the one it replaces loses, before training
CASES = 3  # shapes with the same blank
TOGETHER = 512  # words that are compared with the dictionary at a time
SHORT = 1e-2  # vectors below this length, such as that of a word without spelling, stay shorter than 1


class Guess(NamedTuple):
    """The word of the dictionary that is most like another, and frequent."""

    word: Tensor  # (n,)
    extra: Tensor  # (n,) parts of the other word that it lacks: more than a slip leaves, or fewer
    lacking: Tensor  # (n,) parts of it that the other word lacks


class WordVectors(NamedTuple):
    """All words that a batch may have; the placeholder and special symbols have no spelling, but zeros."""

    spelled: Tensor  # (V + 1 + U, C)
    unknown: Unknown
    alike: Tensor  # (U, V) what each unknown word has in common with the words of the dictionary
    guess: Guess  # (U,) for each unknown word


class Spelling(nn.Module):
    """In place of a table of embeddings."""

    parts: Tensor  # (P,) of the words of the dictionary and the placeholder
    starts: Tensor  # (V + 2,)
    counts: Tensor  # (V + 1,) occurrences in the training text
    shapes: Tensor  # (V + 1,)

    def __init__(self, words: list[str], counts: list[int], specials: int, pad: int, unk: int, dim: int, buckets: int):
        """``words``: the dictionary, of which the first are ``specials``."""
        super().__init__()
        self.vocabulary, self.buckets, self.embedding_dim = len(words), buckets, dim
        self.padding_idx, self.unk = pad, unk
        parts, starts = parts_of([*[""] * specials, *words[specials:], ""], buckets)
        familiar = int(LEVELS[-1])
        for name, value in (
            ("parts", parts),
            ("starts", starts),
            ("counts", torch.tensor([*[familiar] * specials, *counts[specials:], familiar])),
            ("shapes", shapes_of([*words, ""])),
        ):
            self.register_buffer(name, value, persistent=False)
        self.own = nn.Embedding(len(words) + 1, dim)
        self.grams = nn.Parameter(torch.empty(buckets, dim).normal_(std=dim**-0.5))
        self.familiarity = nn.Embedding(len(LEVELS) + 1, dim)
        self.from_guess = nn.Linear(dim, dim, bias=False)
        self.extra, self.lacking = nn.Embedding(MANY, dim), nn.Embedding(MANY, dim)
        self.query = nn.Linear(dim, dim)
        first = (SCALE, ALIKE, 1.0, SCALE + ALIKE, OTHER_BLANK, OTHER_CASE)
        self.scale, self.alike, self.handed, self.other, self.other_blank, self.other_case = (
            nn.Parameter(torch.tensor(value)) for value in first
        )
        self.bias = nn.Parameter(MILD * (self.counts[:-1] + 1.0).log())  # (V,)
        nn.init.normal_(self.own.weight, std=0.1 * dim**-0.5)
        nn.init.normal_(self.from_guess.weight, std=dim**-0.5)
        for levels in (self.familiarity, self.extra, self.lacking):
            nn.init.normal_(levels.weight, std=0.5 * dim**-0.5)
        nn.init.zeros_(self.query.weight)  # before training, the word that is replaced decides alone
        nn.init.zeros_(self.query.bias)
        self.matrices: dict[torch.device, Matrix] = {}
        self.guesses: Guess | None = None

    @property
    def lengths(self) -> Tensor:
        """(V + 1,) number of parts"""
        return self.starts.diff()

    def matrix(self) -> Matrix:
        device = self.parts.device
        if device not in self.matrices:
            self.matrices = {device: Matrix.of(self.parts, self.starts, self.buckets)}
        return self.matrices[device]

    def vectors(self, unknown: Unknown | None) -> WordVectors:
        """Once per batch."""
        matrix = self.matrix()
        if unknown is None:
            nothing = self.parts.new_empty(0)
            unknown = Unknown(nothing, nothing, self.parts.new_zeros(1), nothing)
        spelled = [LOUD * Product.apply(self.grams, matrix.mean, matrix.mean_back)]
        if unknown.ids.numel():
            rare = Matrix.of(unknown.parts, unknown.starts, self.buckets)
            spelled.append(LOUD * Product.apply(self.grams, rare.mean, rare.mean_back))
        alike = self.in_common(unknown.parts, unknown.starts)
        return WordVectors(torch.cat(spelled), unknown, alike, self.guess(alike, unknown.starts.diff()))

    def guess(self, alike: Tensor, lengths: Tensor) -> Guess:
        """From what words of ``lengths`` (n,) have in common with those of the dictionary, (n, V)."""
        likely = ALIKE * alike + MILD * (self.counts[:-1] + 1.0).log()
        word = likely.argmax(1)
        own = self.lengths[word]
        shared = alike.gather(1, word[:, None])[:, 0] * (own * lengths).sqrt()
        return Guess(word, *((each - shared).round().long().clamp(0, MANY - 1) for each in (lengths, own)))

    def guesses_for_held_out(self) -> Guess:
        """(V + 1,) for words seen once, as if never seen; computed once, since it depends on the dictionary alone."""
        if self.guesses is None or self.guesses.word.device != self.counts.device:
            found = Guess(*(torch.zeros_like(self.counts) for _ in Guess._fields))
            for rows in self.counts.eq(1).nonzero()[:, 0].split(TOGETHER):
                alike = self.of_dictionary(rows).scatter(1, rows[:, None], 0.0)
                guesses = self.guess(alike, self.lengths[rows])
                for all_of_them, some in zip(found, guesses, strict=True):
                    all_of_them[rows] = some
            self.guesses = found
        return self.guesses

    def of_dictionary(self, rows: Tensor) -> Tensor:
        """(n, V) what words of the dictionary have in common with all of them."""
        lengths = self.lengths[rows]
        starts = F.pad(lengths.cumsum(0), (1, 0))
        inside = torch.arange(int(starts[-1]), device=rows.device) - starts[:-1].repeat_interleave(lengths)
        return self.in_common(self.parts[self.starts[rows].repeat_interleave(lengths) + inside], starts)

    def rows(self, tokens: Tensor, unknown: Unknown) -> Tensor:
        """Their rows in ``WordVectors.spelled``."""
        if not unknown.ids.numel():
            return tokens
        borrowed = self.vocabulary + 1 + torch.searchsorted(unknown.ids, tokens)
        return torch.where(tokens >= BORROWED, borrowed, tokens)

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
            place = torch.searchsorted(words.unknown.ids, tokens).clamp(max=len(words.unknown.ids) - 1)
            pairs = zip(words.guess, found, strict=True)
            found = Guess(*(torch.where(tokens >= BORROWED, mine[place], theirs) for mine, theirs in pairs))
        guessed = F.embedding(found.word, words.spelled) + self.own(found.word)
        return self.from_guess(guessed) + self.extra(found.extra) + self.lacking(found.lacking)

    def spelt(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """Their spelling alone, of length 1, or 0 where there is none: (...) -> (..., C)"""
        return F.normalize(F.embedding(self.rows(tokens, words.unknown), words.spelled), dim=-1, eps=SHORT)

    def logits(self, states: Tensor, replaced: Tensor, words: WordVectors) -> Tensor:
        """Scores (n, V) of the words for holes that take the place of words ``replaced`` (n,); padding: of none."""
        table = F.normalize(words.spelled[: self.vocabulary] + self.own.weight[: self.vocabulary], dim=-1, eps=SHORT)
        query = F.normalize(self.query(states) + self.handed * self.spelt(replaced, words), dim=-1, eps=SHORT)
        scores = self.scale * F.linear(query, table) + self.bias + self.alike * self.alike_of(replaced, words)
        itself = F.one_hot(replaced.where(replaced < self.vocabulary, self.padding_idx), self.vocabulary)  # (n, V)
        return scores - self.other * itself - self.misshapen(replaced, words)

    def misshapen(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """(n, V) what words of another shape than ``tokens`` (n,) lose; nothing where those are padding."""
        shapes = torch.cat([self.shapes, words.unknown.shapes])
        wanted, given = self.shapes[None, :-1], shapes[self.rows(tokens, words.unknown)][:, None]
        blank = (wanted // CASES).ne(given // CASES)
        case = (wanted % CASES).ne(given % CASES)
        return (self.other_blank * blank + self.other_case * case) * tokens.ne(self.padding_idx)[:, None]

    def alike_of(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """(n, V) what they have in common with the words of the dictionary."""
        found = words.alike.new_zeros(len(tokens), self.vocabulary)
        borrowed = tokens >= BORROWED
        found[borrowed] = words.alike[torch.searchsorted(words.unknown.ids, tokens[borrowed])]
        found[~borrowed] = self.of_dictionary(tokens[~borrowed])
        return found

    @torch.no_grad()
    def in_common(self, parts: Tensor, starts: Tensor) -> Tensor:
        """(n, V): the number of parts that two words share, divided by the geometric mean of what each has.

        ``parts`` (P,) of n words, which begin at ``starts`` (n + 1,).
        """
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
