"""The real commands without their start: of the five seconds before a command does anything, four go into libraries.

One process imports those (never this package) and waits; ``start`` gives a folder of stand-ins for the commands, to
put first on the ``PATH``. A stand-in hands its arguments, environment, folder and streams to that process, whose fork
runs the command as its script does, passes signals on, and ends as the command ended. Each command has a process of its
own, which finds nothing imported; but when it imports a library, the library is there at once.

Where a start is what the test is about (other variables for Python, limits, a kill), run ``BIN / command`` instead.
"""

from __future__ import annotations

import array
import gc
import json
import logging
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from pathlib import Path
from types import ModuleType

BIN = Path(sys.executable).parent
COMMANDS = ["lev-plugins", *(f"fairseq-{name}" for name in ("train", "generate", "interactive", "preprocess"))]
COMMANDS += ["fairseq-validate", "fairseq-hydra-train", "fairseq-score", "python"]
LIBRARIES = ["fairseq", "rouge_score.rouge_scorer", "sacrebleu", "scipy.stats", "sentencepiece", "sklearn.metrics"]
STREAMS = 3  # stdin, stdout, stderr

# what Python and the libraries read when they start: a command that has other values starts for itself
STARTS_WITH = ("PYTHON", "LC_", "LANG", "OMP_", "CUDA_")

STAND_IN = """#!{python} -IS
import array, json, os, signal, socket, sys

name = os.path.basename(sys.argv[0])
at_start = {{key: value for key, value in os.environ.items() if key.startswith({starts_with}) and key != "PYTHONPATH"}}
program = name != "python" or sys.argv[1:2] in (["-c"], ["-m"]) or "".join(sys.argv[1:2]).endswith(".py")
if not program or at_start != {at_start} or not os.path.exists({address!r}):
    real = os.path.join({bin!r}, name)
    os.execv(real, [real, *sys.argv[1:]])  # where python looks for its environment
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([name, sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
streams = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", range({streams})))]
server.sendmsg([len(request).to_bytes(4, "big")], streams)
server.sendall(request)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: server.send(bytes([number])))
for stream in range({streams}):
    os.close(stream)
code = int(server.makefile().readline() or -signal.SIGKILL)
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def start(environment: dict[str, str]) -> Path:
    """The folder of the stand-ins, whose commands run in this environment."""
    if not hasattr(os, "pidfd_open"):  # of Linux alone
        return BIN
    folder = Path(tempfile.mkdtemp(prefix="starter-"))
    at_start = {name: value for name, value in environment.items() if name.startswith(STARTS_WITH)}
    at_start.pop("PYTHONPATH", None)
    text = STAND_IN.format(
        python=sys.executable,
        bin=str(BIN),
        address=str(folder / "socket"),
        starts_with=STARTS_WITH,
        at_start=at_start,
        streams=STREAMS,
    )
    for name in COMMANDS:
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    with socket.socket(socket.AF_UNIX) as listener, (folder / "log").open("w") as log:
        listener.bind(str(folder / "socket"))
        listener.listen(64)
        alive, _ = os.pipe()  # the end that stays here is closed when this process ends, however it ends
        libraries_alone = {
            name: value for name, value in environment.items() if name != "PYTHONPATH" and name[:9] != "COVERAGE_"
        }
        subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), str(alive), str(folder)],
            pass_fds=[listener.fileno(), alive],
            env=libraries_alone,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        os.close(alive)
    return folder


def serve(listener: socket.socket, alive: int, folder: str) -> None:
    """Fork for every request until ``alive`` is closed; returns in the forks, where the command is to be run."""
    sys.path[0] = str(BIN)
    before = set(sys.modules)
    for library in LIBRARIES:
        with suppress(ImportError):  # then the commands that need it say so
            import_module(library)
    if sys.dont_write_bytecode:  # the checkout stays as it is, and yet the package is compiled once
        sys.dont_write_bytecode, sys.pycache_prefix = False, folder
    sys.meta_path.insert(0, Loaded(before))
    gc.freeze()  # or the collector would write to, and so copy, every page that forks share
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        if alive in select.select([listener, alive], [], [])[0]:
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(0)
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            os.close(alive)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return supervise(connection)
        connection.close()


class Loaded(MetaPathFinder, Loader):
    """The libraries: set aside, and each given back, with what belongs to it, when it is imported."""

    def __init__(self, before: set[str]) -> None:
        roots = {name.partition(".")[0] for name in sys.modules.keys() - before} - sys.stdlib_module_names
        roots -= {name.partition(".")[0] for name in before}
        self.modules = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in roots}
        self.specs = {root: sys.modules[root].__spec__ for root in roots}
        for name in self.modules:
            del sys.modules[name]
        log = logging.getLogger()
        self.log = log.handlers.copy(), log.level  # fairseq sets it up where nobody has
        log.handlers.clear()
        log.setLevel(logging.WARNING)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name in self.specs else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        mine = [name for name in self.modules if name.partition(".")[0] == spec.name]
        sys.modules.update({name: self.modules.pop(name) for name in mine})
        log = logging.getLogger()
        if spec.name == "fairseq" and not log.handlers:
            log.handlers, log.level = self.log
            for handler in log.handlers:
                handler.setStream(sys.stderr)  # type: ignore[attr-defined]
        return sys.modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.specs.pop(module.__name__)


def supervise(connection: socket.socket) -> None:
    """Fork once more for the command itself, and stay behind to pass on signals and tell how it ended."""
    size, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(STREAMS * 4))
    streams = array.array("i")
    streams.frombytes(ancillary[0][2])
    request = json.loads(connection.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
    command = os.fork()
    if command == 0:
        connection.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        return take_on(*request)
    for stream in streams:
        os.close(stream)
    ended, heard = os.pidfd_open(command), [connection]
    while ended not in select.select([ended, *heard], [], [])[0]:
        number = connection.recv(1)
        os.kill(command, number[0] if number else signal.SIGKILL)
        heard = heard if number else []
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    if heard:
        connection.sendall(f"{code}\n".encode())
    os._exit(0)


def take_on(name: str, arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """What a new process of this command would have found."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments if name == "python" else [str(BIN / name), *arguments]
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    modes = {"stdin": ("r", -1), "stdout": ("w", -1), "stderr": ("w", 1)}
    for number, (stream, (mode, buffering)) in enumerate(modes.items()):
        old = getattr(sys, stream)
        new = open(number, mode, buffering, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, stream, new)
        setattr(sys, f"__{stream}__", new)
    if any(variable.startswith("COVERAGE_PROCESS_") for variable in environment):
        import coverage

        coverage.process_startup()


def run() -> None:
    """``-c TEXT``, ``-m MODULE`` or a script, as Python does."""
    kind = sys.argv[0]
    if kind == "-c":
        sys.path[0] = ""
        text = sys.argv.pop(1)
        exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.path[0] = os.getcwd()
        runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(kind).resolve().parent)
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3])
    run()
