"""Add typos to a text, reproducibly.

    python examples/demo/typos.py CLEAN NOISY [--rate 0.2] [--slips 4] [--copies 1] [--seed 1]

writes CLEAN with typos to NOISY; ``--copies N`` does so N times, each time with different typos. Words are never split,
joined or lost, so line i, word j of both files belong together. People repeat their typos, so each word has ``--slips``
misspellings, the same in every text (0: any misspelling).
"""

from __future__ import annotations

import argparse
import random
import re
from functools import cache
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
WORD = re.compile(r"[A-Za-z]{3,}")  # shorter words are too hard to restore
SECOND_TYPO = 0.1  # share of misspelt words that get a second typo
KINDS = ("insert", "delete", "substitute", "transpose", "neighbour")


def neighbours(letter: str) -> str:
    """The keys beside and, shifted by half a key, above and below.

    >>> neighbours("g")
    'fhtyvb'
    >>> neighbours("p")
    'ol'
    """
    row = next(i for i, keys in enumerate(KEYBOARD) if letter in keys)
    at = KEYBOARD[row].index(letter)
    near = [(row, at - 1), (row, at + 1), (row - 1, at), (row - 1, at + 1), (row + 1, at - 1), (row + 1, at)]
    return "".join(KEYBOARD[i][j] for i, j in near if 0 <= i < len(KEYBOARD) and 0 <= j < len(KEYBOARD[i]))


def one_typo(word: str, kind: str, at: int, draw: random.Random) -> str:
    """Misspell the letter ``at`` of ``word``; capitals keep their places.

    >>> draw = random.Random(1)
    >>> [one_typo("matrix", kind, 2, draw) for kind in KINDS]
    ['maetrix', 'marix', 'masrix', 'martix', 'marrix']
    """
    head, letter, tail = word[:at], word[at], word[at + 1 :]
    if kind == "delete":
        return head + tail
    if kind == "transpose":
        return head + tail[:1] + letter + tail[1:]
    near = neighbours(letter.lower())
    new = draw.choice(near if kind == "neighbour" else LETTERS)
    new = new.upper() if letter.isupper() else new
    return head + new + (letter if kind == "insert" else "") + tail


def misspell(word: str, draw: random.Random) -> str:
    """At least one typo; never the word itself.

    >>> misspell("gradient", random.Random(3)) != "gradient"
    True
    """
    typos = 2 if draw.random() < SECOND_TYPO else 1
    result = word
    while result == word:  # swapping equal letters, or replacing a letter by itself, changes nothing
        for _ in range(typos):
            result = one_typo(result, draw.choice(KINDS), draw.randrange(len(result)), draw)
    return result


@cache
def slip(word: str, number: int) -> str:
    """One of the usual misspellings of a word, the same in every text.

    >>> slip("gradient", 0) == slip("gradient", 0) != slip("gradient", 1)
    True
    """
    return misspell(word, random.Random(f"{word.lower()} {number}"))


def corrupt(sentence: str, rate: float, slips: int, draw: random.Random) -> str:
    """
    >>> corrupt("It is at the end.", 1.0, 4, random.Random(2)).split()[:3]
    ['It', 'is', 'at']
    """

    def maybe(match: re.Match[str]) -> str:
        word = match[0]
        if draw.random() >= rate:
            return word
        return slip(word, draw.randrange(slips)) if slips else misspell(word, draw)

    return WORD.sub(maybe, sentence)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", type=Path)
    parser.add_argument("noisy", type=Path)
    parser.add_argument(
        "--rate", type=float, default=0.2, help="share of the words with three or more letters that are misspelt"
    )
    parser.add_argument("--slips", type=int, default=4, help="misspellings per word (0: any)")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not 0 <= args.rate <= 1:
        parser.error(f"--rate must be between 0 and 1, but is {args.rate}")
    lines = args.clean.read_text(encoding="utf-8").splitlines()
    with args.noisy.open("w", encoding="utf-8") as noisy:
        for copy in range(args.copies):
            for line in lines:  # a line's typos depend only on the line, not on its position
                noisy.write(corrupt(line, args.rate, args.slips, random.Random(f"{args.seed} {copy} {line}")) + "\n")


if __name__ == "__main__":
    main()
