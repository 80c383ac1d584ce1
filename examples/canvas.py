"""What all figures share: matplotlib, a canvas, and complete, reproducible files."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lev_plugins.utils.errors import require
from lev_plugins.utils.files import all_or_nothing

UNDATED = {  # suffix -> metadata that keeps dates and versions out of the file
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None, "Producer": None},
}


def check_figures(flag: str, paths: Sequence[Path]) -> None:
    """Check the flag before the work whose results are drawn."""
    for path in paths:
        require(path.suffix.lower() in UNDATED, f"{flag} {path} must end in one of {', '.join(UNDATED)}")
        require(not path.is_dir(), f"{flag} {path} is a folder: name a file")
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it logs every font that it looks at
    import matplotlib  # noqa: F401


@contextmanager
def canvas(width: float, height: float) -> Iterator[Any]:
    """A figure that needs no display and has the same bytes every time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # keep text as text in an SVG: it can be searched and read aloud, and uses the reader's fonts
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "lev-plugins", "text.parse_math": False}):
        yield Figure(figsize=(width, height), dpi=150)


def save_figure(figure: Any, paths: Sequence[Path]) -> None:
    figure.set_layout_engine("constrained")
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # lay out only once: each drawing would shift things further
    for path in paths:
        suffix = path.suffix.lower()
        with all_or_nothing(path) as file:
            figure.savefig(file, format=suffix[1:], metadata=UNDATED[suffix])
