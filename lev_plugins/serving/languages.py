"""Languages by their codes, for clients of LanguageTool's protocol, which ask for a list before they send a text."""

from __future__ import annotations

from typing import NamedTuple

from lev_plugins.errors import require


class Language(NamedTuple):
    name: str
    code: str
    long_code: str

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "code": self.code, "longCode": self.long_code}


NAMES = {
    "ar": "Arabic",
    "bg": "Bulgarian",
    "bn": "Bengali",
    "ca": "Catalan",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "ga": "Irish",
    "he": "Hebrew",
    "hi": "Hindi",
    "hr": "Croatian",
    "hu": "Hungarian",
    "hy": "Armenian",
    "id": "Indonesian",
    "is": "Icelandic",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "nb": "Norwegian Bokmål",
    "nl": "Dutch",
    "nn": "Norwegian Nynorsk",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sr": "Serbian",
    "sv": "Swedish",
    "ta": "Tamil",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Chinese",
}
COUNTRIES = {
    "de": {"DE": "Germany", "AT": "Austria", "CH": "Swiss"},
    "en": {
        "US": "US",
        "GB": "GB",
        "AU": "Australian",
        "CA": "Canadian",
        "IE": "Irish",
        "NZ": "New Zealand",
        "ZA": "South African",
    },
    "es": {"ES": "Spain", "MX": "Mexico", "AR": "Argentina"},
    "fr": {"FR": "France", "BE": "Belgium", "CA": "Canada", "CH": "Switzerland"},
    "nl": {"NL": "Netherlands", "BE": "Belgium"},
    "pt": {"PT": "Portugal", "BR": "Brazil"},
    "zh": {"CN": "China", "TW": "Taiwan"},
}


def of_setting(code: str | None) -> list[Language]:
    """All languages, or those of ``--language``: the language itself and as it is in each country.

    >>> [language.long_code for language in of_setting("pt-BR")]
    ['pt', 'pt-PT', 'pt-BR']
    """
    if code is None:
        return [language for each in NAMES for language in of_setting(each)]
    code = primary(code)
    name = NAMES.get(code, code)
    countries = COUNTRIES.get(code, {}).items()
    return [
        Language(name, code, code),
        *(Language(f"{name} ({country})", code, f"{code}-{tag}") for tag, country in countries),
    ]


def find(code: str, known: list[Language]) -> Language:
    """By its whole code, or else by the language in it.

    >>> find("de-de", of_setting(None)).name, find("fi-FI", of_setting(None)).name
    ('German (Germany)', 'Finnish')
    """
    codes = (code.replace("_", "-").lower(), primary(code))
    found = next((each for wanted in codes for each in known if each.long_code.lower() == wanted), None)
    require(found is not None, f"language={code!r} is not among those that /v2/languages lists: choose one of them")
    assert found is not None
    return found


def primary(code: str) -> str:
    return code.replace("_", "-").partition("-")[0].lower()
