"""A model folder or a checkpoint that edits or labels texts; torch is loaded only where one needs it."""

from pathlib import Path
from typing import Any

from lev_plugins import compatibility, model_folder
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Labeller

LABELLING = "text_labelling"  # all other tasks are those of editors


def load(path: Any, data: Any = None, **options: Any) -> Any:
    path = model_folder.model_path(path)
    return (Labeller if task_of(path) == LABELLING else Editor).load(path, data, **options)


def task_of(path: str | Path) -> str:
    """--task of its training."""
    if model_folder.is_model_folder(path):
        return model_folder.read_unchecked(path).task
    compatibility.require_training()
    from lev_plugins import checkpoints

    return str(checkpoints.config_of(checkpoints.load(Path(path), mmap=True), "task", "_name"))
