"""``lev-plugins noise`` writes line by line."""

import subprocess

from tests.commands import BIN, ENVIRONMENT, ROOT


def test_noise_writes_each_line_before_it_reads_the_next() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [BIN / "lev-plugins", "noise", "--kind", "random:2,keyboard,swap,ocr", "--word-rate", "0.6"]
    with subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, **pipes) as process:
        assert process.stdin and process.stdout
        for word in (b"first", b"second"):
            process.stdin.write(word + b" line\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith(b"\n")
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0
