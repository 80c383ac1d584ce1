"""What needs no torch runs where Python lacks what only Unix has; also run by the workflow on Windows and macOS.

Nothing here needs torch, fairseq or conftest.py.
"""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.utils.model_folder import CONFIG, model_path

ROOT = Path(__file__).resolve().parents[2]
TEXT = "the vlaue of teh function .\r\nZürich\n\nteh"
# Python on Windows lacks these modules and functions; libraries have other ways there, so only our imports are refused
BARE = """
import builtins, ctypes, os, signal, sys
from types import SimpleNamespace
import lev_plugins.utils.memory

original, unix = builtins.__import__, "fcntl grp pwd resource termios pty tty syslog readline posix".split()
def import_(name, space=None, *rest, **more):
    if name.partition(".")[0] in unix and str((space or {}).get("__name__")).startswith("lev_plugins"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return original(name, space, *rest, **more)
builtins.__import__ = import_

for name in "sysconf fork getuid geteuid fchmod fchown chown mkfifo nice getloadavg sync O_NOFOLLOW".split():
    delattr(os, name)
for name in ("SIGHUP", "SIGPIPE", "SIGALRM"):
    delattr(signal, name)

def memory(status):
    assert status[0] == 64  # as the documentation of Windows has it
    status[1] = 8 << 30
ctypes.windll = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=memory))
lev_plugins.utils.memory.sys = SimpleNamespace(platform="win32")
"""
COMMAND = "\nimport sys; from lev_plugins.cli.main import main; sys.exit(main())"
PROGRAMS = {"here": COMMAND} | ({"bare": BARE + COMMAND} if sys.platform == "linux" else {})


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> list[str]:
    return [sys.executable, "-c", PROGRAMS[request.param]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with graphs: a small one, if torch is there to make it, or else the editor of the repository."""
    if find_spec("torch") is None:
        path = next((path for path in (model_path("en"), ROOT / "models" / "en") if (path / CONFIG).is_file()), None)
        return path or pytest.skip("there is no model folder with graphs")
    lev_plugins.register()
    from tests.systems import speller

    place = tmp_path_factory.mktemp("speller")
    system = speller(place)
    assert main(["export", str(system.checkpoint), str(place / "out"), *system.flags]) == 0
    return place / "out"


def run(words: list[str], text: str = "", **options: object) -> str:
    """Returns what a program prints; Python would hide the ends of lines."""
    done = subprocess.run(words, input=text.encode(), capture_output=True, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode("utf-8")


def ends(text: str) -> list[str]:
    return re.findall(r"\r?\n|\r", text)


def test_edit_keeps_the_ends_of_lines(program: list[str], folder: Path, tmp_path: Path) -> None:
    command, resumed = [*program, "edit", str(folder)], tmp_path / "resumed"
    edited = run(command, TEXT)
    assert ends(edited) == ends(TEXT) == ["\r\n", "\n", "\n"] and "Zürich" in edited
    assert edited != TEXT
    resumed.write_bytes(edited.encode()[:20])
    run([*command, "--resume", str(resumed), "--batch-lines", "1"], TEXT)
    assert resumed.read_bytes().decode() == edited
    answers = [json.loads(line) for line in run([*command, "--json"], TEXT).split("\n")]
    assert [answer["text"] for answer in answers] == re.split(r"\n", edited)
    assert "kind" in json.loads(run([*program, "info", str(folder), "--json"]))


def test_text_is_scored_and_made_noisy(program: list[str], tmp_path: Path) -> None:
    noisy, clean = tmp_path / "nöisy", tmp_path / "clean"
    clean.write_bytes("the cat sät\r\n".encode() * 3)
    noise = run([*program, "noise", "--kind", "swap", "--word-rate", "1"], "the cat sät\r\n" * 3)
    assert ends(noise) == ["\r\n"] * 3 and noise != "the cat sät\r\n" * 3
    noisy.write_bytes(noise.encode())
    for command in ("score exact", "score wrr", "score bleu", "confusions"):
        output = run([*program, *command.split(), str(noisy), str(clean)])
        assert ends(output) and set(ends(output)) == {"\n"}
    assert "nöisy" in str(json.loads(run([*program, "score", "exact", str(noisy), str(clean), "--json"])))
    assert set(ends(run([*program, "data", "--list"]))) == {"\n"}


def test_the_server_edits_and_remembers(program: list[str], folder: Path, tmp_path: Path) -> None:
    for name in ("starlette", "uvicorn"):
        pytest.importorskip(name)
    words, journal = tmp_path / "words", tmp_path / "journal"
    flags = ["--port", "0", "--words", str(words), "--journal", str(journal)]
    process = subprocess.Popen([*program, "serve", f"m={folder}", *flags], stdout=subprocess.PIPE)

    def post(path: str, **fields: object) -> dict[str, object]:
        content = {"Content-Type": "application/json"}
        with urlopen(Request(f"{address}{path}", json.dumps(fields).encode(), content), timeout=60) as answer:
            return json.load(answer)

    try:
        assert process.stdout is not None
        address = process.stdout.readline().decode().split()[2]
        assert post("/v1/edit", texts=["the vlaue of teh function."])["model"] == "m"
        decision = {"start": 0, "end": 3, "replacement": "The", "accepted": True}
        post("/v1/journal", text="Teh cat.", edits=[decision])
        assert journal.read_bytes() == b"Teh cat.\tThe cat.\n"
        port = address.rpartition(":")[2]
        second = subprocess.run([*program, "serve", str(folder), "--port", port], capture_output=True, timeout=60)
        assert second.returncode == 2 and b"choose others" in second.stderr
    finally:
        process.terminate()
        process.communicate(timeout=60)


def test_the_language_server_answers(program: list[str], folder: Path) -> None:
    pytest.importorskip("pygls")
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}}
    content = json.dumps(message)
    process = subprocess.Popen([*program, "lsp", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"Content-Length: {len(content)}\r\n\r\n{content}".encode())
        process.stdin.flush()
        assert re.fullmatch(rb"Content-\w+: .*\r\n", process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


FOLDERS = """
import os, sys
from pathlib import Path
from types import SimpleNamespace
from lev_plugins.utils import files
if sys.platform == "linux":
    replace, fsync = os.replace, os.fsync
    def over_no_folder(source, target):
        if os.path.isdir(target):
            raise PermissionError(13, "Access is denied", str(target))
        replace(source, target)
    def of_writers(handle):
        os.write(handle, b"")  # an error unless it is open for writing
        fsync(handle)
    os.replace, os.fsync, files.sys = over_no_folder, of_writers, SimpleNamespace(platform="win32")
for path, again in ((Path("there"), False), (Path("absent"), False), (Path("there"), True)):
    with files.all_or_nothing_folder(path, replace=again) as scratch:
        (scratch / "file").write_bytes(b"a\\n")
for _ in range(2):
    with files.all_or_nothing("there/file") as file:
        file.write(b"b\\n")
"""


def test_folders_are_put_into_place_as_windows_permits(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    run([sys.executable, "-c", FOLDERS], cwd=tmp_path)
    assert [(tmp_path / name / "file").read_bytes() for name in ("there", "absent")] == [b"b\n", b"a\n"]
    assert {path.name for path in tmp_path.iterdir()} == {"there", "absent"}


CLOSED = """
import errno, io, os, stat, sys
class Closed(io.TextIOWrapper):
    def flush(self):
        if stat.S_ISFIFO(os.fstat(1).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")  # as Windows has it
sys.stdout = Closed(sys.stdout.detach())
"""


def test_a_closed_pipe_of_windows_ends_a_command_quietly() -> None:
    command = [sys.executable, "-c", CLOSED + COMMAND, "noise", "--kind", "swap", "--word-rate", "1"]
    done = subprocess.run(command, input=b"the cat\n", capture_output=True)
    assert done.returncode == 141 and b"Traceback" not in done.stderr
