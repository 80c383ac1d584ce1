"""A model of any kind, ready for texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lev_plugins import checkpoints, model_folder
from lev_plugins.compatibility import quiet
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Labeller


def load(path: str | Path, data: str | Path | None = None, **options: Any) -> Editor | Labeller:
    """A ``Labeller`` for a model of ``text_labelling``, else an ``Editor``; ``options``: those of its ``load``."""
    with quiet("fairseq"):
        return (Labeller if is_labeller(path) else Editor).load(path, data, **options)


def is_labeller(path: str | Path) -> bool:
    if model_folder.is_model_folder(path):
        return model_folder.described(path).kind == model_folder.LABELLER
    return checkpoints.config_of(checkpoints.load(path, mmap=True), "task", "_name") == "text_labelling"
