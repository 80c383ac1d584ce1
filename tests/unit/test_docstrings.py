"""Examples in docstrings are right."""

import doctest
import importlib
import importlib.util
import sys
from types import ModuleType

import pytest

from tests.commands import ROOT

CODE_FOLDERS = ["lev_plugins", "examples", "bench", "scripts"]
FILES = [
    str(path.relative_to(ROOT))
    for folder in CODE_FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]

OUR_PACKAGES = {"lev_plugins", "examples", "bench", "tests"}


def load_script(file: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Imports a script with the modules of its own folder, as if it had been started."""
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
        if str(error.name).partition(".")[0] in OUR_PACKAGES:
            raise
        pytest.skip(f"{file} needs {error.name}")
    return script


@pytest.mark.parametrize("file", FILES)
def test_examples_in_docstrings(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if file.startswith("lev_plugins/"):
        module = importlib.import_module(file.removesuffix(".py").replace("/", "."))
    else:
        module = load_script(file, monkeypatch)
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_docstrings_of_all_folders_are_tested() -> None:
    assert {"lev_plugins/edits/actions.py", "lev_plugins/correction/pbd.py", "examples/english/typos.py"} < set(FILES)
