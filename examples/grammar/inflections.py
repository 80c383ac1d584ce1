"""Confusions of words: those of a language and of learners, forms of words, slips that make other words, doubled words.

    python inflections.py TEXT [--learned TABLE] [--language-files NAME]

TEXT is clean, with one sentence per line; TABLE is a file that ``lev-plugins confusions --unit word`` wrote. The script
prints the confusions of the language's files and of TABLE; those of all words that occur in TEXT with other endings
("value" and "values", "use" and "using"), of words that one wrong, missing or extra letter makes of each other ("form"
and "from"), and of words that lose an apostrophe; and the most frequent words twice. Forms of words that are already in
a table are not added. For noise, a word with a comma or a full stop behind it is a word of its own: each confusion is
also written with these signs, and so is the loss of the comma. Words with a capital may lose it.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rapidfuzz.distance import OSA

from examples.shared import finish, read_lines
from lev_plugins.noise.confusions import Confusion, ConfusionTable, read_table, write_table
from lev_plugins.noise.languages import CONFUSIONS, ENDINGS, language_folder

NO_ENDING = "-"
MIN_LETTERS, MIN_STEM = 3, 2  # of a word, and of what is left of it without its ending
MIN_COUNT = 3  # rarer forms are often typos
RATE = 0.08  # per word, for all its forms together
SLIP_RATE = 0.03  # per word, for all words that one slip makes of it
TWICE_RATE = 0.003  # per word
TWICE_WORDS = 500  # the most frequent words are written twice
SIGNS = (",", ".")  # at the end of a word
WORD = re.compile(r"\w+")
CONTRACTED = re.compile(r"\b[^\W\d_]+'[^\W\d_]+\b")
BEFORE_COMMA = re.compile(r"(?<!\S)\w+(?=,(?!\S))")


def recurring(words: Iterable[str]) -> list[str]:
    return [word for word, count in Counter(words).items() if count >= MIN_COUNT]


def plain_words(text: Iterable[str]) -> set[str]:
    """Recurring words in small letters, of MIN_LETTERS letters or more."""
    words = recurring(word for line in text for word in WORD.findall(line))
    return {word for word in words if len(word) >= MIN_LETTERS and word.isalpha() and word.islower()}


def read_paradigms(language: Path) -> list[list[str]]:
    """The endings that one stem may have, from the file of a language."""
    lines = read_lines(language / ENDINGS) if (language / ENDINGS).is_file() else []
    return [["" if ending == NO_ENDING else ending for ending in line.split()] for line in lines]


def forms(word: str, paradigms: list[list[str]]) -> set[str]:
    """What would be other forms of a word, if it is inflected by one of the paradigms that it fits.

    >>> sorted(forms("use", [["", "s", "d"], ["e", "ing"]]))
    ['used', 'uses', 'using']
    """
    stems = (
        (word.removesuffix(ending), endings)
        for endings in paradigms
        for ending in endings
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM
    )
    return {stem + ending for stem, endings in stems for ending in endings} - {word}


def shared_rate(confused: dict[str, set[str]], rate: float) -> list[Confusion]:
    """Confusions of each word with others, which share its rate."""
    return [
        Confusion((clean,), (noisy,), rate / len(words)) for clean, words in confused.items() for noisy in sorted(words)
    ]


def inflected(text: Iterable[str], paradigms: list[list[str]]) -> list[Confusion]:
    """Confusions of words that differ in their endings.

    >>> for confusion in inflected(["it uses use", "use uses it", "they use uses"], [["", "s"]]):
    ...     print(confusion)
    Confusion(clean=('use',), noisy=('uses',), rate=0.08)
    Confusion(clean=('uses',), noisy=('use',), rate=0.08)
    """
    words = plain_words(text)
    return shared_rate({word: forms(word, paradigms) & words for word in sorted(words)}, RATE)


def slips(text: Iterable[str]) -> list[Confusion]:
    """Confusions of words that one slip makes of each other.

    >>> for confusion in slips(["from a form", "form from trip"] * 3):
    ...     print(confusion)
    Confusion(clean=('form',), noisy=('from',), rate=0.03)
    Confusion(clean=('from',), noisy=('form',), rate=0.03)
    """
    similar, confused = defaultdict[str, list[str]](list), defaultdict[str, set[str]](set)
    for word in sorted(plain_words(text)):  # words that one slip makes of each other have one of these in common
        for shortened in dict.fromkeys([word, *(word[:i] + word[i + 1 :] for i in range(len(word)))]):
            similar[shortened].append(word)
    for group in similar.values():
        for clean, noisy in permutations(group, 2):
            if noisy not in confused.get(clean, ()) and OSA.distance(clean, noisy, score_cutoff=1) == 1:
                confused[clean].add(noisy)
    return shared_rate(confused, SLIP_RATE)


def doubled(text: Iterable[str]) -> list[Confusion]:
    """Frequent words that are written twice.

    >>> for confusion in doubled(["To me, to it, to Ann"] * 3):
    ...     print(confusion)
    Confusion(clean=('to',), noisy=('to', 'to'), rate=0.003)
    Confusion(clean=('To',), noisy=('To', 'to'), rate=0.003)
    """
    words = Counter(word for line in text for word in line.split() if word.isalpha() and word[1:] == word[1:].lower())
    frequent = [word for word, _ in words.most_common(TWICE_WORDS)]
    return [Confusion((word,), (word, word.lower()), TWICE_RATE) for word in frequent if word.lower() in words]


def with_signs(table: ConfusionTable) -> list[Confusion]:
    """
    >>> for confusion in with_signs(ConfusionTable("word", [Confusion(("in", "use"), ("uses",), 0.1)])):
    ...     print(confusion)
    Confusion(clean=('in', 'use,'), noisy=('uses,',), rate=0.1)
    Confusion(clean=('in', 'use.'), noisy=('uses.',), rate=0.1)
    """
    return [
        Confusion((*clean[:-1], clean[-1] + sign), (*noisy[:-1], noisy[-1] + sign), rate)
        for clean, noisy, rate in table.confusions
        for sign in SIGNS
        if noisy
    ]


def lost_apostrophes(text: Iterable[str]) -> list[Confusion]:
    """
    >>> lost_apostrophes(["It's John's."] * 3)
    [Confusion(clean=("It's",), noisy=('Its',), rate=0.08), Confusion(clean=("John's",), noisy=('Johns',), rate=0.08)]
    """
    words = recurring(word for line in text for word in CONTRACTED.findall(line))
    return [Confusion((word,), (word.replace("'", ""),), RATE) for word in words]


def lost_commas(text: Iterable[str]) -> list[Confusion]:
    """
    >>> lost_commas(["However, it is."] * 3)
    [Confusion(clean=('however,',), noisy=('however',), rate=0.08)]
    """
    words = recurring(word.lower() for line in text for word in BEFORE_COMMA.findall(line))
    return [Confusion((f"{word},",), (word,), RATE) for word in words]


def lost_capitals(text: Iterable[str]) -> list[Confusion]:
    """
    >>> lost_capitals(["The US, and Peru, I think."] * 3)
    [Confusion(clean=('The',), noisy=('the',), rate=0.08), Confusion(clean=('I',), noisy=('i',), rate=0.08)]
    """
    words = recurring(word for line in text for word in line.split())
    capitalised = [word for word in words if word.isalpha() and word[0].isupper() and word[1:] == word[1:].lower()]
    return [Confusion((word,), (word.lower(),), RATE) for word in capitalised]


def run(args: argparse.Namespace) -> None:
    text, language = read_lines(args.text), language_folder(args.language_files)
    tables = [path for path in (language / CONFUSIONS, args.learned) if path is not None and path.is_file()]
    table = ConfusionTable("word", [confusion for path in tables for confusion in read_table(path).confusions])
    listed = {confusion.clean for confusion in table.confusions}
    more = inflected(text, read_paradigms(language)) + lost_apostrophes(text)
    table.confusions.extend(confusion for confusion in more if confusion.clean not in listed)
    table.confusions.extend(slips(text) + doubled(text))
    table.confusions.extend(with_signs(table) + lost_commas(text) + lost_capitals(text))
    sys.stdout.writelines(write_table(table))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path)
    parser.add_argument("--learned", metavar="TABLE", type=Path, help="confusions of real mistakes")
    parser.add_argument("--language-files", metavar="NAME", default="en", help="confusions and endings (default: en)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
