"""Summaries that can be made anywhere: the first sentences of docstrings, from the sentences after them.

    python summaries.py DIR [--packages numpy,scipy]

writes DIR/docstrings.body and DIR/docstrings.summary.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.english.corpus import docstrings, folders, key, python_files, sentences
from examples.shared import finish, write_lines

MOST = 60  # words of a body


def pair(docstring: str) -> tuple[str, str] | None:
    """The rest and the first sentence; None if either is not prose.

    >>> pair("Sort all of the values.\\n\\nThe order of equal values is kept. See above.\\n\\n>>> 1\\n1")
    ('The order of equal values is kept.', 'Sort all of the values.')
    >>> pair("x = 1\\n\\nSort all of the values. The order of equal values is kept.") is None
    True
    """
    first, *rest = [*sentences(docstring), ""]
    begins = " ".join(docstring.replace("`", "").split()).startswith(first)
    return (" ".join(" ".join(rest).split()[:MOST]), first) if begins and any(rest) else None


def pairs(packages: list[str]) -> Iterator[tuple[str, str]]:
    """Each summary once."""
    seen = set()
    for folder in folders(packages):
        for path in python_files(folder):
            for body, summary in filter(None, map(pair, docstrings(path))):
                if key(summary) not in seen:
                    seen.add(key(summary))
                    yield body, summary


def run(args: argparse.Namespace) -> None:
    warnings.simplefilter("ignore", SyntaxWarning)  # old files have odd escapes
    found = list(pairs(args.packages.split(",")))
    for number, side in enumerate(("body", "summary")):
        write_lines(args.folder / f"docstrings.{side}", (each[number] for each in found))
    print(f"{len(found):,} summaries")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", default="numpy,scipy,sklearn,torch", help="beside the standard library")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
