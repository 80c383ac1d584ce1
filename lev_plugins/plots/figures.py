"""What every figure needs: matplotlib, a canvas, and files that are whole and the same each time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

from lev_plugins.errors import UserError, require
from lev_plugins.files import all_or_nothing

EXTRA = 'pip install "lev-plugins[plot]"'
UNDATED = {  # suffix -> what keeps dates and versions out of the file
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None},
}


def check_figures(flag: str, paths: Sequence[Path]) -> None:
    """Before the work that is to be drawn."""
    for path in paths:
        kinds = ", ".join(UNDATED)
        require(path.suffix.lower() in UNDATED, f"{flag} {path} must end in one of {kinds}")
        require(not path.is_dir(), f"{flag} {path} is a folder: name a file")
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # of every font it looks at it has much to tell
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError(f"{flag} needs the package matplotlib, which is not installed: {EXTRA}") from None


@contextmanager
def canvas(width: float, height: float) -> Iterator[Any]:
    """A figure that no display is needed for, the same bytes every time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # text stays text in an SVG: it can be searched, read aloud, and has the reader's fonts
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "lev-plugins", "text.parse_math": False}):
        yield Figure(figsize=(width, height), dpi=150)


def save(figure: Any, paths: Sequence[Path]) -> None:
    for path in paths:
        suffix = path.suffix.lower()
        drawn = BytesIO()
        figure.savefig(drawn, format=suffix[1:], metadata=UNDATED[suffix])
        with all_or_nothing(path) as file:
            file.write(drawn.getvalue())
