"""What a model wrote, back in the text: seams, and everything else untouched."""

import re
from functools import partial
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.editor.seq2seq_segments import align_output, resolve_unknown
from lev_plugins.edits.expert import align
from lev_plugins.text.edited import Edited, in_word
from lev_plugins.text.offsets import Offsets, Unit, group_pieces, mark_blanks, offsets_of, spell_blanks
from lev_plugins.text.offsets import Piece as P
from lev_plugins.text.rewrites import rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.text.tokenise import Words
from tests.helpers import PAD, UNK, thorough

WORDS, CHARS = offsets_of(), offsets_of("chars")


def pieces_of(text: str) -> list[Unit]:
    """As a sentencepiece model with two-letter pieces would cut it."""
    found: list[P] = []
    for i, sign in enumerate(text):
        last = found[-1] if found else None
        if sign.isspace():
            if last and last.name == "▁":
                found[-1] = last._replace(end=i + 1)
            else:
                found.append(P("▁", i, i + 1, True))
        elif last and len(last.name.lstrip("▁")) < 2:
            found[-1] = last._replace(name=last.name + sign, end=i + 1)
        else:
            found.append(P(sign if found else f"▁{sign}", i, i + 1, not found))
    return group_pieces(text, found)


def torn_words(text: str) -> list[Unit]:
    """As subword-nmt with two-letter pieces would cut it."""
    found: list[P] = []
    for word in re.finditer("[^ ]+", text):
        for i in range(*word.span(), 2):
            end = min(i + 2, word.end())
            found.append(P(text[i:end] + "@@" * (end < word.end()), i, end, i == word.start()))
    return group_pieces(text, found)


PIECES = Offsets(pieces_of, spell_blanks)
TORN = Offsets(torn_words, "".join, with_blanks=partial(mark_blanks, "@@"))
TOKENISERS = {"words": WORDS, "chars": CHARS, "pieces": PIECES, "torn": TORN}


def edited(offsets: Offsets, text: str, written: list[str], origin: list[int | None]) -> Edited:
    return Edited(text, tuple(change.edit for change in rewrites(Segment(text, offsets), written, origin)))


def by_words(text: str, output: str) -> Edited:
    """In the output, a number is the word of the text with that number."""
    given_words, parts = text.split(), output.split()
    written = [given_words[int(part)] if part.isdigit() else part for part in parts]
    return edited(WORDS, text, written, [int(part) if part.isdigit() else None for part in parts])


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("a  b\tc", "0 x 2", "a  x\tc"),  # the blanks around a replaced word stay
        ("a  b\tc", "0 2", "a  c"),  # a deleted word takes those on one side
        ("a  b\tc", "0 1 x 2", "a  b\tx c"),  # a new one gets one
        ("a b", "x 0 1 y", "x a b y"),
        ("a b", "1", "b"),
        ("a b", "0", "a"),
        ("a b", "", ""),
        ("", "x y", "x y"),
        ("a \u00a0b", "0 1", "a \u00a0b"),
        ("a b c", "x y z", "x y z"),
    ],
)
def test_blanks_at_the_seams_of_words(text: str, output: str, expected: str) -> None:
    assert by_words(text, output).text == expected


@pytest.mark.parametrize(
    ("offsets", "text", "written", "origin", "expected", "changed"),
    [
        (PIECES, "the hous is", ["▁th", "e", "▁hous", "es", "▁is"], [0, 1, None, None, 4], "the houses is", ["hous"]),
        (PIECES, "xx  the\tcat", ["▁th", "e", "▁ca", "t"], [1, 2, 3, 4], "the\tcat", ["xx  "]),
        (PIECES, "abcd ef", ["▁ab", "▁ef"], [0, 2], "ab ef", ["abcd"]),  # a whole word is edited
        (PIECES, "ab cd", ["▁ab", "cd"], [0, None], "abcd", ["ab cd"]),  # two words become one
        (PIECES, "abcd", ["▁ab", "▁cd"], [0, None], "ab cd", ["abcd"]),
        (PIECES, "ab .", ["▁ab", "."], [0, None], "ab.", [" "]),
        (PIECES, "ab", ["▁ab", ","], [0, None], "ab,", [""]),
        (PIECES, "ab", ["▁ab", "▁"], [0, None], "ab", []),  # no blank at the end
        # pieces that say where no blank follows
        (TORN, "the houz is", ["th@@", "e", "ho@@", "us", "is"], [0, 1, 2, None, 4], "the hous is", ["houz"]),
        (TORN, "abcd  ef", ["ab@@", "ef"], [0, 2], "abef", ["abcd  ef"]),  # what ended a word has gone
        (TORN, "abcd ef", ["cd", "ef"], [1, 2], "cd ef", ["abcd"]),
        (TORN, "ab  cd", ["ab", "x@@", "cd"], [0, None, 1], "ab  xcd", ["cd"]),
        (TORN, "abcd", ["ab@@"], [0], "ab", ["abcd"]),  # no word ends
        (TORN, "ab cd", ["cd", "ab"], [None, 0], "cd ab", [" cd", ""]),
    ],
)
def test_pieces_of_words(
    offsets: Offsets, text: str, written: list[str], origin: list[int | None], expected: str, changed: list[str]
) -> None:
    result = edited(offsets, text, written, origin)
    assert result.text == expected
    assert sorted(text[edit.start : edit.end] for edit in result.edits) == sorted(changed)


