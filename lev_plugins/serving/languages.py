"""The languages of LanguageTool's protocol, whose clients ask for a list before they send a text."""

from importlib.resources import files
from typing import NamedTuple

from lev_plugins.text.sentences import primary
from lev_plugins.utils.errors import UserError


class Language(NamedTuple):
    name: str
    code: str
    long_code: str


TABLE = files("lev_plugins.serving").joinpath("languages.tsv").read_text("utf-8")
KNOWN_LANGUAGES = [
    Language(name, primary(code), code) for code, name in (row.split("\t") for row in TABLE.splitlines())
]


def of_setting(code: str | None) -> list[Language]:
    """Return all languages, or with ``--language`` that language and its national varieties.

    >>> [language.long_code for language in of_setting("pt-BR")]
    ['pt', 'pt-PT', 'pt-BR']
    """
    if code is None:
        return KNOWN_LANGUAGES
    code = primary(code)
    return [language for language in KNOWN_LANGUAGES if language.code == code] or [Language(code, code, code)]


def find(code: str, languages: list[Language]) -> Language:
    """Return the language with this code, or with its first part.

    >>> find("de-de", of_setting(None)).name, find("fi-FI", of_setting(None)).name
    ('German (Germany)', 'Finnish')
    """
    by_code = {language.long_code.lower(): language for language in reversed(languages)}
    for candidate in (code.replace("_", "-").lower(), primary(code)):
        if candidate in by_code:
            return by_code[candidate]
    raise UserError(f"language={code!r} is not among those that /v2/languages lists: choose one of them")
