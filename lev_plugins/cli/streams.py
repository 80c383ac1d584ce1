"""Text through files and pipes for the commands that need it: no command itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from tqdm import tqdm

from lev_plugins.errors import UserError

CHUNK = 1 << 16
BROKEN_PIPE = 141  # what a shell reports of a program that SIGPIPE ended


def decode(line: bytes, number: int, name: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of {name} is not UTF-8 (byte 0x{line[error.start]:02x} after {error.start} others): "
            "convert it first, for example with iconv -t utf-8"
        ) from error


def arriving(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a pipe with their line feeds: all that have arrived, whenever some have."""
    parts: list[bytes] = []
    while chunk := stream.read1(CHUNK):  # type: ignore[attr-defined]
        *whole, rest = chunk.split(b"\n")
        if whole:
            whole[0] = b"".join([*parts, whole[0]])
            yield [line + b"\n" for line in whole]
            parts = []
        parts.append(rest)
    if last := b"".join(parts):
        yield [last]


def change_lines(change: Callable[[str, int], str]) -> int:
    """Standard input to standard output, line for line; a line is given out before the next one is waited for.

    ``change`` is told the number of its line, from 0. Returns the exit status.
    """
    return write(_changed(change))


def _changed(change: Callable[[str, int], str]) -> Iterator[bytes]:
    number = 0
    hidden = sys.stdout.isatty() or None  # None: shown on a terminal only, and not among the lines
    with tqdm(unit=" lines", disable=hidden) as bar:
        for lines in arriving(sys.stdin.buffer):
            for line in lines:
                text = decode(line, number + 1, "standard input")
                body = text.removesuffix("\n")
                yield (change(body, number) + text[len(body) :]).encode("utf-8")
                number += 1
            sys.stdout.flush()
            bar.update(len(lines))


def write(pieces: Iterable[bytes]) -> int:
    """To standard output; nobody is told when the reader has had enough. Returns the exit status."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the last flush at the end of Python
        return BROKEN_PIPE
    return 0
