"""Pieces and their places: all of the text is in one unit or in none, and the pieces are those that a model reads.

And back: an edit of one word never changes what stands outside this word.
"""

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

ODD = " \t\u00a0\u3000\u2028abeht.,é\u0301\u200d\u200b\ufeff\x01😀👩ßﬁ½ﷺ\uff21▁日กา"
texts = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=25).map(str.strip)
DROPPED = ["Cc", "Cf", "Zs", "Zl", "Zp"]  # categories of what a tokeniser may leave out
DROPPED_BY_BERT = [*DROPPED, "Mn", "Co", "Cn"]


@pytest.fixture(scope="module")
def tokenisers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokeniser]:
    root = tmp_path_factory.mktemp("tokenisers")
    found = {"white space": Tokeniser(None), **{name: Tokeniser(Namespace(bpe=name)) for name in ("chars", "words")}}
    for rule in ("nmt_nfkc", "identity"):
        pretrained.sentencepieces(root / rule, pretrained.LINES * 20, 50, normalization_rule_name=rule)
        found[rule] = Tokeniser(Namespace(bpe="sentencepiece", sentencepiece_model=f"{root / rule}.model"))
    codes = root / "codes"
    codes.write_text("#version: 0.2\nt h\nth e</w>\no w</w>\ns h\n")
    found["subword_nmt"] = Tokeniser(Namespace(bpe="subword_nmt", bpe_codes=str(codes), bpe_separator="@@"))
    for name in ("t5", "byt5", "bart", "bert", "xlm-roberta"):
        pretrained.make(name, root / name)
        folder = pretrained.imported(root / name, root / f"{name}.out")
        found[name] = Tokeniser(Namespace(bpe="pretrained", pretrained_tokenizer=str(folder)))
    return found


def placed(tokeniser: Tokeniser) -> Offsets:
    return offsets_of(tokeniser.name, tokeniser.bpe)


REVERSIBLE = ["white space", "chars", "words", "nmt_nfkc", "identity", "subword_nmt"]
REVERSIBLE += ["t5", "byt5", "bart", "xlm-roberta"]
TOKENISERS = [*REVERSIBLE, "bert"]


@pytest.mark.parametrize("name", TOKENISERS)
@given(texts)
@example("ﬁ ½ \uff21\uff22\u3000ﷺ")
@example("▁a ▁ b")
@example("e\u0301 👩\u200d👩 \x01 z")
@example("x\u200by\u00a0\tz")
@thorough
def test_units_cover_the_text_in_order(tokenisers: dict[str, Tokeniser], name: str, text: str) -> None:
    units = placed(tokenisers[name]).units(text)
    assert [piece for unit in units for piece in unit.pieces] == tokenisers[name].pieces(text)
    ends = [(0, 0), *((unit.start, unit.end) for unit in units), (len(text), len(text))]
    for (_, left), (right, _) in pairwise(ends):
        assert left <= right
        assert dropped(text[left:right], DROPPED_BY_BERT if name == "bert" else DROPPED), (text, units)
    assert all(unit.start < unit.end and unit.pieces for unit in units)


def dropped(gap: str, categories: list[str]) -> bool:
    return all(sign.isspace() or sign == "▁" or unicodedata.category(sign) in categories for sign in gap)


@pytest.mark.parametrize("name", REVERSIBLE)
@pytest.mark.parametrize("line", pretrained.LINES)
def test_all_units_spelt_are_the_text(tokenisers: dict[str, Tokeniser], name: str, line: str) -> None:
    offsets = placed(tokenisers[name])
    pieces = [piece for unit in offsets.units(line) for piece in unit.pieces]
    assert offsets.spell(offsets.with_blanks(pieces)).strip() == line.strip()


@pytest.mark.parametrize("name", TOKENISERS)
def test_a_unit_says_whether_a_blank_is_before_it(tokenisers: dict[str, Tokeniser], name: str) -> None:
    text = "the cat"
    units = placed(tokenisers[name]).units(text)
    before = [unit for unit in units if unit.start == 4]
    assert [unit.blank for unit in before] == [name not in ("chars", "byt5")]
    assert [text[unit.start - 1] for unit in before] == [" "]


def test_pieces_of_wordpiece_are_spelt_as_the_tokenizer_prints_them_and_blanks_are_those_of_the_text(
    tokenisers: dict[str, Tokeniser],
) -> None:
    offsets = placed(tokenisers["bert"])
    assert offsets.spell(["fox"]) == " fox" and offsets.spell(["fox", "."]) == " fox." and offsets.spell([]) == ""
    text = "The  (quick) Fox."
    units = offsets.units(text)
    whole = {text[unit.start : unit.end]: unit.blank for unit in units}
    assert whole["The"] and whole["("] and not whole[")"] and whole["Fox"] and not whole["."]


def test_tokenisers_that_cannot_say_are_refused() -> None:
    with pytest.raises(UserError, match="--bpe bytes does not say where in the text"):
        offsets_of("bytes")


