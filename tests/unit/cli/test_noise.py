"""``lev-plugins noise`` and ``confusions``: lines in, lines out, and what they say to bad input."""

import io
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.cli.main import main
from lev_plugins.noise import NoiseOptions, build_corruption


def run(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, data: bytes, *arguments: str) -> tuple[int, bytes, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    code = main(arguments)
    out, err = capsysbinary.readouterr()
    return code, out, err.decode()


NOISE = ("noise", "--kind", "keyboard:2,swap:1", "--word-rate", "0.5", "--seed", "7")


def test_one_line_out_for_each_line_in(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    lines = ["The quick  brown fox", "", "  ", "carriage return \r", "\x0b\x0c\x1c\u2028 stay", "漢字 🇩🇪", "no end"]
    code, out, err = run(monkeypatch, capsysbinary, "\n".join(lines).encode(), *NOISE)
    corrupt = build_corruption(NoiseOptions("keyboard:2,swap:1", 0.5, seed=7))
    expected = [corrupt(line, index) for index, line in enumerate(lines)]
    assert (code, out.decode().split("\n"), err) == (0, expected, "")
    assert expected != lines
    assert run(monkeypatch, capsysbinary, b"", *NOISE)[1] == b""


def test_the_flags_arrive(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> None:
    line = "The quick brown fox jumps over the lazy dog"
    table = tmp_path / "table.tsv"
    table.write_text("characters\tbecome\trate\no\tX\t1\n", "utf-8")
    for flags, options in (
        (["--kind", "insert", "--char-rate", "0.2", "--alphabet", "xyz"], {"char_rate": 0.2, "alphabet": "xyz"}),
        (["--kind", "keyboard", "--word-rate", "1", "--layout", "dvorak"], {"word_rate": 1.0, "layout": "dvorak"}),
        (["--kind", "keyboard", "--word-rate", "1", "--shift-rate", "1"], {"word_rate": 1.0, "shift_rate": 1.0}),
        (["--kind", "ocr", "--word-rate", "0.9", "--char-rate", "0.5"], {"word_rate": 0.9, "char_rate": 0.5}),
        (["--kind", "confusions", "--confusions", str(table)], {"confusions": str(table)}),
    ):
        corrupt = build_corruption(NoiseOptions(flags[1], seed=3, **options))  # type: ignore[arg-type]
        code, out, _ = run(monkeypatch, capsysbinary, line.encode(), "noise", *flags, "--seed", "3", "--epoch", "5")
        assert (code, out.decode()) == (0, corrupt(line, 0, epoch=5))
        assert out.decode() != line


def test_what_comes_before_input_that_is_not_utf8_is_there(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any) -> None:
    code, out, err = run(monkeypatch, capsysbinary, b"good line\nb\xffd\nmore\n", *NOISE)
    assert code == 2
    assert out.count(b"\n") == 1
    assert err == (
        "lev-plugins: error: line 2 of standard input is not UTF-8 (byte 0xff at offset 1): convert it first, for "
        "example with iconv -f latin1 -t utf-8\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "typo", "--word-rate", "0.1"], "--kind 'typo' is unknown: choose from random, insert"),
        (["--kind", "swap", "--char-rate", "0.1", "--min-letters", "3"], "--min-letters needs --word-rate"),
        (["--kind", "swap", "--char-rate", "0.1", "--lower-rate", "0.3"], "--lower-rate needs --word-rate"),
        (["--kind", "swap", "--word-rate", "1", "--short-words", "of"], "--short-words needs --min-letters"),
        (["--kind", "swap", "--word-rate", "1", "--min-letters", "-1"], "--min-letters must be at least 0, but is -1"),
        (["--kind", "confusions", "--confusions", "none.tsv"], "none.tsv: No such file or directory"),
    ],
)
def test_wrong_flags(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, arguments: list[str], message: str) -> None:
    code, out, err = run(monkeypatch, capsysbinary, b"text\n", "noise", *arguments)
    assert (code, out) == (2, b"")
    assert err.startswith(f"lev-plugins: error: {message}")


def files(folder: Path, noisy: str, clean: str) -> list[str]:
    (folder / "noisy").write_bytes(noisy.encode())
    (folder / "clean").write_bytes(clean.encode())
    return ["confusions", str(folder / "noisy"), str(folder / "clean")]


def test_confusions_are_learned(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> None:
    command = files(tmp_path, "comer\nmodem\ncorn\r\nhouse\n", "corner\nmodern\ncorn\r\nmouse\n")
    code, out, err = run(monkeypatch, capsysbinary, b"", *command)
    assert (code, out, err) == (0, b"characters\tbecome\trate\nrn\tm\t0.666667\n", "")
    code, out, _ = run(monkeypatch, capsysbinary, b"", *command, "--min-count", "1", "--longest", "1")
    assert (code, out) == (0, b"characters\tbecome\trate\nm\th\t0.5\n")
    code, out, _ = run(monkeypatch, capsysbinary, b"", *command, "--min-count", "1", "--unit", "word")
    assert out.startswith(b"words\tbecome\trate\n") and b"corner\tcomer\t1\n" in out


def test_files_of_different_length(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> None:
    for noisy, clean in (("a\nb\nc\n", "a\n"), ("a\n", "a\nb")):
        command = files(tmp_path, noisy, clean)
        code, out, err = run(monkeypatch, capsysbinary, b"", *command)
        assert (code, out) == (2, b"")
        assert re.search(r"parallel, but \S+/noisy has \d lines and \S+/clean has \d lines", err)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--longest", "0"], "--longest must be at least 1, but is 0"),
        (["--min-count", "3"], "have no confusion of at most 3 characters that occurs 3 times: use more text"),
    ],
)
def test_nothing_to_learn(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path, flags: list[str], message: str
) -> None:
    code, _, err = run(monkeypatch, capsysbinary, b"", *files(tmp_path, "ab\nab\n", "ac\nac\n"), *flags)
    assert code == 2 and message in err


def test_bad_pairs_are_named(monkeypatch: pytest.MonkeyPatch, capsysbinary: Any, tmp_path: Path) -> None:
    command = files(tmp_path, "good\nbad\n", "good\nbad\n")
    (tmp_path / "clean").write_bytes(b"good\nb\xe4d\n")
    assert f"{tmp_path}/clean, line 2 is not UTF-8" in run(monkeypatch, capsysbinary, b"", *command)[2]
    (tmp_path / "clean").write_bytes(b"\xef\xbb\xbfgood\nbad\n")
    assert f"{tmp_path}/clean begins with a byte order mark" in run(monkeypatch, capsysbinary, b"", *command)[2]
