"""Algorithm 2 of the LevT paper, by graphs: the passes are made of all sentences together, the edits of each alone.

What it decides is what ``generators.refinement`` decides for one model without an oracle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins.edits.beside import beside
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.requests import DELETE, INSERT, KEEP, PREFER, SPAN
from lev_plugins.runtime.session import Session, padded
from lev_plugins.runtime.words import MeantBatch
from lev_plugins.text.candidates import BOS, EOS, PAD, UNK, Rows
from lev_plugins.text.edited import Offer, WordEdits

Array = NDArray[Any]


class Symbols(NamedTuple):
    size: int  # V
    positions: int
    placeholder: int


class Word(NamedTuple):
    """Of a sentence; all but the first is as in ``WordEdits``."""

    row: int
    asked: int = 0
    origin: int = -1
    born: int = 0
    inserted: float = 0.0
    chosen: float = 0.0
    offers: tuple[Offer, ...] = ()


@dataclass
class Sentence:
    number: int  # in the batch
    words: list[Word]
    limit: int  # words from which it gets no placeholders
    died: list[int]  # of each word of the draft
    deleted: list[float]
    gaps: list[list[int]] = field(default_factory=list)  # what was deleted behind each word, in this iteration
    before: Any = None  # the state after the last iteration's deletions

    @property
    def rows(self) -> list[int]:
        return [word.row for word in self.words]

    def edits(self) -> tuple[list[int], WordEdits]:
        _, _, origin, born, inserted, chosen, offers = map(list, zip(*self.words[1:], strict=True))
        return self.rows[1:], WordEdits(origin, born, inserted, chosen, self.died, self.deleted, [*map(list, offers)])


class Refiner:
    def __init__(self, folder: Path, bits: int, symbols: Symbols, options: RefinementOptions):
        self.symbols, self.options = symbols, options
        self.encoder, self.decide, self.fill = (Session(folder, name, bits) for name in ("encoder", "decide", "fill"))

    def refine(
        self, sources: Rows, drafts: Rows, asked: Rows, batch: MeantBatch | None = None
    ) -> list[tuple[list[int], WordEdits]]:
        """Rows of words, with boundaries, and what marks ask for; ``batch``: how unknown words are spelt."""
        todo = [self.start(i, *each) for i, each in enumerate(zip(sources, drafts, asked, strict=True))]
        sentences, source = list(todo), Pass(self, sources, batch)
        for step in range(self.options.max_iter + 1):
            starts = [sentence.words for sentence in todo]
            for sentence in todo:
                sentence.gaps = []
            scores = source.decide(todo)
            loops = [self.delete(sentence, rows[0], step) for sentence, rows in zip(todo, scores, strict=True)]
            self.open(todo, loops, scores, source, step)
            holed = [one for one in todo if self.symbols.placeholder in one.rows]
            if holed:
                source.fill(holed)
            left = []
            for sentence, start, loop in zip(todo, starts, loops, strict=True):
                if loop:
                    sentence.words = start
                once = DELETE | INSERT
                sentence.words = [w._replace(asked=w.asked & ~once) if w.asked else w for w in sentence.words]
                if sentence.rows != [word.row for word in start]:
                    left.append(sentence)
            todo = left
            if not todo:
                break
        return [sentence.edits() for sentence in sentences]

    def start(self, number: int, source: list[int], draft: list[int], asked: list[int]) -> Sentence:
        options, size = self.options, len(draft)
        positions = self.symbols.positions
        least = min(max(options.max_ratio_floor, options.min_length + 2), positions)
        limit = int(min(max(len(source) * options.max_ratio, least), positions))
        places = range(size) if size > 2 else [-1] * size
        words = [Word(*each) for each in zip(draft, asked, places, strict=True)]
        return Sentence(number, words, limit, [0] * size, [0.0] * size)

    def delete(self, sentence: Sentence, scores: list[list[float]], step: int) -> bool:
        """y' = E(y, d); returns whether the deletions left what they left in the iteration before."""
        options, left = self.options, list[Word]()
        for word, (keep, delete) in zip(sentence.words, scores, strict=False):
            if word.asked & PREFER:
                delete -= options.soft_protection
            if word.origin >= 0:
                delete -= options.keep_bias
            wanted = word.asked & DELETE
            if word.row in (BOS, EOS) or word.asked & KEEP or not (wanted or delete > keep):
                left.append(word)
                sentence.gaps.append([])
                continue
            if word.origin >= 0:
                sentence.died[word.origin], sentence.deleted[word.origin] = step + 1, inf if wanted else delete - keep
            if word.asked & INSERT:
                left[-1] = left[-1]._replace(asked=left[-1].asked | INSERT)
            sentence.gaps[-1].append(word.row)
        sentence.words = left
        state = [(word.row, word.chosen, word.asked, word.origin if options.keep_bias else 0) for word in left]
        loop, sentence.before = state == sentence.before, state
        return loop

    def open(self, todo: list[Sentence], loops: list[bool], scores: list[Any], source: Pass, step: int) -> None:
        """y'' = E(y', p)"""
        free = (not loop and len(each.words) < each.limit for each, loop in zip(todo, loops, strict=True))
        opens = [i for i, yes in enumerate(free) if yes or any(word.asked & INSERT for word in todo[i].words)]
        changed = [i for i in opens if any(todo[i].gaps)]
        again = source.decide([todo[i] for i in changed]) if changed else []
        latest = dict(enumerate(scores)) | dict(zip(changed, again, strict=True))
        for i in opens:
            self.insert(todo[i], latest[i], step)

    def insert(self, sentence: Sentence, scores: Any, step: int) -> None:
        _, nothing, best, some, number = scores
        options, words = self.options, sentence.words
        counts, odds, least = [], [], []
        for i, (left, right) in enumerate(pairwise(words)):
            none, loss, both = nothing[i] - options.gamma, 0.0, left.asked & right.asked
            if left.origin >= 0 and right.origin == left.origin + 1:
                loss += options.keep_bias
            if both and left.asked // SPAN == right.asked // SPAN:
                loss += options.soft_protection * bool(both & PREFER)
                none, loss = (-options.gamma, inf) if both & KEEP else (none, loss)
            none = -inf if left.asked & INSERT else none
            counts.append(0 if none >= best[i] - loss else min(number[i], sentence.limit))
            odds.append(some[i] - loss - none)
            least.append(none)
        if options.min_length:
            lack = options.min_length + 2 - len(words) - sum(counts)
            counts[least.index(min(least))] += max(0, lack)
        room, opened = self.symbols.positions - len(words), words[:1]
        for word, count, odd in zip(words[1:], counts, odds, strict=True):
            count = max(0, min(count, room))
            room -= count
            opened += [Word(self.symbols.placeholder, born=step + 1, inserted=odd)] * count + [word]
        sentence.words = opened


