"""Lines of standard input to lines of standard output or of a file, for several commands."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, zip_longest
from pathlib import Path

from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.progress import progress_bar

LINES = " lines"  # what a progress bar counts
# number of a line, from 1, and the lines from there -> as many lines
Answer = Callable[[int, list[str]], Iterable[str]]


def decode_utf8(line: bytes, number: int, name: str = "standard input") -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"line {number} of {name} is not UTF-8 (byte 0x{line[error.start]:02x} at offset {error.start}): "
            "convert it first, for example with iconv -f latin1 -t utf-8"
        ) from error


def input_batches(size: int) -> Iterator[tuple[int, list[str]]]:
    """Yields ``size`` lines of standard input with their line feeds, and the number of the first of them."""
    number = 1
    while lines := list(islice(sys.stdin.buffer, size)):
        yield number, [decode_utf8(line, number + i) for i, line in enumerate(lines)]
        number += len(lines)


# ---- one line of output per line of input --------------------------------------------------------------------------


def change_lines(change: Callable[[str, int], str]) -> int:
    """Copies standard input to standard output, with each line changed and written before the next one is awaited.

    ``change`` receives a line and its number, from 0. Returns the exit status.
    """

    def answer(first: int, texts: list[str]) -> list[str]:
        mark = BYTE_ORDER_MARK if first == 1 and texts[0].startswith(BYTE_ORDER_MARK) else ""
        return [mark + change(texts[0].removeprefix(mark), first - 1)]

    return answer_lines(answer, 1)


def add_resume_argument(add: Callable[..., object]) -> None:
    meaning = "write to this file instead; after a stop of any kind, the same command goes on where it was"
    add("--resume", metavar="OUT", type=Path, help=meaning)


def answer_lines(answer: Answer, size: int, resume: Path | None = None) -> int:
    """Writes a line for each line of standard input, in order, and returns the exit status.

    ``answer`` receives ``size`` lines at once, or one if a person types them. The output goes to standard output, or to
    the file ``resume``, where it continues what is there.
    """
    if resume is not None:
        return continue_file(answer, size, resume)
    with progress_bar(hidden=sys.stdout.isatty(), unit=LINES) as advance:
        inputs = input_batches(1 if sys.stdin.isatty() else size)
        sys.stdout.buffer.writelines(answer_batches(answer, inputs, advance))
    return 0


def answer_batches(
    answer: Answer, inputs: Iterable[tuple[int, list[str]]], advance: Callable[[int], object]
) -> Iterator[bytes]:
    for number, lines in inputs:
        texts = [line.removesuffix("\n") for line in lines]
        results = zip(lines, texts, answer(number, texts), strict=True)
        yield "".join(result + line[len(text) :] for line, text, result in results).encode("utf-8")
        sys.stdout.flush()
        advance(len(lines))


# ---- continuing after a stop ---------------------------------------------------------------------------------------


def continue_file(answer: Answer, size: int, path: Path) -> int:
    """Answers the lines whose answers the file lacks, in the same batches as without the stop.

    The last whole batch of the file is answered again: if the result differs, the file belongs to another model, to
    other flags or to another input.
    """
    require_output(path)
    with path.open("r+b" if path.exists() else "w+b") as file:
        complete = sum(line.endswith(b"\n") for line in file)
        skipped = size * max(0, complete // size - 1)
        file.seek(0)
        offset = sum(map(len, islice(file, skipped)))
        present = file.read()
        inputs = islice(input_batches(size), skipped // size, None)
        with progress_bar(unit=LINES, initial=skipped) as advance:
            outputs, repeated = answer_batches(answer, inputs, advance), b""
            while len(repeated) < len(present) and (output := next(outputs, b"")):
                repeated += output
            if not repeated.startswith(present):
                pairs = zip_longest(present.split(b"\n"), repeated.split(b"\n"))
                number = next(i for i, (line, expected) in enumerate(pairs, skipped + 1) if line != expected)
                raise UserError(
                    f"--resume {path}: line {number} is not what this command writes there: the model, the flags or "
                    "standard input are not those that the file was begun with; name another file"
                )
            file.seek(offset + len(present))
            file.write(repeated[len(present) :])
            for output in outputs:
                file.write(output)
                file.flush()
    return 0


def require_output(path: Path) -> None:
    """Requires that --resume names a file that can be written, and is not the input."""
    require(path.is_file() or not path.exists(), f"--resume {path} exists but is not a regular file: name another one")
    require(path.parent.is_dir(), f"--resume {path}: there is no folder {path.parent}")
    try:
        is_input = path.exists() and os.path.samestat(os.fstat(sys.stdin.fileno()), path.stat())
    except (OSError, ValueError):  # standard input has no file descriptor
        is_input = False
    require(not is_input, f"--resume {path} is also the input: name another file")
