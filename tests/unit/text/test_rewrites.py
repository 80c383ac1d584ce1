"""Outputs of a model become edits of the text; all other text stays."""

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

WHITE_SPACE, CHARACTERS, WORDS = offsets_of(), offsets_of("chars"), offsets_of("words")


def two_letter_pieces(text: str) -> list[Unit]:
    """Segments text as a sentencepiece model with two-letter pieces would."""
    pieces: list[P] = []
    for i, character in enumerate(text):
        previous = pieces[-1] if pieces else None
        if character.isspace():
            if previous and previous.name == "▁":
                pieces[-1] = previous._replace(end=i + 1)
            else:
                pieces.append(P("▁", i, i + 1, True))
        elif previous and len(previous.name.lstrip("▁")) < 2:
            pieces[-1] = previous._replace(name=previous.name + character, end=i + 1)
        else:
            pieces.append(P(character if pieces else f"▁{character}", i, i + 1, not pieces))
    return group_pieces(text, pieces)


def two_letter_subwords(text: str) -> list[Unit]:
    """Segments text as subword-nmt with two-letter pieces would."""
    pieces: list[P] = []
    for word in re.finditer("[^ ]+", text):
        for i in range(*word.span(), 2):
            end = min(i + 2, word.end())
            pieces.append(P(text[i:end] + "@@" * (end < word.end()), i, end, i == word.start()))
    return group_pieces(text, pieces)


SENTENCE_PIECES = Offsets(two_letter_pieces, spell_blanks)
SUBWORDS = Offsets(two_letter_subwords, "".join, with_blanks=partial(mark_blanks, "@@"))
OFFSETS = {"words": WHITE_SPACE, "chars": CHARACTERS, "pieces": SENTENCE_PIECES, "torn": SUBWORDS}


def edit_output(offsets: Offsets, text: str, output: list[str], origin: list[int | None]) -> Edited:
    return Edited(text, tuple(change.edit for change in rewrites(Segment(text, offsets), output, origin)))


def pieces_in(offsets: Offsets, text: str) -> list[str]:
    return [piece for unit in offsets.units(text) for piece in unit.pieces]


def signs_and_words(text: str) -> list[Unit]:
    """Segments text into words and signs, as BERT does."""
    matches = re.finditer(r"\w+|[^\w\s]", text)
    return [Unit((match[0],), *match.span(), not text[: match.start()][-1:].strip()) for match in matches]


BLANKLESS = Offsets(
    signs_and_words,
    lambda pieces: "".join(piece if piece in ".," else f" {piece}" for piece in pieces),
    says_blanks=False,
)


@pytest.mark.parametrize(
    ("offsets", "text", "output", "expected"),
    [
        (WHITE_SPACE, "a  b\tc", "0 x 2", "a  x\tc"),  # the blanks around a replaced word stay
        (WHITE_SPACE, "a  b\tc", "0 2", "a  c"),  # a deleted word takes those on one side
        (WHITE_SPACE, "a  b\tc", "0 1 x 2", "a  b\tx c"),  # a new one gets one
        (WHITE_SPACE, "a b", "x 0 1 y", "x a b y"),
        (WHITE_SPACE, "a b", "1", "b"),
        (WHITE_SPACE, "a b", "0", "a"),
        (WHITE_SPACE, "a b", "", ""),
        (WHITE_SPACE, "", "x y", "x y"),
        (WHITE_SPACE, "a \u00a0b", "0 1", "a \u00a0b"),
        (WHITE_SPACE, "a b c", "x y z", "x y z"),
        # pieces that do not say where blanks are
        (BLANKLESS, "the  (cat) sat", "0 1 dog 3 4", "the  (dog) sat"),
        (BLANKLESS, "the (cat) sat", "0 1 small 2 3 4", "the (small cat) sat"),
        (BLANKLESS, "the (cat) sat", "0 2 4", "the cat sat"),
        (BLANKLESS, "the cat sat", "0 1 2 .", "the cat sat."),
        (BLANKLESS, "the cat.", "0 1 , too 2", "the cat, too."),
        (BLANKLESS, "don't", "do not", "do not"),
        # an opening sign in front of the replaced word
        (WORDS, "go (teh way", "0 1 ▁the 3", "go (the way"),
        (WORDS, "go “teh way", "0 1 ▁the 3", "go “the way"),
        (WORDS, 'go "teh way', "0 1 ▁the 3", 'go "the way'),
        (WORDS, "'teh way", "0 ▁the 2", "'the way"),
        (WORDS, "go—teh way", "0 1 ▁the 3", "go—the way"),
        (WORDS, "go,teh way", "0 1 ▁the 3", "go, the way"),
        (WORDS, 'go"teh way', "0 1 ▁the 3", 'go" the way'),
        (WORDS, "go)teh way", "0 1 ▁the 3", "go) the way"),
    ],
)
def test_blanks_beside_edited_words(offsets: Offsets, text: str, output: str, expected: str) -> None:
    """A number in the output is the piece of the text with that number."""
    pieces = pieces_in(offsets, text)
    origin = [int(part) if part.isdigit() else None for part in output.split()]
    words = [part if number is None else pieces[number] for part, number in zip(output.split(), origin, strict=True)]
    assert edit_output(offsets, text, words, origin).text == expected


