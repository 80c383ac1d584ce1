"""A model folder or a checkpoint that edits or labels texts; torch is loaded only where one needs it."""

from pathlib import Path

from lev_plugins.editor.editor import Editor
from lev_plugins.editor.labeller import Labeller
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.utils import compatibility, model_folder
from lev_plugins.utils.errors import require

LABELLING = "text_labelling"  # all other tasks are those of editors


def load(path: str | Path, data: str | Path | None, options: EditOptions | LabelOptions | None) -> Editor | Labeller:
    """Loads an editor or a labeller, as ``lev_plugins.load`` describes it."""
    path = model_folder.model_path(path)
    kind, labels = type(options).__name__, task_of(path) == LABELLING
    suits = options is None or isinstance(options, LabelOptions if labels else EditOptions)
    require(suits, f"{path} {'labels' if labels else 'edits'} texts: load it without {kind}")
    if labels:
        return Labeller.load(path, data, options if isinstance(options, LabelOptions) else LabelOptions())
    return Editor.load(path, data, options if isinstance(options, EditOptions) else EditOptions())


def task_of(path: str | Path) -> str:
    """Returns the --task that a model was trained with."""
    if model_folder.is_model_folder(path):
        return model_folder.read_unchecked(path).task
    compatibility.require_training()
    from lev_plugins.training import checkpoints

    return str(checkpoints.config_of(checkpoints.load(Path(path), mmap=True), "task", "_name"))
