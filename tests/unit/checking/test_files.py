"""Which files ``lev-plugins check`` reads, and which lines of them a change touches."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from lev_plugins.checking.files import MAX_BYTES, changed_lines, files_of, is_generated, read
from lev_plugins.utils.errors import UserError
from tests.helpers import mentions
from tests.unit.checking.conftest import Git


def write(*names: str, text: str = "teh\n") -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")


def listed(paths: Iterable[str] = (), exclude: Iterable[str] = ()) -> list[str]:
    return [path.as_posix() for path in files_of(list(paths), list(exclude))]


def test_what_git_tracks_in_a_known_format(git: Git) -> None:
    write("b.md", "a/é b.md", ".github/c.md", "ignored.md", "removed.md", "a.png")
    write("vendor/a.md", "a/node_modules/b.md", "a.min.js", "yarn.lock", ".gitignore", text="ignored.md\n")
    git("add", ".")
    write("untracked.md", "a/new.md", "a/ignored.md")
    os.remove("removed.md")
    assert listed() == [".github/c.md", "a/é b.md", "b.md"]
    assert listed(["a"]) == ["a/new.md", "a/é b.md"]
    assert listed(["b.md", "./b.md", "a", str(Path("b.md").absolute())]) == ["a/new.md", "a/é b.md", "b.md"]


def test_a_folder_without_tracked_files_is_listed_whole(git: Git) -> None:
    write("a.md", "new/b.md", "new/.hidden/c.md")
    git("add", "a.md")
    assert listed(["new"]) == ["new/b.md"]


def test_patterns_of_settings_are_from_their_folder(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write("docs/old/a.md", "docs/b.md")
    git("add", ".")
    base = Path.cwd()
    monkeypatch.chdir("docs")
    assert [path.as_posix() for path in files_of([], ["docs/old/"], base)] == ["b.md"]


def test_a_hook_sets_the_folder_of_git(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a/b.md")
    git("add", ".")
    monkeypatch.setenv("GIT_DIR", str(Path(".git").absolute()))
    monkeypatch.setenv("GIT_INDEX_FILE", str(Path(".git/index").absolute()))
    assert listed(["a"]) == ["a/b.md"]
    assert changes(git, staged=True) == {"a/b.md": [1]}


def test_named_files_come_unless_they_are_excluded(git: Git) -> None:
    write("a.png", "untracked.md", "docs/a.md", "docs/b/c.md", "dist/a.md", "../outside/vendor/a.md", "../dist.md")
    git("add", "docs", "dist")
    assert listed(["a.png", "untracked.md", "missing.md"]) == ["a.png", "missing.md", "untracked.md"]
    assert listed(["dist/a.md"]) == listed(["dist"]) == []
    assert listed(["dist"], ["!dist/"]) == ["dist/a.md"]
    assert listed(["docs/a.md", "docs"], ["docs/**"]) == []
    assert listed(["docs"], ["c.*"]) == ["docs/a.md"]
    assert listed(["docs"], ["/b/"]) == ["docs/a.md", "docs/b/c.md"]
    assert listed(["../outside/vendor/a.md", "../dist.md"]) == ["../dist.md", "../outside/vendor/a.md"]


@pytest.mark.parametrize("pattern", ["!", "[z-a]"])
def test_an_invalid_pattern_is_refused(pattern: str, git: Git) -> None:
    with pytest.raises(UserError, match="--exclude"):
        listed([], [pattern])


@pytest.mark.parametrize("installed", [True, False])
def test_all_files_of_a_folder_outside_of_git(
    installed: bool, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    if not installed:
        monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write("plain/a.md", "plain/b/.c.md", "plain/.hidden/d.md", "plain/vendor/e.md", "plain/f.png")
    assert listed(["plain"]) == ["plain/a.md", "plain/b/.c.md"]
    monkeypatch.chdir("plain")
    assert listed() == ["a.md", "b/.c.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script")
def test_no_monitor_of_a_work_tree_runs(git: Git, tmp_path: Path) -> None:
    write("a.md")
    git("add", ".")
    program = tmp_path / "monitor"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/proof\n")
    program.chmod(0o755)
    git("config", "core.fsmonitor", str(program))
    assert listed() == ["a.md"] and not (tmp_path / "proof").exists()


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{tmp_path}/a.md", f"{tmp_path}/closed/b.md")
    scan = os.scandir

    def closed_to_others(path: str) -> object:  # root may read all
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setattr(os, "scandir", closed_to_others)
    errors: list[UserError] = []
    assert [path.name for path in files_of([str(tmp_path)], [], fail=errors.append)] == ["a.md"]
    assert mentions(str(errors), f"{tmp_path}/closed cannot read: Permission")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_come_only_if_they_are_named(git: Git, tmp_path: Path) -> None:
    write("a.md", "../outside.md")
    os.symlink("../outside.md", "link.md")
    os.symlink("a.md", "inside.md")
    git("add", ".")
    assert listed() == ["a.md"]
    assert listed(["link.md"]) == ["link.md"]


def test_line_ends_and_byte_order_marks_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("\ufeffé\r\nb\rc".encode())
    assert read(tmp_path / "a.md") == "\ufeffé\r\nb\rc"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\0b", "binary byte 1"),
        (b"ab\xe9", "UTF-8 0xe9 2"),
        (b"a" * (MAX_BYTES + 1), "5,000,000 5,000,001 --exclude"),
    ],
    ids=["binary", "Latin-1", "large"],
)
def test_what_is_no_text_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(content)
    with pytest.raises(UserError) as error:
        read(path)
    assert str(path) in str(error.value) and mentions(str(error.value), message)


def test_what_cannot_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"missing\.md cannot be read"):
        read(tmp_path / "missing.md")
    with pytest.raises(UserError, match="not a regular file"):
        read(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.md")  # reading it would wait forever
        with pytest.raises(UserError, match="not a regular file"):
            read(tmp_path / "pipe.md")

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "a.md").write_text("a")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UserError, match=r"a\.md cannot be read: Permission denied"):
        read(tmp_path / "a.md")


def test_generated_files() -> None:
    assert is_generated("// @generated by x\n") and is_generated("/*\n * Do it. DO NOT EDIT!\n */")
    assert not is_generated("how to write @generated_x\n") and not is_generated("a\n" * 5 + "@generated\n")


def changes(git: Git, **options: object) -> dict[str, list[int]]:
    """Returns the numbers of the changed lines by the names of files."""
    changed = changed_lines(Path(), **options)  # type: ignore[arg-type]
    top = Path(git("rev-parse", "--show-toplevel").strip()).resolve()
    return {
        path.relative_to(top).as_posix(): [i for lines in places for i in lines] for path, places in changed.items()
    }


def test_lines_that_a_change_touches(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.md", "to delete.md", "to rename.md", 'b "c"\té.md', text="".join(f"line {i}\n" for i in range(1, 9)))
    git("add", ".")
    git("commit", "-qm", "first")
    for setting in ("diff.noprefix true", "color.ui always", "diff.mnemonicPrefix true", "diff.interHunkContext 9"):
        git("config", *setting.split())
    write("a.md", text="LINE 1\nline 2\n++ b/z.md\nline 4\nline 5\nline 7\nline 8\n@@ -1 +1 @@")
    write('b "c"\té.md', text="line 1\nline\n")
    git("mv", "to rename.md", "renamed é.md")
    git("rm", "-q", "to delete.md")
    write("new/d e.md", text="one\ntwo")
    git("add", "new")
    expected = {"a.md": [1, 3, 8], 'b "c"\té.md': [2], "new/d e.md": [1, 2]}
    assert changes(git, since="HEAD") == expected
    assert changes(git, staged=True) == {"new/d e.md": [1, 2]}
    monkeypatch.chdir("new")
    assert changes(git, since="HEAD") == expected


def test_changes_since_a_branch_left_another(git: Git) -> None:
    write("a.md", text="1\n2\n3\n")
    git("add", ".")
    git("commit", "-qm", "first")
    git("branch", "other")
    write("a.md", text="1\n2\nthree\n")
    git("commit", "-qam", "second")
    git("checkout", "-q", "-b", "side", "other")
    write("a.md", text="one\n2\n3\n")
    git("commit", "-qam", "third")
    assert changes(git, since="@{-1}") == {"a.md": [1]}


def test_the_first_commit_is_new_as_a_whole(git: Git) -> None:
    write("a.md", text="1\n2\n")
    git("add", ".")
    assert changes(git, staged=True) == {"a.md": [1, 2]}


@pytest.mark.parametrize("revision", ["nothing", "--output=x", ""])
def test_an_unknown_revision_is_refused(revision: str, git: Git) -> None:
    with pytest.raises(UserError, match=f"--since {revision}"):
        changed_lines(Path(), since=revision)
    assert not Path("x").exists()


def test_changes_need_a_work_tree(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UserError, match="--staged needs a work tree"):
        changed_lines(tmp_path, staged=True)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="not installed"):
        changed_lines(Path(), staged=True)
