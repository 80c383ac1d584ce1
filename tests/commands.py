"""Runs the real command lines as a user would, and reads their output."""

import gc
import logging
import multiprocessing
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Client, Connection, Listener, wait
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import recv_handle
from pathlib import Path
from typing import IO, Any

import torch

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.utils import errors

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
USER_DIR = str(ROOT / "lev_plugins")
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]),
    "PYTHONWARNINGS": "ignore",
    "CUDA_VISIBLE_DEVICES": "",
}
for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # those of `make test` are not for the examples
    ENVIRONMENT.pop(name, None)
TRAINED = ROOT / "tests" / "golden" / "trained"  # on the toy corpora, by the tests that are slow
LEVT = TRAINED / "levt.pt"
TASK = ["--user-dir", USER_DIR, "--task", "text_editing", "--cpu"]
TINY = ["--arch", "levt_tiny", "--criterion", "dual_policy", "--share-all-embeddings"]
ADAM = ["--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", "0.003"]
QUIET = ["--no-progress-bar", "--log-format", "simple"]
TIMEOUT = 1800  # seconds after which a command counts as hanging: beside other jobs, some take minutes

# Of the five seconds before a command does anything, four go into imports. A fork of this process has them behind it,
# and nothing that the command does stays behind; threads of a GPU's driver would not survive it.
FAIRSEQ_COMMANDS = ("train", "generate", "interactive", "preprocess", "validate", "eval_lm")
FAIRSEQ = {f"fairseq-{name.replace('_', '-')}": name for name in FAIRSEQ_COMMANDS}
IN_FORKS = {"lev-plugins", *FAIRSEQ} if sys.platform == "linux" and not torch.cuda.is_available() else set()
FORK = multiprocessing.get_context("fork")

# What make and bash start are programs of these names: each asks a fork of this process to run its command in another.
# For the shell, its first lines start Python, whose path may have blanks; for Python, they are a string.
PROGRAM = f"""#!/bin/sh
'''exec' {shlex.quote(sys.executable)} -IS "$0" "$@"
' '''
import os, sys
from multiprocessing.connection import Client
from multiprocessing.reduction import send_handle
with Client(os.environ.pop("TESTS_FORKS")) as server:
    server.send(([os.path.basename(sys.argv[0]), *sys.argv[1:]], os.getcwd(), dict(os.environ)))
    for stream in range(3):
        send_handle(server, stream, None)
    sys.exit(server.recv())
"""


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
        """The error line at the end of standard error."""
        lines = [line for line in self.err.splitlines() if line.startswith("lev-plugins: error: ")]
        assert lines, f"no such line in: {self.both[-3000:]}"
        return lines[-1]


class Running:
    """A command that has been started: in a fork, or with other variables, which Python reads, as a program.

    The commands of a ``make`` or ``bash`` run in forks as well, unless they are to be ``programs``.
    """

    def __init__(
        self, *command: object, stdin: str | bytes = "", cwd: Path = ROOT, programs: bool = False, **environment: str
    ):
        self.words = [str(word) for word in command]
        self.streams = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115  closed with the last reference
        self.streams[0].write(stdin.encode() if isinstance(stdin, str) else stdin)
        self.streams[0].seek(0)
        self.process: BaseProcess | subprocess.Popen[bytes]
        self.forks: Forks | None = None
        if self.words[0] in IN_FORKS and not environment:
            self.process = FORK.Process(target=become, args=(self.words, self.streams, cwd, ENVIRONMENT))
            self.process.start()
        else:
            variables = {**ENVIRONMENT}
            if IN_FORKS and not programs and self.words[0] in ("make", "bash"):
                self.forks = Forks()
                variables |= self.forks.variables
            variables |= environment
            names = dict(zip(("stdin", "stdout", "stderr"), self.streams, strict=True))
            self.process = subprocess.Popen(self.words, cwd=cwd, env=variables, **names)  # type: ignore[call-overload]

    def result(self, timeout: int = TIMEOUT) -> Result:
        try:
            if isinstance(self.process, subprocess.Popen):
                code = self.process.wait(timeout)
            else:
                self.process.join(timeout)
                code = self.process.exitcode
            if code is None:
                self.process.kill()
                raise subprocess.TimeoutExpired(self.words, timeout)
        finally:
            if self.forks:
                self.forks.close()
        for stream in self.streams:
            stream.seek(0)
        _, out, err = (stream.read().decode(errors="replace") for stream in self.streams)
        return Result(code, out, err)


