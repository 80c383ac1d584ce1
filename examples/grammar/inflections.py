"""Add to a table of confusions: forms of words, slips that make other words, and words written twice; from clean text.

    python inflections.py TABLE TEXT

TABLE is a file of word confusions (``lev-plugins noise --confusions``); TEXT has one sentence per line. The script
prints the table with all words that occur in TEXT with and without an ending ("value" and "values", "use" and
"using"), those that one wrong, missing or extra letter makes of each other ("form" and "from"), those that lose an
apostrophe, and the most frequent ones twice. Forms of words that are already in the table are not added. For noise, a
word with a comma or a full stop behind it is a word of its own: each confusion is also written with these signs, and
so is the loss of the comma. Words with a capital may lose it.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rapidfuzz.distance import OSA

from examples.shared import finish, read_lines
from lev_plugins.noise.confusions import Confusion, ConfusionTable, read_table, write_table

ENDINGS = ("s", "es", "d", "ed", "ing", "ly")
INSTEAD = {"e": ("ing",), "y": ("ies", "ied", "ily")}  # replace the last letter
SHORTEST = 3
LEAST = 3  # minimum occurrences of a form: rarer ones are often typos
RATE = 0.08  # per word, for all its forms together
SLIP = 0.03  # per word, for all words that one slip makes of it
TWICE = 0.003  # per word
OFTEN = 500  # words that are written twice
SIGNS = (",", ".")  # at the end of a word
WORD = re.compile(r"\w+")
CONTRACTED = re.compile(r"\b[A-Za-z]+'[a-z]{1,2}\b")
BEFORE_COMMA = re.compile(r"(?<!\S)\w+(?=,(?!\S))")


def forms(word: str) -> list[str]:
    """
    >>> forms("use")
    ['uses', 'usees', 'used', 'useed', 'useing', 'usely', 'using']
    """
    return [word + ending for ending in ENDINGS] + [word[:-1] + ending for ending in INSTEAD.get(word[-1], ())]


def families(words: Iterable[str]) -> Iterator[list[str]]:
    """
    >>> list(families(["use", "used", "using", "us", "user", "play", "Plays"]))
    [['use', 'used', 'using']]
    """
    known = {word for word in words if len(word) >= SHORTEST and word.isalpha() and word.islower()}
    for word in sorted(known):
        inflected = [form for form in forms(word) if form in known]
        if inflected:
            yield [word, *inflected]


def confusions(text: Iterable[str]) -> list[Confusion]:
    """
    >>> for confusion in confusions(["it uses use", "use uses it", "they use uses"]):
    ...     print(confusion)
    Confusion(clean=('use',), noisy=('uses',), rate=0.08)
    Confusion(clean=('uses',), noisy=('use',), rate=0.08)
    """
    counts = Counter(word for line in text for word in WORD.findall(line))
    becomes: dict[str, set[str]] = {}
    for family in families(word for word, count in counts.items() if count >= LEAST):
        for clean, noisy in permutations(family, 2):
            becomes.setdefault(clean, set()).add(noisy)
    return [
        Confusion((clean,), (noisy,), RATE / len(others))
        for clean, others in becomes.items()
        for noisy in sorted(others)
    ]


def slips(text: Iterable[str]) -> list[Confusion]:
    """Words that one slip makes another word of the text.

    >>> for confusion in slips(["from a form", "form from trip"] * 3):
    ...     print(confusion)
    Confusion(clean=('form',), noisy=('from',), rate=0.03)
    Confusion(clean=('from',), noisy=('form',), rate=0.03)
    """
    counts = Counter(word for line in text for word in WORD.findall(line))
    known = {word for word, count in counts.items() if count >= LEAST and word.isalpha() and word.islower()}
    shorter: dict[str, list[str]] = {}  # words that are alike but for a letter have one of these in common
    for word in sorted(word for word in known if len(word) >= SHORTEST):
        for form in {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}:
            shorter.setdefault(form, []).append(word)
    near: dict[str, set[str]] = {}
    for group in shorter.values():
        for clean, noisy in permutations(group, 2):
            if noisy not in near.get(clean, ()) and OSA.distance(clean, noisy, score_cutoff=1) == 1:
                near.setdefault(clean, set()).add(noisy)
    return [
        Confusion((clean,), (noisy,), SLIP / len(others)) for clean, others in near.items() for noisy in sorted(others)
    ]


def doubled(text: Iterable[str]) -> list[Confusion]:
    """
    >>> for confusion in doubled(["To me, to it, to Ann"] * 3):
    ...     print(confusion)
    Confusion(clean=('to',), noisy=('to', 'to'), rate=0.003)
    Confusion(clean=('To',), noisy=('To', 'to'), rate=0.003)
    """
    words = Counter(word for line in text for word in line.split() if word.isalpha() and word[1:] == word[1:].lower())
    often = [word for word, _ in words.most_common(OFTEN)]
    return [Confusion((word,), (word, word.lower()), TWICE) for word in often if word.lower() in words]


def added(table: ConfusionTable, more: list[Confusion]) -> ConfusionTable:
    known = {confusion.clean for confusion in table.confusions}
    return ConfusionTable(
        table.unit, table.confusions + [confusion for confusion in more if confusion.clean not in known]
    )


def before_signs(table: ConfusionTable) -> list[Confusion]:
    """
    >>> for confusion in before_signs(ConfusionTable("word", [Confusion(("in", "use"), ("uses",), 0.1)])):
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
    counts = Counter(word for line in text for word in CONTRACTED.findall(line))
    return [Confusion((word,), (word.replace("'", ""),), RATE) for word, count in counts.items() if count >= LEAST]


def lost_commas(text: Iterable[str]) -> list[Confusion]:
    """
    >>> lost_commas(["However, it is."] * 3)
    [Confusion(clean=('however,',), noisy=('however',), rate=0.08)]
    """
    counts = Counter(word.lower() for line in text for word in BEFORE_COMMA.findall(line))
    return [Confusion((f"{word},",), (word,), RATE) for word, count in counts.items() if count >= LEAST]


def lost_capitals(text: Iterable[str]) -> list[Confusion]:
    """
    >>> lost_capitals(["The US, and Peru, I think."] * 3)
    [Confusion(clean=('The',), noisy=('the',), rate=0.08), Confusion(clean=('I',), noisy=('i',), rate=0.08)]
    """
    counts = Counter(word for line in text for word in line.split())
    return [
        Confusion((word,), (word.lower(),), RATE)
        for word, count in counts.items()
        if count >= LEAST and word.isalpha() and word[0].isupper() and word[1:] == word[1:].lower()
    ]


def run(args: argparse.Namespace) -> None:
    text = read_lines(args.text)
    table = added(read_table(args.table), confusions(text) + lost_apostrophes(text))
    table.confusions.extend([*slips(text), *doubled(text)])
    table.confusions.extend([*before_signs(table), *lost_commas(text), *lost_capitals(text)])
    sys.stdout.writelines(write_table(table))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("text", type=Path)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
