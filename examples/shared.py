"""Shared by the scripts of the examples: text files, words, and error handling."""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from lev_plugins.cli.streams import decode_utf8
from lev_plugins.text import lines as texts
from lev_plugins.utils.errors import UserError, explain, require

Row = TypeVar("Row")


def read_lines(path: Path, hint: str = "") -> list[str]:
    """The lines of a UTF-8 file; ``hint`` says how its name is formed."""
    require(path.is_file(), f"there is no file {path}" + (f": {hint}" if hint else ""))
    return list(texts.read_lines(path))


def arriving_lines(stream: Iterable[bytes], name: str = "standard input") -> Iterator[str]:
    """Lines of a stream of bytes, which are UTF-8 wherever this runs.

    >>> list(arriving_lines([b"a\\r\\n", b"\\xc3\\xa9"]))
    ['a', 'é']
    """
    for number, line in enumerate(stream, 1):
        yield decode_utf8(line, number, name).removesuffix("\n").removesuffix("\r")


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    texts.write_lines(path, lines)


def read_parallel(paths: Iterable[Path], hint: str = "") -> list[list[str]]:
    """The lines of files that belong together line by line."""
    texts = {path: read_lines(path, hint) for path in paths}
    require_parallel(texts)
    return list(texts.values())


def require_parallel(files: dict[Path, list[str]]) -> None:
    """
    >>> require_parallel({Path("a.en"): ["a", "b"], Path("a.de"): ["c"]})
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: parallel files must be equally long, but a.en has 2 lines and a.de has 1 lines
    """
    counts = [f"{path} has {len(lines):,} lines" for path, lines in files.items()]
    require(
        len({len(lines) for lines in files.values()}) == 1,
        f"parallel files must be equally long, but {' and '.join(counts)}",
    )


def hold_out(rows: list[Row], every: int, most: int) -> tuple[list[Row], list[Row]]:
    """Rows for training, and evenly spread ones for validation: one in ``every``, at least one and ``most`` at most.

    >>> hold_out(["a", "b", "c", "d", "e"], every=2, most=9)
    (['a', 'c', 'e'], ['b', 'd'])
    """
    step = max(every, math.ceil(len(rows) / most))
    chosen = set(range(step - 1, len(rows), step)) or set(range(len(rows))[-1:])
    return [row for i, row in enumerate(rows) if i not in chosen], [rows[i] for i in sorted(chosen)]


def finish(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None], argv: Sequence[str] | None = None
) -> int:
    """Run a script; an error that its user can fix ends it with one line and status 2."""
    try:
        run(parser.parse_args(argv))
    except (UserError, OSError, ModuleNotFoundError) as error:
        sys.stderr.write(f"{parser.prog}: error: {explain(error) or error}\n")
        return 2
    return 0


# ---- words -----------------------------------------------------------------------------------------------------------

EDIT = 1 << 32  # the cost of an edit; a recognised word takes off 1, so the fewest edits come first


def recognised_words(reference: Sequence[str], text: Sequence[str]) -> list[bool]:
    """For each word of the reference, whether ``text`` has it in its place.

    Of the alignments that recognise most words with the fewest edits (as ``lev-plugins score wrr``), the first on a
    walk back from the end: pair before insertion before deletion.

    >>> recognised_words("the cat sat down".split(), "the cta sat right down".split())
    [True, False, True, True]
    >>> recognised_words(["a", "b"], ["b", "c"])    # two substitutions cost the same, but recognise nothing
    [False, True]
    >>> recognised_words(["a", "b"], [])
    [False, False]
    """
    table = [[EDIT * j for j in range(len(text) + 1)]]  # the least cost of the first words
    for i, word in enumerate(reference, 1):
        above, row = table[-1], [EDIT * i]
        for j, other in enumerate(text, 1):
            row.append(min(above[j - 1] + (-1 if word == other else EDIT), above[j] + EDIT, row[-1] + EDIT))
        table.append(row)
    recognised = [False] * len(reference)
    i, j = len(reference), len(text)
    while i and j:
        same = reference[i - 1] == text[j - 1]
        if table[i][j] == table[i - 1][j - 1] + (-1 if same else EDIT):
            i, j = i - 1, j - 1
            recognised[i] = same
        elif table[i][j] == table[i][j - 1] + EDIT:
            j -= 1
        else:
            i -= 1
    return recognised
