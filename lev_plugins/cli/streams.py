"""Text through files and pipes, for several commands."""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

from tqdm import tqdm

from lev_plugins.errors import UserError, require
from lev_plugins.text.control import BYTE_ORDER_MARK

CHUNK = 1 << 16
Answer = Callable[[int, list[str]], Iterable[str]]


def decode(line: bytes, number: int, name: str = "standard input") -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of {name} is not UTF-8 (byte 0x{line[error.start]:02x} at offset {error.start}): "
            "convert it first, for example with iconv -f latin1 -t utf-8"
        ) from error


def batches(size: int, wait: bool = False) -> Iterator[tuple[int, list[str]]]:
    """``size`` lines of standard input with their line feeds, and the number of the first.

    Fewer at the end and, unless ``wait``, when no more lines have arrived: then results are written before more lines
    are awaited.
    """
    stream: Any = sys.stdin.buffer
    number = 1
    waiting: list[bytes] = []
    begun: list[bytes] = []  # of a line whose end has not arrived
    while True:
        chunk = stream.read1(CHUNK)
        *ended, rest = chunk.split(b"\n")
        if ended:
            waiting += [line + b"\n" for line in [b"".join([*begun, ended[0]]), *ended[1:]]]
            begun = []
        begun.append(rest)
        if not chunk and any(begun):
            waiting.append(b"".join(begun))
        ready = len(waiting)
        if chunk and (wait or more_is_there(stream)):
            ready -= ready % size
        for start in range(0, ready, size):
            lines = waiting[start : min(start + size, ready)]
            yield number, [decode(line, number + i) for i, line in enumerate(lines)]
            number += len(lines)
        del waiting[:ready]
        if not chunk:
            return


def more_is_there(stream: Any) -> bool:
    """Whether reading would not wait: at the end of a file, too, and for what is not a file of the system."""
    try:
        return bool(select.select([stream], [], [], 0)[0])
    except (OSError, ValueError):
        return True


# ---- a line for a line ---------------------------------------------------------------------------------------------


def change_lines(change: Callable[[str, int], str]) -> int:
    """Standard input to standard output, line by line; each line is written before the next one is awaited.

    ``change`` receives a line and its number, from 0. Returns the exit status.
    """

    def answer(first: int, texts: list[str]) -> list[str]:
        mark = BYTE_ORDER_MARK if first == 1 and texts[0].startswith(BYTE_ORDER_MARK) else ""
        return [mark + change(texts[0].removeprefix(mark), first - 1)]

    return answer_lines(answer, 1)


def progress(beside_lines: bool, done: int = 0) -> Any:
    """A bar on a terminal, unless the lines themselves appear there."""
    hidden = beside_lines and sys.stdout.isatty()
    return tqdm(unit=" lines", initial=done, disable=hidden or None)  # None: unless standard error is a terminal


def add_resume_argument(add: Callable[..., Any]) -> None:
    resumed = "write to this file instead; after a stop of any kind, the same command goes on where it was"
    add("--resume", metavar="OUT", type=Path, help=resumed)


def answer_lines(answer: Answer, size: int, resume: Path | None = None) -> int:
    """A line of output for each line of standard input, in order; at most ``2 * size`` lines are in memory, or those
    of one chunk of a pipe.

    ``answer`` receives the number of a line, from 1, and at most ``size`` lines from there, and returns as many. The
    lines go to standard output or to a file, where they continue what is there. Returns the exit status.
    """
    if resume is not None:
        return continue_file(answer, size, resume)
    with progress(beside_lines=True) as bar:
        return write(answered(answer, batches(size), bar))


def answered(answer: Answer, given: Iterable[tuple[int, list[str]]], bar: Any) -> Iterator[bytes]:
    for first, lines in given:
        texts = [line.removesuffix("\n") for line in lines]
        answers = zip(lines, texts, answer(first, texts), strict=True)
        yield "".join(found + line[len(text) :] for line, text, found in answers).encode("utf-8")
        sys.stdout.flush()
        bar.update(len(lines))


def write(pieces: Iterable[bytes]) -> int:
    """Writes to standard output, and returns the exit status."""
    try:
        for piece in pieces:
            with in_one_go():
                sys.stdout.buffer.write(piece)
    finally:
        sys.stdout.flush()
    return 0


@contextmanager
def in_one_go() -> Iterator[None]:
    """Ctrl-C takes effect at the end."""
    received: list[tuple[Any, ...]] = []
    usual = signal.signal(signal.SIGINT, lambda *signal_and_frame: received.append(signal_and_frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if received and callable(usual):
        usual(*received[0])


# ---- going on after a stop -----------------------------------------------------------------------------------------


def continue_file(answer: Answer, size: int, path: Path) -> int:
    """The lines after the last whole batch are made again, in the same company as without the stop. That batch is made
    again, too: if the file reads differently now, it belongs to another model, to other flags or to another input.
    """
    check_output(path)
    given = batches(size, wait=True)
    with path.open("r+b" if path.exists() else "w+b") as file:
        whole = sum(line.endswith(b"\n") for line in file)
        kept = size * max(0, whole // size - 1)
        file.seek(0)
        place = sum(map(len, islice(file, kept)))
        there = file.read()
        for _ in islice(given, kept // size):  # these answers are in the file
            pass
        with progress(beside_lines=False, done=kept) as bar:
            pieces, now = answered(answer, given, bar), b""
            while len(now) < len(there) and (piece := next(pieces, b"")):
                now += piece
            if not now.startswith(there):
                pairs = zip_longest(there.split(b"\n"), now.split(b"\n"))
                number = next(i for i, (old, new) in enumerate(pairs, kept + 1) if old != new)
                raise UserError(
                    f"--resume {path}: line {number} is not what this command writes there: the model, the flags or "
                    "standard input are not those that the file was begun with; name another file"
                )
            file.seek(place + len(there))
            for piece in chain([now[len(there) :]], pieces):
                file.write(piece)
                file.flush()
    return 0


def check_output(path: Path) -> None:
    require(path.is_file() or not path.exists(), f"--resume {path} exists but is not a regular file: name another one")
    require(path.parent.is_dir(), f"--resume {path}: there is no folder {path.parent}")
    try:
        same = path.exists() and os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (OSError, ValueError):  # standard input is not a file of the system
        same = False
    require(not same, f"--resume {path} is also the input: name another file")
