"""Languages by their codes, for clients of LanguageTool's protocol, which ask for a list before they send a text."""

from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from lev_plugins.errors import UserError
from lev_plugins.text.sentences import primary


class Language(NamedTuple):
    name: str
    code: str
    long_code: str


@lru_cache(maxsize=1)
def all_languages() -> list[Language]:
    rows = files("lev_plugins.serving").joinpath("languages.tsv").read_text("utf-8").splitlines()
    return [Language(name, primary(code), code) for code, name in (row.split("\t") for row in rows)]


def of_setting(code: str | None) -> list[Language]:
    """All languages, or those of ``--language``: the language itself and as it is in each country.

    >>> [language.long_code for language in of_setting("pt-BR")]
    ['pt', 'pt-PT', 'pt-BR']
    """
    if code is None:
        return all_languages()
    code = primary(code)
    return [language for language in all_languages() if language.code == code] or [Language(code, code, code)]


def find(code: str, known: list[Language]) -> Language:
    """By its whole code, or else by the language in it.

    >>> find("de-de", of_setting(None)).name, find("fi-FI", of_setting(None)).name
    ('German (Germany)', 'Finnish')
    """
    for wanted in (code.replace("_", "-").lower(), primary(code)):
        for language in known:
            if language.long_code.lower() == wanted:
                return language
    raise UserError(f"language={code!r} is not among those that /v2/languages lists: choose one of them")
