"""Randomness that depends only on (seed, epoch, index): the same in every process, machine and version.

It comes from BLAKE2b, not from ``random``: creating a ``random.Random`` for every line costs more than changing the
line, and Python does not promise that ``choice`` and ``shuffle`` always draw alike.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate
from struct import unpack

Draw = Callable[[], float]  # returns a new number in [0, 1) on each call

RANDOM_WORD_SCALE = 2.0**-32
LINES_PER_BLOCK = 64  # lines among which the levels of noise are distributed


def stream(seed: int, epoch: int, index: int, purpose: str = "") -> Draw:
    """Return the random numbers of one line, independent of those for another purpose.

    >>> draw = stream(seed=1, epoch=1, index=0)
    >>> [round(draw(), 3) for _ in range(3)]
    [0.383, 0.451, 0.344]
    """
    return _numbers(f"{seed} {epoch} {index}{purpose}").__next__


def _numbers(key: str) -> Iterator[float]:
    block = 0
    while True:
        for number in unpack("<16I", blake2b(f"{key} {block}".encode()).digest()):
            yield number * RANDOM_WORD_SCALE
        block += 1


def level(seed: int, epoch: int, index: int, draw: Draw) -> float:
    """Return how noisy a line is compared with other lines: a quantile, from 0 to below 1.

    For a single line this is any number. Each of ``LINES_PER_BLOCK`` consecutive lines gets its own part of [0, 1), so
    that clean and noisy lines balance, and a text of many lines has the requested rate.

    >>> [round(level(1, 1, index, stream(1, 1, index)), 2) for index in range(5)]
    [0.43, 0.26, 0.09, 0.91, 0.74]
    """
    block, at = divmod(index, LINES_PER_BLOCK)
    step, start = _order(f"{seed} {epoch} block {block}")
    return ((step * at + start) % LINES_PER_BLOCK + draw()) / LINES_PER_BLOCK


@lru_cache(maxsize=64)
def _order(key: str) -> tuple[int, int]:
    """Return an odd step and a start, which visit a block of 2 ** n lines in pseudo-random order."""
    step, start = blake2b(key.encode(), digest_size=2).digest()
    return step | 1, start


def binomial(trials: int, rate: float, at: float) -> int:
    """Return the ``at`` quantile of the number of successes in ``trials``, each with probability ``rate``.

    >>> [binomial(10, 0.3, at) for at in (0.01, 0.25, 0.5, 0.75, 0.99)]
    [0, 2, 3, 4, 7]
    """
    if rate <= 0 or rate >= 1 or not trials:
        return trials if rate >= 1 else 0
    start, cumulative = _cumulative(trials, rate)
    return min(start + bisect_right(cumulative, at), trials)


@lru_cache(maxsize=1024)
def _cumulative(trials: int, rate: float) -> tuple[int, list[float]]:
    """Return the smallest count with a noticeable probability, and the cumulative probabilities from there on."""
    reach = 10 + 9 * math.sqrt(trials * rate * (1 - rate))
    start, stop = max(0, int(trials * rate - reach)), min(trials, int(trials * rate + reach))
    total, cumulative = 0.0, []
    for count in range(start, stop):
        total += math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(count + 1)
            - math.lgamma(trials - count + 1)
            + count * math.log(rate)
            + (trials - count) * math.log1p(-rate)
        )
        cumulative.append(total)
    return start, cumulative


def shuffled(places: Iterable[int], draw: Draw) -> Iterator[int]:
    """Yield the places in random order, drawn lazily.

    >>> list(shuffled(range(3, 8), stream(1, 1, 0)))
    [4, 7, 6, 3, 5]
    """
    pool = list(places)
    for size in range(len(pool), 0, -1):
        at = int(draw() * size)
        yield pool[at]
        pool[at] = pool[size - 1]


def by_weight(places: Sequence[int], weights: Sequence[float], draw: Draw) -> Iterator[int]:
    """Yield the places in random order, drawn lazily in proportion to their weights.

    >>> list(by_weight([3, 4, 5], [1.0, 2.0, 9.0], stream(1, 1, 0)))
    [5, 4, 3]
    """
    remaining = list(weights)
    cumulative = list(accumulate(remaining))
    for _ in places:
        at = bisect_right(cumulative, draw() * cumulative[-1])
        if not remaining[at]:  # already drawn: draw from the rest
            cumulative = list(accumulate(remaining))
            at = bisect_right(cumulative, draw() * cumulative[-1])
        yield places[at]
        remaining[at] = 0.0
