"""``lev-plugins edit``: a line for a line, in order, whatever the lines hold."""

import json
import re
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from lev_plugins.editor.calibration import Evidence
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.segments import Segment
from lev_plugins.text.tokenise import Tokeniser
from tests.commands import ROOT
from tests.helpers import Run, write_lines
from tests.unit.editor.test_editor import DRAFTS, NOISES, SOURCES, characters, generated

LINES = [f"{line}\n" for line in NOISES]
TEXT = "".join(LINES).encode()


@pytest.fixture
def corrector(golden_folder: Callable[[str], Path]) -> list[object]:
    """The words of a command that corrects texts."""
    return ["edit", golden_folder("pbd"), "--beam", "3"]


class Speller:
    """Takes each capitalised word for a typo of x."""

    task, drafts, longest, symbols = "text_editing", False, 99, ("met", "left")

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        unknown = Evidence(*[0.0] * len(Evidence._fields))._replace(unknown=1.0)
        words = [re.finditer("[A-Z][a-z]+", segment.text) for segment in segments]
        return [[Edit(*word.span(), "x", 0.6, evidence=unknown) for word in row] for row in words]


def test_edits_of_unknown_words_that_recur_in_a_text_are_less_sure(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path, options: EditOptions) -> Editor:
        weights = {"constant": 0.4, "recurring": -1.2}  # 0.6, and 0.31 for words that recur
        return Editor(Speller(), Tokeniser(Namespace(bpe="words")), options, calibration=weights)

    monkeypatch.setattr(Editor, "load", load)
    document = tmp_path / "document"
    document.write_text("Sam met Sam. Tam\nEve left\nEve met ada\n", "utf-8")

    def edited(line: str, *flags: object) -> str:
        status, out, _ = run("edit", "model", *flags, stdin=line.encode())
        assert status == 0
        return out.decode()

    line = "Tam met Ada's. Ada, Tam left. Sam met Sam. Eve Tams"
    assert edited(line, "--min-confidence", 0.5) == "Tam met Ada's. Ada, Tam left. x met x. x x"
    assert edited(line, "--min-confidence", 0.2) == "x met x's. x, x left. x met x. x x"
    assert edited(line, "--min-confidence", 0.5, "--whole-lines").startswith("x met x's.")
    assert edited(line, "--min-confidence", 0.5, "--document", document).endswith(" x met x. Eve x")


def test_a_line_for_a_line(run: Run, corrector: list[object]) -> None:
    status, out, _ = run(*corrector, "--batch-lines", 7, stdin="\n".join(NOISES).encode())
    assert status == 0
    assert out.decode().split("\n") == [characters(text) for text in generated("pbd/expected")]


def test_line_ends_and_empty_lines_stay(run: Run, corrector: list[object]) -> None:
    lines = f"{NOISES[0]}\r\n\n \t\n{NOISES[1]}"
    expected = [characters(text) for text in generated("pbd/expected")[:2]]
    assert run(*corrector, stdin=lines.encode())[1].decode() == f"{expected[0]}\r\n\n \t\n{expected[1]}"
    assert run(*corrector, stdin=b"")[:2] == (0, b"")


def test_json_and_a_threshold(run: Run, corrector: list[object]) -> None:
    out = run(*corrector, "--json", stdin=TEXT)[1]
    rows = [json.loads(line) for line in out.decode().splitlines()]
    sure = run(*corrector, "--min-confidence", 0.8, stdin=TEXT)[1]
    some = all_of_them = 0
    for text, row, line in zip(NOISES, rows, sure.decode().splitlines(), strict=True):
        edits = tuple(Edit(*[*edit.values()][:5]) for edit in row["edits"])
        assert Edited(text, edits).text == row["text"]
        kept = Edited(text, edits).without_unsure(0.8)
        assert line == kept.text
        some, all_of_them = some + len(kept.edits), all_of_them + len(edits)
    assert 0 < some < all_of_them
    assert run(*corrector, "--keep-bias", 20, stdin=TEXT)[1] == TEXT


SOURCE_LINES = "".join(f"{line}\n" for line in SOURCES).encode()


@pytest.fixture
def levt(golden_folder: Callable[[str], Path], tmp_path: Path) -> list[object]:
    """The words of a command that edits drafts; the last is their file."""
    drafts = write_lines(tmp_path / "drafts", DRAFTS)
    return ["edit", golden_folder("levt"), "--batch-lines", 6, "--drafts", drafts]


def test_drafts_are_edited(run: Run, levt: list[object]) -> None:
    assert run(*levt, stdin=SOURCE_LINES)[1].decode().splitlines() == generated("levt/expected")
    status, _, error = run(*levt, stdin=SOURCE_LINES + b"v3\n")
    assert status == 2 and f"--drafts {levt[-1]} has 20 lines, but standard input has more" in error
    status, _, error = run(*levt, stdin=SOURCE_LINES[: SOURCE_LINES.index(b"\n") + 1])
    assert status == 2 and f"--drafts {levt[-1]} has more lines than standard input, which has 1" in error


def test_drafts_keep_the_line_ends_of_their_file(run: Run, levt: list[object], tmp_path: Path) -> None:
    unix = run(*levt, stdin=SOURCE_LINES)[1]
    (tmp_path / "drafts").write_bytes("".join(f"{line}\r\n" for line in DRAFTS).encode())
    for sources in (SOURCE_LINES, SOURCE_LINES.replace(b"\n", b"\r\n")):
        assert run(*levt, stdin=sources)[1] == unix.replace(b"\n", b"\r\n")


