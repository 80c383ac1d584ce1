"""A progress bar on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO


@contextmanager
def progress_bar(hidden: bool = False, **settings: Any) -> Iterator[Callable[[int], object]]:
    """Opens a progress bar on standard error, if that is a terminal, and yields the function that advances it.

    hidden: show none on a terminal, either
    settings: those of tqdm
    """
    if hidden or not sys.stderr.isatty():
        yield lambda steps: None
        return
    from tqdm import tqdm  # only here, since it imports a hundred modules

    with tqdm(**settings) as bar:
        yield bar.update


def write_beside_bar(text: str, stream: TextIO) -> None:
    """Writes text to standard output or standard error, where a progress bar may be."""
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.write(text, stream, end="")
    else:
        stream.write(text)