def test_another_cut_of_the_same_pieces_is_no_edit() -> None:
    units = [Unit(("▁f", "in"), 0, 2, True), Unit(("▁x",), 3, 4, True)]
    offsets = Offsets(lambda _: units, spell_blanks)
    for written in (["▁fi", "n", "▁x"], ["▁fin", "▁y"]):
        found = edited(offsets, "\ufb01n x", written, [None] * 2 + [2] * (len(written) - 2))
        assert [edit.replacement for edit in found.edits] == ([] if len(written) == 3 else ["fin y"])


def test_where_the_model_wrote_an_unknown_word_the_text_stays() -> None:
    assert edited(WORDS, "a b c", ["a", "<unk>", "d"], [0, None, None]).edits == ()
    assert edited(WORDS, "<unk> b", ["<unk>", "d"], [0, None]).text == "<unk> d"


@pytest.mark.parametrize(
    ("text", "written", "origin", "expected"),
    [
        ('"quoted" vlaues', '▁" ▁the quoted . ▁values', [0, None, 1, None, None], '"the quoted. values'),
        ("the (cat)", "▁the ▁( ▁small cat )", [0, 1, None, 2, 3], "the (small cat)"),
        ("vlaues\0are", "▁values are", [None, 2], "values are"),
        ("a well-known cat", "▁a ▁well known ▁cat", [0, 1, 3, 4], "a well known cat"),
        ("हिन्दी,में", "▁हिन्दी में", [0, 2], "हिन्दी में"),
        ("it''s", "▁it ' s", [0, 1, 3], "it's"),
    ],
)
def test_words_are_never_glued(text: str, written: str, origin: list[int | None], expected: str) -> None:
    """With --bpe words, no text is cut into two words with nothing between them; the decoding of fairseq agrees.

    It knows no text, though, and so writes the blanks of the pieces behind opening signs as well.
    """
    assert edited(offsets_of("words"), text, written.split(), origin).text == expected
    assert re.sub('(["(]) ', r"\1", Words().decode(written)) == expected


@given(st.text(st.sampled_from("ab1 ,.'\u2019\u0301\u200dहि\x00"), max_size=12))
@thorough
def test_text_has_its_own_words_again(text: str) -> None:
    assert Words().decode(Words().encode(text)).split() == text.split()


def test_an_unknown_piece_that_was_kept_is_not_written_into_a_word() -> None:
    pieces = [Unit(("▁a",), 0, 1, True), Unit(("<unk>",), 1, 2, False), Unit(("▁b",), 3, 4, True)]
    offsets = Offsets(lambda _: pieces, spell_blanks)
    assert edited(offsets, "aß b", ["▁x", "<unk>", "▁b"], [None, 1, 2]).text == "aß b"
    assert edited(offsets, "aß b", ["▁a", "<unk>", "▁c"], [0, 1, None]).text == "aß c"


def test_white_space_that_characters_drop_stays() -> None:
    assert edited(CHARS, "a\tb", ["a", "x", "b"], [0, None, 1]).text == "ax\tb"
    assert edited(CHARS, "a\tb", ["a", "x"], [0, None]).text == "a\tx"
    assert edited(CHARS, "a bc", ["a", "▁", "b", "d"], [0, 1, 2, None]).edits[0].start == 2


NEW = {"words": ["x", "yy"], "chars": ["x", "▁", "."], "pieces": ["▁x", "y", "▁", ","], "torn": ["x@@", "y", ","]}
SIGNS = " \t\u00a0ab,.é\u0301😀ﬁ日"


Case = tuple[str, str, list[str], list[int | None]]


@st.composite
def outputs(draw: st.DrawFn) -> Case:
    """A text, a tokeniser, and an output that keeps some of its pieces, in order, with new ones between."""
    name = draw(st.sampled_from(list(TOKENISERS)))
    signs = st.sampled_from(SIGNS) | st.characters(exclude_categories=["Cs"])
    text = draw(st.text(signs, max_size=20)).strip()
    pieces = [piece for unit in TOKENISERS[name].units(text) for piece in unit.pieces]
    written: list[str] = []
    origin: list[int | None] = []
    new = NEW[name]
    for number, piece in [*enumerate(pieces), (len(pieces), "")]:
        for word in draw(st.lists(st.sampled_from(new), max_size=1)):
            written, origin = [*written, word], [*origin, None]
        if number < len(pieces) and draw(st.integers(0, 3)):
            written, origin = [*written, piece], [*origin, number]
    return name, text, written, origin


