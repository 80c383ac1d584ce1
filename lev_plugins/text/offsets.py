"""Where in a text the pieces stand that a model reads, by the tokeniser's own account, and the way back.

A piece cannot always be told apart from its neighbours in the text: "é" may be two bytes, "ﬁ" two letters after
normalisation. Such pieces make one ``Unit``. Between two units there is at most white space, or what the tokeniser
drops; units never overlap.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import regex

from lev_plugins.errors import UserError, require
from lev_plugins.text.pretrained import Bytes, SentencePieces

BLANK = "▁"
# and digits: w8rd is one word; vowel signs, accents of their own and joiners go on with a word
LETTERS = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200c\u200d]*"
WORD = regex.compile(rf"{LETTERS}(?:['\u2019]{LETTERS})*|[^\s\x1c-\x1f]")  # white space as str.split has it
GLUED = regex.compile(r"(?<=[\p{L}\p{N}][\p{M}\u200c\u200d]*) (?=[\p{L}\p{N}])")  # between pieces that are words
REFUSED = (
    "so edits cannot be placed: use sentencepiece, subword_nmt, words, chars, a pre-trained T5, BART or BERT, or no "
    "--bpe"
)


class Unit(NamedTuple):
    pieces: tuple[str, ...]
    start: int
    end: int
    blank: bool  # do its pieces, or else the text, say that there is a blank before it, which is not part of it?


@dataclass(frozen=True)
class Offsets:
    """
    >>> offsets = offsets_of()
    >>> offsets.units("a  cat"), offsets.spell(["a", "dog"])
    ([Unit(pieces=('a',), start=0, end=1, blank=True), Unit(pieces=('cat',), start=3, end=6, blank=True)], ' a dog')
    """

    units: Callable[[str], list[Unit]]
    spell: Callable[[Sequence[str]], str]  # names as they are in the middle of a text, with the blank before them
    says_blanks: bool = True  # False: pieces do not say where blanks are; spell prints some by rules of its own
    named: Callable[[Sequence[str]], Sequence[str]] = list  # names for ``spell``, each with the blank before it


def offsets_of(name: str | None = None, bpe: Any = None) -> Offsets:
    """Of fairseq's ``--bpe name``; None: text is cut at white space."""
    if name is None:
        return Offsets(words, lambda pieces: "".join(f" {piece}" for piece in pieces))
    if name == "sentencepiece":
        return Offsets(lambda text: united(text, sentencepieces(bpe.sp, text)), spell_blanks)
    if name == "subword_nmt":
        named = partial(with_blanks, bpe.bpe.separator)
        return Offsets(lambda text: united(text, torn_words(bpe.bpe, text)), "".join, named=named)
    if name in ("chars", "characters"):
        return Offsets(characters, spell_blanks)
    if name == "words":
        return Offsets(whole_words, spell_words)
    require(name == "pretrained", f"--bpe {name} does not say where in the text its pieces are, {REFUSED}")
    tokenizer, symbols = bpe.tokenizer, bpe.symbols
    if isinstance(tokenizer, SentencePieces):
        return Offsets(lambda text: united(text, sentencepieces(tokenizer.model, text, symbols)), spell_blanks)

    def spell(pieces: Sequence[str]) -> str:
        return bpe.decode(" ".join(pieces))

    if isinstance(tokenizer, Bytes):
        return Offsets(
            lambda text: [Unit(tuple(bpe.encode(sign).split()), i, i + 1, False) for i, sign in enumerate(text)], spell
        )
    library = tokenizer.library
    decoder = (json.loads(library.to_str())["decoder"] or {}).get("type")
    if decoder == "ByteLevel":
        return Offsets(lambda text: united(text, library_pieces(library, text, symbols)), spell)
    if decoder != "WordPiece":
        raise UserError(f"the tokenizer in {bpe.folder} ({decoder}) does not say where blanks are, {REFUSED}")
    # as the tokenizer prints pieces that follow a word: without a blank where it puts none, as before a full stop
    word = next((symbol for symbol in symbols if symbol.isalpha() and bpe.decode(symbol) == symbol), "")
    require(word != "", f"the tokenizer in {bpe.folder} has no token that is a whole word, {REFUSED}")
    return Offsets(
        lambda text: united(text, blanks_of_text(text, library_pieces(library, text, symbols))),
        lambda pieces: spell([word, *pieces]).removeprefix(word) if pieces else "",
        says_blanks=False,
    )


def spell_words(pieces: Sequence[str]) -> str:
    """A word is never glued to the one before it: without a sign between them, no text is cut into such pieces.

    >>> spell_words(["▁(", "▁the", "cat", ")"])
    ' ( the cat)'
    """
    return GLUED.sub(BLANK, " ".join(pieces)).replace(" ", "").replace(BLANK, " ")


def spell_blanks(pieces: Sequence[str]) -> str:
    """
    >>> spell_blanks(["▁hou", "ses", "▁are"])
    ' houses are'
    """
    return "".join(pieces).replace(BLANK, " ")


class Piece(NamedTuple):
    name: str
    start: int
    end: int  # of all that the tokeniser made it of, which may begin with white space
    blank: bool


