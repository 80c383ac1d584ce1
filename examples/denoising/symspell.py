"""A baseline: replaces each word that is not in a dictionary by the most likely similar word.

    python symspell.py --words train.tgt < test.src > test.out
    python symspell.py --list [FILE] < test.src > test.out

With ``--words``, the dictionary has the words of the clean training text and their counts, so that the baseline knows
what the models know; with ``--list``, those of a frequency list with lines ``word count``, by default of the English
one that comes with the package. With ``--careful`` it leaves alone whatever has a capital, a digit or a sign inside,
such as names and addresses. It needs the package symspellpy: pip install symspellpy
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines, finish
from lev_plugins.text.text_style import in_case_of
from lev_plugins.utils.errors import UserError

LIST = "frequency_dictionary_en_82_765.txt"  # in symspellpy
DISTANCE = 2  # maximum edits between a word and its correction, the package's default
WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
# three or more letters, alone between blanks but for an English ending and signs around them
PLAIN_WORD = re.compile(
    r"(?<!\S)(?P<before>[\"'(\[\u201c\u2018\u00ab]*)(?P<word>[^\W\d_]{3,})"
    r"(?=(?:['\u2019]s)?[\"')\].,;:!?\u201d\u2019\u2026\u00bb]*(?!\S))"
)


def words_of(lines: Iterable[str]) -> Counter[str]:
    """
    >>> sorted(words_of(["The cat's mat, the hat."]).items())
    [("cat's", 1), ('hat', 1), ('mat', 1), ('the', 2)]
    """
    return Counter(word.lower() for line in lines for word in WORD.findall(line))


def listed(lines: Iterable[str]) -> Counter[str]:
    """
    >>> listed(["\ufeffthe 900", "of 500", "a b 3"])
    Counter({'the': 900, 'of': 500})
    """
    rows = (line.lstrip("\ufeff").split() for line in lines)
    return Counter({row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()})


def not_installed() -> UserError:
    return UserError("the package symspellpy is not installed: pip install symspellpy")


def own_list() -> Path:
    spec = find_spec("symspellpy")
    if spec is None or spec.origin is None:
        raise not_installed()
    return Path(spec.origin).parent / LIST


def corrected(line: str, look_up: Callable[[str], str]) -> str:
    """Changes only words that are not in the dictionary and have a similar word in it.

    >>> corrected("Teh cat, <b>mta</b>!", lambda word: {"teh": "the", "mta": "mat"}.get(word, word))
    'The cat, <b>mat</b>!'
    """

    def change(match: re.Match[str]) -> str:
        word = match[0]
        correction = look_up(word.lower())
        return word if correction == word.lower() else in_case_of(word, correction)

    return WORD.sub(change, line)


def carefully_corrected(line: str, look_up: Callable[[str], str], letters: Container[str]) -> str:
    """Changes only words in small letters of the dictionary's alphabet.

    >>> fixes = {"teh": "the", "mta": "mat", "caf\u00e9": "cafe"}
    >>> carefully_corrected("Teh (mta), teh mta.org, caf\u00e9", lambda word: fixes.get(word, word), set("acefhmt"))
    'Teh (mat), the mta.org, caf\u00e9'
    """

    def change(match: re.Match[str]) -> str:
        is_plain = match["word"].islower() and all(map(letters.__contains__, match["word"]))
        return match["before"] + (look_up(match["word"]) if is_plain else match["word"])

    return PLAIN_WORD.sub(change, line)


def build(words: Counter[str]) -> Callable[[str], str]:
    try:
        from symspellpy import SymSpell, Verbosity
    except ImportError:
        raise not_installed() from None
    speller = SymSpell(max_dictionary_edit_distance=DISTANCE)
    for word, count in words.items():
        speller.create_dictionary_entry(word, count)

    def look_up(word: str) -> str:
        suggestions = speller.lookup(word, Verbosity.TOP, max_edit_distance=DISTANCE, include_unknown=True)
        return suggestions[0].term

    return look_up


def run(args: argparse.Namespace) -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    path = args.words or Path(args.list or own_list())
    with path.open("rb") as file:
        lines = arriving_lines(file, str(path))
        words = words_of(lines) if args.words else listed(lines)
    look_up, letters = build(words), {letter for word in words for letter in word}
    for line in arriving_lines(sys.stdin.buffer):
        print(carefully_corrected(line, look_up, letters) if args.careful else corrected(line, look_up))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    words = parser.add_mutually_exclusive_group(required=True)
    words.add_argument("--words", metavar="TEXT", type=Path, help="clean text whose words are the dictionary")
    words.add_argument("--list", metavar="FILE", nargs="?", const="", help="frequency list")
    parser.add_argument("--careful", action="store_true", help="correct plain words in small letters alone")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
