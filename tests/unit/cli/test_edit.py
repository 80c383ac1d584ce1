"""``lev-plugins edit``: one line of output per line of input, in order, for any input."""

import json
import os
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
from tests.helpers import Run, mentions, write_lines
from tests.unit.editor.test_editor import INPUT, TEST_DRAFTS, TYPOS, characters, expected_texts

NOISY_LINES = [f"{line}\n" for line in TYPOS]
NOISY_INPUT = "".join(NOISY_LINES).encode()


@pytest.fixture
def edit_command(golden_folder: Callable[[str], Path]) -> list[object]:
    """Returns the arguments of a command that corrects texts."""
    return ["edit", golden_folder("pbd"), "--beam", "3"]


class Speller:
    """A decoder that replaces each capitalized word with x."""

    lexicon = None
    task, drafts, longest, symbols = "text_editing", False, 99, ("met", "left")

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        unknown = Evidence(*[0.0] * len(Evidence._fields))._replace(unknown=1.0)
        words = [re.finditer("[A-Z][a-z]+", segment.text) for segment in segments]
        return [[Edit(*word.span(), "x", 0.6, evidence=unknown) for word in row] for row in words]


def test_recurring_unknown_words_lower_the_confidence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(path: Path, options: EditOptions) -> Editor:
        weights = {"constant": 0.4, "recurring": -1.2}  # 0.6, and 0.31 for words that recur
        return Editor(Speller(), Tokeniser(Namespace(bpe="words")), options, calibration=weights)

    monkeypatch.setattr(Editor, "load", load)
    document = tmp_path / "document"
    document.write_text("Sam met Sam. Tam\nEve left\nEve met ada\n", "utf-8")

    def edit_line(line: str, *flags: object) -> str:
        status, out, _ = run("edit", "model", *flags, stdin=line.encode())
        assert status == 0
        return out.decode()

    line = "Tam met Ada's. Ada, Tam left. Sam met Sam. Eve Tams"
    assert edit_line(line, "--min-confidence", 0.5) == "Tam met Ada's. Ada, Tam left. x met x. x x"
    assert edit_line(line, "--min-confidence", 0.2) == "x met x's. x, x left. x met x. x x"
    assert edit_line(line, "--min-confidence", 0.5, "--whole-lines").startswith("x met x's.")
    assert edit_line(line, "--min-confidence", 0.5, "--document", document).endswith(" x met x. Eve x")


def test_every_line_gives_one_line_in_order(run: Run, edit_command: list[object]) -> None:
    status, out, _ = run(*edit_command, "--batch-lines", 7, stdin="\n".join(TYPOS).encode())
    assert status == 0
    assert out.decode().split("\n") == [characters(text) for text in expected_texts("pbd/expected")]


def test_line_ends_and_empty_lines_stay(run: Run, edit_command: list[object]) -> None:
    lines = f"{TYPOS[0]}\r\n\n \t\n{TYPOS[1]}"
    expected = [characters(text) for text in expected_texts("pbd/expected")[:2]]
    assert run(*edit_command, stdin=lines.encode())[1].decode() == f"{expected[0]}\r\n\n \t\n{expected[1]}"
    assert run(*edit_command, stdin=b"")[:2] == (0, b"")


def test_min_confidence_leaves_out_the_unsure_edits_of_json(run: Run, edit_command: list[object]) -> None:
    out = run(*edit_command, "--json", stdin=NOISY_INPUT)[1]
    rows = [json.loads(line) for line in out.decode().splitlines()]
    output = run(*edit_command, "--min-confidence", 0.8, stdin=NOISY_INPUT)[1]
    kept_edits = all_edits = 0
    for text, row, line in zip(TYPOS, rows, output.decode().splitlines(), strict=True):
        edits = tuple(Edit(*[*edit.values()][:5]) for edit in row["edits"])
        assert Edited(text, edits).text == row["text"]
        thresholded = Edited(text, edits).without_unsure(0.8)
        assert line == thresholded.text
        kept_edits, all_edits = kept_edits + len(thresholded.edits), all_edits + len(edits)
    assert 0 < kept_edits < all_edits
    assert run(*edit_command, "--keep-bias", 20, stdin=NOISY_INPUT)[1] == NOISY_INPUT