def words(text: str) -> list[Unit]:
    return [Unit((found.group(),), *found.span(), True) for found in re.finditer(r"\S+", text)]


def characters(text: str) -> list[Unit]:
    """A blank is a piece; other white space is dropped.

    >>> [unit.pieces[0] for unit in characters("a b\\tc")]
    ['a', '▁', 'b', 'c']
    """
    names = (BLANK if sign == " " else sign for sign in text)
    return [Unit((name,), i, i + 1, False) for i, name in enumerate(names) if not name.isspace()]


def whole_words(text: str) -> list[Unit]:
    """
    >>> whole_words("a  cat.")[1:]
    [Unit(pieces=('▁cat',), start=3, end=6, blank=True), Unit(pieces=('.',), start=6, end=7, blank=False)]
    """
    return [Unit((piece,), *place, len(piece) > place[1] - place[0]) for piece, place in words_with_places(text)]


def words_with_places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The first word, and each after white space, begins with ▁.

    >>> list(words_with_places("a cat."))
    [('▁a', (0, 1)), ('▁cat', (2, 5)), ('.', (5, 6))]
    >>> [word for word, _ in words_with_places("हिन्दी में")]
    ['▁हिन्दी', '▁में']
    """
    end = -1
    for found in WORD.finditer(text):
        yield f"{BLANK}{found[0]}" if found.start() > end else found[0], found.span()
        end = found.end()


def sentencepieces(model: Any, text: str, symbols: Sequence[str] | None = None) -> list[Piece]:
    """``symbols`` are names of the ids, if others than the model's own are in use."""
    said = model.EncodeAsOffsetMapping(text)
    names = said["pieces"] if symbols is None else [symbols[i] for i in said["ids"]]
    places = zip(names, said["pieces"], said["offsets"], strict=True)
    return [Piece(name, start, end, piece.startswith(BLANK)) for name, piece, (start, end) in places]


def torn_words(bpe: Any, text: str) -> Iterator[Piece]:
    """Of subword-nmt, which takes blanks alone for the ends of words."""
    for word in re.finditer("[^ ]+", text):
        place = word.start()
        names = bpe.segment_tokens([word.group()])
        for number, name in enumerate(names, start=1):
            length = len(name) if number == len(names) else len(name) - len(bpe.separator)
            yield Piece(name, place, place + length, place == word.start())
            place += length


def with_blanks(unfinished: str, pieces: Sequence[str]) -> list[str]:
    """Names that say where blanks are, of pieces that say where there are none.

    >>> with_blanks("@@", ["hou@@", "ses", "are"])
    [' hou', 'ses', ' are']
    """
    blanks = ("" if before.endswith(unfinished) else " " for before in ["", *pieces])
    return [blank + piece.removesuffix(unfinished) for blank, piece in zip(blanks, pieces, strict=False)]


def library_pieces(library: Any, text: str, symbols: Sequence[str]) -> list[Piece]:
    said = library.encode(text, add_special_tokens=False)
    blanks = (library.decode([i], skip_special_tokens=False).startswith(" ") for i in said.ids)
    places = zip(said.ids, said.offsets, blanks, strict=True)
    return [Piece(symbols[i], start, end, blank or text[start:end].isspace()) for i, (start, end), blank in places]


def blanks_of_text(text: str, pieces: Iterable[Piece]) -> Iterable[Piece]:
    """
    >>> [piece.blank for piece in blanks_of_text("it's", [Piece("it", 0, 2, True), Piece("'", 2, 3, True)])]
    [True, False]
    """
    return (piece._replace(blank=piece.start == 0 or text[piece.start - 1].isspace()) for piece in pieces)


def united(text: str, pieces: Iterable[Piece]) -> list[Unit]:
    """Pieces without a place of their own, together with the next one that has a place.

    >>> united("a ﬁn", [Piece("▁a", 0, 1, True), Piece("▁", 1, 2, True), Piece("f", 2, 2, False),
    ...                 Piece("in", 2, 4, False)])
    [Unit(pieces=('▁a',), start=0, end=1, blank=True), Unit(pieces=('▁', 'f', 'in'), start=2, end=4, blank=True)]
    """
    units: list[Unit] = []
    waiting: list[Unit] = []
    for piece in pieces:
        surface = text[piece.start : piece.end]
        start = piece.end - len(surface.lstrip())
        unit = Unit(tuple(piece.name.split()), start, start + len(surface.strip()), piece.blank)
        if units and unit.start < units[-1].end:  # parts of one character, one after the other
            units[-1] = merged([units[-1], *waiting, unit])
            waiting = []
        elif unit.start == unit.end:
            waiting.append(unit)
        else:
            units.append(merged([*waiting, unit]))
            waiting = []
    if waiting and units:
        units[-1] = merged([units[-1], *waiting])
    return [unit for unit in units if unit.pieces]


def merged(units: list[Unit]) -> Unit:
    """The place is that of the pieces that have one."""
    placed = [unit for unit in units if unit.start < unit.end]
    pieces = tuple(piece for unit in units for piece in unit.pieces)
    blank = any(unit.blank for unit in units[: units.index(placed[0]) + 1])
    return Unit(pieces, min(unit.start for unit in placed), max(unit.end for unit in placed), blank)
