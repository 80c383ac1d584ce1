"""Files and folders are complete or absent, and a previous folder is never lost."""

import os
from pathlib import Path

import pytest

from lev_plugins.utils import files


def test_a_link_to_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with files.all_or_nothing_folder(tmp_path / "link") as folder:
        (folder / "file").write_text("a")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "file").read_text() == "a"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_file_follows_the_umask_and_keeps_its_mode_and_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    old_mask = os.umask(0o027)
    try:
        with files.all_or_nothing(tmp_path / "link") as file:
            file.write(b"new")
    finally:
        os.umask(old_mask)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    (tmp_path / "real").chmod(0o600)
    with files.all_or_nothing(tmp_path / "link") as file:
        file.write(b"newer")
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_file_keeps_its_group_where_its_owner_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners: list[tuple[int, int]] = []

    def change(path: Path, user: int, group: int) -> None:  # as for a member of the group, who is not root
        if user != -1:
            raise PermissionError
        owners.append((user, group))

    monkeypatch.setattr(os, "chown", change, raising=False)
    (tmp_path / "a").write_bytes(b"old")
    with files.all_or_nothing(tmp_path / "a") as file:
        file.write(b"new")
    assert owners == [(-1, (tmp_path / "a").stat().st_gid)] and (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.parametrize("stop", [OSError("no"), KeyboardInterrupt("no")], ids=lambda stop: type(stop).__name__)
@pytest.mark.parametrize("comes_back", [True, False])
def test_a_failed_replacement_never_loses_the_previous_folder(
    stop: BaseException, comes_back: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The previous folder stays if the replacement fails; if it cannot be moved back either, it is not removed."""
    previous, replacement = tmp_path / "old", tmp_path / "new"
    for folder in (previous, replacement):
        folder.mkdir()
        (folder / folder.name).write_text("")
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if target == previous and (path == replacement or not comes_back):
            raise stop
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(type(stop), match="no"):
        files.swap_in(previous, replacement)
    (survivor,) = tmp_path.rglob("old/old")
    assert (survivor.parent == previous) == comes_back and (replacement / "new").exists()
