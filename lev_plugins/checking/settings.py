"""The settings of a project: ``[tool.lev-plugins]`` of its pyproject.toml, or its .lev-plugins.toml."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from inspect import formatannotation
from pathlib import Path
from typing import Any, get_type_hints

from lev_plugins.text.documents.formats import FORMATS
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import fits, shown
from lev_plugins.utils.model_folder import DIALS
from lev_plugins.utils.ranges import bounded

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS_FILE, PROJECT_FILE, TABLE = ".lev-plugins.toml", "pyproject.toml", "lev-plugins"
WORDS_FILE = ".lev-words.txt"
TYPE_NAMES = {list[str]: "a list of texts", bool: "true or false"}  # in messages


@dataclass(frozen=True)
class Settings:
    """What ``lev-plugins check`` does unless its flags say otherwise; keys of files have hyphens, as flags have."""

    model: str = "en"
    min_confidence: str | float = "write"  # one of ``DIALS``, or a confidence
    words: list[str] = field(default_factory=list)  # that are no typos
    exclude: list[str] = field(default_factory=list)  # patterns of .gitignore
    formats: list[str] = field(default_factory=list)  # names of formats; none: all
    source_strings: bool = False  # check the source texts of PO files as well
    # no key: the folder of the file that has these settings, which its paths are from; None: there is no such file
    folder: Path | None = field(default=None, compare=False)


def folders_upward(folder: Path) -> Iterator[Path]:
    """Yields this folder and those above it, to the top of its work tree."""
    for place in (folder.absolute(), *folder.absolute().parents):
        yield place
        if (place / ".git").exists():
            return


def read_settings(folder: Path) -> Settings:
    """Returns the settings of the first file that has some, from this folder upward to the top of its work tree."""
    for place in folders_upward(folder):
        if (place / SETTINGS_FILE).is_file():
            return replace(settings_of(parsed(place / SETTINGS_FILE), str(place / SETTINGS_FILE)), folder=place)
        project = place / PROJECT_FILE
        # parsed only if it may have settings: what else is wrong there is for others to say
        if project.is_file() and TABLE.encode() in project.read_bytes():
            tool = parsed(project).get("tool", {})
            if isinstance(tool, dict) and TABLE in tool:
                return replace(settings_of(tool[TABLE], f"{project}, [tool.{TABLE}]"), folder=place)
    return Settings()


def words_file(folder: Path) -> Path:
    """Returns the nearest list of the project's words, from this folder upward to the top of its work tree.

    Without one, it is where such a list would be for all of the project.
    """
    for place in folders_upward(folder):
        if (place / WORDS_FILE).is_file() or (place / ".git").exists():
            return place / WORDS_FILE
    return folder / WORDS_FILE


def parsed(path: Path) -> dict[str, Any]:
    """Returns what a TOML file has."""
    try:
        return tomllib.loads(path.read_bytes().decode())
    except (ValueError, RecursionError) as error:  # including bad UTF-8
        raise UserError(f"{path} is not valid TOML: {error}") from error


def settings_of(entries: Any, where: str) -> Settings:
    """Returns checked settings; ``where`` is for error messages.

    >>> settings_of({"source-strings": True}, "a.toml").source_strings
    True
    >>> settings_of({"word": ["teh"]}, "a.toml")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: a.toml: there is no setting word; did you mean words?
    """
    hints = {name.replace("_", "-"): hint for name, hint in get_type_hints(Settings).items() if name != "folder"}
    require(isinstance(entries, dict), f"{where} must be a table, but is {shown(entries)}")
    for key, value in entries.items():
        known(key, hints, f"{where}: there is no setting")
        kind = TYPE_NAMES.get(hints[key], formatannotation(hints[key]))
        require(fits(value, hints[key]), f"{where}: {key} must be {kind}, but is {shown(value)}")
    settings = Settings(**{key.replace("-", "_"): value for key, value in entries.items()})
    if isinstance(settings.min_confidence, str):
        known(settings.min_confidence, DIALS, f"{where}: min-confidence must be a number, write or read, but is")
    else:
        bounded(f"{where}: min-confidence", settings.min_confidence, 0, 1)
    for name in settings.formats:
        known(name, [entry.name for entry in FORMATS], f"{where}: formats has the unknown")
    return settings


def known(name: str, names: Iterable[str], message: str) -> None:
    """Refuses a name that is none of these; the message ends with it, and suggests the closest."""
    names = list(names)
    closest = "".join(f"; did you mean {match}?" for match in get_close_matches(name, names, 1))
    require(name in names, f"{message} {name}{closest or ': known are ' + ', '.join(names)}")
