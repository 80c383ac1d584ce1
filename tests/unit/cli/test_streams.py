"""Streams of lines, and output files that are resumed."""

import io
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.cli import streams
from lev_plugins.utils.errors import UserError
from tests.helpers import mentions


def test_terminals_are_answered_line_by_line(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    numbers = []

    def answer(first_line: int, texts: list[str]) -> list[str]:
        numbers.append((first_line, len(texts)))
        return texts

    for terminal, expected in ((True, [(1, 1), (2, 1), (3, 1)]), (False, [(1, 2), (3, 1)])):
        typed = io.TextIOWrapper(io.BytesIO(b"a\nb\nc"))
        monkeypatch.setattr(typed, "isatty", lambda terminal=terminal: terminal, raising=False)
        monkeypatch.setattr(sys, "stdin", typed)
        assert streams.answer_lines(answer, 2) == 0
        assert capfdbinary.readouterr().out == b"a\nb\nc" and numbers == expected
        numbers.clear()


@pytest.mark.parametrize(
    ("redirection", "status", "message"),
    [
        ("<&-", 2, "input <" + os.devnull),
        (">&-", 2, "output >" + os.devnull),
        ("2>&-", 0, ""),
        ("--kind x 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_ends_in_one_line_or_in_silence(redirection: str, status: int, message: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m lev_plugins noise --kind swap --word-rate 1 {redirection}"
    process = subprocess.run(["sh", "-c", command], input=b"the cat\n", capture_output=True)
    error = process.stderr.decode()
    assert process.returncode == status and error.count("\n") == bool(message) and mentions(error, message)


def test_lines_before_an_error_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\nc\n")))
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))

    def answer(first_line: int, texts: list[str]) -> list[str]:
        if "c" in texts:
            raise UserError("no c, please")
        return [text.upper() for text in texts]

    with pytest.raises(UserError, match="no c"):
        streams.answer_lines(answer, 2)
    assert out.getvalue() == b"A\nB\n"


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("resume", [False, True])
def test_progress_is_shown_only_with_resume(resume: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, errors = Terminal(io.BytesIO()), io.StringIO()
    monkeypatch.setattr(errors, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\nc\n")))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", errors)
    path = tmp_path / "out"
    path.write_bytes(b"a\nb\n")
    assert streams.answer_lines(lambda first_line, texts: texts, 2, path if resume else None) == 0
    assert ("3 lines" in errors.getvalue()) == resume
    assert path.read_bytes() == (b"a\nb\nc\n" if resume else b"a\nb\n")


def answer_file(monkeypatch: pytest.MonkeyPatch, source: Path, size: int, path: Path) -> int:
    with source.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        return streams.answer_lines(lambda first_line, texts: texts, size, path)


@pytest.mark.parametrize(("there", "line"), [(b"my notes\n", 1), (b"a\nb\nc\nnot d\n", 4), (b"a\nb\n\n", 3)])
def test_resume_refuses_other_files(there: bytes, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file can end within a batch; the input cannot be the output."""
    text, path = tmp_path / "text", tmp_path / "out"
    text.write_bytes(b"a\nb\nc\nd\n")
    path.write_bytes(there)
    with pytest.raises(UserError, match=rf"line {line} "):
        answer_file(monkeypatch, text, 2, path)
    for place, reason in ((text, "is also the input"), (tmp_path, "exists but is"), (path / "x", "there is no folder")):
        with pytest.raises(UserError, match=rf"--resume {place}:? {reason}"):
            answer_file(monkeypatch, text, 2, place)
    assert path.read_bytes() == there and text.read_bytes() == b"a\nb\nc\nd\n"


@pytest.mark.parametrize("length", range(9))
@pytest.mark.parametrize("content", [b"a\nb\nc\nd\n", b"a\r\n\nc\r\nd"])
def test_resume_completes_any_file(
    content: bytes, length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, path = tmp_path / "text", tmp_path / "out"
    text.write_bytes(content)
    path.write_bytes(content[:length])
    assert answer_file(monkeypatch, text, 3, path) == 0
    assert path.read_bytes() == text.read_bytes()


def test_byte_order_marks_stay_in_place(monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfthe fox\nthe \xef\xbb\xbfcat"))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert streams.change_lines(lambda text, _: text[::-1]) == 0
    assert capfdbinary.readouterr().out == b"\xef\xbb\xbfxof eht\ntac\xef\xbb\xbf eht"
