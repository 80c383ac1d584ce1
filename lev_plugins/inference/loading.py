"""A model of any kind, ready for texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lev_plugins import checkpoints, model_folder
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Labeller, config_of

__all__ = ["load"]


def load(path: str | Path, data: str | Path | None = None, **options: Any) -> Editor | Labeller:
    """A ``Labeller`` for a model of ``text_labelling``, else an ``Editor``; ``options``: those of its ``load``."""
    if model_folder.is_model_folder(path):
        labels = model_folder.read(path).kind == model_folder.LABELLER
    else:
        labels = config_of(checkpoints.load(path), "task", "_name") == "text_labelling"
    return Labeller.load(path, data, **options) if labels else Editor.load(path, data, **options)
