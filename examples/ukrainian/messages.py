"""Clean sentences from the translated messages and help pages of installed programs.

    python examples/ukrainian/messages.py FOLDER ... >TEXT

reads gettext catalogues (.mo) and help pages (Mallard .page, .html) anywhere below the folders, such as
/usr/share/locale/uk and /usr/share/help/uk. Each has the licence of its program. Every sentence is printed once, if it
has at least four words, begins with a capital, ends with a full stop, and has only letters of the language's alphabet,
commas and the like.
"""

import argparse
import gettext
import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.noise.languages import ALPHABET, language_folder, language_words
from lev_plugins.text.sentences import sentences

BLOCK = re.compile(r"</?(?:p|li|h\d|title|item|desc|td|th|div|dt|dd|section|note|steps|list|table)\b[^<>]*>")
TAG = re.compile(r"<[^<>]*>")
MIN_WORDS = 4


def texts(folder: Path) -> Iterator[str]:
    for path in sorted(filter(Path.is_file, folder.rglob("*"))):
        if path.suffix == ".mo":
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)
            yield from filter(None, (str(text) for text in catalogue._catalog.values()))  # type: ignore[attr-defined]
        elif path.suffix in (".page", ".html"):
            for block in BLOCK.split(path.read_text("utf-8", errors="replace")):
                yield html.unescape(TAG.sub("", block))


def prose(folders: list[Path], language: str) -> Iterator[str]:
    alphabet = language_words(language_folder(language), ALPHABET)
    letters = f"{alphabet[0]}{alphabet[0].upper()}" if alphabet else r"\w"
    plain = re.compile(rf"[{letters}'\u2019\u02bc ,:;\u2013\u2014«»()-]+[.]")
    seen = set()
    for text in (" ".join(text.split()) for folder in folders for text in texts(folder)):
        for start, end in sentences(text, Path(language).name):
            sentence = text[start:end]
            if (
                sentence[0].isupper()
                and plain.fullmatch(sentence)
                and len(sentence.split()) >= MIN_WORDS
                and sentence not in seen
            ):
                seen.add(sentence)
                yield sentence


def run(args: argparse.Namespace) -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.writelines(f"{sentence}\n" for sentence in prose(args.folders, args.language_files))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--language-files", metavar="NAME", default="uk", help="letters (default: uk)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
