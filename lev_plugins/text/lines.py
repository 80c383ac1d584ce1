"""Text files with one sentence per line, and their possible errors."""

import codecs
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lev_plugins.utils.errors import UserError, at_line, require
from lev_plugins.utils.progress import progress_bar


def read_lines(path: Path, ending: bytes = b"\r") -> Iterator[str]:
    """Yields the lines of a file, which end only at a line feed, whatever other separators the text contains.

    ``ending``: what belongs to the line feed if it stands before it
    """
    size = path.stat().st_size
    with path.open("rb") as file, progress_bar(total=size, desc=path.name, unit="B", leave=False) as advance:
        for number, line in enumerate(file, 1):
            advance(len(line))
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                raise UserError(
                    f"{path} begins with a byte order mark, which would be part of its first word: remove it, for "
                    f"example with tail -c +4 {shlex.quote(str(path))} >FILE"
                )
            try:
                yield line.removesuffix(b"\n").removesuffix(ending).decode("utf-8")
            except UnicodeDecodeError as error:
                raise UserError(
                    f"{path}, line {number} is not UTF-8 ({error.reason}): convert it, for example with "
                    "iconv -f latin1 -t utf-8"
                ) from error


def nonempty_lines(path: Path) -> list[str]:
    lines = list(read_lines(path))
    require(bool(lines), f"{path} is empty")
    return lines


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def require_parallel(path: Path, lines: int, second_path: Path, second_lines: int, unit: str = "lines") -> None:
    """Refuses two files with different numbers of lines; ``unit``: what the second has instead of lines."""
    require(
        lines == second_lines,
        f"both files must be parallel, but {path} has {lines} lines and {second_path} has {second_lines} {unit}",
    )


def count_lines(path: Path, tabs: bool, check: Callable[[str], object] | None = None) -> tuple[int, int]:
    """Reads a text file once and counts all lines and the empty ones.

    path: the file
    tabs: whether its lines may have TABs
    check: raises an error for a line that must not occur
    """
    number = empty = 0
    for number, line in enumerate(read_lines(path), 1):
        require(
            tabs or "\t" not in line,
            f"{path}, line {number} contains a TAB, which separates source and draft in fairseq-interactive: "
            "replace it with a space",
        )
        if check:
            with at_line(path, number):
                check(line)
        empty += not line.split()
    require(number > 0, f"{path} is empty")
    return number, empty


@dataclass(frozen=True)
class ParallelTexts:
    """The texts of one split, under fairseq's name for it: train, train1, ..., valid, test."""

    name: str
    texts: dict[str, Path]  # by suffix
    lines: int
    empty: dict[str, int]  # lines without words, by suffix


def read_parallel(
    name: str, texts: dict[str, Path], tabs: set[str], checks: dict[str, Callable[[str], object]] | None = None
) -> ParallelTexts:
    """Reads the texts of a split, which must have the same number of lines.

    name: the name of the split
    texts: the files, by suffix
    tabs: the suffixes of those whose lines may have TABs
    checks: raise an error for a line that must not occur, by suffix
    """
    counts = {side: count_lines(path, side in tabs, (checks or {}).get(side)) for side, path in texts.items()}
    numbers = {lines for lines, _ in counts.values()}
    require(
        len(numbers) == 1,
        "parallel texts must have the same number of lines, but "
        + " and ".join(f"{texts[side]} has {lines:,} lines" for side, (lines, _) in counts.items()),
    )
    return ParallelTexts(name, texts, numbers.pop(), {side: empty for side, (_, empty) in counts.items()})
