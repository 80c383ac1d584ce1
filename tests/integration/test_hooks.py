"""``lev-plugins check`` where people are: a hook of pre-commit, an action of GitHub, a container."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import BIN, ROOT, Result, run, succeed

HOOKS, ACTION, DOCKERFILE = (ROOT / name for name in (".pre-commit-hooks.yaml", "action.yml", "Dockerfile"))
PLACE = ("3", "21")  # line and column of the typo
TYPOS = "# The title\n\nI received the file yestreday, and it was good.\n\n```\nrecieve = 1\n```\n"
CLEAN = TYPOS.replace("yestreday", "yesterday")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Returns a repository of git with a page that has typos, and a file that is no text."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "a.md").write_text(TYPOS)
    (folder / "b.csv").write_bytes(b"caf\xe9\n")
    git(folder, "init", "-q")
    return folder


def git(folder: Path, *arguments: str) -> Result:
    return succeed("git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments, cwd=folder)


def pre_commit(repository: Path, *arguments: object, **settings: Any) -> Result:
    """Runs the hook as a repository has it that uses it, but in the environment of this process."""
    (hook,) = yaml.safe_load(HOOKS.read_text())
    del hook["additional_dependencies"]
    config = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"} | settings]}]}
    (repository / ".pre-commit-config.yaml").write_text(json.dumps(config))
    git(repository, "add", ".")
    home = str(repository.parent / "home")
    command = ["pre-commit", *arguments]
    return run(*command, cwd=repository, PRE_COMMIT_HOME=home, XDG_CACHE_HOME=home, GIT_CONFIG_GLOBAL="/dev/null")


def test_the_hook_reports_typos_and_writes_with_an_argument(repository: Path) -> None:
    result = pre_commit(repository, "run", "lev-plugins-check")
    assert result.code == 1 and "- exit code: 1" in result.out
    assert re.findall(r"^a\.md:(\d+):(\d+): \"yestreday\" -> \"yesterday\"", result.out, re.M) == [PLACE]
    assert pre_commit(repository, "run", args=["--write"]).code == 1
    assert (repository / "a.md").read_text() == CLEAN
    assert pre_commit(repository, "run", args=["--write"]).code == 0


def test_the_hook_reads_the_message_of_a_commit(repository: Path) -> None:
    message = repository / ".git" / "COMMIT_EDITMSG"
    message.write_text("Correct the page that was written yestreday\n")
    flags = ["--hook-stage", "commit-msg", "--commit-msg-filename", message]
    result = pre_commit(repository, "run", *flags, stages=["commit-msg"])
    assert result.code == 1 and re.search(r"COMMIT_EDITMSG:1:\d+: \"yestreday\"", result.out)


def test_pre_commit_installs_the_hook_with_what_it_needs() -> None:
    succeed("pre-commit", "validate-manifest", HOOKS)
    (hook,) = yaml.safe_load(HOOKS.read_text())
    assert hook["require_serial"]  # all files in one run
    package, model = hook["additional_dependencies"]
    assert package == ".[check]" and (ROOT / model / "pyproject.toml").is_file()


def test_the_action_annotates_lines(repository: Path, tmp_path: Path) -> None:
    action = yaml.safe_load(ACTION.read_text())
    _, install, check = action["runs"]["steps"]
    assert {step.get("shell") for step in (install, check)} == {"bash"}
    assert '"$ACTION[check]" "$ACTION/models/en"' in install["run"]
    inputs = {name: f"${{{{ inputs.{name} }}}}" for name in action["inputs"]}
    assert sorted(check["env"].values()) == sorted(inputs.values()) and "${{" not in check["run"]
    (tmp_path / "lev-plugins").mkdir()
    (tmp_path / "lev-plugins" / "bin").symlink_to(BIN)
    git(repository, "add", ".")
    for arguments, paths, code in (("", "", 1), ("--exit-zero --no-cache", "a.md", 0), ("--exclude *.md", "", 0)):
        environment = {"RUNNER_TEMP": str(tmp_path), "ARGS": arguments, "PATHS": paths, "XDG_CACHE_HOME": str(tmp_path)}
        result = run("bash", "-c", check["run"], cwd=repository, programs=True, **environment)
        found = re.findall(r"^::warning file=a\.md,line=(\d+),col=(\d+),", result.out, re.M)
        assert (result.code, found) == (code, [] if "exclude" in arguments else [PLACE])


def test_the_container_runs_check_and_has_the_model() -> None:
    lines = DOCKERFILE.read_text().splitlines()
    assert len(lines) <= 12
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied) and {"lev_plugins", "models/en"} <= {*copied}
    assert json.loads(lines[-1].removeprefix("ENTRYPOINT ")) == ["lev-plugins", "check"]
