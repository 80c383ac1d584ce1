"""Pieces and their positions in the text, and edits of one word, which change no other text."""

import unicodedata
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import pytest
import regex
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.edited import Edit, Span
from lev_plugins.text.offsets import Offsets, Unit, offsets_of
from lev_plugins.text.rewrites import rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.text.sentences import lines
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils.errors import UserError
from tests.helpers import thorough

pytest.importorskip("transformers")
from tests import pretrained

ODD_CHARACTERS = " \t\u00a0\u3000\u2028abeht.,é\u0301\u200d\u200b\ufeff\x01😀👩ßﬁ½ﷺ\uff21▁日กา"
texts = st.text(st.sampled_from(ODD_CHARACTERS) | st.characters(exclude_categories=["Cs"]), max_size=25).map(str.strip)
DROPPED = ["Cc", "Cf", "Zs", "Zl", "Zp"]  # categories of what a tokeniser may leave out
DROPPED_BY_BERT = [*DROPPED, "Mn", "Co", "Cn"]


@pytest.fixture(scope="module")
def tokenisers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokeniser]:
    root = tmp_path_factory.mktemp("tokenisers")
    by_name = {"white space": Tokeniser(None), **{name: Tokeniser(Namespace(bpe=name)) for name in ("chars", "words")}}
    for rule in ("nmt_nfkc", "identity"):
        pretrained.sentencepieces(root / rule, pretrained.TOKENIZER_LINES * 20, 50, normalization_rule_name=rule)
        by_name[rule] = Tokeniser(Namespace(bpe="sentencepiece", sentencepiece_model=f"{root / rule}.model"))
    codes = root / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\no w</w>\ns h\n")
    by_name["subword_nmt"] = Tokeniser(Namespace(bpe="subword_nmt", bpe_codes=str(codes), bpe_separator="@@"))
    for name in ("t5", "byt5", "bart", "bert", "xlm-roberta"):
        pretrained.make(name, root / name)
        folder = pretrained.imported(root / name, root / f"{name}.out")
        by_name[name] = Tokeniser(Namespace(bpe="pretrained", pretrained_tokenizer=str(folder)))
    return by_name


def offsets_for(tokeniser: Tokeniser) -> Offsets:
    return offsets_of(tokeniser.name, tokeniser.bpe)


REVERSIBLE = ["white space", "chars", "words", "nmt_nfkc", "identity", "subword_nmt"]
REVERSIBLE += ["t5", "byt5", "bart", "xlm-roberta"]
TOKENISER_NAMES = [*REVERSIBLE, "bert"]


@pytest.mark.parametrize("name", TOKENISER_NAMES)
@given(texts)
@example("ﬁ ½ \uff21\uff22\u3000ﷺ")
@example("▁a ▁ b")
@example("e\u0301 👩\u200d👩 \x01 z")
@example("x\u200by\u00a0\tz")
@thorough
def test_units_cover_the_text(tokenisers: dict[str, Tokeniser], name: str, text: str) -> None:
    units = offsets_for(tokenisers[name]).units(text)
    assert [piece for unit in units for piece in unit.pieces] == tokenisers[name].pieces(text)
    ends = [(0, 0), *((unit.start, unit.end) for unit in units), (len(text), len(text))]
    for (_, start), (end, _) in pairwise(ends):
        assert start <= end
        assert may_be_dropped(text[start:end], DROPPED_BY_BERT if name == "bert" else DROPPED), (text, units)
    assert all(unit.start < unit.end and unit.pieces for unit in units)


def may_be_dropped(gap: str, categories: list[str]) -> bool:
    return all(sign.isspace() or sign == "▁" or unicodedata.category(sign) in categories for sign in gap)


@pytest.mark.parametrize("name", REVERSIBLE)
@pytest.mark.parametrize("line", pretrained.TOKENIZER_LINES)
def test_units_spell_the_text(tokenisers: dict[str, Tokeniser], name: str, line: str) -> None:
    offsets = offsets_for(tokenisers[name])
    pieces = [piece for unit in offsets.units(line) for piece in unit.pieces]
    assert offsets.spell(offsets.with_blanks(pieces)).strip() == line.strip()


@pytest.mark.parametrize("name", TOKENISER_NAMES)
def test_units_know_the_blank_before_them(tokenisers: dict[str, Tokeniser], name: str) -> None:
    text = "the cat"
    units = offsets_for(tokenisers[name]).units(text)
    units_of_cat = [unit for unit in units if unit.start == 4]
    assert [unit.blank for unit in units_of_cat] == [name not in ("chars", "byt5")]
    assert [text[unit.start - 1] for unit in units_of_cat] == [" "]


def test_wordpieces_are_spelt_with_the_blanks_of_the_text(
    tokenisers: dict[str, Tokeniser],
) -> None:
    offsets = offsets_for(tokenisers["bert"])
    assert offsets.spell(["fox"]) == " fox" and offsets.spell(["fox", "."]) == " fox." and offsets.spell([]) == ""
    text = "The  (quick) Fox."
    units = offsets.units(text)
    whole = {text[unit.start : unit.end]: unit.blank for unit in units}
    assert whole["The"] and whole["("] and not whole[")"] and whole["Fox"] and not whole["."]


