"""The kinds of noise; each makes one slip at one place of a line."""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from string import digits, punctuation

from lev_plugins.noise.draws import Draw, shuffled
from lev_plugins.noise.text import Line, Word, all_alone, clusters, is_letter, is_space, like
from lev_plugins.text.protected import without_marks

ANY = "any"  # the alphabet of everything
ALPHABETS = Path(__file__).parent / "tables" / "alphabets.tsv"


class NoiseKind:
    """One kind of slip."""

    alone = True  # all that it writes passes ``all_alone``
    words = 1  # changed by one slip

    def sites(self, line: Line, words: Sequence[Word], draw: Draw) -> Iterator[int]:
        """Cells of some neighbouring words in the order to try them, uniform at random."""
        return shuffled(range(words[0].start, words[-1].end), draw)

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        """Make one slip at the untouched cell ``at``; False, with nothing changed, if none is possible."""
        raise NotImplementedError


class Alphabets:
    """What may be written beside or instead of a letter: those of its script, or a fixed set, in its case; or anything.

    >>> "".join(Alphabets().beside("É"))[:5], Alphabets().beside("7")[:3], Alphabets("aäy").beside("Y")
    ('ABCDE', ('0', '1', '2'), ('A', 'Ä', 'Y'))
    >>> "".join(Alphabets(ANY).beside("ж"))[66:80]
    '0123456789!"#$'
    """

    def __init__(self, letters: str | None = None):
        self.any = letters == ANY
        self.given = tuple(dict.fromkeys(clusters(letters))) if letters and not self.any else None
        self.alone = self.any or all_alone(letters or "")

    def beside(self, cell: str) -> tuple[str, ...]:
        """Empty for anything but letters and digits, and for scripts without a table."""
        if not is_letter(cell):
            return ()
        if self.any:
            return anything(letters_of_script(cell[0]))
        return cased(self.given or letters_of_script(cell[0]), cell)


@lru_cache(maxsize=64)
def anything(letters: tuple[str, ...]) -> tuple[str, ...]:
    """Small letters, capitals, digits and the signs of ASCII."""
    capitals = (letter.upper() for letter in letters if len(letter.upper()) == len(letter))
    return tuple(dict.fromkeys([*letters, *capitals, *digits, *punctuation]))


@lru_cache(maxsize=4096)
def cased(letters: tuple[str, ...], model: str) -> tuple[str, ...]:
    return tuple(like(letter, model) for letter in letters)


@lru_cache(maxsize=4096)
def letters_of_script(letter: str) -> tuple[str, ...]:
    return known_alphabets().get(unicodedata.name(letter, "").split(" ")[0], ())


@lru_cache(maxsize=1)
def known_alphabets() -> dict[str, tuple[str, ...]]:
    """Alphabets by the first word of a letter's Unicode name."""
    lines = ALPHABETS.read_text("utf-8").splitlines()
    return {name: tuple(letters) for name, letters in (line.split("\t") for line in lines)}


@lru_cache(maxsize=4096)
def others(letters: tuple[str, ...], letter: str) -> tuple[str, ...]:
    return tuple(other for other in letters if other != letter)


class Insert(NoiseKind):
    """An extra letter of the alphabet, beside another one."""

    def __init__(self, alphabets: Alphabets):
        self.alphabets, self.alone = alphabets, alphabets.alone

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        cell = line.cells[at]
        letters = self.alphabets.beside(cell)
        if not letters:
            return False
        new = letters[int(draw() * len(letters))]
        return line.put(at, at + 1, [new, cell] if draw() < 0.5 else [cell, new])


class Substitute(NoiseKind):
    """Another letter of the alphabet."""

    def __init__(self, alphabets: Alphabets):
        self.alphabets, self.alone = alphabets, alphabets.alone

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        cell = line.cells[at]
        letters = others(self.alphabets.beside(cell), cell)
        return bool(letters) and line.put(at, at + 1, [letters[int(draw() * len(letters))]])


class Accent(NoiseKind):
    """A Latin letter gets a mark, or becomes another one that looks like it.

    >>> "".join(with_marks()["o"][:8]), "".join(with_marks()["I"][:4])
    ('òóôõöøōŏ', 'ÌÍÎÏ')
    """

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        letters = with_marks().get(line.cells[at], ())
        return bool(letters) and line.put(at, at + 1, [letters[int(draw() * len(letters))]])


