"""``lev-plugins edit``: a line for a line, in order, whatever the lines hold."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lev_plugins.cli.main import main
from lev_plugins.text.edited import Edit, Edited
from tests.unit.test_editor import DRAFTS, GOLDEN, LEVT, NOISES, NOISY, SOURCES, characters, generated

Run = Callable[..., tuple[int, bytes, str]]
CORRECTOR = [str(GOLDEN / "pbd" / "checkpoint.pt"), "--data", str(NOISY), "--bpe", "chars", "--beam", "3", "--cpu"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    def of(*words: object, stdin: bytes = b"") -> tuple[int, bytes, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with io.TextIOWrapper(out := io.BytesIO(), write_through=True) as text:
            monkeypatch.setattr(sys, "stdout", text)
            status = main(["edit", *map(str, words)])
            printed = out.getvalue()
        return status, printed, capfdbinary.readouterr().err.decode()

    return of


def test_a_line_for_a_line(run: Run) -> None:
    status, out, _ = run(*CORRECTOR, "--batch-lines", 7, stdin="\n".join(NOISES).encode())
    assert status == 0
    assert out.decode().split("\n") == [characters(text) for text in generated("pbd/expected")]


def test_line_ends_and_empty_lines_stay(run: Run) -> None:
    lines = f"{NOISES[0]}\r\n\n \t\n{NOISES[1]}"
    expected = [characters(text) for text in generated("pbd/expected")[:2]]
    assert run(*CORRECTOR, stdin=lines.encode())[1].decode() == f"{expected[0]}\r\n\n \t\n{expected[1]}"
    assert run(*CORRECTOR, stdin=b"")[:2] == (0, b"")


def test_json_and_a_threshold(run: Run) -> None:
    out = run(*CORRECTOR, "--json", stdin="".join(f"{line}\n" for line in NOISES).encode())[1]
    rows = [json.loads(line) for line in out.decode().splitlines()]
    sure = run(*CORRECTOR, "--min-confidence", 0.8, stdin="".join(f"{line}\n" for line in NOISES).encode())[1]
    some = all_of_them = 0
    for text, row, line in zip(NOISES, rows, sure.decode().splitlines(), strict=True):
        edits = tuple(Edit(**each) for each in row["edits"])
        assert Edited(text, edits).text == row["text"]
        kept = Edited(text, edits).sure(0.8)
        assert line == kept.text
        some, all_of_them = some + len(kept.edits), all_of_them + len(edits)
    assert 0 < some < all_of_them


def test_drafts_are_edited(run: Run, tmp_path: Path) -> None:
    drafts = tmp_path / "drafts"
    drafts.write_text("".join(f"{line}\n" for line in DRAFTS), "utf-8")
    levt = [GOLDEN / "levt" / "checkpoint.pt", "--data", LEVT, "--cpu", "--drafts", drafts, "--batch-lines", 8]
    lines = "".join(f"{line}\n" for line in SOURCES).encode()
    assert run(*levt, stdin=lines)[1].decode().splitlines() == generated("levt/expected")
    status, _, error = run(*levt, stdin=lines + b"v3\n")
    assert status == 2 and f"--drafts {drafts} has 20 lines, but standard input has more" in error
    status, _, error = run(*levt, stdin=lines[: lines.index(b"\n") + 1])
    assert status == 2 and f"--drafts {drafts} has more lines than standard input, which has 1" in error


def test_a_bias_for_keeping_the_text(run: Run) -> None:
    lines = "".join(f"{line}\n" for line in NOISES).encode()
    assert run(*CORRECTOR, "--keep-bias", 20, stdin=lines)[1] == lines


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--keep-bias", "nan"], "--keep-bias must be"),
        (["--min-confidence", "1.5"], "--min-confidence must be"),
        (["--batch-lines", "0"], "--batch-lines must be at least 1, but is 0"),
        (["--drafts", "none"], "--drafts: there is no file none"),
    ],
)
def test_refusals(run: Run, flags: list[str], message: str) -> None:
    status, out, error = run(*CORRECTOR, *flags)
    assert status == 2 and out == b"" and message in error