# ---- edits of one word -----------------------------------------------------------------------------------------------


WORD = regex.compile(r"\w[\w\p{M}\u200c\u200d]*")
NEW = "the"
SIGNS = f"{ODD}()!\"'\u201c\u201d\u2019\x00\x7f\u00ad"
NO_KINDS = "scripts,stretched,digits,numbers,names"  # of text that is left alone


@dataclass
class OneEdit:
    """A model that writes something in place of one word, if no piece is half in this word."""

    text: str
    word: Span
    written: str
    task, drafts, longest, symbols = "text_correction", False, 1000, ()

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        (segment,) = segments
        start, end = (place - lines(self.text)[0].start for place in self.word)
        assume(not any(unit.start < place < unit.end for unit in segment.units for place in (start, end)))
        left = pieces_of(unit for unit in segment.units if unit.end <= start)
        right = pieces_of(unit for unit in segment.units if unit.start >= end)
        written = pieces_of(segment.offsets.units(segment.text[:start] + self.written + segment.text[end:]))
        first, last = len(left), len(written) - len(right)
        assume(first <= last and written[:first] == left and written[last:] == right)
        all_given = range(len(segment.pieces))
        origin = [*all_given[:first], *[None] * (last - first), *all_given[len(all_given) - len(right) :]]
        return [[change.edit for change in rewrites(segment, written, origin)]]


def pieces_of(units: Iterable[Unit]) -> list[str]:
    return [piece for unit in units for piece in unit.pieces]


def edited(tokeniser: Tokeniser, text: str, start: int, end: int, written: str) -> str:
    """With a model that has no capitals, if its tokeniser drops them."""
    form = TextStyle(lowercase=tokeniser.pieces("ABEH") == tokeniser.pieces("abeh"))
    editor = Editor(
        OneEdit(text, Span(start, end), written), tokeniser, EditOptions(split=False, edit_also=NO_KINDS), form
    )
    return editor.edit([text])[0].text


def lines_for(name: str) -> st.SearchStrategy[str]:
    """Without what the tokeniser takes for a part of a word, or drops from one."""
    signs = st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cs"]) | st.sampled_from("abeht  ")
    if name == "subword_nmt":  # of white space, only blanks separate its words
        signs = signs.filter(lambda sign: sign == " " or not sign.isspace())
    if name == "bert":  # which reads no accents either
        signs = signs.filter(lambda sign: unicodedata.category(sign) not in ("Mn", "Cf"))
        signs = signs.filter(lambda sign: unicodedata.normalize("NFD", sign) == sign)
    return st.lists(signs, max_size=14).map("".join).filter(lambda text: len(text.splitlines()) == 1)


@pytest.mark.parametrize("name", TOKENISERS)
@given(data=st.data())
@thorough
def test_an_edit_of_one_word_changes_nothing_else(
    tokenisers: dict[str, Tokeniser], name: str, data: st.DataObject
) -> None:
    text, tokeniser = data.draw(lines_for(name)), tokenisers[name]
    words = [found.span() for found in WORD.finditer(text)]
    assume(words)
    start, end = data.draw(st.sampled_from(words))
    left, right = text[:start], text[end:]
    kind = data.draw(st.sampled_from(["replace", "delete", "insert"]))
    if kind == "replace":
        cases = (f"{left}{new}{right}" for new in (NEW, NEW.title(), NEW.upper()))
        assert edited(tokeniser, text, start, end, NEW) in (text, *cases)
    elif kind == "delete":
        expected = text, left + right, left.rstrip() + right, left + right.lstrip()
        assert edited(tokeniser, text, start, end, "") in expected
    else:  # before or behind what the tokeniser drops
        ways = (f"{text[:i]}{new}{text[i:]}" for i in range(end + 1) for new in (f"{NEW} ", f" {NEW}", NEW))
        assert edited(tokeniser, text, start, start, f"{NEW} ") in (text, *ways)


# before a word; and the signs that a tokeniser has in one piece with it, or drops from it
GAPS = ["\u201c", " \u201c", "\x00", " \x01 ", "\t", "\u00a0", "\u3000", " \u200b", "(", "\t '"]
JOINED = {"white space": "\u201c\x00\u200b('", "nmt_nfkc": "\x00\x01\u200b", "t5": "\x00\x01\u200b", "bert": "\x00"}


@pytest.mark.parametrize(
    ("name", "gap"), [(name, gap) for name in TOKENISERS for gap in GAPS if not set(JOINED.get(name, "")) & set(gap)]
)
def test_a_word_beside_any_sign_is_edited(tokenisers: dict[str, Tokeniser], name: str, gap: str) -> None:
    for text in (f"a{gap}beh", f"beh{gap}a"):
        place = text.index("beh")
        assert edited(tokenisers[name], text, place, place + 3, NEW) == text.replace("beh", NEW)
