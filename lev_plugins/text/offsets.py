"""The places in a text of the pieces that a model reads, as the tokeniser reports them, and text from pieces.

Pieces do not always have places of their own: "é" may be two bytes, "ﬁ" two letters after normalisation. Such pieces
make one ``Unit``. Between two units there is at most white space, or what the tokeniser drops; units never overlap.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import regex

from lev_plugins.text.ids import BLANK
from lev_plugins.text.pretrained import ByteTokenizer, SentencePieces
from lev_plugins.utils.errors import UserError, require

# letters and digits (w8rd is one word), with vowel signs, combining accents and joiners
LETTERS = r"[\p{L}\p{N}][\p{L}\p{N}\p{M}\u200c\u200d]*"
TOKEN = regex.compile(rf"{LETTERS}(?:['\u2019]{LETTERS})*|[^\s\x1c-\x1f]")  # white space as str.split has it
WORD_GAP = regex.compile(r"(?<=[\p{L}\p{N}][\p{M}\u200c\u200d]*) (?=[\p{L}\p{N}])")  # between pieces that are words
REFUSED = (
    "so edits cannot be placed: use sentencepiece, subword_nmt, words, chars, a tokenizer of a pre-trained model, or "
    "no --bpe"
)


class Unit(NamedTuple):
    """The fewest pieces in a row that have a place in the text."""

    pieces: tuple[str, ...]
    start: int
    end: int
    blank: bool  # its pieces, or else the text, say that there is a blank before it, which is not part of it


@dataclass(frozen=True)
class Offsets:
    """Functions that place the pieces of a tokeniser in a text, and print them.

    >>> offsets = offsets_of()
    >>> offsets.units("a  cat"), offsets.spell(["a", "dog"])
    ([Unit(pieces=('a',), start=0, end=1, blank=True), Unit(pieces=('cat',), start=3, end=6, blank=True)], ' a dog')
    """

    units: Callable[[str], list[Unit]]  # cuts a text
    spell: Callable[[Sequence[str]], str]  # prints pieces as in the middle of a text, with the blank before them
    says_blanks: bool = True  # False: pieces do not say where blanks are; spell prints some by rules of its own
    with_blanks: Callable[[Sequence[str]], Sequence[str]] = list  # rewrites pieces for ``spell``: each has its blank


def offsets_of(name: str | None = None, bpe: Any = None) -> Offsets:
    """Returns the functions for a tokeniser.

    name: fairseq's ``--bpe``; None: text is cut at white space
    bpe: the tokeniser itself, where the functions need it
    """
    if name is None:
        return Offsets(units_at_white_space, lambda pieces: "".join(f" {piece}" for piece in pieces))
    if name == "sentencepiece":
        return Offsets(lambda text: group_pieces(text, sentencepieces(bpe.sp, text)), spell_blanks)
    if name == "subword_nmt":
        with_blanks = partial(mark_blanks, bpe.bpe.separator)
        return Offsets(lambda text: group_pieces(text, subwords(bpe.bpe, text)), "".join, with_blanks=with_blanks)
    if name in ("chars", "characters"):
        return Offsets(units_of_characters, spell_blanks)
    if name == "words":
        return Offsets(units_of_words, spell_words)
    require(name == "pretrained", f"--bpe {name} does not say where in the text its pieces are, {REFUSED}")
    tokenizer, symbols = bpe.tokenizer, bpe.symbols
    if isinstance(tokenizer, SentencePieces):
        return Offsets(lambda text: group_pieces(text, sentencepieces(tokenizer.model, text, symbols)), spell_blanks)

    def spell(pieces: Sequence[str]) -> str:
        return bpe.decode(" ".join(pieces))

    if isinstance(tokenizer, ByteTokenizer):
        return Offsets(
            lambda text: [Unit(tuple(bpe.encode(sign).split()), i, i + 1, False) for i, sign in enumerate(text)], spell
        )
    library = tokenizer.library
    decoder = (json.loads(library.to_str())["decoder"] or {}).get("type")
    if decoder in ("ByteLevel", "Metaspace"):
        spell_pieces = spell if decoder == "ByteLevel" else spell_blanks
        return Offsets(lambda text: group_pieces(text, library_pieces(library, text, symbols)), spell_pieces)
    if decoder != "WordPiece":
        raise UserError(f"the tokenizer in {bpe.folder} ({decoder}) does not say where blanks are, {REFUSED}")
    # as the tokenizer prints pieces that follow a word: without a blank where it puts none, as before a full stop
    word = next((symbol for symbol in symbols if symbol.isalpha() and bpe.decode(symbol) == symbol), "")
    require(word != "", f"the tokenizer in {bpe.folder} has no token that is a whole word, {REFUSED}")
    return Offsets(
        lambda text: group_pieces(text, with_blanks_of_text(text, library_pieces(library, text, symbols))),
        lambda pieces: spell([word, *pieces]).removeprefix(word) if pieces else "",
        says_blanks=False,
    )


def spell_words(pieces: Sequence[str]) -> str:
    """Prints the pieces of ``--bpe words``, with a blank between two words even if the second has no ▁.

    >>> spell_words(["▁(", "▁the", "cat", ")"])
    ' ( the cat)'
    """
    return WORD_GAP.sub(BLANK, " ".join(pieces)).replace(" ", "").replace(BLANK, " ")


def spell_blanks(pieces: Sequence[str]) -> str:
    """Prints pieces in which ▁ stands for a blank.

    >>> spell_blanks(["▁hou", "ses", "▁are"])
    ' houses are'
    """
    return "".join(pieces).replace(BLANK, " ")


class Piece(NamedTuple):
    """A piece, and the part of the text that it was made of, which may begin with white space."""

    name: str
    start: int
    end: int
    blank: bool  # there is a blank before it


def units_at_white_space(text: str) -> list[Unit]:
    return [Unit((match[0],), *match.span(), True) for match in re.finditer(r"\S+", text)]


def units_of_characters(text: str) -> list[Unit]:
    """Cuts a text into characters; a blank is a piece, and other white space is dropped.

    >>> [unit.pieces[0] for unit in units_of_characters("a b\\tc")]
    ['a', '▁', 'b', 'c']
    """
    names = (BLANK if sign == " " else sign for sign in text)
    return [Unit((name,), i, i + 1, False) for i, name in enumerate(names) if not name.isspace()]


def units_of_words(text: str) -> list[Unit]:
    """Cuts a text as ``--bpe words`` does.

    >>> units_of_words("a  cat.")[1:]
    [Unit(pieces=('▁cat',), start=3, end=6, blank=True), Unit(pieces=('.',), start=6, end=7, blank=False)]
    """
    return [Unit((piece,), *place, len(piece) > place[1] - place[0]) for piece, place in words_with_places(text)]


def words_with_places(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yields words and signs with their places; the first word, and each after white space, begins with ▁.

    >>> list(words_with_places("a cat."))
    [('▁a', (0, 1)), ('▁cat', (2, 5)), ('.', (5, 6))]
    >>> [word for word, _ in words_with_places("हिन्दी में")]
    ['▁हिन्दी', '▁में']
    """
    end = -1
    for match in TOKEN.finditer(text):
        yield f"{BLANK}{match[0]}" if match.start() > end else match[0], match.span()
        end = match.end()


