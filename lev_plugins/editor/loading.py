"""A model folder that edits or labels texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import LABELLER

if TYPE_CHECKING:
    from lev_plugins.editor.editor import Editor
    from lev_plugins.editor.labeller import Labeller


def load(path: str | Path, options: EditOptions | LabelOptions | None = None) -> Editor | Labeller:
    """Loads an editor or a labeller, as ``lev_plugins.load`` describes it."""
    path = model_folder.model_path(path)
    labels = model_folder.read_unchecked(path).kind == LABELLER
    suitable = options is None or isinstance(options, LabelOptions if labels else EditOptions)
    require(suitable, f"{path} {'labels' if labels else 'edits'} texts: load it without {type(options).__name__}")
    # the modules of the other kind are not imported: that takes as long as reading the files of the folder
    if labels:
        from lev_plugins.editor.labeller import Labeller

        return Labeller.load(path, options if isinstance(options, LabelOptions) else LabelOptions())
    from lev_plugins.editor.editor import Editor

    return Editor.load(path, options if isinstance(options, EditOptions) else EditOptions())
