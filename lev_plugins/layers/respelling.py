"""Spelling-aware words, and which words they may be meant to be.

A misspelt word lies beside the word that was meant, though training has never seen it. Words are written by the same
vectors, and by how few slips they are away from the word they replace: what looks alike scores alike before training.

Ids: 0 ... V - 1 the dictionary, V the placeholder, from ``BORROWED`` on the U unknown words of a batch.
Shapes: n words that are compared or replaced, K words near each, P parts of all words; see also ``lev_plugins.layers``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits import BORROWED, slips
from lev_plugins.layers.joined_words import Occurrences, Prints, prints_of
from lev_plugins.layers.later import HasLaterWeights
from lev_plugins.layers.linear import SharedLinear
from lev_plugins.layers.sample import WHOLE, Sample, draw_sample
from lev_plugins.layers.shared_gradient_embedding import Table
from lev_plugins.layers.spelling import LEVELS, Spelled, Spelling
from lev_plugins.layers.weight_cache import Keeping, lasting
from lev_plugins.text.spelling import CASES, PROPER, SHAPES, Unknown, letters_of

NEAR = 48  # words of the dictionary from which slips are counted: those with most parts in common
FREQUENT = 0.02  # ... and the most frequent: weight of the logarithm of frequency beside the share in common
FAR = 4  # slips: more do not matter
REMEMBERED = {True: 1 << 16, False: 1 << 10}  # words, in training and at work; each takes some kilobytes
TOGETHER = 512  # words that are compared with the dictionary at a time
SHORT = 1e-2  # vectors below this length, such as that of a word without spelling, stay shorter than 1
CONTEXT = 4.0  # say of the context in what replaces a word; with more, training learns by heart which typos it has seen
OTHER_CASE = [
    [0, 1, 1, 1],
    [1, 0, 1, 1],
    [1, 1, 0, 1],
    [0.5, 0, 0.5, 0],
]  # from given to wanted
SAME = 10.0  # a word in another case is that word, if another one is not far more frequent
FAST = 10.0  # an optimiser changes all parameters by like amounts: weights of a score must move faster than vectors


SAMPLED = 4096  # words that a step of training draws from a dictionary that is much larger
COMMON = 2048  # ... beside the most frequent ones
RIVALS = 16  # ... and those most like each that is replaced


class Weights(NamedTuple):
    """What has a say in the choice of a word, as it is before training."""

    vectors: Any = 10.0  # its vector is like what the model asks for, where it replaces no word (CONTEXT)
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
    """See ``Spelled``."""

    spelled: Table  # (V + 1 + U, C)
    own: Table  # (V + 1, C)
    unknown: Unknown
    likeness: Likeness  # of each unknown word
    guess: Guess  # (U,)
    prints: Prints  # (V + 1 + U,)
    sample: Sample  # of the dictionary, for which there are vectors


class Batch(NamedTuple):
    """The words that a step of training reads and writes."""

    tokens: Tensor  # (n,)
    replaced: Tensor  # (n,) padding: none


class Respelling(HasLaterWeights, Spelling):
    """In place of a table of embeddings that is also the output's."""

    later_weights = ("torn.weight",)

    letters: Tensor  # (V + 1, L)
    print_values: Tensor  # (V + 1,)
    print_powers: Tensor

    def __init__(self, *dictionary: Any):
        super().__init__(*dictionary)
        dim = self.embedding_dim
        letters = letters_of(self.spelt)
        self.register_buffer("letters", letters, persistent=False)
        for name, value in prints_of(letters)._asdict().items():
            self.register_buffer(f"print_{name}s", value, persistent=False)
        self.from_guess = nn.Linear(dim, dim, bias=False)
        self.slips = nn.Embedding(FAR + 1, dim)
        self.torn = nn.Embedding(2 * (len(LEVELS) + 1), dim)  # how frequent a word is with the next, with the last one
        self.query = nn.Linear(dim, dim)
        self.weights = nn.Parameter(torch.tensor(BEFORE) / FAST)
        self.bias = nn.Parameter(torch.zeros(self.vocabulary))
        nn.init.normal_(self.from_guess.weight, std=dim**-0.5)
        nn.init.normal_(self.slips.weight, std=0.5 * dim**-0.5)
        nn.init.zeros_(self.torn.weight)
        nn.init.zeros_(self.query.weight)  # before training, the word that is replaced decides alone
        nn.init.zeros_(self.query.bias)
        self.directed, self.shaped, self.product = Keeping(), Keeping(), SharedLinear()  # without weights
        self.guesses: Guess | None = None
        self.compared: dict[Any, Likeness] = {}  # with the dictionary: by parts and letters, a row for each word
        self.of_known: tuple[Tensor, Likeness] | None = None  # which rows are filled, and the rows
        self.occurrences: Occurrences | None = None

    @property
    def lengths(self) -> Tensor:
        """(V + 1,) number of parts"""
        return self.starts.diff()

    @property
    def log_counts(self) -> Tensor:
        """(V,)"""
        return (self.counts[:-1] + 1.0).log()

    def vectors(self, unknown: Unknown | None, batch: Batch | None = None) -> WordVectors:
        """With a ``batch`` and a large dictionary, of a sample of it."""
        unknown = self.or_none(unknown)
        likeness = self.likeness_of_unknown(unknown)
        guess = self.guess(likeness)
        sample = WHOLE
        if batch is not None and self.vocabulary > 3 * (SAMPLED + COMMON):
            like = self.likeness_of(batch.replaced, unknown, likeness)
            sample = self.sample(batch.tokens, torch.cat([guess.word, like.near[:, :RIVALS].flatten()]))
        tables = self.tables(unknown, sample)
        prints = Prints(self.print_values, self.print_powers).and_then(prints_of(unknown.letters))
        return WordVectors(*tables, likeness, guess, prints, sample)

    def sample(self, tokens: Tensor, others: Tensor) -> Sample:
        needed = torch.zeros_like(self.counts, dtype=torch.bool)
        needed[tokens[tokens < BORROWED]] = True
        needed[self.guesses_for_held_out().word[needed]] = True
        needed[others] = True
        needed[self.counts[:-1].topk(COMMON).indices] = True
        needed[: self.specials] = True
        return draw_sample(needed[:-1], SAMPLED)

    @lasting
    def likeness_of_unknown(self, unknown: Unknown) -> Likeness:
        """It depends on the dictionary alone, so on a CPU words that were compared before are not compared again."""
        if unknown.parts.device.type != "cpu" or not unknown.ids.numel():
            return self.likeness(unknown.parts, unknown.starts, unknown.letters)
        parts = unknown.parts.split(unknown.starts.diff().tolist())
        spelt = zip(parts, unknown.letters.tolist(), strict=True)
        keys = [(tuple(own.tolist()), tuple(filter(None, letters))) for own, letters in spelt]
        compared = self.compared  # another thread may put a new one in its place
        found = {key: compared[key] for key in keys if key in compared}
        new = [i for i, key in enumerate(keys) if key not in found]
        if new:
            starts = F.pad(torch.tensor([len(parts[i]) for i in new]).cumsum(0), (1, 0))
            rows = self.likeness(torch.cat([parts[i] for i in new]), starts, unknown.letters[new])
            found |= {keys[i]: Likeness(*row) for i, row in zip(new, zip(*rows, strict=True), strict=True)}
            if len(self.compared) > REMEMBERED[self.training]:
                self.compared = {}
            self.compared.update(found)
        return Likeness(*map(torch.stack, zip(*(found[key] for key in keys), strict=True)))

    def guess(self, found: Likeness) -> Guess:
        """(n,)"""
        of_slips = [BEFORE.slip_0 + SAME, *BEFORE.of_slips[1:]]
        likely = found.alike.new_tensor(of_slips)[found.slips] + BEFORE.alike * found.alike
        best = (likely + BEFORE.frequency * self.log_counts[found.near]).argmax(1, keepdim=True)
        return Guess(*(each.gather(1, best)[:, 0] for each in (found.near, found.slips)))

    @lasting
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

    @lasting
    def likeness_of_known(self, rows: Tensor) -> Likeness:
        """Each word of the dictionary is compared with the others once."""
        if self.of_known is None or self.of_known[0].device != rows.device:
            size = self.vocabulary + 1, min(NEAR, self.vocabulary)
            empty = (rows.new_zeros(size, dtype=dtype) for dtype in (torch.int32, torch.float32, torch.int8))
            self.of_known = rows.new_zeros(self.vocabulary + 1, dtype=torch.bool), Likeness(*empty)
        compared, table = self.of_known
        new = rows[~compared[rows]].unique()
        for some in new.split(TOGETHER):
            for column, found in zip(table, self.of_dictionary(some), strict=True):
                column[some] = found.to(column.dtype)
            compared[some] = True
        near, alike, number = (column[rows] for column in table)
        return Likeness(near.long(), alike, number.long())

    def of_dictionary(self, rows: Tensor, but_itself: bool = False) -> Likeness:
        """Words of the dictionary, compared with all of them."""
        return self.likeness(*self.parts_at(rows), self.letters[rows], rows if but_itself else None)

    @torch.no_grad()
    def likeness(self, parts: Tensor, starts: Tensor, letters: Tensor, without: Tensor | None = None) -> Likeness:
        """Of words with ``parts`` (P,) that begin at ``starts`` (n + 1,), and ``letters`` (n, L).

        ``without`` (n,) is for each a word of the dictionary that does not count. Few words are compared with the whole
        dictionary at a time.
        """
        found = []
        for first in range(0, max(1, len(letters)), TOGETHER):
            some, own = slice(first, first + TOGETHER), starts[first : first + TOGETHER + 1]
            left_out = None if without is None else without[some]
            found.append(self.likeness_of_some(parts[own[0] : own[-1]], own - own[0], letters[some], left_out))
        return Likeness(*map(torch.cat, zip(*found, strict=True)))

    def likeness_of_some(self, parts: Tensor, starts: Tensor, letters: Tensor, without: Tensor | None) -> Likeness:
        alike = self.in_common(parts, starts)
        if without is not None:
            alike = alike.scatter(1, without[:, None], -1.0)
        near = (alike + FREQUENT * self.log_counts * alike.gt(0)).topk(min(NEAR, self.vocabulary), 1).indices
        most = alike.gather(1, near)
        number = slips(letters, self.letters[near]).clamp(max=FAR)
        named = letters[:, :1].ne(0) & self.letters[near, 0].ne(0)  # numbers and signs are not slips of words
        return Likeness(near, most, number.masked_fill(~named | (most <= 0), FAR))

    def look_up(self, tokens: Tensor, words: Spelled, held_out: Tensor | None = None) -> Tensor:
        """An unknown word is also what it may be meant to be; one that is known in another case is that word."""
        words = cast(WordVectors, words)
        level, found = self.level(tokens, held_out), self.found(tokens, words, held_out)
        case = self.shape_of(tokens, words.unknown) % CASES
        known = level.eq(0) & found.slips.eq(0) & torch.isin(case, case.new_tensor(PROPER))
        level = torch.where(known, self.level(found.word), level)
        unknown = level.eq(0)
        own = torch.where(known, found.word, tokens).masked_fill(unknown, self.unk)
        meant = self.meant(found, words) * unknown[:, :, None]
        return self.placed(tokens, words, level, own) + meant + self.torn_apart(tokens, words)

    def torn_apart(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """(B, T) -> (B, T, C): whether each is one word together with its neighbour."""
        apart = self.shape_of(tokens, words.unknown) >= CASES
        count = self.occurring().with_next(words.prints.at(self.rows(tokens, words.unknown)), apart)
        level = torch.bucketize(count, LEVELS.to(count.device), right=True)
        return self.torn(level) + self.torn(len(LEVELS) + 1 + F.pad(level[:, :-1], (1, 0)))

    def found(self, tokens: Tensor, words: WordVectors, held_out: Tensor | None) -> Guess:
        """What unknown words may be meant to be (B, T); of the others, the first word of the dictionary."""
        found = Guess(*(torch.zeros_like(tokens) for _ in Guess._fields))
        if held_out is not None:
            rows = tokens.clamp(max=self.vocabulary)
            found = Guess(*(each[rows] * held_out for each in self.guesses_for_held_out()))
        if words.unknown.ids.numel():
            place = self.place(tokens, words.unknown)
            pairs = zip(words.guess, found, strict=True)
            found = Guess(*(torch.where(tokens >= BORROWED, mine[place], theirs) for mine, theirs in pairs))
        return found

    def meant(self, found: Guess, words: WordVectors) -> Tensor:
        """(B, T) -> (B, T, C)"""
        guessed = words.spelled.rows(found.word) + words.own.rows(found.word)
        return self.from_guess(guessed) + self.slips(found.slips)

    @lasting
    def occurring(self) -> Occurrences:
        if self.occurrences is None or self.occurrences.values.device != self.counts.device:
            self.occurrences = Occurrences.of(self.print_values, self.counts)
        return self.occurrences

    def spelling_of(self, tokens: Tensor, words: WordVectors) -> Tensor:
        """Their spelling alone, of length 1, or 0 where there is none: (...) -> (..., C)"""
        return F.normalize(words.spelled.rows(self.rows(tokens, words.unknown)), dim=-1, eps=SHORT)

    def logits(self, states: Tensor, replaced: Tensor, words: WordVectors) -> Tensor:
        """Scores (n, V) of the words for holes that take the place of words ``replaced`` (n,); padding: of none.

        Of a sample of the dictionary, (n, R).
        """
        weights = Weights(*(FAST * self.weights))
        query = self.asked(states, replaced, words, weights)
        table, shapes, of_shapes = self.by_shape(replaced, words, weights)
        # few passes over (n, V), which is most of the work where the dictionary is large
        if self.learns:
            scores = torch.addmm(F.embedding(shapes, of_shapes).to(query.dtype), query, table.T)
        else:
            scores = self.product(query, table)
            scores += F.embedding(shapes, of_shapes)
        near, alike = self.alike(replaced, words, weights)
        scores = add_at(scores, words.sample.place(near), alike)
        itself = replaced.where(replaced < self.vocabulary, self.padding_idx)[:, None]
        return add_at(scores, words.sample.place(itself), -weights.itself.expand(len(replaced), 1))

    def near_logits(self, states: Tensor, replaced: Tensor, words: WordVectors) -> tuple[Tensor, Tensor]:
        """The words most like those ``replaced`` (n,), and their ``logits``: both (n, K)"""
        weights = Weights(*(FAST * self.weights))
        query = self.asked(states, replaced, words, weights)
        table, shapes, of_shapes = self.by_shape(replaced, words, weights)
        near, alike = self.alike(replaced, words, weights)
        scores = (F.embedding(near, table) @ query[:, :, None])[:, :, 0] + of_shapes[shapes[:, None], near] + alike
        return near, scores - weights.itself * near.eq(replaced[:, None])

    def asked(self, states: Tensor, replaced: Tensor, words: WordVectors, weights: Weights) -> Tensor:
        """What is compared with the words' directions: (n, C)"""
        query = F.normalize(self.query(states) + weights.handed * self.spelling_of(replaced, words), dim=-1, eps=SHORT)
        alone = replaced.eq(self.padding_idx)[:, None]
        return torch.where(alone, weights.vectors, torch.full_like(weights.vectors, CONTEXT)) * query

    def by_shape(self, replaced: Tensor, words: WordVectors, weights: Weights) -> tuple[Tensor, Tensor, Tensor]:
        """The words' directions (V, C), the shapes (n,) of those replaced, and what words have by shape (shapes, V)."""
        shapes = self.shape_of(replaced, words.unknown).masked_fill(replaced.eq(self.padding_idx), SHAPES)
        table = self.directed.constant(lambda: self.directions(words), self.grams, self.own.weight)
        of_shapes = self.shaped.constant(lambda: self.of_shapes(words.sample, weights), self.weights, self.bias)
        return table, shapes, of_shapes

    def alike(self, replaced: Tensor, words: WordVectors, weights: Weights) -> tuple[Tensor, Tensor]:
        """The words most like those replaced, and what they score for it: both (n, K)"""
        like = self.likeness_of(replaced, words.unknown, words.likeness)
        return like.near, weights.alike * like.alike + torch.stack(weights.of_slips)[like.slips]

    def directions(self, words: WordVectors) -> Tensor:
        """The vectors of the dictionary's words, of length 1: (V, C), or (R, C) of a sample"""
        size = len(words.sample.of(self.bias))
        return F.normalize(words.spelled.weight[:size] + words.own.weight[:size], dim=-1, eps=SHORT)

    def of_shapes(self, sample: Sample, weights: Weights) -> Tensor:
        """(shapes + 1, V) how frequent words are, less what they lose in place of a word of another shape.

        Nothing is lost in the last row, for holes that replace no word.
        """
        wanted, given = sample.of(self.shapes[:-1])[None], torch.arange(SHAPES, device=self.shapes.device)[:, None]
        blank = (wanted // CASES).ne(given // CASES)
        case = self.bias.new_tensor(OTHER_CASE)[given % CASES, wanted % CASES]
        losses = F.pad(weights.blank * blank + weights.case * case, (0, 0, 0, 1))
        frequent = sample.of(self.bias) + weights.frequency * sample.of(self.log_counts)
        if sample.stands_for is not None:
            frequent = frequent + sample.stands_for
        return frequent - losses

    def likeness_of(self, tokens: Tensor, words: Unknown, likeness: Likeness) -> Likeness:
        """Of ``tokens`` (n,); the unknown ``words`` of the batch, with this ``likeness``, were compared before."""
        borrowed = tokens >= BORROWED
        known = self.likeness_of_known(tokens[~borrowed])
        unknown = (each[torch.searchsorted(words.ids, tokens[borrowed])] for each in likeness)
        back = (~borrowed).to(torch.uint8).argsort(stable=True).argsort()
        return Likeness(*(torch.cat(both)[back] for both in zip(unknown, known, strict=True)))

    @torch.no_grad()
    def in_common(self, parts: Tensor, starts: Tensor) -> Tensor:
        """(n, V): the number of parts that two words share, divided by the geometric mean of what each has."""
        lengths = starts.diff()
        words = torch.arange(len(lengths), device=parts.device).repeat_interleave(lengths)
        given = torch.zeros(self.buckets, len(lengths), device=parts.device)
        given[parts, words] = 1.0
        with torch.autocast(parts.device.type, enabled=False):  # which has no sparse products
            shared = (self.matrix().ones @ given)[: self.vocabulary].T  # (n, V)
        size = self.lengths[:-1].clamp(min=1)
        return shared * lengths.clamp(min=1)[:, None].rsqrt() * size.rsqrt()


def add_at(scores: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """``scores`` (n, R), in place, with ``values`` (n, K) added at ``places``; -1: nowhere.

    >>> add_at(torch.zeros(1, 3), torch.tensor([[2, -1]]), torch.tensor([[5.0, 7.0]]))
    tensor([[0., 0., 5.]])
    """
    values = values.masked_fill(places < 0, 0).to(scores.dtype)
    return scores.scatter_add_(1, places.clamp(min=0), values)
