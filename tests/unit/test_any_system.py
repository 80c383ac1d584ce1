"""``edit`` and ``serve`` need no module that only Unix has; the workflow also runs this on Windows and macOS.

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

MODELS = Path(__file__).resolve().parents[2] / "models"
MIXED_LINES = "the vlaue of teh function .\r\nZürich\n\nteh"
# refuses the imports of this package only: libraries have other ways on Windows
WITHOUT_UNIX = """
import builtins, sys
from lev_plugins.cli.main import main

import_module, unix = builtins.__import__, "fcntl grp pwd resource termios pty tty syslog readline posix".split()
def import_(name, space=None, *rest, **options):
    if name.partition(".")[0] in unix and str((space or {}).get("__name__")).startswith("lev_plugins"):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    return import_module(name, space, *rest, **options)
builtins.__import__ = import_
sys.exit(main())
"""
PROGRAM_WITHOUT_UNIX = [sys.executable, "-c", WITHOUT_UNIX]


@pytest.fixture(scope="module")
def folder_with_graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model folder with graphs: a small one if torch can make it, otherwise the English editor."""
    if find_spec("torch") is None:
        folders = [path for path in (model_path("en"), MODELS / "en") if (path / CONFIG).is_file()]
        return folders[0] if folders else pytest.skip("there is no model folder with graphs")
    lev_plugins.register()
    from tests.systems import speller

    folder = tmp_path_factory.mktemp("speller")
    system = speller(folder)
    assert main(["export", str(system.checkpoint), str(folder / "out"), *system.flags]) == 0
    return folder / "out"


def test_edit_needs_no_unix_and_keeps_line_ends(folder_with_graphs: Path) -> None:
    result = subprocess.run(
        [*PROGRAM_WITHOUT_UNIX, "edit", str(folder_with_graphs)], input=MIXED_LINES.encode(), capture_output=True
    )
    assert result.returncode == 0, result.stderr.decode(errors="replace")
    edited = result.stdout.decode("utf-8")
    assert re.findall(r"\r?\n|\r", edited) == ["\r\n", "\n", "\n"] and "Zürich" in edited and edited != MIXED_LINES


def test_serve_needs_no_unix(folder_with_graphs: Path) -> None:
    for package in ("starlette", "uvicorn"):
        pytest.importorskip(package)
    server = subprocess.Popen(
        [*PROGRAM_WITHOUT_UNIX, "serve", f"m={folder_with_graphs}", "--port", "0"], stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().decode().split()[2]
        body, headers = json.dumps({"texts": ["the vlaue"]}).encode(), {"Content-Type": "application/json"}
        with urlopen(Request(f"{address}/v1/edit", body, headers), timeout=60) as answer:
            assert json.load(answer)["model"] == "m"
    finally:
        server.terminate()
        server.communicate(timeout=60)
