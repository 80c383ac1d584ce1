"""Text files with one sentence per line, and their possible errors."""

import codecs
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from lev_plugins.errors import UserError, at_line, require


def read_lines(path: Path) -> Iterator[str]:
    """Read lines, which end only at a line feed, whatever other separators the text contains."""
    size = path.stat().st_size
    # disable=None: shown only on a terminal
    with path.open("rb") as file, tqdm(total=size, desc=path.name, unit="B", disable=None, leave=False) as progress:
        for number, line in enumerate(file, 1):
            progress.update(len(line))
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                raise UserError(
                    f"{path} begins with a byte order mark, which would be part of its first word: remove it, for "
                    f"example with tail -c +4 {shlex.quote(str(path))} >FILE"
                )
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}, line {number} is not UTF-8 ({error.reason}): convert it, for example with "
                    "iconv -f latin1 -t utf-8"
                ) from error


def nonempty_lines(path: Path) -> list[str]:
    lines = list(read_lines(path))
    require(bool(lines), f"{path} is empty")
    return lines


def check_counts(path: Path, count: int, other: Path, other_count: int, what: str = "lines") -> None:
    require(
        count == other_count,
        f"both files must be parallel, but {path} has {count} lines and {other} has {other_count} {what}",
    )


@dataclass(frozen=True)
class Survey:
    lines: int
    empty: int
    first_empty: int  # its number, from 1; 0 if there is none


def survey(path: Path, tabs: bool, check: Callable[[str], object] | None = None) -> Survey:
    """Read the text once; unless ``tabs``, a TAB in it is an error; ``check`` raises others."""
    number = empty = first_empty = 0
    for number, line in enumerate(read_lines(path), 1):
        require(
            tabs or "\t" not in line,
            f"{path}, line {number} contains a TAB, which separates source and draft in fairseq-interactive: "
            "replace it with a space",
        )
        if check:
            with at_line(path, number):
                check(line)
        if not line.split():
            empty, first_empty = empty + 1, first_empty or number
    require(number > 0, f"{path} is empty")
    return Survey(number, empty, first_empty)


@dataclass(frozen=True)
class ParallelTexts:
    """The texts of one split, under fairseq's name for it: train, train1, ..., valid, test."""

    name: str
    texts: dict[str, Path]  # by suffix
    surveys: dict[str, Survey]
    lines: int


def read_parallel(
    name: str, texts: dict[str, Path], tabs: set[str], checks: dict[str, Callable[[str], object]] | None = None
) -> ParallelTexts:
    """Texts must be parallel, only those in ``tabs`` may contain a TAB, and ``checks`` raise other errors."""
    surveys = {side: survey(path, side in tabs, (checks or {}).get(side)) for side, path in texts.items()}
    counts = {side: counted.lines for side, counted in surveys.items()}
    require(
        len(set(counts.values())) == 1,
        "parallel texts must have the same number of lines, but "
        + " and ".join(f"{texts[side]} has {lines:,} lines" for side, lines in counts.items()),
    )
    return ParallelTexts(name, texts, surveys, next(iter(counts.values())))