def test_escaped_brackets_are_those_of_the_text(run: Run, levt: list[object]) -> None:
    """With a mark in the draft, and without one."""
    write_lines(Path(str(levt[-1])), ["v1 \\⟦Zürich\\⟧ v2", "v1 \\⟦Zürich\\⟧ ⟦!v2⟧", "v1 ⟦Zürich⟧ v2"])
    out = run(*levt, "--keep-bias", 30, stdin=b"w1 w2\n" * 3)[1]
    assert out.decode() == "v1 ⟦Zürich⟧ v2\n" * 3


def test_a_draft_that_cannot_be_edited_is_named_by_its_line(run: Run, levt: list[object]) -> None:
    write_lines(Path(str(levt[-1])), [*DRAFTS[:9], "v1 ⟦!v2", *DRAFTS[10:]])
    for size in (1, 6, 64):
        status, out, error = run(*levt, "--batch-lines", size, stdin=SOURCE_LINES)
        assert status == 2 and "error: the input, line 10: the mark at character 4 of the draft 'v1 ⟦!v2' is" in error
        assert out.count(b"\n") == 9 // size * size


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--keep-bias", "nan"], "--keep-bias must be"),
        (["--min-confidence", "1.5"], "--min-confidence must be"),
        (["--batch-lines", "0"], "--batch-lines must be at least 1, but is 0"),
        (["--drafts", "none"], "--drafts: there is no file none"),
        (["--document", "none"], "--document: there is no file none"),
    ],
)
def test_refusals(run: Run, corrector: list[object], levt: list[object], flags: list[str], message: str) -> None:
    status, out, error = run(*corrector, *flags)
    assert status == 2 and out == b"" and message in error
    error = run(*levt, "--beam", 2)[2]
    assert "--beam has no effect on a model of --task text_editing: leave it out" in error


# ---- differences -------------------------------------------------------------------------------------------------


def test_a_diff_shows_what_was_and_what_is(run: Run, corrector: list[object]) -> None:
    strange = run(*corrector, "--diff", stdin=b"\x1b[2Ja\n")[1]
    assert b"\\u001b[2Ja" in strange and b"\x1b" not in strange  # it cannot change the terminal
    shown = run(*corrector, "--diff", stdin=TEXT)[1].decode().splitlines()
    edited = run(*corrector, stdin=TEXT)[1].decode().splitlines()
    assert len(shown) == len(NOISES) and any("[-" in line for line in shown)
    for line, before, after in zip(shown, NOISES, edited, strict=True):
        assert re.sub(r"\[-(.*?)-\]|\{\+(.*?)\+\}", lambda found: found[1] or "", line) == before
        assert re.sub(r"\[-(.*?)-\]|\{\+(.*?)\+\}", lambda found: found[2] or "", line) == after


def test_a_diff_has_colours_on_a_terminal_only(
    run: Run, corrector: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("lev_plugins.cli.edit.in_colour", lambda when: True)
    assert b"\x1b[9;31m" in run(*corrector, "--diff", stdin=TEXT)[1]
    assert run(*corrector, "--diff", "--resume", tmp_path / "out", stdin=TEXT)[0] == 0
    assert b"\x1b" not in (tmp_path / "out").read_bytes()


# ---- going on after a stop ---------------------------------------------------------------------------------------


def test_a_file_is_continued(run: Run, golden_folder: Callable[[str], Path], tmp_path: Path) -> None:
    words, out = ["edit", golden_folder("pbd"), "--json", "--batch-lines", 7], tmp_path / "out"
    whole = run(*words, stdin=TEXT)[1]
    assert whole.count(b"\n") == len(NOISES)
    for size in (0, len(whole) * 4 // 5):
        out.write_bytes(whole[:size])
        assert run(*words, "--resume", out, stdin=TEXT)[:2] == (0, b"")
        assert out.read_bytes() == whole


def test_drafts_are_continued_with_their_lines(run: Run, levt: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = run(*levt, stdin=SOURCE_LINES)[1]
    for size, there in ((6, 13), (10, 20), (10, 10)):  # the second one has nothing left to do
        out.write_bytes(b"".join(whole.splitlines(keepends=True)[:there]))
        assert run(*levt, "--batch-lines", size, "--resume", out, stdin=SOURCE_LINES)[0] == 0
        assert out.read_bytes() == whole
    write_lines(tmp_path / "drafts", [*DRAFTS, "v1"])
    assert "has more lines than standard input, which has 20" in run(*levt, "--resume", out, stdin=SOURCE_LINES)[2]


# ---- signals and memory ------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_whole_lines(golden_folder: Callable[[str], Path], tmp_path: Path) -> None:
    text, out = tmp_path / "in", tmp_path / "out"
    text.write_bytes(TEXT * 500)
    command = [sys.executable, "-m", "lev_plugins", "edit", str(golden_folder("pbd")), "--batch-lines", "8"]
    with text.open("rb") as lines, out.open("wb") as file:
        program = subprocess.Popen(command, stdin=lines, stdout=file, stderr=subprocess.PIPE, cwd=ROOT)
    deadline = time.monotonic() + 60
    while out.read_bytes().count(b"\n") < 20:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    assert b"Traceback" not in program.communicate()[1] and program.returncode == 130
    written = out.read_bytes()
    assert written.endswith(b"\n") and written.count(b"\n") < 20 * 500
