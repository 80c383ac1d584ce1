"""The edits between the states of a log, and how they are written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.cli import shown
from lev_plugins.cli.log import LoggedSentence
from lev_plugins.cli.shown import EditKind, Spacing, edits, marked, sentencepiece, separate, trace_blocks
from tests.helpers import slow_alignment, thorough
from tests.logs import LOG
from tests.unit.cli.test_log import read

PIECES = st.lists(st.sampled_from(["a", "b", "c", "<plh>"]), max_size=8)
HOSTILE = "\u202e\u2066<script>alert(1)</script>&quot;'\"\x1b]0;title\x07\x1b[2J\x00\u2028\x9b2J"


def plain(sentence: LoggedSentence, spacing: Spacing = separate) -> list[str]:
    return "\n".join(trace_blocks(sentence, spacing, shown.PLAIN)).splitlines()


@thorough
@given(PIECES, st.integers(0, 255), st.booleans())
def test_a_step_of_the_editor_gets_the_script_of_the_expert(longer: list[str], mask: int, insert: bool) -> None:
    """As few edits as possible, and of several such scripts the one that the expert's rule picks."""
    shorter = [piece for i, piece in enumerate(longer) if mask >> i & 1]
    numbers, few = ([ord(piece[0]) for piece in pieces] for pieces in (longer, shorter))
    kept = slow_alignment(few, numbers)[1] if insert else slow_alignment(numbers, few)[0]
    pieces, kinds = edits(shorter, longer) if insert else edits(longer, shorter)
    assert pieces == longer and [kind is EditKind.KEPT for kind in kinds] == kept
    assert set(kinds) <= {EditKind.KEPT, EditKind.INSERTED if insert else EditKind.DELETED}


def test_from_nothing_in_two_iterations() -> None:
    assert plain(read(LOG)[0][0]) == [
        "sentence 11",
        "   source  ein Haus",
        "reference  a house",
        "    start  (nothing)",
        "   open 1  { } { }",
        "   fill 1  {+house house+}",
        " delete 2  house [-house-]",
        "   open 2  { } house",
        "   fill 2  {+a+} house",
        "   keep 3  (nothing to delete, nothing to insert)",
        "   result  a house",
        "    score  -0.5000",
    ]


def test_candidates_have_a_history_each_and_one_source() -> None:
    lines = plain(read(LOG)[0][2])
    titles = [f"sentence 20, candidate {number} of 2" for number in (1, 2)]
    assert [line for line in lines if line.startswith("sentence")] == titles
    assert [line.split()[0] for line in lines if line].count("source") == 1
    assert lines[-4:-2] == [" delete 2  y [-y-]", "   undo 2  y {+y+}"]


@pytest.mark.parametrize(
    ("script", "spacing", "line"),
    [
        ("▁so -rt -▁it", sentencepiece, "so[-rt it-]"),
        ("+▁so +rt ▁it", sentencepiece, "{+sort+} it"),
        ("▁an ? y ? ? ▁how", sentencepiece, "an { } y { } { } how"),
        ("▁a -▁ b", sentencepiece, "a[-␣-]b"),
        ("▁a -▁ -▁b c", sentencepiece, "a [-b-]c"),
        ("+▁ex -tra", separate, "{+▁ex+} [-tra-]"),
        ("? -a", separate, "{ } [-a-]"),
    ],
)
def test_marks_stay_on_the_pieces_and_spaces_out_of_them(script: str, spacing: Spacing, line: str) -> None:
    """``-a`` is deleted, ``+a`` inserted, ``?`` a placeholder."""
    signs = {"-": EditKind.DELETED, "+": EditKind.INSERTED, "?": EditKind.PLACEHOLDER}
    kinds = [signs.get(piece[0], EditKind.KEPT) for piece in script.split()]
    assert marked([piece.lstrip("-+") for piece in script.split()], kinds, spacing, shown.PLAIN) == line


def test_no_text_reaches_beyond_its_row() -> None:
    hostile, _ = read(re.sub("ein|house|cat", lambda match: match[0] + HOSTILE, LOG))
    lines = [line for sentence in hostile for line in plain(sentence)]
    assert len(lines) == sum(len(plain(sentence)) for sentence in read(LOG)[0])
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "".join(lines))
    assert lines[1].startswith("   source  ein\\u202e\\u2066<script>")


def test_colours_have_the_same_texts_as_marks() -> None:
    for sentence in read(LOG)[0]:
        coloured, marks = ("".join(trace_blocks(sentence, separate, style)) for style in (shown.COLOUR, shown.PLAIN))
        assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == re.sub(r"\[-|-\]|\{\+|\+\}", "", marks)
    first = "".join(trace_blocks(read(LOG)[0][0], separate, shown.COLOUR))
    assert "house \x1b[9;31mhouse\x1b[0m" in first and "\x1b[1;4;32ma\x1b[0m house" in first
