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

from lev_plugins.errors import UserError, require
from lev_plugins.text import lines as texts

NOT_RUN = "not yet run"
STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \| INFO \| ([\w.]+) \| (.*)")
BEFORE_THE_START = "fairseq.tasks.text_to_speech"  # while it is imported
SETTINGS = "{'_name'"  # with which every fairseq-train begins, and begins again


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
    """How long a training ran, by its log; what it lay still after a stop does not count."""
    if not log.is_file():
        return None
    seconds, last = 0.0, None
    for line in texts.read_lines(log):
        match = STAMP.match(line)
        if match is None or match[2] == BEFORE_THE_START:
            continue
        now = datetime.fromisoformat(match[1])
        if last is not None and not match[3].startswith(SETTINGS):
            seconds += (now - last).total_seconds()
        last = now
    return None if last is None else round(seconds / 60, 1)


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
