"""fairseq plug-ins for text editing.

Importing the package registers them if fairseq is already loaded, as it is under ``--user-dir``. Otherwise the import
costs nothing, and ``lev_plugins.register()`` registers them.
"""

import sys

__all__ = ["__version__", "register"]

__version__ = "0.2.0"


def register() -> None:
    """Make the tasks, models, criterions and scorers known to fairseq; a second call does nothing."""
    from lev_plugins import registration  # noqa: F401  importing registers


if __name__ != "lev_plugins":  # --user-dir is a link with another name: fairseq imports a package by its folder's name
    from .links import stand_in

    stand_in(__name__, __path__[0])
elif "fairseq" in sys.modules:
    register()