def sentencepieces(model: Any, text: str, symbols: Sequence[str] | None = None) -> list[Piece]:
    """Cuts a text with sentencepiece; ``symbols`` are names of the ids that replace the model's own."""
    encoded = model.EncodeAsOffsetMapping(text)
    names = encoded["pieces"] if symbols is None else [symbols[i] for i in encoded["ids"]]
    places = zip(names, encoded["pieces"], encoded["offsets"], strict=True)
    return [Piece(name, start, end, piece.startswith(BLANK)) for name, piece, (start, end) in places]


def subwords(bpe: Any, text: str) -> Iterator[Piece]:
    """Cuts a text with subword-nmt, for which only blanks end words."""
    for word in re.finditer("[^ ]+", text):
        place = word.start()
        names = bpe.segment_tokens([word.group()])
        for number, name in enumerate(names, start=1):
            length = len(name) if number == len(names) else len(name) - len(bpe.separator)
            yield Piece(name, place, place + length, place == word.start())
            place += length


def mark_blanks(separator: str, pieces: Sequence[str]) -> list[str]:
    """Puts blanks before pieces of subword-nmt, which only say where there is none.

    >>> mark_blanks("@@", ["hou@@", "ses", "are"])
    [' hou', 'ses', ' are']
    """
    blanks = [" ", *("" if piece.endswith(separator) else " " for piece in pieces[:-1])][: len(pieces)]
    return [blank + piece.removesuffix(separator) for blank, piece in zip(blanks, pieces, strict=True)]