@pytest.mark.parametrize(
    ("offsets", "text", "output", "origin", "expected", "changed"),
    [
        (
            SENTENCE_PIECES,
            "the hous is",
            ["▁th", "e", "▁hous", "es", "▁is"],
            [0, 1, None, None, 4],
            "the houses is",
            ["hous"],
        ),
        (SENTENCE_PIECES, "xx  the\tcat", ["▁th", "e", "▁ca", "t"], [1, 2, 3, 4], "the\tcat", ["xx  "]),
        (SENTENCE_PIECES, "abcd ef", ["▁ab", "▁ef"], [0, 2], "ab ef", ["abcd"]),  # a whole word is edited
        (SENTENCE_PIECES, "ab cd", ["▁ab", "cd"], [0, None], "abcd", ["ab cd"]),  # two words become one
        (SENTENCE_PIECES, "abcd", ["▁ab", "▁cd"], [0, None], "ab cd", ["abcd"]),
        (SENTENCE_PIECES, "ab .", ["▁ab", "."], [0, None], "ab.", [" "]),
        (SENTENCE_PIECES, "ab", ["▁ab", ","], [0, None], "ab,", [""]),
        (SENTENCE_PIECES, "ab", ["▁ab", "▁"], [0, None], "ab", []),  # no blank at the end
        # pieces that say where no blank follows
        (SUBWORDS, "the houz is", ["th@@", "e", "ho@@", "us", "is"], [0, 1, 2, None, 4], "the hous is", ["houz"]),
        (SUBWORDS, "abcd  ef", ["ab@@", "ef"], [0, 2], "abef", ["abcd  ef"]),  # what ended a word has gone
        (SUBWORDS, "abcd ef", ["cd", "ef"], [1, 2], "cd ef", ["abcd"]),
        (SUBWORDS, "ab  cd", ["ab", "x@@", "cd"], [0, None, 1], "ab  xcd", ["cd"]),
        (SUBWORDS, "abcd", ["ab@@"], [0], "ab", ["abcd"]),  # no word ends
        (SUBWORDS, "ab cd", ["cd", "ab"], [None, 0], "cd ab", [" cd", ""]),
    ],
)
def test_edits_of_pieces_cover_words(
    offsets: Offsets, text: str, output: list[str], origin: list[int | None], expected: str, changed: list[str]
) -> None:
    result = edit_output(offsets, text, output, origin)
    assert result.text == expected
    assert sorted(text[edit.start : edit.end] for edit in result.edits) == sorted(changed)


def test_another_segmentation_of_the_same_text_is_not_an_edit() -> None:
    units = [Unit(("▁f", "in"), 0, 2, True), Unit(("▁x",), 3, 4, True)]
    offsets = Offsets(lambda _: units, spell_blanks)
    for output in (["▁fi", "n", "▁x"], ["▁fin", "▁y"]):
        result = edit_output(offsets, "\ufb01n x", output, [None] * 2 + [2] * (len(output) - 2))
        assert [edit.replacement for edit in result.edits] == ([] if len(output) == 3 else ["fin y"])


def test_unknown_words_of_the_output_keep_the_text() -> None:
    assert edit_output(WHITE_SPACE, "a b c", ["a", "<unk>", "d"], [0, None, None]).edits == ()
    assert edit_output(WHITE_SPACE, "<unk> b", ["<unk>", "d"], [0, None]).text == "<unk> d"


@pytest.mark.parametrize(
    ("text", "output", "origin", "expected"),
    [
        ('"quoted" vlaues', '▁" ▁the quoted . ▁values', [0, None, 1, None, None], '"the quoted. values'),
        ("the (cat)", "▁the ▁( ▁small cat )", [0, 1, None, 2, 3], "the (small cat)"),
        ("vlaues\0are", "▁values are", [None, 2], "values are"),
        ("a well-known cat", "▁a ▁well known ▁cat", [0, 1, 3, 4], "a well known cat"),
        ("हिन्दी,में", "▁हिन्दी में", [0, 2], "हिन्दी में"),
        ("it''s", "▁it ' s", [0, 1, 3], "it's"),
    ],
)
def test_words_of_the_output_stay_separate(text: str, output: str, origin: list[int | None], expected: str) -> None:
    """fairseq's decoding of --bpe words writes the same text, except for blanks after opening signs."""
    assert edit_output(WORDS, text, output.split(), origin).text == expected
    assert re.sub('(["(]) ', r"\1", Words().decode(output)) == expected


