"""Commands that read and write plain text do not wait for torch and fairseq."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "fairseq", "sklearn", "scipy", "transformers", "matplotlib"}
PRINT_MODULES = """
import json, sys
from lev_plugins.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
sys.stderr.write("\\n" + json.dumps(list(sys.modules)))
"""


def loaded_modules(*words: str, stdin: str = "") -> set[str]:
    """Runs a command in a fresh interpreter and returns the modules that it has imported."""
    process = subprocess.run([sys.executable, "-c", PRINT_MODULES, *words], input=stdin, capture_output=True, text=True)
    return set(json.loads(process.stderr.splitlines()[-1]))


def test_commands_for_plain_text_load_no_heavy_module(tmp_path: Path) -> None:
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
        assert not HEAVY & loaded_modules(*command, stdin="the cat\n"), command


def test_sweep_loads_neither_torch_nor_fairseq() -> None:
    assert not {"torch", "fairseq"} & loaded_modules("sweep", "--help")


def test_help_loads_no_large_library() -> None:
    assert not (HEAVY | {"numpy", "onnxruntime"}) & loaded_modules("--help")


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


def test_variables_that_save_memory_are_set_unless_the_user_sets_them() -> None:
    names = ["LRU_CACHE_CAPACITY", "ONEDNN_PRIMITIVE_CACHE_CAPACITY"]
    code = f"import os; from lev_plugins.cli.main import main; main(['path']); print(*map(os.environ.get, {names}))"
    env = {name: value for name, value in os.environ.items() if name not in names}

    def values(**variables: str) -> str:
        command = [sys.executable, "-c", code]
        process = subprocess.run(command, env=env | variables, capture_output=True, text=True, check=True)
        return process.stdout.splitlines()[-1]

    assert values() == "32 32"
    assert values(LRU_CACHE_CAPACITY="7") == "7 32"


def test_a_file_name_outside_the_encoding_is_escaped(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("the fox\n", encoding="utf-8")
    odd = os.fsdecode(b"caf\xe9.txt")
    (tmp_path / "a.txt").rename(tmp_path / odd)
    words = [sys.executable, "-m", "lev_plugins", "score", "exact", odd, "b.txt", "--json"]
    output = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout
    assert json.loads(output)["system"]["score"] == 1 and rb"caf\udce9" in output
