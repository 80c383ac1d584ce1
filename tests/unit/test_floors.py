"""import-linter notices an import that goes up, and only that one: so the contracts hold without it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_an_import_that_goes_up_is_noticed_inside_a_function_too(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "lev_plugins", tmp_path / "lev_plugins", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    with (tmp_path / "lev_plugins" / "models" / "levt.py").open("a") as file:
        file.write("\n\ndef upward():\n    from lev_plugins.tasks import text_editing\n")
    program = Path(sys.executable).parent / "lint-imports"
    checked = subprocess.run([program, "--no-cache"], cwd=tmp_path, capture_output=True, text=True)
    assert checked.returncode == 1
    assert "Imports go downward BROKEN" in checked.stdout and "2 broken" in checked.stdout  # the other: no circles
    imports = re.findall(r"(lev_plugins\S+) -> (\S+)", checked.stdout)
    assert imports == [("lev_plugins.models.levt", "lev_plugins.tasks.text_editing")]
