"""The settings of a project come from the nearest file that has some, and are checked."""

from pathlib import Path

import pytest

from lev_plugins.checking import settings
from lev_plugins.checking.settings import Settings, read_settings
from lev_plugins.text.documents.formats import Format
from lev_plugins.utils.errors import UserError
from tests.helpers import mentions


@pytest.fixture(autouse=True)
def formats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "FORMATS", (Format("markdown", lambda text: []), Format("po", lambda text: [])))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Returns a folder two levels below the top of a work tree."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    return tmp_path / "a" / "b"


def test_without_a_file_the_defaults_hold(project: Path) -> None:
    assert read_settings(project) == Settings("en", "write", [], [], [], False)


def test_all_settings(project: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "a"\n[tool.lev-plugins]\nmodel = "folder"\nmin-confidence = 0.5\nwords = ["teh"]\n'
        'exclude = ["docs/**"]\nformats = ["po"]\nsource-strings = true\n'
    )
    assert read_settings(project) == Settings("folder", 0.5, ["teh"], ["docs/**"], ["po"], True)


def test_the_nearest_file_with_settings_counts(project: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.lev-plugins]\nmodel = "top"\n')
    (project / "pyproject.toml").write_text("[tool.other]\n# lev-plugins has no table here\n")
    assert read_settings(project).model == "top"
    (tmp_path / ".lev-plugins.toml").write_text('model = "whole file"\n')
    assert read_settings(project).model == "whole file"
    (project / ".git").write_text("gitdir: elsewhere\n")
    assert read_settings(project).model == "en"


def test_a_broken_file_without_settings_is_not_parsed(project: Path) -> None:
    (project / "pyproject.toml").write_text("[")
    assert read_settings(project) == Settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min_confidence = 0.5", "min_confidence min-confidence"),
        ("nothing = 1", "nothing model words exclude"),
        ("words = 'teh'", "words list texts 'teh'"),
        ("words = [1]", "words [1]"),
        ("source-strings = 1", "source-strings true false 1"),
        ("min-confidence = 2", "min-confidence 0 1 2"),
        ("min-confidence = nan", "min-confidence nan"),
        ("min-confidence = 'strict'", "min-confidence strict write read"),
        ("formats = ['markdwon']", "formats markdwon markdown"),
        ("words = [", "TOML"),
        ("[words]", "words {}"),
    ],
)
def test_a_wrong_setting_is_refused(text: str, message: str, project: Path) -> None:
    (project / ".lev-plugins.toml").write_text(text)
    with pytest.raises(UserError) as error:
        read_settings(project)
    assert str(project / ".lev-plugins.toml") in str(error.value)
    assert all(word in str(error.value) for word in message.split())


def test_the_table_must_be_a_table(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool]\nlev-plugins = 1\n")
    with pytest.raises(UserError) as error:
        read_settings(project)
    assert mentions(str(error.value), "pyproject.toml table 1")


def test_settings_must_be_utf8(project: Path) -> None:
    (project / ".lev-plugins.toml").write_bytes(b"words = ['\xe9']")
    with pytest.raises(UserError, match=r"\.lev-plugins\.toml is not valid TOML"):
        read_settings(project)
