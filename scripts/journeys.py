"""Counts the files of the package that one piece of work passes through.

    python scripts/journeys.py            a table of the journeys, with the limit of each
    python scripts/journeys.py --files    also lists the files, with the functions entered

A file counts if one of its functions is entered. What runs while modules are imported does not count. The journeys:

batch      a training batch of `levt --spelling`, from reading the examples to the update
edit       `lev-plugins edit FOLDER` on one line, from the line to the edited text
load       what this command does before and after that: only files that the line does not enter
request    a LanguageTool request to a server of this folder: only files that `edit` does not enter
generate   `fairseq-generate` that edits drafts and scores the results, from the first batch to the score

The exit status is 1 if a journey exceeds its limit.
"""

import argparse
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "lev_plugins"
FOLDER = ROOT / "tests" / "golden" / "folders" / "0.2" / "levt-spelling-graphs" / "model"
DRAFTS = ROOT / "tests" / "golden" / "0.1" / "levt"
TEXT = "the vlaue of teh function."
LIMITS = {"batch": 27, "edit": 31, "request": 9, "generate": 20}  # files
OF_FUNCTIONS = 2  # CO_NEWLOCALS: the code of modules and class bodies does not have this flag
SIZES = [
    f"--{side}-{name}={size}"
    for side in ("encoder", "decoder")
    for name, size in (("layers", 1), ("embed-dim", 16), ("ffn-embed-dim", 16), ("attention-heads", 2))
]
SPELLING = ["--task", "text_editing", "-s", "noisy", "-t", "clean", "--draft-lang", "draft", "--arch", "levt"]
SPELLING += ["--criterion", "dual_policy", "--share-all-embeddings", "--spelling", "--spelling-buckets", "300"]
SPELLING += ["--bpe", "words", "--noise-kind", "swap,delete", "--noise-word-rate", "0.4"]
TRAINING = ["--optimizer", "adam", "--lr", "0.001", "--max-tokens", "500", "--cpu", "--no-save", "--num-workers", "0"]


class Recorder:
    """Records the functions of the package that run in each part of a journey."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.seen: set[CodeType] = set()
        self.part = ""  # empty: nothing is recorded

    def install(self) -> None:
        threading.setprofile(self.profile)
        sys.setprofile(self.profile)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not self.part or code in self.seen:
            return
        ours = code.co_filename.startswith(f"{PACKAGE}{os.sep}") and code.co_flags & OF_FUNCTIONS
        if ours and importing(frame):
            return
        self.seen.add(code)
        if ours:
            self.parts[self.part][str(Path(code.co_filename).relative_to(PACKAGE))].add(code.co_qualname)

    def record(self, part: str) -> None:
        self.part = part
        self.seen.clear()


def importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def batch(recorder: Recorder, folder: Path) -> None:
    """Trains for one update."""
    from fairseq import options, tasks
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf
    from fairseq.trainer import Trainer

    from lev_plugins.cli.main import main

    for split in ("train", "valid"):
        for side in ("noisy", "draft", "clean"):
            (folder / f"{split}.{side}").write_text(
                "the value of the function\nvalues of a matrix\nsort the rows\n" * 4
            )
    prefixes = [f"--{split}-prefix={folder / split}" for split in ("train", "valid")]
    sides = ["-s", "noisy", "-d", "draft", "-t", "clean", "--bpe", "words", "--joined-dictionary", "--clean-train"]
    with redirect_stdout(io.StringIO()):
        assert main(["prepare", *sides, *prefixes, "--dest", str(folder / "data")]) == 0
    words = [str(folder / "data"), "--user-dir", str(PACKAGE), *SPELLING, *SIZES, *TRAINING]
    with mock.patch.object(sys, "argv", ["fairseq-train", *words]):
        cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(options.get_training_parser(), words))
    task = tasks.setup_task(cfg.task)
    trainer = Trainer(cfg, task, task.build_model(cfg.model), task.build_criterion(cfg.criterion))
    task.load_dataset("train")
    epoch = trainer.get_train_iterator(epoch=1)
    trainer.begin_epoch(1)
    batches = epoch.next_epoch_itr(shuffle=True)
    recorder.install()
    recorder.record("batch")
    trainer.train_step([next(batches)])


def edit(recorder: Recorder, _: Path) -> None:
    from lev_plugins.cli.main import main

    source, out = Input(recorder), Output(recorder)
    recorder.install()
    with (
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BufferedReader(source))),
        redirect_stdout(io.TextIOWrapper(io.BufferedWriter(out))),
    ):
        recorder.record("load")
        assert main(["edit", str(FOLDER)]) == 0
    assert b"of" in out.text


class Input(io.RawIOBase):
    """Standard input; reading it begins the part that edits."""

    def __init__(self, recorder: Recorder):
        self.recorder, self.rest = recorder, TEXT.encode()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.rest:
            self.recorder.record("edit")
        part, self.rest = self.rest, b""
        buffer[: len(part)] = part
        return len(part)


class Output(io.RawIOBase):
    """Standard output; writing to it ends the part that edits."""

    def __init__(self, recorder: Recorder):
        self.recorder, self.text = recorder, b""

    def writable(self) -> bool:
        return True

    def write(self, text: Any) -> int:
        self.text += bytes(text)
        self.recorder.record("load")
        return len(text)


def request(recorder: Recorder, _: Path) -> None:
    """Sends the first request, a text from a browser's add-on, to a server that has just started."""
    from lev_plugins.cli.main import main

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    def client() -> None:
        try:
            connection = connected(port)
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            recorder.record("request")
            connection.request("POST", "/v2/check", urlencode({"language": "en-US", "text": TEXT}), form)
            answer = connection.getresponse()
            answers.append(json.loads(answer.read()))
            recorder.record("")
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    answers: list[Any] = []
    recorder.install()
    threading.Thread(target=client).start()
    main(["serve", str(FOLDER), "--port", str(port)])
    assert "matches" in answers[0]


