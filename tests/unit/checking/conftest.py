"""A repository of git that does not depend on the settings of whoever runs the tests."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lev_plugins.checking import files
from lev_plugins.text.documents.formats import Format

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Returns a function that runs git in a new repository, which is the current folder."""
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, "/dev/null")
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")

    def run(*arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout

    run("init", "-q")
    return run


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes files that end with .md and .js those of a known format."""
    known = Format("known", lambda text: [])
    monkeypatch.setattr(files, "format_of", lambda name: known if name.endswith((".md", ".js")) else None)
