"""A model folder or a checkpoint that edits or labels texts; torch is loaded only where one needs it."""

from pathlib import Path
from typing import Any

from lev_plugins import compatibility, model_folder
from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import Labeller


def load(path: Any, data: Any = None, **options: Any) -> Any:
    return (Labeller if is_labeller(path) else Editor).load(path, data, **options)


def is_labeller(path: str | Path) -> bool:
    if model_folder.is_model_folder(path):
        return model_folder.described(path).kind == model_folder.LABELLER
    compatibility.require_training()
    from lev_plugins import checkpoints

    return checkpoints.config_of(checkpoints.load(Path(path), mmap=True), "task", "_name") == "text_labelling"