class Forks:
    """A fork of this process, and programs of the names in ``IN_FORKS``, which it runs in forks of its own."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        for name in IN_FORKS:
            program = Path(self.folder.name) / name
            program.write_text(PROGRAM, encoding="utf-8")
            program.chmod(0o755)
        self.address = f"{self.folder.name}/socket"
        self.listener = Listener(self.address)
        self.process = FORK.Process(target=serve, args=(self.listener,))
        self.process.start()
        path = os.pathsep.join([self.folder.name, ENVIRONMENT["PATH"]])
        self.variables = {"PATH": path, "TESTS_FORKS": self.address}

    def close(self) -> None:
        with Client(self.address) as server:
            server.send(None)
        self.process.join()
        self.listener.close()
        self.folder.cleanup()


def serve(listener: Listener) -> None:
    answering: list[BaseProcess] = []
    while True:
        client = listener.accept()
        request = client.recv()
        if request is None:
            break
        answering.append(FORK.Process(target=answer, args=(client, *request)))
        answering[-1].start()
        client.close()
    for process in answering:  # so their processor time is that of this process
        process.join()


def answer(client: Connection, words: list[str], cwd: str, variables: dict[str, str]) -> None:
    """Sends a program the exit status of its command, as in bash; ends the command if the program has ended."""
    streams = [os.fdopen(recv_handle(client), mode) for mode in ("rb", "wb", "wb")]
    process = FORK.Process(target=become, args=(words, streams, cwd, variables))
    process.start()
    ended = process.sentinel in wait([process.sentinel, client])
    if not ended:
        process.terminate()
    process.join()
    if ended:
        client.send(128 - process.exitcode if process.exitcode < 0 else process.exitcode)


def run(*command: object, timeout: int = TIMEOUT, **options: Any) -> Result:
    return Running(*command, **options).result(timeout)


def become(words: list[str], streams: list[IO[bytes]], cwd: str | Path, variables: dict[str, str]) -> None:
    """Runs a command in this process as if it had been started as a program."""
    gc.freeze()  # or the collector would write to, and so copy, every page that forks share
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    lev_plugins.__path__.append(os.path.abspath("lev_plugins"))  # what fairseq compares --user-dir with
    os.environ.clear()
    os.environ.update(variables)
    warnings.simplefilter("ignore")
    logging.root.handlers.clear()  # pytest's
    if words[0] != "fairseq-train":  # the one that sets up its log before it imports fairseq, which would do this
        logging.basicConfig(level=logging.DEBUG)
    for name in filter(re.compile("fairseq|lev_plugins").match, logging.root.manager.loggerDict):
        logging.getLogger(name).setLevel(logging.NOTSET)  # benches silence fairseq
    sys.argv = words
    try:
        if words[0] == "lev-plugins":
            sys.exit(main())
        for module in [module for module in sys.modules if module.startswith("fairseq_cli")]:
            del sys.modules[module]  # importing them sets up the log
        command = import_module(f"fairseq_cli.{FAIRSEQ[words[0]]}")
        errors.explain_at_exit()
        command.cli_main()
    except Exception:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        sys.exit(1)


def succeed(*command: object, **options: object) -> Result:
    result = run(*command, **options)  # type: ignore[arg-type]
    assert result.code == 0, result.both[-4000:]
    return result


def refused(*command: object, **options: object) -> str:
    """Runs a command that fails and returns its error line."""
    result = run(*command, **options)  # type: ignore[arg-type]
    assert result.code != 0
    return result.verdict


def two_ranks(command: Callable[..., list[object]]) -> list[Result]:
    """Runs a training in two processes; ``command`` returns the command for the given flags of distributed training."""
    flags = ["--distributed-backend", "gloo", "--ddp-backend", "legacy_ddp", "--distributed-world-size", 2]
    flags += ["--distributed-no-spawn", "--distributed-init-method", f"tcp://localhost:{free_port()}"]
    ranks = [Running(*command(*flags, "--distributed-rank", rank)) for rank in (0, 1)]
    both = [rank.result() for rank in ranks]
    assert [rank.code for rank in both] == [0, 0], [rank.both[-2000:] for rank in both]
    return both


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def train(data: Path, save_dir: Path, *flags: object, optimizer: Sequence[str] = ADAM) -> list[object]:
    return ["fairseq-train", data, *TASK, *TINY, *optimizer, *QUIET, "--save-dir", save_dir, *flags]


def generate(data: Path, path: object, *flags: object) -> list[object]:
    return ["fairseq-generate", data, *TASK, "--path", path, "--gen-subset", "test", *flags]


def interactive(data: Path, path: object, *flags: object) -> list[object]:
    return ["fairseq-interactive", data, *TASK, "--path", path, *flags]


def lines(text: str, kind: str) -> dict[int, str]:
    """Returns the ``H-0``, ``I-0``, ... lines of a log by sentence."""
    return {int(n): rest for n, rest in re.findall(rf"^{kind}-(\d+)\t(.*)$", text, re.MULTILINE)}


def hypotheses(text: str) -> dict[int, tuple[float, str]]:
    columns = {n: line.split("\t") for n, line in lines(text, "H").items()}
    return {n: (float(score), words) for n, (score, words) in columns.items()}


def outputs(log: str) -> dict[int, str]:
    """Returns the detokenised outputs in a log of fairseq by the number of their sentence, which they are sorted by."""
    return {number: line.partition("\t")[2] for number, line in sorted(lines(log, "D").items())}


def exact_matches(log: str) -> float:
    """Returns the share of the hypotheses in a log of fairseq that are the reference."""
    outputs, targets = hypotheses(log), lines(log, "T")
    assert outputs.keys() == targets.keys()
    return sum(outputs[n][1] == words for n, words in targets.items()) / len(targets)


def same_hypotheses(log: str, expected_log: str) -> None:
    scored, expected = hypotheses(log), hypotheses(expected_log)
    assert scored.keys() == expected.keys() and scored
    for n, (score, words) in scored.items():
        assert words == expected[n][1], n
        assert abs(score - expected[n][0]) < 1e-4, n