def connected(port: int) -> http.client.HTTPConnection:
    """Connects to the server as soon as it listens."""
    for _ in range(600):
        with suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.connect()
            return connection
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens at port {port}")


def generate(recorder: Recorder, _: Path) -> None:
    """Decodes and scores; loading the task, the model and the data is not recorded."""
    from fairseq.logging.progress_bar import SimpleProgressBar
    from fairseq_cli.generate import cli_main

    sentences = SimpleProgressBar.__iter__

    def begin(bar: SimpleProgressBar) -> Any:
        recorder.record("generate")
        return sentences(bar)

    words = ["data", "--user-dir", str(PACKAGE), "--task", "text_editing", "--log-format", "simple", "--cpu"]
    words += ["-s", "src", "-t", "tgt", "--draft-lang", "mt", "--path", "checkpoint.pt", "--gen-subset", "test"]
    words += ["--scoring", "ter", "--num-workers", "0"]
    os.chdir(DRAFTS)
    recorder.install()
    out = io.StringIO()
    argv = mock.patch.object(sys, "argv", ["fairseq-generate", *words])
    with argv, mock.patch.object(SimpleProgressBar, "__iter__", begin), redirect_stdout(out):
        cli_main()
    assert "ter" in out.getvalue().lower(), out.getvalue()[-500:]


JOURNEYS: dict[str, Callable[[Recorder, Path], None]] = {
    "batch": batch,
    "edit": edit,
    "request": request,
    "generate": generate,
}


def parts_of(journey: str) -> dict[str, dict[str, list[str]]]:
    """Returns the functions of each file in each part, from a new process, so that no cache is warm."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "entered.json"
        command = [sys.executable, __file__, "--only", journey, "--out", str(out)]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{journey}: {done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return json.loads(out.read_text())


def measured() -> dict[str, dict[str, list[str]]]:
    parts = {name: files for journey in JOURNEYS for name, files in parts_of(journey).items()}
    parts["load"] = {file: names for file, names in parts["load"].items() if file not in parts["edit"]}
    before = parts["edit"].keys() | parts["load"].keys()
    parts["request"] = {file: names for file, names in parts["request"].items() if file not in before}
    return {name: parts[name] for name in ("batch", "edit", "load", "request", "generate")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="print the files and functions, too")
    parser.add_argument("--only", choices=JOURNEYS, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only is not None:
        recorder = Recorder()
        with tempfile.TemporaryDirectory() as folder:
            JOURNEYS[args.only](recorder, Path(folder))
        sys.setprofile(None)
        parts = {
            part: {file: sorted(names) for file, names in sorted(files.items())}
            for part, files in recorder.parts.items()
        }
        args.out.write_text(json.dumps(parts))
        return 0
    parts = measured()
    for name, files in parts.items():
        sys.stdout.write(
            f"{name:10} {len(files):3} files" + (f", at most {LIMITS[name]}\n" if name in LIMITS else "\n")
        )
        for file, functions in files.items() if args.files else ():
            sys.stdout.write(f"    {file:36} {', '.join(functions)}\n")
    return int(any(len(parts[name]) > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
