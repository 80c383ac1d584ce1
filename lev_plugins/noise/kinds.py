"""The kinds of noise; each makes one slip at one place of a line."""

import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from string import digits, punctuation
from typing import NamedTuple

from lev_plugins.noise.draws import Draw, shuffled
from lev_plugins.noise.text import Line, WordSpan, clusters, is_letter, is_space, like
from lev_plugins.text.protected import without_diacritics

ANY = "any"  # --alphabet any
ALPHABETS = Path(__file__).parent / "tables" / "alphabets.tsv"


def every_cell(line: Line, words: Sequence[WordSpan], draw: Draw) -> Iterator[int]:
    """Yields the cells of neighbouring words in random order."""
    return shuffled(range(words[0].start, words[-1].end), draw)


class NoiseKind(NamedTuple):
    """One kind of slip."""

    # makes one slip at an untouched cell; returns False, with nothing changed, if none is possible there
    edit: Callable[[Line, int, Draw], bool]
    # yields the cells of neighbouring words where a slip may begin, in the order in which to try them
    sites: Callable[[Line, Sequence[WordSpan], Draw], Iterator[int]] = every_cell
    words: int = 1  # the number of words that one slip changes
    # makes slips in some words at rates of its own; None: the kind has no such rates
    edit_by_rate: Callable[[Line, Sequence[WordSpan], Draw], None] | None = None


class Alphabets:
    """The letters that may be written beside or instead of a letter.

    By default they are those of its script, in its case; with ``letters``, that fixed set, in its case, or of several
    sets between blanks the one that the letter is in; with ``ANY``, letters of the script in either case, digits and
    signs.

    >>> "".join(Alphabets().beside("É"))[:5], Alphabets().beside("7")[:3], Alphabets("aäy").beside("Y")
    ('ABCDE', ('0', '1', '2'), ('A', 'Ä', 'Y'))
    >>> Alphabets("aäy 01").beside("Y"), Alphabets("aäy 01").beside("7")[:3]
    (('A', 'Ä', 'Y'), ('0', '1', '2'))
    >>> "".join(Alphabets(ANY).beside("ж"))[66:80]
    '0123456789!"#$'
    """

    def __init__(self, letters: str | None = None) -> None:
        self.any = letters == ANY
        sets = [tuple(dict.fromkeys(clusters(part))) for part in (letters or "").split() if not self.any]
        self.letters = sets[0] if len(sets) == 1 else None
        self.sets = {letter: part for part in sets for letter in part}

    def beside(self, cell: str) -> tuple[str, ...]:
        """Return the letters for a cell; none for other characters than letters and digits, and for unknown scripts."""
        if not is_letter(cell):
            return ()
        if self.any:
            return anything(letters_of_script(cell[0]))
        return cased(self.letters or self.sets.get(cell.lower()) or letters_of_script(cell[0]), cell)


