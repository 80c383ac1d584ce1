"""Arguments such as ``NAME=PATH``, by which a figure or a server names a file or a folder."""

from collections.abc import Sequence
from pathlib import Path

from lev_plugins.utils.errors import require

SUFFIXES = (".pt", ".out", ".log", ".txt", ".json", ".jsonl")  # a folder such as typos-1.0 keeps its name


def named_paths(entries: Sequence[str], what: str) -> dict[str, Path]:
    """Returns the paths by name; one without a name has that of the folder, or of the file without its suffix.

    ``what`` says in an error message what they are.

    >>> paths = named_paths(["models/typos", "old=checkpoints/checkpoint_best.pt", "runs/late.out"], "models")
    >>> {name: str(path) for name, path in paths.items()}
    {'typos': 'models/typos', 'old': 'checkpoints/checkpoint_best.pt', 'late': 'runs/late.out'}
    """
    paths: dict[str, Path] = {}
    for entry in entries:
        name, equals, path = entry.partition("=")
        if not equals or Path(entry).exists():
            resolved = Path(entry).resolve()
            name, path = resolved.stem if resolved.suffix in SUFFIXES else resolved.name, entry
        require(name not in paths, f"two {what} are called {name}: name one, as in NAME={path}")
        paths[name] = Path(path)
    return paths
