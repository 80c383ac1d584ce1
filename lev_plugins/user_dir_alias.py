"""``--user-dir`` through a link whose name is not ``lev_plugins``.

fairseq names the module after the folder, so it would import this package a second time under another name and
register everything twice. Instead, the real package is imported and also answers to the other name.
"""

import os
import sys
from importlib import import_module

PACKAGE = "lev_plugins"


def stand_in(alias: str, folder: str) -> None:
    """Make ``import alias`` and ``import alias.x`` return ``lev_plugins`` and ``lev_plugins.x``."""
    parent, name = os.path.split(os.path.realpath(folder))
    if name != PACKAGE:
        raise ImportError(f"--user-dir {folder}: the folder must be named {PACKAGE} (or be a link to it), not {name}")
    sys.path.insert(0, parent)  # first, as fairseq does: an installed copy must not win
    package = import_module(PACKAGE)
    if os.path.realpath(package.__path__[0]) != os.path.realpath(folder):
        raise ImportError(
            f"--user-dir {folder} is one copy of {PACKAGE}, but {package.__path__[0]} is already imported: use only one"
        )
    for module in [module for module in sys.modules if module.startswith(f"{PACKAGE}.")]:
        sys.modules[alias + module[len(PACKAGE) :]] = sys.modules[module]
    sys.modules[alias] = package
