"""Text through files and pipes, for several commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from tqdm import tqdm

from lev_plugins.errors import UserError

__all__ = ["arriving", "batches", "change_lines", "decode", "write"]

CHUNK = 1 << 16
BROKEN_PIPE = 141  # exit status that a shell reports for a program ended by SIGPIPE


def decode(line: bytes, number: int, name: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of {name} is not UTF-8 (byte 0x{line[error.start]:02x} at offset {error.start}): "
            "convert it first, for example with iconv -t utf-8"
        ) from error


def arriving(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines of a pipe with their line feeds, in groups as they arrive."""
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


def batches(size: int) -> Iterator[tuple[int, list[str]]]:
    """At most ``size`` lines of standard input with their line feeds, and the number of the first.

    Results of a batch are written before more lines are awaited.
    """
    number = 1
    for lines in arriving(sys.stdin.buffer):
        for start in range(0, len(lines), size):
            chunk = lines[start : start + size]
            yield number, [decode(line, number + i, "standard input") for i, line in enumerate(chunk)]
            number += len(chunk)
        sys.stdout.flush()


def change_lines(change: Callable[[str, int], str]) -> int:
    """Standard input to standard output, line by line; each line is written before the next one is awaited.

    ``change`` receives a line and its number, from 0. Returns the exit status.
    """
    return write(_changed(change))


def _changed(change: Callable[[str, int], str]) -> Iterator[bytes]:
    number = 0
    hidden = sys.stdout.isatty() or None  # None: shown on a terminal only, but not among the lines
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
    """To standard output; a reader that closes the pipe is not an error. Returns the exit status."""
    try:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when Python exits
        return BROKEN_PIPE
    return 0
