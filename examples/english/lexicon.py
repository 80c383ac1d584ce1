"""What everybody knows of spelling, from lists: words that exist, and misspellings that people make.

python examples/english/lexicon.py FOLDER --words FILE ... [--misspellings FILE ...] [--language-files NAME]

writes FOLDER/lexicon.txt, for ``lev-plugins prepare --lexicon``, and FOLDER/slips.tsv, for the noise ``confusions`` of
the training: the misspellings, and words that are taken for other words. WORDS: one word or several in a line, after #
a comment, perhaps compressed by gzip. MISSPELLINGS: lines MISSPELLING,CORRECTION,... The words that people write for
others are those of the language (``real-words.txt``).
"""

import argparse
import gzip
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import write_lines
from lev_plugins.noise.confusions import Confusion, ConfusionTable, write_table
from lev_plugins.noise.languages import REAL_WORDS, language_folder
from lev_plugins.text.lines import read_lines

LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
SEPARATOR = re.compile(r"[\s/_.+-]+")
GENITIVE = "'s"
SLIP, REAL_WORD = 0.001, 0.01  # rates of a misspelling, and of a word for another; the noise draws in proportion


def words_of(path: Path) -> Iterator[str]:
    """Yields the words of a list in small letters; those after a ``!`` are forbidden there."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            entry = line.partition("#")[0].strip().strip("~*")
            for word in [] if entry.startswith("!") else SEPARATOR.split(entry):
                word = word.removesuffix(GENITIVE).lower()
                if len(word) > 1 and LETTERS.fullmatch(word):
                    yield word


def read_misspellings(paths: Iterable[Path]) -> dict[str, list[str]]:
    """Returns the corrections of each misspelling that are one word."""
    misspellings = {}
    for path in paths:
        for line in read_lines(path):
            wrong, *right = line.lower().split(",")
            right = [word for word in right if LETTERS.fullmatch(word)]
            if right and LETTERS.fullmatch(wrong):
                misspellings[wrong] = right
    return misspellings


def slips(misspellings: dict[str, list[str]], groups: Iterable[Sequence[str]]) -> ConfusionTable:
    """Returns what people write for a word.

    >>> [tuple(row) for row in slips({"teh": ["the"]}, [["then", "than"]]).confusions]
    [(('the',), ('teh',), 0.001), (('then',), ('than',), 0.01), (('than',), ('then',), 0.01)]
    """
    rates = defaultdict[tuple[str, str], float](float)
    for wrong, corrections in misspellings.items():
        for right in corrections:
            rates[right, wrong] = SLIP / len(corrections)
    for group in groups:
        for right, wrong in permutations(dict.fromkeys(group), 2):
            rates[right, wrong] = REAL_WORD
    return ConfusionTable("word", [Confusion((right,), (wrong,), rate) for (right, wrong), rate in rates.items()])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add = parser.add_argument
    add("folder", type=Path)
    add("--words", type=Path, nargs="+", required=True, help="lists of words")
    add("--misspellings", type=Path, nargs="*", default=[], help="lists of misspellings")
    add("--language-files", metavar="NAME", default="en", help="words that people write for others (default: en)")
    args = parser.parse_args()
    misspellings = read_misspellings(args.misspellings)
    known = {word for path in args.words for word in words_of(path)} - misspellings.keys()
    real_words = language_folder(args.language_files) / REAL_WORDS
    groups = [line.split() for line in read_lines(real_words)] if real_words.is_file() else []
    args.folder.mkdir(parents=True, exist_ok=True)
    entries = {word: [word] for word in known} | {wrong: [wrong, *right] for wrong, right in misspellings.items()}
    write_lines(args.folder / "lexicon.txt", (",".join(entries[word]) for word in sorted(entries)))
    (args.folder / "slips.tsv").write_text("".join(write_table(slips(misspellings, groups))), encoding="utf-8")
    print(f"{len(known):,} words, {len(misspellings):,} misspellings")


if __name__ == "__main__":
    main()
