"""fairseq plug-ins for text editing.

Importing the package registers them if fairseq is already loaded, as it is under ``--user-dir``. Otherwise the import
costs nothing, and ``lev_plugins.register()`` registers them.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, overload

from lev_plugins.utils.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from lev_plugins.editor.editor import Editor
    from lev_plugins.editor.labeller import Labeller
    from lev_plugins.editor.options import EditOptions, EditRequest, LabelOptions

__all__ = ["EditOptions", "EditRequest", "LabelOptions", "__version__", "load", "register"]


# ONNX Runtime 1.32 writes an id of the machine to the cache folder and sends events to its makers, unless this is set
# when it is imported
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def register() -> None:
    """Make the tasks, models, criterions and scorers known to fairseq; a second call does nothing."""
    from lev_plugins import registration  # noqa: F401  importing registers


@overload
def load(path: str | Path, *, options: EditOptions) -> Editor: ...
@overload
def load(path: str | Path, *, options: LabelOptions) -> Labeller: ...
@overload
def load(path: str | Path) -> Any: ...
def load(path: str | Path, *, options: EditOptions | LabelOptions | None = None) -> Editor | Labeller:
    """Loads a model that edits or labels texts: ``load("editor").edit(["He go home."])[0].text``.

    path: a model folder, or the name of an installed model
    options: settings of an editor, or of a labeller; by default those of the model folder
    """
    from lev_plugins.editor import loading

    return loading.load(path, options)


def __getattr__(name: str) -> Any:
    """Imports the classes of requests and options only where they are used."""
    if name not in ("EditOptions", "EditRequest", "LabelOptions"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from lev_plugins.editor import options

    return getattr(options, name)


if __name__ != "lev_plugins":  # fairseq imports the package of --user-dir by the name of the folder, or of the link
    raise ImportError(f"--user-dir {__path__[0]}: the folder, or the link to it, must be named lev_plugins")
if "fairseq" in sys.modules:
    register()
