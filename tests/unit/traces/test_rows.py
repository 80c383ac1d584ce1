"""How the sentences of a log are laid out and written."""

import re

import pytest

from lev_plugins.traces import terminal
from lev_plugins.traces.log import LoggedSentence
from lev_plugins.traces.rows import Spacing, TraceRow, layout, mark_edits, sentencepiece, separate
from tests.logs import LOG, logged
from tests.unit.traces.test_log import read
from tests.unit.traces.test_script import script_of


def plain(sentence: LoggedSentence, spacing: Spacing = separate) -> list[str]:
    return list(terminal.trace_lines(layout(sentence, spacing), terminal.PLAIN))


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
    shown = plain(read(LOG)[0][2])
    titles = [f"sentence 20, candidate {number} of 2" for number in (1, 2)]
    assert [line for line in shown if line.startswith("sentence")] == titles
    assert [line.split()[0] for line in shown if line].count("source") == 1
    assert shown[-4:-2] == [" delete 2  y [-y-]", "   undo 2  y {+y+}"]


@pytest.mark.parametrize(
    ("script", "spacing", "shown"),
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
def test_marks_stay_on_the_pieces_and_spaces_out_of_them(script: str, spacing: Spacing, shown: str) -> None:
    row = TraceRow("fill 1", mark_edits(script_of(script), spacing))
    assert terminal.content(row, terminal.PLAIN) == shown


def test_texts_in_pieces_are_joined_as_well() -> None:
    raw = logged(1, "▁ein ▁Ha us", "▁a ▁home", ("0", "▁a ▁hou se", "", "", "<plh> <plh> <plh>", "▁a ▁hou se"))
    shown = plain(read(raw)[0][0], sentencepiece)
    assert shown[1:3] + shown[-2:-1] == ["   source  ein Haus", "reference  a home", "   result  a house"]
    words = plain(read(raw.replace("▁ein ▁Ha us", "ein Haus"))[0][0], sentencepiece)
    assert words[1] == "   source  ein Haus"  # the source may have no pieces


HOSTILE = "\u202e\u2066<script>alert(1)</script>&quot;'\"\x1b]0;title\x07\x1b[2J\x00\u2028\x9b2J"


HOSTILE_LOG = re.sub("ein|house|cat", lambda match: match[0] + HOSTILE, LOG)


def test_no_text_reaches_beyond_its_row() -> None:
    found, _ = read(HOSTILE_LOG)
    lines = [line for sentence in found for line in plain(sentence)]
    assert len(lines) == sum(len(plain(sentence)) for sentence in read(LOG)[0])
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", "".join(lines))
    assert lines[1].startswith("   source  ein\\u202e\\u2066<script>")


def test_colours_have_the_same_texts_as_marks() -> None:
    for sentence in read(LOG)[0]:
        blocks = layout(sentence, separate)
        bare = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in terminal.trace_lines(blocks, terminal.COLOUR)]
        marks = [re.sub(r"\[-|-\]|\{\+|\+\}", "", line) for line in terminal.trace_lines(blocks, terminal.PLAIN)]
        assert bare == marks
    shown = "\n".join(terminal.trace_lines(layout(read(LOG)[0][0], separate), terminal.COLOUR))
    assert "house \x1b[9;31mhouse\x1b[0m" in shown and "\x1b[1;4;32ma\x1b[0m house" in shown
