"""Commands that read and write plain text do not wait for torch and fairseq."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "fairseq", "sklearn", "scipy", "transformers", "matplotlib"}
PROGRAM = """
import json, sys, time
from lev_plugins.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write("\\n" + json.dumps([list(sys.modules), time.process_time()]))
"""


def run(*words: str, stdin: str = "") -> tuple[set[str], float]:
    """What a fresh interpreter has imported after the command, and the seconds of processor time it took."""
    found = subprocess.run([sys.executable, "-c", PROGRAM, *words], input=stdin, capture_output=True, text=True)
    modules, seconds = json.loads(found.stderr.splitlines()[-1])
    return set(modules), seconds


def test_work_is_light(tmp_path: Path) -> None:
    clean, noisy = tmp_path / "clean", tmp_path / "noisy"
    clean.write_text("the cat sat\n" * 3)
    noisy.write_text("tha cat sat\n" * 3)
    for command in (
        ["noise", "--kind", "swap", "--word-rate", "1"],
        ["confusions", str(noisy), str(clean)],
        ["score", "wrr", str(noisy), str(clean)],
        ["trace", str(clean)],
        ["info", "--help"],
    ):
        assert not HEAVY & run(*command, stdin="the cat\n")[0], command


def test_the_list_of_commands_comes_at_once() -> None:
    times = []
    for _ in range(3):  # other programs may disturb one
        modules, seconds = run("--help")
        times.append(seconds)
        assert not HEAVY & modules
    assert min(times) < 0.4


@pytest.mark.parametrize(
    "code",
    [
        "import sys, lev_plugins; assert 'fairseq' not in sys.modules; lev_plugins.register(); import fairseq.tasks",
        "import fairseq.tasks, lev_plugins",
    ],
)
def test_the_package_registers_itself(code: str) -> None:
    code += "; assert 'text_editing' in fairseq.tasks.TASK_REGISTRY"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_libraries_are_told_to_save_memory_unless_the_user_says_otherwise() -> None:
    names = ["LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"]
    code = f"import os; from lev_plugins.cli.main import main; main(['path']); print(*map(os.environ.get, {names}))"
    env = {name: value for name, value in os.environ.items() if name not in names}

    def given(**mine: str) -> str:
        found = subprocess.run([sys.executable, "-c", code], env=env | mine, capture_output=True, text=True, check=True)
        return found.stdout.splitlines()[-1]

    assert given() == "32 32"
    assert given(LRU_CACHE_CAPACITY="7") == "7 32"


def test_a_name_that_the_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the fox\n", encoding="utf-8")
    odd = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / "a.txt").rename(tmp_path / odd)
    words = [sys.executable, "-m", "lev_plugins", "score", "exact", odd, "b.txt", "--json"]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(found.stdout)["system"]["score"] == 1 and rb"caf\udce9" in found.stdout
