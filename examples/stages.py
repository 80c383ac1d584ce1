"""The stages of an example: what its run.py makes, in the order in which it is written there.

A stage makes the folder OUT/NAME by commands of bash. What they print goes to OUT/NAME/log, and OUT/NAME/done says that
they have succeeded: such a stage is not made again, unless a stage that it depends on is newer. A training continues
after a stop, and starts again if what it depends on was made again. OUT/NAME/seconds is what it took, and
OUT/results.json what a table of RESULTS.md needs to know of the run (examples/tables.py).
"""

import argparse
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import metadata
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lev_plugins
from examples.shared import finish, gpus, processor
from lev_plugins.errors import UserError, require

ROOT = Path(__file__).resolve().parents[1]
SETTING = re.compile(r"(\w+)=(.*?)(?:\s+# (.*))?")
GPUS, SET = ("auto", "GPUs to use; 0 = CPU"), ("", "name of a file in sets/, with other defaults")
FROM = ("", "folder with the published files, for the goal data; empty: it downloads them")
PATHS = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
ENVIRONMENT = {"PYTHONPATH": PATHS, "PYTHONWARNINGS": "ignore", "PYTHONUTF8": "1"}
# idle threads of torch give up their cores sooner: on a busy machine twice as fast, on an idle one the same
ENVIRONMENT |= {} if "OMP_WAIT_POLICY" in os.environ else {"GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "10000")}
DATA = "data/"  # where the defaults of settings look for published sets
SHOWN = 20  # lines of the log of a stage that failed


def read_settings(path: Path) -> dict[str, tuple[str, str]]:
    """The default and the meaning of each setting, from lines ``NAME=default # meaning``."""
    lines = (SETTING.fullmatch(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {line[1]: (line[2], line[3] or "") for line in lines if line}


def defaults(path: Path) -> dict[str, str]:
    return {name: default for name, (default, _) in read_settings(path).items()}


def both(flag: str, value: object = "") -> str:
    """
    >>> both("layers", 2)
    '--encoder-layers 2 --decoder-layers 2'
    """
    return " ".join(f"--{side}-{flag} {value}".strip() for side in ("encoder", "decoder"))


def falling(rate: object, warmup: object, updates: object) -> str:
    """The learning rate rises, then falls in a straight line to zero."""
    return (
        f"--lr {rate} --lr-scheduler polynomial_decay --warmup-updates {warmup} --max-update {updates} "
        f"--total-num-update {updates}"
    )


def cells(line: str) -> list[str]:
    """
    >>> cells("| LevT | | 34.0 |"), cells("this editor  98.4 %   0.2 %")
    (['LevT', '', '34.0'], ['this editor', '98.4 %', '0.2 %'])
    """
    return [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("|") else re.split("  +", line)


def tables_in(page: str) -> list[list[list[str]]]:
    """Those of a report, in Markdown or as columns of text, each with its head.

    >>> tables_in("Scores:\\n\\n| | BLEU |\\n|---|---|\\n| LevT | 34.0 |\\n\\nMachine: unknown\\n")
    [[['', 'BLEU'], ['LevT', '34.0']]]
    """
    lines = [line.rstrip() for line in page.splitlines() if not line.startswith("|--")]
    groups = (
        list(group) for _, group in groupby(lines, lambda line: line[:1] if line[:1] == "|" else len(cells(line)))
    )
    return [[*map(cells, group)] for group in groups if group[0].startswith("|") or len(cells(group[0])) > 2]


class Run:
    """The settings of one command, as attributes, and the stages that it makes."""

    def __init__(self, example: Path, words: list[str], goal: str = "report", dry: bool = False) -> None:
        self.here = os.path.relpath(example) if example.is_relative_to(Path.cwd()) else str(example)
        self.examples = str(Path(self.here).parent)
        self.goal, self.dry = goal, dry
        self.typed = words
        sets = [path.name for path in (example / "sets").glob("*")]
        self.meanings = {"GPUS": GPUS, "FROM": FROM} | ({"SET": SET} if sets else {})
        self.meanings |= read_settings(example / "settings")
        typed = dict(word.partition("=")[::2] for word in words)
        unknown = [name for name in typed if name not in self.meanings]
        require(not unknown, f"there is no setting {', '.join(unknown)}: choose from {', '.join(self.meanings)}")
        chosen = typed.get("SET") if sets else None
        require(not chosen or chosen in sets, f"there is no set {chosen}: choose from {', '.join(sets)}")
        others = defaults(example / "sets" / chosen) if chosen else {}
        self.values = {name: default for name, (default, _) in self.meanings.items()} | others | typed
        self.planned: set[str] = set()  # all stages, made now or before
        self.made: dict[str, list[str]] = {}  # the commands of each stage that is made

    def __getattr__(self, name: str) -> str:
        try:
            return self.__dict__["values"][name].strip()
        except KeyError:
            raise AttributeError(name) from None

    def parts(self, name: str) -> list[str]:
        return str(getattr(self, name)).replace(",", " ").split()

    def number(self, name: str) -> int:
        value = str(getattr(self, name))
        require(value.isdigit(), f"{name} must be a whole number, but is '{value}'")
        return int(value)

    def begin(self, needed: str, selecting: str) -> None:
        """Checks the settings: those that are needed are given; those that do not only select what is run this time are
        the same as before in this OUT, where they are recorded."""
        for name in needed.split():
            folder = str(getattr(self, name))
            require(bool(folder), f"{name} is missing: give a folder, {name}=DIR")
            fetched = folder.startswith(DATA) and folder == self.meanings[name][0]
            require(
                not fetched or self.dry or all(map(os.path.exists, folder.split())),
                f"there is no {folder}: the goal data fetches it; or give {name}=DIR",
            )
        self.out = Path(self.OUT)
        record = self.out / "settings"
        before = defaults(record) if record.is_file() else {}
        now = {
            name: value
            for name, value in self.values.items()
            if name not in {"OUT", "SET", "GPUS", "FROM", *selecting.split()}
        }
        changed = [f"{name}={value}" for name, value in before.items() if now.get(name, value).strip() != value]
        require(
            self.dry or not changed,
            f"{self.out} was made with {', '.join(changed)}: use another OUT, or remove this one",
        )
        self.record = before | now

    def fetch(self, sets: dict[str, str]) -> None:
        """Makes the folders of the published sets that are not there: a folder is complete or absent."""
        for name, folder in sets.items():
            if Path(folder).is_dir():
                print(f"{folder} exists")
            else:
                self.show("", f"lev-plugins data {name} {folder} {f'--from {self.FROM}' if self.FROM else ''}")

    # ---- parts of commands -------------------------------------------------------------------------------------------

    @property
    def gpus(self) -> int:
        if self.GPUS != "auto":
            return self.number("GPUS")
        if shutil.which("nvidia-smi") is None:
            return 0
        import torch

        return torch.cuda.device_count()

    @property
    def device(self) -> str:
        return "" if self.gpus else "--cpu"

    @property
    def threads(self) -> str:
        return "" if self.gpus else f"OMP_NUM_THREADS={self.THREADS}"

    @property
    def fairseq(self) -> str:
        """Flags of all its commands; its own models need the --user-dir too: it lets torch read their checkpoints."""
        package = os.path.relpath(ROOT / "lev_plugins") if Path.cwd() == ROOT else str(ROOT / "lev_plugins")
        return f"--user-dir {package} {self.device} --no-progress-bar"

    @property
    def trainer(self) -> str:
        return (
            f"{self.threads} fairseq-train --distributed-world-size {self.gpus or 1} {self.fairseq} --log-format simple"
        )

    @property
    def train(self) -> str:
        return f"{self.trainer} --optimizer adam --adam-betas '(0.9,0.98)'"

    @property
    def generate(self) -> str:
        """With its default of 8, fairseq drops a last batch of any other size, of a test as well (its issue 5036)."""
        return f"{self.threads} fairseq-generate {self.fairseq} --required-batch-size-multiple 1"

    @property
    def sizes(self) -> str:
        flags = {
            "layers": self.LAYERS,
            "embed-dim": self.WIDTH,
            "ffn-embed-dim": self.FFN,
            "attention-heads": self.HEADS,
        }
        return " ".join(both(flag, value) for flag, value in flags.items())

    @property
    def every(self) -> str:
        """The validation set is scored, and a checkpoint written, every VALID_EVERY updates."""
        return (
            f"--no-epoch-checkpoints --validate-interval 1000000 --validate-interval-updates {self.VALID_EVERY} "
            f"--save-interval-updates {self.VALID_EVERY} --keep-interval-updates 1"
        )

    @property
    def speller(self) -> bool:
        """Whether SymSpell is to be scored, too."""
        return self.has(self.SYMSPELL, "symspellpy")

    @staticmethod
    def has(setting: str, *packages: str) -> bool:
        """Whether a setting asks for packages: ``yes``, or ``auto`` and they are installed.

        >>> Run.has("auto", "json"), Run.has("auto", "json", "no_such_package"), Run.has("yes", "no_such_package")
        (True, False, True)
        """
        return setting == "yes" or (setting == "auto" and None not in map(find_spec, packages))

    # ---- stages ------------------------------------------------------------------------------------------------------

    def training(self, name: str, after: str, *commands: str) -> None:
        self.stage(name, after, *commands, continues=True)

    def stage(self, name: str, after: str, *commands: str, continues: bool = False, title: str = "") -> None:
        """Makes OUT/NAME by the commands, unless that has been done since all of ``after`` were made."""
        recipe = [" ".join(command.split()) for command in commands if command.strip()]
        folder, stages = self.out / name, after.split()
        self.planned.add(name)
        if name in self.made or (not self.made.keys() & {*stages} and fresh(folder / "done", self.out, stages)):
            return
        self.made[name] = recipe
        if self.dry:
            print(*recipe, sep="\n")
            return
        self.out.mkdir(parents=True, exist_ok=True)
        with held(self.out / f".{name.replace('/', '_')}.lock", name, folder) as lock:
            if continues and not fresh(folder / "begun", self.out, stages):
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            if continues:
                (folder / "begun").touch()
            else:  # of an attempt that failed
                for part in ("data", "bin"):
                    shutil.rmtree(folder / part, ignore_errors=True)
                for checkpoint in folder.glob("*.pt"):
                    checkpoint.unlink()
                (folder / "log").write_text("")
            (self.out / "settings").write_text("".join(f"{name}={value}\n" for name, value in self.record.items()))
            print(f"{title or name} ...", flush=True)
            began, spent = time.monotonic(), folder / "seconds"
            before = float(spent.read_text()) if continues and spent.is_file() else 0.0
            try:
                execute(recipe, name, folder / "log", lock)
            finally:
                took = time.monotonic() - began
                spent.write_text(f"{before + took:.1f}\n")
            (folder / "done").touch()
            print(f"{name}: done in {took:.0f} s", flush=True)

    def show(self, page: str, *commands: str) -> None:
        """Runs the commands, which write a report or figures, and prints the page."""
        for command in (" ".join(command.split()) for command in commands):
            if self.dry:
                print(command)
                continue
            bash = ["bash", "-euo", "pipefail", "-c", command]
            done = subprocess.run(bash, env={**os.environ, **ENVIRONMENT})
            require(done.returncode == 0, "a command failed: see above")
        if page and not self.dry:
            text = (self.out / page).read_text(encoding="utf-8")
            results = json.dumps({**self.about(), "tables": tables_in(text)}, indent=1, ensure_ascii=False)
            (self.out / "results.json").write_text(f"{results}\n", encoding="utf-8")
            sys.stdout.write(text)

    def about(self) -> dict[str, Any]:
        makefile = f"{self.here}.mk" if Path(f"{self.here}.mk").is_file() else f"{self.here}/Makefile"
        times = [self.out / name / "seconds" for name in self.planned]  # none from older versions
        spent = [float(path.read_text()) for path in times if path.is_file()]
        return {
            "command": shlex.join(["make", "-f", makefile, self.goal, *self.typed]),
            "version": lev_plugins.__version__,
            "torch": metadata.version("torch"),
            "machine": f"{processor()}; GPUs: {gpus()}",
            "seed": self.values.get("SEED") or self.values.get("SEEDS") or "1",
            "minutes": round(sum(spent) / 60, 1) if len(spent) == len(times) else None,
        }


def fresh(stamp: Path, out: Path, stages: list[str]) -> bool:
    """Whether it is there, and no older than the stages."""
    if not stamp.is_file():
        return False
    made = (out / stage / "done" for stage in stages)
    return all(done.is_file() and done.stat().st_mtime <= stamp.stat().st_mtime for done in made)


@contextmanager
def held(lock: Path, name: str, folder: Path) -> Iterator[int]:
    """A stage runs once at a time: another run, or what a killed one left running, keeps its lock."""
    with lock.open("w") as file:
        descriptor = fcntl.fcntl(file.fileno(), fcntl.F_DUPFD, 10)  # not one that the commands use
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = f"in another make or since one was killed: end it first (pgrep -af {folder})"
            raise UserError(f"{name} is already running, {where}") from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)


class Stopped(BaseException):
    """A stop by the user or by the system."""


def stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def execute(recipe: list[str], name: str, log: Path, lock: int) -> None:
    """Descriptor 3 is the terminal. A stop also ends what the commands have started."""
    script = 'exec 3>&1 >>"$0" 2>&1 </dev/null\n' + "\n".join(recipe)
    stops = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # until it is known what to end
    process = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", script, str(log)],
        env={**os.environ, **ENVIRONMENT},
        start_new_session=True,
        pass_fds=[lock],
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, stops),
    )
    before = {number: signal.signal(number, stop) for number in stops}
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, stops)
        status = process.wait()
    except Stopped:
        for number in stops:  # make sends a second one
            signal.signal(number, signal.SIG_IGN)
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        print(f"{name}: stopped", file=sys.stderr, flush=True)
        sys.exit(143)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status:
        end = "\n".join(line[:600] for line in log.read_text("utf-8", errors="replace").splitlines()[-SHOWN:])
        raise UserError(f"{name} failed; the end of {log}:\n{end}")


Sets = Callable[[Run], dict[str, str]]  # names of published sets, and the folders where an example looks for them


def main(script: str, goals: str, plan: Callable[[Run], None], sets: Sets = lambda run: {}) -> int:
    """The command of an example: its goal, and its settings as NAME=value. ``sets``: for the goal data."""
    parser = argparse.ArgumentParser()
    parser.add_argument("goal", choices=[*goals.split(), "data", "help"])
    parser.add_argument("--dry-run", action="store_true", help="print the commands only")
    parser.add_argument("settings", nargs="*", metavar="NAME=value")

    def run(args: argparse.Namespace) -> None:
        example = Run(Path(script).resolve().parent, args.settings, args.goal, args.dry_run)
        if args.goal == "help":
            for name, (default, meaning) in example.meanings.items():
                print(f"{f'{name}={default}':<34} {meaning}")
        elif args.goal == "data":
            example.fetch(sets(example))
        else:
            plan(example)

    try:
        return finish(parser, run)
    except KeyboardInterrupt:  # between two stages
        return 130
