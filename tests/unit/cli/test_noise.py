"""``lev-plugins noise`` and ``lev-plugins confusions``."""

from pathlib import Path

import pytest

from lev_plugins.noise import NoiseOptions, build_corruption
from tests.helpers import Refusal, Run

NOISE = ("noise", "--kind", "keyboard:2,swap:1", "--word-rate", "0.5", "--seed", "7")


def test_noise_writes_one_line_per_line(run: Run) -> None:
    lines = ["The quick  brown fox", "", "  ", "carriage return \r", "\x0b\x0c\x1c\u2028 stay", "漢字 🇩🇪", "no end"]
    code, out, err = run(*NOISE, stdin="\n".join(lines).encode())
    corrupt = build_corruption(NoiseOptions("keyboard:2,swap:1", 0.5, seed=7))
    expected = [corrupt(line, index) for index, line in enumerate(lines)]
    assert (code, out.decode().split("\n"), err) == (0, expected, "")
    assert expected != lines
    assert run(*NOISE)[1] == b""


def test_flags_select_the_noise(run: Run, tmp_path: Path) -> None:
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
        code, out, _ = run("noise", *flags, "--seed", "3", "--epoch", "5", stdin=line.encode())
        assert (code, out.decode()) == (0, corrupt(line, 0, epoch=5))
        assert out.decode() != line


def test_lines_before_undecodable_input_are_written(run: Run) -> None:
    code, out, err = run(*NOISE, stdin=b"good line\nb\xffd\nmore\n")
    assert code == 2
    assert out.count(b"\n") == 1
    assert err.startswith("lev-plugins: error: line 2 of standard input is not UTF-8 (byte 0xff at offset 1)")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kind", "typo", "--word-rate", "0.1"], "--kind 'typo' is unknown"),
        (["--kind", "swap", "--char-rate", "0.1", "--min-letters", "3"], "--min-letters needs --word-rate"),
        (["--kind", "swap", "--char-rate", "0.1", "--lower-rate", "0.3"], "--lower-rate needs --word-rate"),
        (["--kind", "swap", "--word-rate", "1", "--short-words", "of"], "--short-words needs --min-letters"),
        (["--kind", "swap", "--word-rate", "1", "--min-letters", "-1"], "--min-letters must be at least 0, but is -1"),
        (["--kind", "confusions", "--confusions", "none.tsv"], "none.tsv: No such file or directory"),
    ],
)
def test_wrong_flags_of_noise_are_refused(arguments: list[str], message: str, refusal: Refusal) -> None:
    assert refusal("noise", *arguments).startswith(f"lev-plugins: error: {message}")


def confusions_command(folder: Path, noisy: str, clean: str) -> list[str]:
    (folder / "noisy").write_bytes(noisy.encode())
    (folder / "clean").write_bytes(clean.encode())
    return ["confusions", str(folder / "noisy"), str(folder / "clean")]


def test_confusions_are_learned_from_pairs(run: Run, tmp_path: Path) -> None:
    command = confusions_command(tmp_path, "comer\nmodem\ncorn\r\nhouse\n", "corner\nmodern\ncorn\r\nmouse\n")
    code, out, err = run(*command)
    assert (code, out, err) == (0, b"characters\tbecome\trate\nrn\tm\t0.666667\n", "")
    code, out, _ = run(*command, "--min-count", "1", "--longest", "1")
    assert (code, out) == (0, b"characters\tbecome\trate\nm\th\t0.5\n")
    code, out, _ = run(*command, "--min-count", "1", "--unit", "word")
    assert out.startswith(b"words\tbecome\trate\n") and b"corner\tcomer\t1\n" in out


@pytest.mark.parametrize(
    ("noisy", "flags", "message"),
    [
        ("a\nb\nc\n", [], "{noisy} has 3 lines and {clean} has 2 lines"),
        ("a\n", [], "{noisy} has 1 lines and {clean} has 2 lines"),
        ("ab\nab\n", ["--longest", "0"], "--longest must be at least 1, but is 0"),
        ("ab\nab\n", ["--min-count", "3"], "of at most 3 characters that occurs 3 times"),
    ],
)
def test_pairs_without_confusions(tmp_path: Path, noisy: str, flags: list[str], message: str, refusal: Refusal) -> None:
    command = confusions_command(tmp_path, noisy, "ac\nac\n")
    assert message.format(noisy=command[1], clean=command[2]) in refusal(*command, *flags)