@given(st.text(st.sampled_from("ab1 ,.'\u2019\u0301\u200dहि\x00"), max_size=12))
@thorough
def test_words_decode_to_the_words_of_the_text(text: str) -> None:
    assert Words().decode(Words().encode(text)).split() == text.split()


def test_kept_unknown_pieces_keep_their_text() -> None:
    pieces = [Unit(("▁a",), 0, 1, True), Unit(("<unk>",), 1, 2, False), Unit(("▁b",), 3, 4, True)]
    offsets = Offsets(lambda _: pieces, spell_blanks)
    assert edit_output(offsets, "aß b", ["▁x", "<unk>", "▁b"], [None, 1, 2]).text == "aß b"
    assert edit_output(offsets, "aß b", ["▁a", "<unk>", "▁c"], [0, 1, None]).text == "aß c"


def test_white_space_without_pieces_is_kept() -> None:
    assert edit_output(CHARACTERS, "a\tb", ["a", "x", "b"], [0, None, 1]).text == "ax\tb"
    assert edit_output(CHARACTERS, "a\tb", ["a", "x"], [0, None]).text == "a\tx"
    assert edit_output(CHARACTERS, "a bc", ["a", "▁", "b", "d"], [0, 1, 2, None]).edits[0].start == 2


INSERTED = {"words": ["x", "yy"], "chars": ["x", "▁", "."], "pieces": ["▁x", "y", "▁", ","], "torn": ["x@@", "y", ","]}
CHARACTER_POOL = " \t\u00a0ab,.é\u0301😀ﬁ日"


Case = tuple[str, str, list[str], list[int | None]]


@st.composite
def random_outputs(draw: st.DrawFn) -> Case:
    """Draws a text, a tokeniser, and an output with some of its pieces in order and new ones between them."""
    name = draw(st.sampled_from(list(OFFSETS)))
    signs = st.sampled_from(CHARACTER_POOL) | st.characters(exclude_categories=["Cs"])
    text = draw(st.text(signs, max_size=20)).strip()
    pieces = pieces_in(OFFSETS[name], text)
    output: list[str] = []
    origin: list[int | None] = []
    inserted = INSERTED[name]
    for number, piece in [*enumerate(pieces), (len(pieces), "")]:
        for word in draw(st.lists(st.sampled_from(inserted), max_size=1)):
            output, origin = [*output, word], [*origin, None]
        if number < len(pieces) and draw(st.integers(0, 3)):
            output, origin = [*output, piece], [*origin, number]
    return name, text, output, origin


@given(random_outputs())
@thorough
def test_edits_cover_whole_words_and_all_differences(case: Case) -> None:
    """White space is not compared."""
    name, text, output, origin = case
    offsets = OFFSETS[name]
    result = edit_output(offsets, text, output, origin)
    for edit in result.edits:
        assert text[edit.start : edit.end] != edit.replacement
        assert not in_word(text, edit.start) and not in_word(text, edit.end)
    pieces = pieces_in(offsets, text)
    assert not edit_output(offsets, text, pieces, list(range(len(pieces)))).edits
    assert "".join(result.text.split()) == "".join(offsets.spell(offsets.with_blanks(output)).split())


# ---- words that were kept --------------------------------------------------------------------------------------------


def expert_origin(source: list[int], output: list[int]) -> list[int | None]:
    """Returns the position in the source of each token of the output that the expert keeps."""
    alignment = align(*(torch.tensor([[*row, PAD]]) for row in (source, output)), PAD)
    positions = iter(alignment.kept[0].nonzero()[:, 0].tolist())
    return [next(positions) if matched else None for matched in alignment.matched[0, :-1].tolist()]


@given(*[st.lists(st.sampled_from([0, 2, 4, 5, 6, 7]), max_size=9)] * 2)  # a text may spell <s> and </s>, too
def test_align_output_keeps_what_the_expert_keeps(source: list[int], output: list[int]) -> None:
    assert align_output(source, output) == expert_origin(source, output)


FIRST_ID, LAST_ID, NEW_ID = 5, 6, 9


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_kept_unknown_words_keep_their_positions(size: int) -> None:
    source = [FIRST_ID, *[UNK] * size, LAST_ID]
    for mask in product([False, True], repeat=size):
        output = [FIRST_ID, *(UNK if is_kept else NEW_ID for is_kept in mask), LAST_ID]
        origin = align_output(source, output)
        assert origin == expert_origin(source, output)
        expected = [0, *(i if is_kept else None for i, is_kept in enumerate(mask, 1)), size + 1]
        assert resolve_unknown(origin, source, output, UNK) == expected
