"""Confusions learned from pairs of a clean text and its noisy reading: align, count, divide."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from lev_plugins.errors import require
from lev_plugins.noise.confusions import Confusion, ConfusionTable, split_units
from lev_plugins.noise.text import is_space

Block = tuple[tuple[str, ...], tuple[str, ...]]  # clean, noisy
LARGEST = 25_000_000  # cells of an alignment table


class Learner:
    """Counts confusions pair by pair, then all occurrences of what is confused.

    >>> learner = Learner("character", longest=2)
    >>> for clean in ("modern", "corner", "morning"):
    ...     learner.learn(clean, clean.replace("rn", "m"))
    >>> for clean in ("modern", "corner", "morning", "rn"):
    ...     learner.count(clean)
    >>> learner.table(least=2).confusions
    [Confusion(clean=('r', 'n'), noisy=('m',), rate=0.75)]
    """

    def __init__(self, unit: str, longest: int):
        self.unit, self.longest = unit, longest
        self.confused: Counter[Block] = Counter()
        self.clean: set[tuple[str, ...]] = set()  # the clean sides of these
        self.occurring: Counter[tuple[str, ...]] = Counter()

    def learn(self, clean: str, noisy: str) -> None:
        if clean != noisy:
            confused = blocks(split_units(clean, self.unit), split_units(noisy, self.unit))
            fitting = [block for block in confused if self._fits(*block)]
            self.confused.update(fitting)
            self.clean.update(was for was, _ in fitting)

    def _fits(self, clean: tuple[str, ...], noisy: tuple[str, ...]) -> bool:
        """Words are confused one by one: white space may only be the last confused character."""
        one_word = self.unit == "word" or not any(map(is_space, clean[:-1]))
        return max(len(clean), len(noisy)) <= self.longest and one_word

    def count(self, clean: str) -> None:
        """Call this after all pairs have been learned, for every place where a confusion was possible."""
        units = split_units(clean, self.unit)
        for length in range(1, self.longest + 1):
            runs = zip(*(units[start:] for start in range(length)), strict=False)
            self.occurring.update(run for run in runs if run in self.clean)

    def table(self, least: int) -> ConfusionTable:
        """The confusions seen at least ``least`` times, the most frequent first."""
        frequent = [
            Confusion(clean, noisy, times / max(times, self.occurring[clean]))
            for (clean, noisy), times in self.confused.items()
            if times >= least
        ]
        return ConfusionTable(self.unit, sorted(frequent, key=lambda one: (-one.rate, one.clean, one.noisy)))


def blocks(clean: Sequence[str], noisy: Sequence[str]) -> Iterator[Block]:
    """What replaces what: the runs of edits in a cheapest alignment.

    A run of substitutions is split into single ones, except two neighbours in the wrong order; an insertion belongs
    to the unit before it, or at the start to the unit after it.

    >>> [("".join(a), "".join(b)) for a, b in blocks("the corner shop is", "tke comer hsop iss")]
    [('h', 'k'), ('rn', 'm'), ('sh', 'hs'), ('i', 'is')]
    """
    done_clean = done_noisy = 0
    for i, j in [*equal_units(clean, noisy), (len(clean), len(noisy))]:
        was, became = tuple(clean[done_clean:i]), tuple(noisy[done_noisy:j])
        if not was and became:
            yield from insertion(clean, i, became)
        elif len(was) == len(became) and (len(was) != 2 or was != became[::-1]):
            yield from zip(zip(was), zip(became), strict=True)
        elif was:
            yield was, became
        done_clean, done_noisy = i + 1, j + 1


def insertion(clean: Sequence[str], at: int, inserted: tuple[str, ...]) -> Iterator[Block]:
    """
    >>> list(insertion("ab", 1, ("x",))), list(insertion("ab", 0, ("x",))), list(insertion("", 0, ("x",)))
    ([(('a',), ('a', 'x'))], [(('a',), ('x', 'a'))], [])
    """
    if at and not is_space(clean[at - 1]):
        yield (clean[at - 1],), (clean[at - 1], *inserted)
    elif at < len(clean):
        yield (clean[at],), (*inserted, clean[at])


def equal_units(clean: Sequence[str], noisy: Sequence[str]) -> list[tuple[int, int]]:
    """Which units are equal in an alignment with the fewest substitutions, deletions and insertions.

    >>> equal_units("corner", "comer")
    [(0, 0), (1, 1), (4, 3), (5, 4)]
    """
    shorter = min(len(clean), len(noisy))
    head = next((at for at in range(shorter) if clean[at] != noisy[at]), shorter)
    tail = next((at for at in range(shorter - head) if clean[-1 - at] != noisy[-1 - at]), shorter - head)
    table = distances(clean[head : len(clean) - tail], noisy[head : len(noisy) - tail])
    i, j = table.shape[0] - 1, table.shape[1] - 1
    inner = []
    while i and j:  # a pair before a deletion before an insertion
        same = clean[head + i - 1] == noisy[head + j - 1]
        if table[i, j] == table[i - 1, j - 1] + (not same):
            i, j = i - 1, j - 1
            if same:
                inner.append((head + i, head + j))
        elif table[i, j] == table[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
    ends = ((len(clean) - at, len(noisy) - at) for at in range(tail, 0, -1))
    return [*((at, at) for at in range(head)), *reversed(inner), *ends]


def distances(clean: Sequence[str], noisy: Sequence[str]) -> np.ndarray:
    """Edit distances from the first i clean units to the first j noisy ones, row by row.

    >>> distances("rn", "m").tolist()
    [[0, 1], [1, 1], [2, 2]]
    """
    n, m = len(clean), len(noisy)
    require(
        n * m <= LARGEST,
        f"lines of {n} and {m} units are too long to align (their product may be at most {LARGEST:,}): split them",
    )
    numbers = {unit: number for number, unit in enumerate({*clean, *noisy})}
    rows = np.array([numbers[unit] for unit in clean], dtype=np.int32)
    columns = np.array([numbers[unit] for unit in noisy], dtype=np.int32)
    across = np.arange(m + 1, dtype=np.int32)
    table = np.empty((n + 1, m + 1), dtype=np.int32)
    table[0] = across
    for i in range(1, n + 1):
        table[i, 0] = i
        np.minimum(table[i - 1, :-1] + (columns != rows[i - 1]), table[i - 1, 1:] + 1, out=table[i, 1:])
        # an insertion costs one more than what is to its left
        table[i] = np.minimum.accumulate(table[i] - across) + across
    return table
