"""The model card of a folder."""

from pathlib import Path

import pytest

from lev_plugins.export.card import license_of
from lev_plugins.utils.errors import UserError


def test_the_licence_is_read_from_the_folder_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    assert license_of(folder) is None
    (tmp_path / "outside.md").write_text("---\nlicense: secret\n---\n", "utf-8")
    (folder / "README.md").symlink_to("../outside.md")
    with pytest.raises(UserError, match=r"README\.md is a link that leads out"):
        license_of(folder)
    (folder / "README.md").unlink()
    (tmp_path / "outside.md").rename(folder / "README.md")
    assert license_of(folder) == "secret"
