"""Every worked example in a docstring, wherever it is."""

import doctest
import importlib
import importlib.util
import sys
from types import ModuleType

import pytest

from tests.commands import ROOT

FOLDERS = ["lev_plugins", "examples", "bench", "scripts"]
FILES = [
    str(path.relative_to(ROOT))
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]

OURS = {"lev_plugins", "examples", "bench", "tests"}


def load(file: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A script, as if it had been started: its neighbours are found, not those of another example."""
    path = ROOT / file
    for neighbour in path.parent.glob("*.py"):
        monkeypatch.delitem(sys.modules, neighbour.stem, raising=False)
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.syspath_prepend(str(path.parent))
    spec = importlib.util.spec_from_file_location(file.replace("/", "_").removesuffix(".py"), path)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, script)  # dataclasses look there
    try:
        spec.loader.exec_module(script)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in OURS:
            raise
        pytest.skip(f"{file} needs {error.name}")
    return script


@pytest.mark.parametrize("file", FILES)
def test_worked_examples(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if file.startswith("lev_plugins/"):
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    else:
        module = load(file, monkeypatch)
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_files_are_found() -> None:
    assert {"lev_plugins/edits/actions.py", "lev_plugins/correction/pbd.py", "examples/english/typos.py"} < set(FILES)
