"""fairseq plug-ins for text editing.

Importing the package registers them if fairseq is already loaded, as it is under ``--user-dir``. Otherwise the import
costs nothing, and ``lev_plugins.register()`` registers them.
"""

import sys
from typing import Any

from .version import __version__

__all__ = ["__version__", "load", "register"]


def register() -> None:
    """Make the tasks, models, criterions and scorers known to fairseq; a second call does nothing."""
    from lev_plugins import registration  # noqa: F401  importing registers


def load(path: Any, data: Any = None, **options: Any) -> Any:
    """A model folder or a checkpoint that edits or labels texts: ``load("editor").edit(["He go home."])[0].text``."""
    from lev_plugins.compatibility import quiet
    from lev_plugins.inference import loading

    with quiet("fairseq"):
        return loading.load(path, data, **options)


if __name__ != "lev_plugins":  # --user-dir is a link with another name: fairseq imports a package by its folder's name
    from .user_dir_alias import stand_in

    stand_in(__name__, __path__[0])
elif "fairseq" in sys.modules:
    register()
