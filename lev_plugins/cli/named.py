"""Arguments such as ``NAME=PATH``: what a figure or a server calls each file or folder."""

from collections.abc import Sequence
from pathlib import Path

from lev_plugins.errors import require

ENDINGS = (".pt", ".out", ".log", ".txt", ".json", ".jsonl")  # a folder such as typos-1.0 keeps its name


def named_paths(entries: Sequence[str], what: str) -> dict[str, Path]:
    """A path without a name has that of the folder, or of the file without its ending; ``what`` is for a message.

    >>> found = named_paths(["models/typos", "old=checkpoints/checkpoint_best.pt", "runs/late.out"], "models")
    >>> {name: str(path) for name, path in found.items()}
    {'typos': 'models/typos', 'old': 'checkpoints/checkpoint_best.pt', 'late': 'runs/late.out'}
    """
    found: dict[str, Path] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        if not equals or Path(entry).exists():
            last = Path(entry).resolve()
            name, path = last.stem if last.suffix in ENDINGS else last.name, entry
        require(name not in found, f"two {what} are called {name}: name one, as in NAME={path}")
        found[name] = Path(path)
    return found