@lru_cache(maxsize=1)
def with_marks() -> dict[str, list[str]]:
    """Letters with marks, by the letter without."""
    marked: dict[str, list[str]] = {}
    for letter in map(chr, [*range(0xC0, 0x180), *range(0x1E00, 0x1F00)]):
        marked.setdefault(without_marks(letter), []).append(letter)
    return marked


class Delete(NoiseKind):
    """A missing letter or digit. The last character of a word stays, so that no word disappears."""

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        return is_letter(line.cells[at]) and has_company(line, at, at + 1) and line.put(at, at + 1, [])


def has_company(line: Line, start: int, stop: int) -> bool:
    """Whether the word would still have a character without these cells."""
    for place, step in ((start - 1, -1), (stop, 1)):
        while 0 <= place < len(line.cells) and not is_space(line.cells[place]):
            if line.cells[place]:
                return True
            place += step
    return False


class OneOf(NoiseKind):
    """Draws a kind for each slip; if that kind is impossible, the next one is tried."""

    def __init__(self, kinds: Sequence[NoiseKind]):
        self.kinds, self.alone = kinds, all(kind.alone for kind in kinds)

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        first = int(draw() * len(self.kinds))
        if self.kinds[first].edit(line, at, draw):
            return True
        return any(kind.edit(line, at, draw) for kind in (*self.kinds[first + 1 :], *self.kinds[:first]))


class Keyboard(NoiseKind):
    """A neighbouring key, with the same shift or, at a rate, with the wrong one: fox becomes gox or Gox."""

    def __init__(self, near: Mapping[str, Sequence[str]], other: Mapping[str, str], shift_rate: float = 0.0):
        self.near, self.other, self.shift_rate = near, other, shift_rate
        self.alone = all(map(all_alone, near))

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        near = self.near.get(line.cells[at], ())
        if not near:
            return False
        new = near[int(draw() * len(near))]
        if self.shift_rate and draw() < self.shift_rate:  # without a rate, no draw: the noise of a seed must stay
            new = self.other.get(new, new)
        return line.put(at, at + 1, [new])


class Shift(NoiseKind):
    """The right key, with shift held or not held by mistake."""

    def __init__(self, other: Mapping[str, str]):
        self.other, self.alone = other, all(map(all_alone, other))

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        other = self.other.get(line.cells[at])
        return other is not None and line.put(at, at + 1, [other])


class Swap(NoiseKind):
    """Two neighbouring letters of a word in the wrong order; capitals stay in place: The becomes Hte."""

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        if at + 1 >= len(line.cells) or not line.untouched(at + 1, at + 2):
            return False
        one, other = line.cells[at : at + 2]
        if not (is_letter(one) and is_letter(other)):
            return False
        swapped = [like(other, one), like(one, other)]
        return swapped != [one, other] and line.put(at, at + 2, swapped)


class SwapWords(NoiseKind):
    """Exchanges a word and the nearest untouched one."""

    words = 2

    def sites(self, line: Line, words: Sequence[Word], draw: Draw) -> Iterator[int]:
        return shuffled([word.start for word in words if word.start not in line.touched], draw)

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        words = len(line.starts)
        mine = bisect_left(line.starts, at)
        nearest = (number for distance in range(1, words) for number in (mine + distance, mine - distance))
        return any(
            exchange_words(line, line.word(min(mine, other)), line.word(max(mine, other)))
            for other in nearest
            if 0 <= other < words and line.starts[other] not in line.touched
        )


def exchange_words(line: Line, first: Word, second: Word) -> bool:
    """Exchange two words, unless they are equal or one of them has been touched."""
    if not (line.untouched(first.start, first.end) and line.untouched(second.start, second.end)):
        return False
    one, other = line.cells[first.start : first.end], line.cells[second.start : second.end]
    between = line.cells[first.end : second.start]
    return one != other and line.put(first.start, second.end, [*other, *between, *one])


class RunOn(NoiseKind):
    """Drops the white space between two words: is said becomes issaid."""

    def sites(self, line: Line, words: Sequence[Word], draw: Draw) -> Iterator[int]:
        return shuffled([word.end for word in words if word.next > word.end], draw)

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        stop = at + 1
        while is_space(line.cells[stop]):
            stop += 1
        return line.untouched(at, stop) and line.put(at, stop, [])


class Split(NoiseKind):
    """A space inside a word, between two letters or digits."""

    def edit(self, line: Line, at: int, draw: Draw) -> bool:
        inside = is_letter(line.cells[at]) and at + 1 < len(line.cells) and is_letter(line.cells[at + 1])
        return inside and line.put(at, at + 1, [line.cells[at], " "])
