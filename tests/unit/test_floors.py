"""The contracts of import-linter hold, and would notice an import that goes up."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "lev_plugins", tmp_path / "lev_plugins", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(house: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "lint-imports"
    return subprocess.run([program, "--no-cache"], cwd=house, capture_output=True, text=True)


def test_imports_go_downward(house: Path) -> None:
    checked = lint(house)
    assert checked.returncode == 0, checked.stdout
    assert "Imports go downward KEPT" in checked.stdout and "0 broken" in checked.stdout


def test_an_import_that_goes_up_is_noticed_inside_a_function_too(house: Path) -> None:
    with (house / "lev_plugins" / "models" / "levt.py").open("a") as file:
        file.write("\n\ndef upward():\n    from lev_plugins.tasks import text_editing\n")
    checked = lint(house)
    assert checked.returncode == 1
    assert "Imports go downward BROKEN" in checked.stdout
    assert "lev_plugins.models.levt -> lev_plugins.tasks.text_editing" in checked.stdout.replace("\n", " ")