class Pass:
    """The graphs' passes over sentences of one batch."""

    def __init__(self, refiner: Refiner, sources: Rows, batch: MeantBatch | None):
        self.refiner, self.batch, self.symbols = refiner, batch, refiner.symbols
        rows = padded(sources)
        given = {} if batch is None else {**batch.groups, **batch.pieces(rows)}
        # without spelling, a source has a dictionary of its own, which may be the longer one
        self.memory, *more = refiner.encoder(words=rows[None] if batch is None else self.read(rows), **given)
        self.rare, self.beside = dict(zip(["rare"], more, strict=False)), more[1:]
        self.real, self.sources = rows != PAD, rows.tolist()

    def read(self, rows: Array) -> Array:
        """What the graphs read of words (B, T)"""
        return np.where(rows > self.symbols.size, UNK, rows)[None] if self.batch is None else self.batch.read(rows)

    def given(
        self, sentences: Sequence[Sentence], removed: list[list[int]], count: list[list[int]]
    ) -> dict[str, Array]:
        numbers = [sentence.number for sentence in sentences]
        every, rows = len(numbers) == len(self.real), padded([sentence.rows for sentence in sentences])
        given = dict[str, Array]()
        for each in self.beside:
            pairs = zip(rows.tolist(), (self.sources[number] for number in numbers), strict=True)
            given = {"beside": each[numbers], "places": np.array([beside(*pair, PAD) for pair in pairs])}
        return {
            "words": self.read(rows),
            "memory": self.memory if every else self.memory[:, numbers],
            "real": self.real if every else self.real[numbers],
            **({} if self.batch is None else {"removed": padded(removed), "count": padded(count, 0)}),
            **self.rare,
            **given,
        }

    def decide(self, sentences: Sequence[Sentence]) -> list[Any]:
        """Of each, what the graph ``decide`` says."""
        gaps = [one.gaps or [[]] * len(one.words) for one in sentences]
        removed = [[gap[0] if gap else PAD for gap in row] for row in gaps]
        found = self.refiner.decide(**self.given(sentences, removed, [[*map(len, row)] for row in gaps]))
        return list(zip(*(each.tolist() for each in found), strict=True))

    def fill(self, sentences: Sequence[Sentence]) -> None:
        """y = E(y'', t)"""
        replaced = [] if self.batch is None else [self.replaced(sentence) for sentence in sentences]
        count = [[int(row != PAD) for row in rows] for rows in replaced]
        given = self.given(sentences, replaced, count)
        holes = np.flatnonzero(padded([sentence.rows for sentence in sentences]) == self.symbols.placeholder)
        if self.batch is not None:
            given |= self.batch.candidates_of(given["removed"].flat[holes], PAD)
        words, chosen = self.refiner.fill(holes=holes, **given)
        words = np.where((words >= 0) & (words < self.symbols.size), words, UNK)  # a stranger's graph may know more
        offers = (tuple(zip(*pair, strict=True)) for pair in zip(words.tolist(), chosen.tolist(), strict=True))
        for sentence in sentences:
            for i, word in enumerate(sentence.words):
                if word.row == self.symbols.placeholder:
                    offered = next(offers)
                    sentence.words[i] = word._replace(row=offered[0][0], chosen=offered[0][1], offers=offered)

    def replaced(self, sentence: Sentence) -> list[int]:
        """What each hole takes the place of: the first hole behind a word, the first that was deleted there."""
        rows, kept = list[int](), -1
        gone: Iterator[int] = iter(())
        for word in sentence.words:
            hole = word.row == self.symbols.placeholder
            if not hole:
                kept += 1
                gone = iter(sentence.gaps[kept])
            rows.append(next(gone, PAD) if hole else PAD)
        return rows
