"""What is peculiar to a language, as a folder of plain files, any of which may be missing; two are in languages/.

keyboard.txt: the letters of a keyboard, as in noise/tables/layouts
alphabet.txt: the small letters, and in a second line the digits
short-words.txt: short words that are often mistyped
confusions.tsv: words that are mistaken for others, as ``lev-plugins confusions --unit word`` writes them
real-words.txt: words that people write for other words, a group per line
endings.txt: the endings that one stem may have, a line per paradigm; - is none
chat.txt: words of chat and abbreviations that an editor had better leave alone, the usual ones first
"""

from pathlib import Path

from lev_plugins.utils.errors import require

LANGUAGE_FOLDERS = Path(__file__).parents[1] / "languages"
KEYBOARD, ALPHABET, SHORT_WORDS = "keyboard.txt", "alphabet.txt", "short-words.txt"
CONFUSIONS, ENDINGS, CHAT, REAL_WORDS = "confusions.tsv", "endings.txt", "chat.txt", "real-words.txt"


def known_languages() -> list[str]:
    return sorted(path.name for path in LANGUAGE_FOLDERS.iterdir() if path.is_dir())


def language_folder(name: str, flag: str = "--language-files") -> Path:
    """Return the folder of a language: one of ours by its name, or the user's own."""
    folder = LANGUAGE_FOLDERS / name if name in known_languages() else Path(name)
    require(folder.is_dir(), f"{flag} {name} is unknown: choose from {', '.join(known_languages())}, or name a folder")
    return folder


def language_words(folder: Path, file: str) -> list[str]:
    """Return the words of a file in the order of the file; none if it is missing."""
    path = folder / file
    return path.read_text("utf-8").split() if path.is_file() else []