SOURCE_LINES = "".join(f"{line}\n" for line in INPUT).encode()


@pytest.fixture
def levt_command(golden_folder: Callable[[str], Path], tmp_path: Path) -> list[object]:
    """Returns the arguments of a command that edits drafts; the last one is their file."""
    drafts = write_lines(tmp_path / "drafts", TEST_DRAFTS)
    return ["edit", golden_folder("levt"), "--batch-lines", 6, "--drafts", drafts]


def test_drafts_are_edited_line_by_line(run: Run, levt_command: list[object]) -> None:
    assert run(*levt_command, stdin=SOURCE_LINES)[1].decode().splitlines() == expected_texts("levt/expected")
    status, _, error = run(*levt_command, stdin=SOURCE_LINES + b"v3\n")
    assert status == 2 and mentions(error, f"--drafts {levt_command[-1]} 20 more")
    status, _, error = run(*levt_command, stdin=SOURCE_LINES[: SOURCE_LINES.index(b"\n") + 1])
    assert status == 2 and mentions(error, f"--drafts {levt_command[-1]} more 1")


def test_drafts_keep_the_line_ends_of_their_file(run: Run, levt_command: list[object], tmp_path: Path) -> None:
    unix = run(*levt_command, stdin=SOURCE_LINES)[1]
    (tmp_path / "drafts").write_bytes("".join(f"{line}\r\n" for line in TEST_DRAFTS).encode())
    for sources in (SOURCE_LINES, SOURCE_LINES.replace(b"\n", b"\r\n")):
        assert run(*levt_command, stdin=sources)[1] == unix.replace(b"\n", b"\r\n")


def test_escaped_brackets_are_unescaped_in_drafts(run: Run, levt_command: list[object]) -> None:
    write_lines(Path(str(levt_command[-1])), ["v1 \\⟦Zürich\\⟧ v2", "v1 \\⟦Zürich\\⟧ ⟦!v2⟧", "v1 ⟦Zürich⟧ v2"])
    out = run(*levt_command, "--keep-bias", 30, stdin=b"w1 w2\n" * 3)[1]
    assert out.decode() == "v1 ⟦Zürich⟧ v2\n" * 3


def test_an_unusable_draft_is_named_by_its_line(run: Run, levt_command: list[object]) -> None:
    write_lines(Path(str(levt_command[-1])), [*TEST_DRAFTS[:9], "v1 ⟦!v2", *TEST_DRAFTS[10:]])
    for size in (1, 6, 64):
        status, out, error = run(*levt_command, "--batch-lines", size, stdin=SOURCE_LINES)
        assert status == 2 and mentions(error, "line 10 character 4")
        assert out.count(b"\n") == 9 // size * size


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--keep-bias", "nan"], "--keep-bias nan"),
        (["--min-confidence", "1.5"], "--min-confidence 1.5"),
        (["--batch-lines", "0"], "--batch-lines 0"),
        (["--drafts", "none"], "--drafts none"),
        (["--document", "none"], "--document none"),
    ],
)
def test_unusable_flags_of_edit_are_refused(
    run: Run, edit_command: list[object], levt_command: list[object], flags: list[str], message: str
) -> None:
    status, out, error = run(*edit_command, *flags)
    assert status == 2 and out == b"" and mentions(error, message)
    error = run(*levt_command, "--beam", 2)[2]
    assert mentions(error, "--beam text_editing")


# ---- differences -------------------------------------------------------------------------------------------------


