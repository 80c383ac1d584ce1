"""import-linter notices an import that goes up, and only that one: so the contracts hold without it."""

import importlib
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lev_plugins import nn

ROOT = Path(__file__).resolve().parents[2]


def test_an_import_that_goes_up_is_noticed_inside_a_function_too(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "lev_plugins", tmp_path / "lev_plugins", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "lev_plugins" / "levt" / "model.py").open("a") as file:
        file.write("\n\ndef upward():\n    from lev_plugins.cli import main\n")
    program = Path(sys.executable).parent / "lint-imports"
    checked = subprocess.run([program, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "Imports go downward BROKEN" in checked.stdout and "2 broken" in checked.stdout  # the other: no circles
    imports = re.findall(r"(lev_plugins\S+) -> (\S+)", checked.stdout)
    assert imports == [("lev_plugins.levt.model", "lev_plugins.cli.main")]


def test_no_layer_has_more_than_fifteen_methods() -> None:
    """Those that it inherits inside the package are counted, those of torch are not."""
    modules = [importlib.import_module(f"{nn.__name__}.{name}") for _, name, _ in pkgutil.iter_modules(nn.__path__)]
    classes = {kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)}
    callables = (staticmethod, classmethod, property)
    for kind in classes:
        ours = [part for part in kind.__mro__ if part.__module__.startswith("lev_plugins.")]
        methods = {
            name
            for part in ours
            for name, value in vars(part).items()
            if (inspect.isfunction(value) and value.__module__ == part.__module__) or isinstance(value, callables)
        }
        assert len(methods) <= 15, f"{kind.__qualname__} has {len(methods)} methods: {', '.join(sorted(methods))}"