def library_pieces(library: Any, text: str, symbols: Sequence[str]) -> list[Piece]:
    """Cuts a text with the package ``tokenizers``; ``symbols`` are the names of its ids."""
    encoding = library.encode(text, add_special_tokens=False)
    printed = (library.decode([i], skip_special_tokens=False) for i in encoding.ids)
    blanks = (
        text.startswith(" ") or token.startswith(BLANK) for text, token in zip(printed, encoding.tokens, strict=True)
    )
    places = zip(encoding.ids, encoding.offsets, blanks, strict=True)
    return [Piece(symbols[i], start, end, blank or text[start:end].isspace()) for i, (start, end), blank in places]


def with_blanks_of_text(text: str, pieces: Iterable[Piece]) -> Iterable[Piece]:
    """Marks the pieces that have white space before them in the text.

    >>> [piece.blank for piece in with_blanks_of_text("it's", [Piece("it", 0, 2, True), Piece("'", 2, 3, True)])]
    [True, False]
    """
    return (piece._replace(blank=piece.start == 0 or text[piece.start - 1].isspace()) for piece in pieces)


def group_pieces(text: str, pieces: Iterable[Piece]) -> list[Unit]:
    """Joins pieces without a place of their own to the next one that has a place.

    >>> group_pieces("a ﬁn", [Piece("▁a", 0, 1, True), Piece("▁", 1, 2, True), Piece("f", 2, 2, False),
    ...                       Piece("in", 2, 4, False)])
    [Unit(pieces=('▁a',), start=0, end=1, blank=True), Unit(pieces=('▁', 'f', 'in'), start=2, end=4, blank=True)]
    """
    units: list[Unit] = []
    placeless: list[Unit] = []
    for piece in pieces:
        surface = text[piece.start : piece.end]
        start = piece.end - len(surface.lstrip())
        unit = Unit(tuple(piece.name.split()), start, start + len(surface.strip()), piece.blank)
        if units and unit.start < units[-1].end:  # parts of one character, one after the other
            units[-1] = merge([units[-1], *placeless, unit])
            placeless = []
        elif unit.start == unit.end:
            placeless.append(unit)
        else:
            units.append(merge([*placeless, unit]))
            placeless = []
    if placeless and units:
        units[-1] = merge([units[-1], *placeless])
    return [unit for unit in units if unit.pieces]


def merge(units: list[Unit]) -> Unit:
    """Joins units, of which at least one has a place in the text."""
    placed = [unit for unit in units if unit.start < unit.end]
    pieces = tuple(piece for unit in units for piece in unit.pieces)
    blank = any(unit.blank for unit in units[: units.index(placed[0]) + 1])
    return Unit(pieces, min(unit.start for unit in placed), max(unit.end for unit in placed), blank)