@lru_cache(maxsize=64)
def anything(letters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the letters in both cases, digits and ASCII punctuation."""
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
def without(letters: tuple[str, ...], letter: str) -> tuple[str, ...]:
    return tuple(candidate for candidate in letters if candidate != letter)


def insert(alphabets: Alphabets, line: Line, at: int, draw: Draw) -> bool:
    """Writes an extra letter of the alphabet beside another one."""
    cell = line.cells[at]
    letters = alphabets.beside(cell)
    if not letters:
        return False
    letter = letters[int(draw() * len(letters))]
    return line.put(at, at + 1, [letter, cell] if draw() < 0.5 else [cell, letter])


def substitute(alphabets: Alphabets, line: Line, at: int, draw: Draw) -> bool:
    """Writes another letter of the alphabet."""
    cell = line.cells[at]
    letters = without(alphabets.beside(cell), cell)
    return bool(letters) and line.put(at, at + 1, [letters[int(draw() * len(letters))]])


def accent(line: Line, at: int, draw: Draw) -> bool:
    """Gives a Latin letter a mark, or writes one that looks like it, such as ø or ł."""
    letters = with_marks().get(line.cells[at], ())
    return bool(letters) and line.put(at, at + 1, [letters[int(draw() * len(letters))]])


@lru_cache(maxsize=1)
def with_marks() -> dict[str, list[str]]:
    """Return the Latin letters with marks, by the letter without marks.

    >>> "".join(with_marks()["o"][:8]), "".join(with_marks()["I"][:4])
    ('òóôõöøōŏ', 'ÌÍÎÏ')
    >>> "æ" in with_marks()  # it has no mark
    False
    """
    marked: dict[str, list[str]] = {}
    for letter in map(chr, [*range(0xC0, 0x180), *range(0x1E00, 0x1F00)]):
        if (plain := without_diacritics(letter)) != letter:
            marked.setdefault(plain, []).append(letter)
    return marked


def delete(line: Line, at: int, draw: Draw) -> bool:
    """Leaves out a letter or digit. The last character of a word stays, so that no word disappears."""
    return is_letter(line.cells[at]) and word_remains(line, at, at + 1) and line.put(at, at + 1, [])


def word_remains(line: Line, start: int, stop: int) -> bool:
    """Return whether the word would still have a character without these cells."""
    for place, step in ((start - 1, -1), (stop, 1)):
        while 0 <= place < len(line.cells) and not is_space(line.cells[place]):
            if line.cells[place]:
                return True
            place += step
    return False


def one_of(kinds: Sequence[NoiseKind], line: Line, at: int, draw: Draw) -> bool:
    """Draws a kind for each slip; if that kind is impossible, the next one is tried."""
    start = int(draw() * len(kinds))
    return any(kind.edit(line, at, draw) for kind in (*kinds[start:], *kinds[:start]))


def keyboard(
    near: Mapping[str, Sequence[str]], shifts: Mapping[str, str], shift_rate: float, line: Line, at: int, draw: Draw
) -> bool:
    """Hits a neighbouring key, with the same shift or, at a rate, with the wrong one: fox becomes gox or Gox."""
    keys = near.get(line.cells[at], ())
    if not keys:
        return False
    key = keys[int(draw() * len(keys))]
    if shift_rate and draw() < shift_rate:  # without a rate, no draw: the noise of a seed must stay
        key = shifts.get(key, key)
    return line.put(at, at + 1, [key])


def shift(shifts: Mapping[str, str], line: Line, at: int, draw: Draw) -> bool:
    """Hits the right key, with shift held or not held by mistake."""
    key = shifts.get(line.cells[at])
    return key is not None and line.put(at, at + 1, [key])


def swap(line: Line, at: int, draw: Draw) -> bool:
    """Writes two neighbouring letters of a word in the wrong order; capitals stay in place: The becomes Hte."""
    if at + 1 >= len(line.cells) or not line.untouched(at + 1, at + 2):
        return False
    left, right = line.cells[at : at + 2]
    if not (is_letter(left) and is_letter(right)):
        return False
    swapped = [like(right, left), like(left, right)]
    return swapped != [left, right] and line.put(at, at + 2, swapped)


def untouched_starts(line: Line, words: Sequence[WordSpan], draw: Draw) -> Iterator[int]:
    """Yields the first cells of untouched words in random order."""
    return shuffled([word.start for word in words if word.start not in line.touched], draw)


def swap_words(line: Line, at: int, draw: Draw) -> bool:
    """Exchanges a word and the nearest untouched one."""
    words = len(line.starts)
    number = bisect_left(line.starts, at)
    nearest = (neighbour for step in range(1, words) for neighbour in (number + step, number - step))
    return any(
        exchange_words(line, line.word(min(number, neighbour)), line.word(max(number, neighbour)))
        for neighbour in nearest
        if 0 <= neighbour < words and line.starts[neighbour] not in line.touched
    )


def exchange_words(line: Line, left: WordSpan, right: WordSpan) -> bool:
    """Exchange two words, unless they are equal or one of them has been touched."""
    if not (line.untouched(left.start, left.end) and line.untouched(right.start, right.end)):
        return False
    left_cells, right_cells = line.cells[left.start : left.end], line.cells[right.start : right.end]
    between = line.cells[left.end : right.start]
    return left_cells != right_cells and line.put(left.start, right.end, [*right_cells, *between, *left_cells])


def ends_before_words(line: Line, words: Sequence[WordSpan], draw: Draw) -> Iterator[int]:
    """Yields the cells behind words that another word follows, in random order."""
    return shuffled([word.end for word in words if word.next > word.end], draw)


def run_on(line: Line, at: int, draw: Draw) -> bool:
    """Drops the white space between two words: is said becomes issaid."""
    stop = at + 1
    while is_space(line.cells[stop]):
        stop += 1
    return line.untouched(at, stop) and line.put(at, stop, [])


def split(line: Line, at: int, draw: Draw) -> bool:
    """Writes a space inside a word, between two letters or digits."""
    inside = is_letter(line.cells[at]) and at + 1 < len(line.cells) and is_letter(line.cells[at + 1])
    return inside and line.put(at, at + 1, [line.cells[at], " "])