@given(outputs())
@thorough
def test_edits_are_of_whole_words_and_all_of_what_differs(case: Case) -> None:
    """But for white space."""
    name, text, written, origin = case
    offsets = TOKENISERS[name]
    result = edited(offsets, text, written, origin)
    for edit in result.edits:
        assert text[edit.start : edit.end] != edit.replacement
        assert not in_word(text, edit.start) and not in_word(text, edit.end)
    pieces = [piece for unit in offsets.units(text) for piece in unit.pieces]
    assert not edited(offsets, text, pieces, list(range(len(pieces)))).edits
    assert "".join(result.text.split()) == "".join(offsets.spell(offsets.with_blanks(written)).split())


# ---- pieces that do not say where blanks are -------------------------------------------------------------------------


def signs_and_words(text: str) -> list[Unit]:
    """As BERT cuts a text."""
    found = re.finditer(r"\w+|[^\w\s]", text)
    return [Unit((each[0],), *each.span(), not text[: each.start()][-1:].strip()) for each in found]


BLANKLESS = Offsets(
    signs_and_words,
    lambda pieces: "".join(piece if piece in ".," else f" {piece}" for piece in pieces),
    says_blanks=False,
)


@pytest.mark.parametrize(
    ("text", "output", "expected"),
    [
        ("the  (cat) sat", "0 1 dog 3 4", "the  (dog) sat"),
        ("the (cat) sat", "0 1 small 2 3 4", "the (small cat) sat"),
        ("the (cat) sat", "0 2 4", "the cat sat"),
        ("the cat sat", "0 1 2 .", "the cat sat."),
        ("the cat.", "0 1 , too 2", "the cat, too."),
        ("don't", "do not", "do not"),
    ],
)
def test_a_word_is_replaced_without_blanks_that_the_text_does_not_have(text: str, output: str, expected: str) -> None:
    pieces, parts = [unit.pieces[0] for unit in signs_and_words(text)], output.split()
    written = [pieces[int(part)] if part.isdigit() else part for part in parts]
    origin = [int(part) if part.isdigit() else None for part in parts]
    assert edited(BLANKLESS, text, written, origin).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go (teh way", "go (the way"),
        ("go “teh way", "go “the way"),
        ('go "teh way', 'go "the way'),
        ("'teh way", "'the way"),
        ("go—teh way", "go—the way"),
        ("go,teh way", "go, the way"),
        ('go"teh way', 'go" the way'),
        ("go)teh way", "go) the way"),
    ],
)
def test_a_word_behind_an_opening_sign_gets_no_blank(text: str, expected: str) -> None:
    offsets = offsets_of("words")
    pieces = [piece for unit in offsets.units(text) for piece in unit.pieces]
    written = ["▁the" if piece == "teh" else piece for piece in pieces]
    origin = [None if piece == "teh" else i for i, piece in enumerate(pieces)]
    assert edited(offsets, text, written, origin).text == expected


# ---- what was kept ---------------------------------------------------------------------------------------------------


@given(*[st.lists(st.sampled_from([0, 2, 4, 5, 6, 7]), max_size=9)] * 2)  # a text may spell <s> and </s>, too
def test_what_is_kept_is_what_the_expert_keeps(given: list[int], written: list[int]) -> None:
    found = align(*(torch.tensor([[*row, PAD]]) for row in (given, written)), PAD)
    places = iter(found.kept[0].nonzero()[:, 0].tolist())
    assert align_output(given, written) == [next(places) if same else None for same in found.matched[0, :-1].tolist()]


# ---- unknown words that were kept: which of several each is ----------------------------------------------------------


FIRST, LAST, OTHER = 5, 6, 9


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_words_that_are_replaced_one_by_one_leave_the_others_in_their_places(size: int) -> None:
    given = [FIRST, *[UNK] * size, LAST]
    for kept in product([False, True], repeat=size):
        written = [FIRST, *(UNK if keep else OTHER for keep in kept), LAST]
        found = align(torch.tensor([given]), torch.tensor([written]), PAD)
        places = iter(found.kept[0].nonzero()[:, 0].tolist())
        origin = [next(places) if same else None for same in found.matched[0].tolist()]
        assert align_output(given, written) == origin
        expected = [0, *(i if keep else None for i, keep in enumerate(kept, 1)), size + 1]
        assert resolve_unknown(origin, given, written, UNK) == expected