def test_a_diff_contains_both_texts_and_no_control_characters(run: Run, edit_command: list[object]) -> None:
    escaped = run(*edit_command, "--diff", stdin=b"\x1b[2Ja\n")[1]
    assert b"\\u001b[2Ja" in escaped and b"\x1b" not in escaped  # it cannot change the terminal
    shown = run(*edit_command, "--diff", stdin=NOISY_INPUT)[1].decode().splitlines()
    edited = run(*edit_command, stdin=NOISY_INPUT)[1].decode().splitlines()
    assert len(shown) == len(TYPOS) and any("[-" in line for line in shown)
    for line, original, corrected in zip(shown, TYPOS, edited, strict=True):
        assert re.sub(r"\[-(.*?)-\]|\{\+(.*?)\+\}", lambda match: match[1] or "", line) == original
        assert re.sub(r"\[-(.*?)-\]|\{\+(.*?)\+\}", lambda match: match[2] or "", line) == corrected


def test_a_diff_has_colours_on_a_terminal_only(
    run: Run, edit_command: list[object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("lev_plugins.cli.edit.in_colour", lambda when: True)
    assert b"\x1b[9;31m" in run(*edit_command, "--diff", stdin=NOISY_INPUT)[1]
    assert run(*edit_command, "--diff", "--resume", tmp_path / "out", stdin=NOISY_INPUT)[0] == 0
    assert b"\x1b" not in (tmp_path / "out").read_bytes()


# ---- going on after a stop ---------------------------------------------------------------------------------------


def test_resume_completes_a_file(run: Run, golden_folder: Callable[[str], Path], tmp_path: Path) -> None:
    words, out = ["edit", golden_folder("pbd"), "--json", "--batch-lines", 7], tmp_path / "out"
    whole = run(*words, stdin=NOISY_INPUT)[1]
    assert whole.count(b"\n") == len(TYPOS)
    for size in (0, len(whole) * 4 // 5):
        out.write_bytes(whole[:size])
        assert run(*words, "--resume", out, stdin=NOISY_INPUT)[:2] == (0, b"")
        assert out.read_bytes() == whole


def test_resume_continues_the_drafts_at_their_line(run: Run, levt_command: list[object], tmp_path: Path) -> None:
    out = tmp_path / "out"
    whole = run(*levt_command, stdin=SOURCE_LINES)[1]
    for size, complete_lines in ((6, 13), (10, 20), (10, 10)):  # the second one has nothing left to do
        out.write_bytes(b"".join(whole.splitlines(keepends=True)[:complete_lines]))
        assert run(*levt_command, "--batch-lines", size, "--resume", out, stdin=SOURCE_LINES)[0] == 0
        assert out.read_bytes() == whole
    write_lines(tmp_path / "drafts", [*TEST_DRAFTS, "v1"])
    assert mentions(run(*levt_command, "--resume", out, stdin=SOURCE_LINES)[2], "--drafts more 20")


# ---- signals and memory ------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_whole_lines(golden_folder: Callable[[str], Path], tmp_path: Path) -> None:
    text, out = tmp_path / "in", tmp_path / "out"
    text.write_bytes(NOISY_INPUT * 500)
    command = [sys.executable, "-m", "lev_plugins", "edit", str(golden_folder("pbd")), "--batch-lines", "8"]
    with text.open("rb") as lines, out.open("wb") as file:
        program = subprocess.Popen(command, stdin=lines, stdout=file, stderr=subprocess.PIPE, cwd=ROOT)
    deadline = time.monotonic() + 60
    while out.read_bytes().count(b"\n") < 20:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    assert b"Traceback" not in program.communicate()[1] and program.returncode == 130
    output = out.read_bytes()
    assert output.endswith(b"\n") and output.count(b"\n") < 20 * 500


def test_no_library_leaves_files_in_the_cache_folder(golden_folder: Callable[[str], Path], tmp_path: Path) -> None:
    """ONNX Runtime would write an id of the machine, and events that it sends."""
    line = f"import lev_plugins; lev_plugins.load({str(golden_folder('pbd'))!r}).edit(['a'])"
    env = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    env |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path / "home")}
    subprocess.run([sys.executable, "-c", line], env=env, check=True)
    assert not list(tmp_path.rglob("*nnxruntime*"))
