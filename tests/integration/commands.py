"""Run the real command lines, as a user would."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.integration import starter
from tests.integration.starter import BIN

ROOT = Path(__file__).resolve().parents[2]
USER_DIR = str(ROOT / "lev_plugins")
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONWARNINGS": "ignore",
    "CUDA_VISIBLE_DEVICES": "",
}
ENVIRONMENT["PATH"] = os.pathsep.join([str(starter.start(ENVIRONMENT)), str(BIN), os.environ["PATH"]])
TASK = ["--user-dir", USER_DIR, "--task", "text_editing", "--cpu"]
TINY = ["--arch", "levt_tiny", "--criterion", "dual_policy", "--share-all-embeddings"]
ADAM = ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", "0.003"]
QUIET = ["--no-progress-bar", "--log-format", "simple"]


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def both(self) -> str:
        return self.out + self.err

    @property
    def verdict(self) -> str:
        """The one line for the user that ends a failure."""
        lines = [line for line in self.err.splitlines() if line.startswith("lev-plugins: error: ")]
        assert lines, f"no such line in: {self.both[-3000:]}"
        return lines[-1]


def run(*command: object, stdin: str | bytes = "", cwd: Path = ROOT, timeout: int = 300, **environment: str) -> Result:
    done = subprocess.run(
        [str(part) for part in command],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        timeout=timeout,
        env={**ENVIRONMENT, **environment},
    )
    return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def succeed(*command: object, **options: object) -> Result:
    result = run(*command, **options)  # type: ignore[arg-type]
    assert result.code == 0, result.both[-4000:]
    return result


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # those of `make test` are not for the examples
    ENVIRONMENT.pop(name, None)


def readme(example: str) -> str:
    """The pages of an example."""
    pages = (ROOT / "examples" / example / name for name in ("README.md", "RESULTS.md"))
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def readme_commands(example: str) -> list[list[str]]:
    """The words of each make command that the pages of an example print."""
    blocks = re.findall(r"^```bash\n(.*?)^```", readme(example), re.M | re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith("make ")]


def readme_command(example: str, number: int, **values: object) -> list[str]:
    """One of them, with ``values`` of our own for some settings."""
    words = readme_commands(example)[number]
    kept = [word for word in words if word.partition("=")[0] not in values]
    return [*kept, *(f"{name}={value}" for name, value in values.items())]


def train(data: Path, save_dir: Path, *flags: object, optimizer: Sequence[str] = ADAM) -> list[object]:
    return ["fairseq-train", data, *TASK, *TINY, *optimizer, *QUIET, "--save-dir", save_dir, *flags]


def generate(data: Path, path: object, *flags: object) -> list[object]:
    return ["fairseq-generate", data, *TASK, "--path", path, "--gen-subset", "test", *flags]


def interactive(data: Path, path: object, *flags: object) -> list[object]:
    return ["fairseq-interactive", data, *TASK, "--path", path, *flags]


def lines(text: str, kind: str) -> dict[int, str]:
    """What the log says in its ``H-0``, ``I-0``, ... lines, by sentence."""
    return {int(n): rest for n, rest in re.findall(rf"^{kind}-(\d+)\t(.*)$", text, re.MULTILINE)}


def hypotheses(text: str) -> dict[int, tuple[float, str]]:
    found = {n: line.split("\t") for n, line in lines(text, "H").items()}
    return {n: (float(score), words) for n, (score, words) in found.items()}


def same_hypotheses(one: str, other: str, tolerance: float = 1e-4) -> None:
    first, second = hypotheses(one), hypotheses(other)
    assert first.keys() == second.keys() and first
    for n, (score, words) in first.items():
        assert words == second[n][1], n
        assert abs(score - second[n][0]) < tolerance, n
