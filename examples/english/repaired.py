"""Choose lines to show of those that an editor repairs: ``python repaired.py NOISY OUTPUT CLEAN --lines N``.

Prints the number, from 0, and the noisy text of the first N lines that are right in OUTPUT, have two mistakes or more
and at most 14 words. Lines are left out in which a misspelling is, or contains, a vulgar word. The number of lines that
are right in OUTPUT goes to standard error.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel

MOST_WORDS, LEAST_MISTAKES = 14, 2
VULGAR = re.compile(r"\bass\b|anal|arse|bitch|cock|crap|cunt|dick|fag|fart|fuck|nigg|piss|porn|sex|shit|slut|tits|whor")


def mistakes(noisy: str, clean: str) -> list[str]:
    """
    >>> mistakes("Sotr the vlaues.", "Sort the values.")
    ['Sotr', 'vlaues.']
    """
    return [word for word, right in zip(noisy.split(), clean.split(), strict=True) if word != right]


def presentable(noisy: str, clean: str) -> bool:
    """Returns whether a line is short and has several mistakes, none of them vulgar.

    >>> [presentable(noisy, "Shift the values.") for noisy in ("Shfit teh values.", "Shitf teh values.")]
    [True, False]
    """
    words = mistakes(noisy, clean)
    vulgar = any(VULGAR.search(word.lower()) for word in words)
    return len(noisy.split()) <= MOST_WORDS and len(words) >= LEAST_MISTAKES and not vulgar


def repaired(noisy: Sequence[str], output: Sequence[str], clean: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the number and the noisy text of the lines that may be shown.

    >>> [*repaired(["Teh cat sta.", "Teh cat sta."], ["The cat sta.", "The cat sat."], ["The cat sat."] * 2)]
    [(1, 'Teh cat sta.')]
    """
    for number, (before, after, right) in enumerate(zip(noisy, output, clean, strict=True)):
        if after == right and presentable(before, right):
            yield number, before


def run(args: argparse.Namespace) -> None:
    noisy, output, clean = read_parallel(args.files)
    for number, line in list(repaired(noisy, output, clean))[: args.lines]:
        print(f"{number}\t{line}")
    right = sum(after == line for after, line in zip(output, clean, strict=True))
    sys.stderr.write(f"({right:,} of {len(clean):,} lines are right after its edits.)\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs=3, metavar="FILE", help="noisy text, output of an editor, clean text")
    parser.add_argument("--lines", type=int, default=2, metavar="N", help="most lines to print")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
