"""The real command: the same bytes in any process, lines as they come, and readers that leave early."""

import subprocess

from lev_plugins.noise import NoiseOptions, build_corruption
from tests.commands import BIN, ENVIRONMENT, ROOT, run

LINES = ["The quick brown fox jumps over the lazy dog", "naïve e\u0301 corner 🇩🇪", "", "one word"] * 5
FLAGS = ["--kind", "random:2,keyboard,swap,ocr", "--word-rate", "0.6", "--char-rate", "0.2", "--seed", "11"]


def test_another_process_makes_the_same_bytes() -> None:
    corrupt = build_corruption(NoiseOptions("random:2,keyboard,swap,ocr", 0.6, 0.2, seed=11))
    expected = "".join(corrupt(line, index) + "\n" for index, line in enumerate(LINES))
    result = run("lev-plugins", "noise", *FLAGS, stdin="\n".join(LINES) + "\n", PYTHONHASHSEED="12345", LC_ALL="C")
    assert (result.code, result.out, result.err) == (0, expected, "")


def test_a_line_comes_out_before_the_next_one_goes_in() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([BIN / "lev-plugins", "noise", *FLAGS], cwd=ROOT, env=ENVIRONMENT, **pipes) as process:
        assert process.stdin and process.stdout
        for word in (b"first", b"second"):
            process.stdin.write(word + b" line\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    """The input never ends, so this is a test of streaming too."""
    result = run(
        "bash", "-c", f"yes some words | lev-plugins noise {' '.join(FLAGS)} | head -n 3; echo ${{PIPESTATUS[1]}}"
    )
    assert result.err == ""
    assert len(result.out.splitlines()) == 4 and result.out.endswith("\n141\n")