def test_tokenisers_without_offsets_are_refused() -> None:
    with pytest.raises(UserError, match="--bpe bytes"):
        offsets_of("bytes")


# ---- edits of one word -----------------------------------------------------------------------------------------------


WORD = regex.compile(r"\w[\w\p{M}\u200c\u200d]*")
THE = "the"
LINE_CHARACTERS = f"{ODD_CHARACTERS}()!\"'\u201c\u201d\u2019\x00\x7f\u00ad"
NO_KINDS = "scripts,stretched,digits,numbers,names"  # of text that is left alone


@dataclass
class OneEdit:
    """A model that replaces one word, if no piece crosses its ends."""

    text: str
    word: Span
    replacement: str
    lexicon = None
    task, drafts, longest, symbols = "text_correction", False, 1000, ()

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        (segment,) = segments
        start, end = (position - lines(self.text)[0].start for position in self.word)
        assume(not any(unit.start < position < unit.end for unit in segment.units for position in (start, end)))
        head = pieces_of_units(unit for unit in segment.units if unit.end <= start)
        tail = pieces_of_units(unit for unit in segment.units if unit.start >= end)
        pieces = pieces_of_units(segment.offsets.units(segment.text[:start] + self.replacement + segment.text[end:]))
        begin, stop = len(head), len(pieces) - len(tail)
        assume(begin <= stop and pieces[:begin] == head and pieces[stop:] == tail)
        indices = range(len(segment.pieces))
        origin = [
            *indices[:begin],
            *[None] * (stop - begin),
            *indices[len(indices) - len(tail) :],
        ]
        return [[change.edit for change in rewrites(segment, pieces, origin)]]


def pieces_of_units(units: Iterable[Unit]) -> list[str]:
    return [piece for unit in units for piece in unit.pieces]


def edit_word(tokeniser: Tokeniser, text: str, start: int, end: int, replacement: str) -> str:
    """Edits a word, with a lower-case model if the tokeniser drops capitals."""
    form = TextStyle(lowercase=tokeniser.pieces("ABEH") == tokeniser.pieces("abeh"))
    editor = Editor(
        OneEdit(text, Span(start, end), replacement), tokeniser, EditOptions(split=False, edit_also=NO_KINDS), form
    )
    return editor.edit([text])[0].text


def lines_for(name: str) -> st.SearchStrategy[str]:
    """Draws lines without characters that the tokeniser joins to words or drops from them."""
    signs = st.sampled_from(LINE_CHARACTERS) | st.characters(exclude_categories=["Cs"]) | st.sampled_from("abeht  ")
    if name == "subword_nmt":  # of white space, only blanks separate its words
        signs = signs.filter(lambda sign: sign == " " or not sign.isspace())
    if name == "bert":  # which reads no accents either
        signs = signs.filter(lambda sign: unicodedata.category(sign) not in ("Mn", "Cf"))
        signs = signs.filter(lambda sign: unicodedata.normalize("NFD", sign) == sign)
    return st.lists(signs, max_size=14).map("".join).filter(lambda text: len(text.splitlines()) == 1)


@pytest.mark.parametrize("name", TOKENISER_NAMES)
@given(data=st.data())
@thorough
def test_editing_a_word_keeps_the_other_text(tokenisers: dict[str, Tokeniser], name: str, data: st.DataObject) -> None:
    text, tokeniser = data.draw(lines_for(name)), tokenisers[name]
    words = [match.span() for match in WORD.finditer(text)]
    assume(words)
    start, end = data.draw(st.sampled_from(words))
    prefix, suffix = text[:start], text[end:]
    kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
    if kind == "replace":
        cases = (f"{prefix}{word}{suffix}" for word in (THE, THE.title(), THE.upper()))
        assert edit_word(tokeniser, text, start, end, THE) in (text, *cases)
    elif kind == "delete":
        expected = text, prefix + suffix, prefix.rstrip() + suffix, prefix + suffix.lstrip()
        assert edit_word(tokeniser, text, start, end, "") in expected
    else:  # before or behind what the tokeniser drops
        ways = (f"{text[:i]}{word}{text[i:]}" for i in range(end + 1) for word in (f"{THE} ", f" {THE}", THE))
        assert edit_word(tokeniser, text, start, start, f"{THE} ") in (text, *ways)


# before a word; and the signs that a tokeniser has in one piece with it, or drops from it
GAPS = ["\u201c", " \u201c", "\x00", " \x01 ", "\t", "\u00a0", "\u3000", " \u200b", "(", "\t '"]
JOINED = {"white space": "\u201c\x00\u200b('", "nmt_nfkc": "\x00\x01\u200b", "t5": "\x00\x01\u200b", "bert": "\x00"}


@pytest.mark.parametrize(
    ("name", "gap"),
    [(name, gap) for name in TOKENISER_NAMES for gap in GAPS if not set(JOINED.get(name, "")) & set(gap)],
)
def test_words_beside_unusual_characters_are_edited(tokenisers: dict[str, Tokeniser], name: str, gap: str) -> None:
    for text in (f"a{gap}beh", f"beh{gap}a"):
        place = text.index("beh")
        assert edit_word(tokenisers[name], text, place, place + 3, THE) == text.replace("beh", THE)
