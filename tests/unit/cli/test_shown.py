"""Edits between the states of a log, as text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.cli import shown
from lev_plugins.cli.log import LoggedSentence
from lev_plugins.cli.shown import EditKind, Spacing, edits, marked, sentencepiece, separate, trace_blocks
from tests.helpers import slow_alignment, thorough
from tests.logs import LOG
from tests.unit.cli.test_log import read_log

PIECE_LISTS = st.lists(st.sampled_from(["a", "b", "c", "<plh>"]), max_size=8)
HOSTILE = "\u202e\u2066<script>alert(1)</script>&quot;'\"\x1b]0;title\x07\x1b[2J\x00\u2028\x9b2J"


def plain_trace(sentence: LoggedSentence, spacing: Spacing = separate) -> list[str]:
    return "\n".join(trace_blocks(sentence, spacing, shown.PLAIN)).splitlines()


@thorough
@given(PIECE_LISTS, st.integers(0, 255), st.booleans())
def test_edits_between_states_match_the_expert(longer: list[str], mask: int, insert: bool) -> None:
    """The script is a shortest one, and among those the one that the expert selects."""
    shorter = [piece for i, piece in enumerate(longer) if mask >> i & 1]
    numbers, few = ([ord(piece[0]) for piece in pieces] for pieces in (longer, shorter))
    is_kept = slow_alignment(few, numbers)[1] if insert else slow_alignment(numbers, few)[0]
    pieces, kinds = edits(shorter, longer) if insert else edits(longer, shorter)
    assert pieces == longer and [kind is EditKind.KEPT for kind in kinds] == is_kept
    assert set(kinds) <= {EditKind.KEPT, EditKind.INSERTED if insert else EditKind.DELETED}


def test_trace_of_two_iterations() -> None:
    assert plain_trace(read_log(LOG)[0][0]) == [
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


def test_every_candidate_has_a_trace() -> None:
    lines = plain_trace(read_log(LOG)[0][2])
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
def test_marks_exclude_spaces(script: str, spacing: Spacing, line: str) -> None:
    """``-a`` is deleted, ``+a`` inserted, ``?`` a placeholder."""
    signs = {"-": EditKind.DELETED, "+": EditKind.INSERTED, "?": EditKind.PLACEHOLDER}
    kinds = [signs.get(piece[0], EditKind.KEPT) for piece in script.split()]
    assert marked([piece.lstrip("-+") for piece in script.split()], kinds, spacing, shown.PLAIN) == line


def test_control_characters_are_escaped() -> None:
    hostile, _ = read_log(re.sub("ein|house|cat", lambda match: match[0] + HOSTILE, LOG))
    lines = [line for sentence in hostile for line in plain_trace(sentence)]
    assert len(lines) == sum(len(plain_trace(sentence)) for sentence in read_log(LOG)[0])
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "".join(lines))
    assert lines[1].startswith("   source  ein\\u202e\\u2066<script>")


def test_coloured_text_equals_marked_text() -> None:
    for sentence in read_log(LOG)[0]:
        coloured, marks = ("".join(trace_blocks(sentence, separate, style)) for style in (shown.COLOUR, shown.PLAIN))
        assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == re.sub(r"\[-|-\]|\{\+|\+\}", "", marks)
    coloured_trace = "".join(trace_blocks(read_log(LOG)[0][0], separate, shown.COLOUR))
    assert "house \x1b[9;31mhouse\x1b[0m" in coloured_trace and "\x1b[1;4;32ma\x1b[0m house" in coloured_trace
