"""What the scripts of the examples have in common: text files, logs, the machine, and how a script ends."""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from datetime import datetime
from importlib import metadata
from pathlib import Path

from lev_plugins.data import texts
from lev_plugins.errors import UserError, require

NOT_RUN = "not yet run"
STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \| INFO \| ")


def read_lines(path: Path, hint: str = "") -> list[str]:
    """The lines of a UTF-8 file; ``hint`` says what its name is made of."""
    require(path.is_file(), f"there is no file {path}" + (f": {hint}" if hint else ""))
    return list(texts.read_lines(path))


def write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def parallel(files: dict[Path, list[str]]) -> None:
    """
    >>> parallel({Path("train.en"): ["a", "b"], Path("train.de"): ["c"]})
    Traceback (most recent call last):
    lev_plugins.errors.UserError: parallel text has a line for a line, but train.en has 2 lines and train.de has 1 lines
    """
    counts = [f"{path} has {len(lines):,} lines" for path, lines in files.items()]
    require(
        len({len(lines) for lines in files.values()}) == 1,
        f"parallel text has a line for a line, but {' and '.join(counts)}",
    )


def minutes(log: Path) -> float | None:
    """From the first line of a training's log to the last; a training that was stopped counts its pause."""
    if not log.is_file():
        return None
    stamps = [datetime.fromisoformat(match[1]) for line in texts.read_lines(log) if (match := STAMP.match(line))]
    return round((stamps[-1] - stamps[0]).total_seconds() / 60, 1) if stamps else None


def processor() -> str:
    details = Path("/proc/cpuinfo")
    named = re.search(r"^model name\s*:\s*(.+)$", details.read_text(), re.M) if details.is_file() else None
    return f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores"


def machine() -> str:
    return f"Machine: {processor()}; torch {metadata.version('torch')}"


def finish(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], None]) -> int:
    """Run a script; what its user can mend ends it with one line and status 2."""
    try:
        run(parser.parse_args())
    except (UserError, OSError) as error:
        sys.stderr.write(f"{parser.prog}: error: {error}\n")
        return 2
    return 0
