"""Labels by an enct5 in torch."""

from pathlib import Path

import numpy as np
import torch
from fairseq.utils import move_to_cuda

from lev_plugins import checkpoints
from lev_plugins.criterions.labelling import answers_of
from lev_plugins.data.labels.dataset import targets
from lev_plugins.data.labels.examples import Example
from lev_plugins.inference.load_model import read_models, torch_device
from lev_plugins.inference.scorer import BATCH, Scorer
from lev_plugins.model_folder import ModelConfig, moved_folders
from lev_plugins.models.enct5 import EncT5
from lev_plugins.tasks.text_labelling import TextLabellingTask
from lev_plugins.text.ids import Array


class TaskScorer(Scorer):
    """Scores labels with a checkpoint."""

    def __init__(self, task: TextLabellingTask, model: EncT5, device: str = "cpu") -> None:
        super().__init__(task.info, task.dictionary, task.labels, task.folder)
        checkpoints.require_finite_weights(model)
        self.task, self.device = task, torch_device(device)
        self.model = model.to(self.device).eval()
        self.interaction = model.decoder.interaction
        task.prepare_for_decoding([model])

    @classmethod
    def load(cls, path: Path, data: str | Path | None, device: str, folder: ModelConfig | None) -> "TaskScorer":
        loaded = read_models([path], {"pack": False, **moved_folders(data)}, ["text_labelling"], folder)
        return cls(loaded.task, loaded.models[0], device)

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        dataset = self.task.dataset_of(examples, labels=labels)
        sample = move_to_cuda(dataset.collater([dataset[i] for i in range(len(dataset))]), self.device)  # to any device
        with torch.no_grad():
            scores = answers_of(self.model(**sample["net_input"]).logits.float(), self.info.kind).cpu().numpy()
        order = sample["id"].tolist()  # rows with several examples have them in another order
        by_index = dict(zip(order, self.split_by_example(scores, [examples[i] for i in order]), strict=True))
        return [by_index[i] for i in range(len(examples))]

    def of_part(self, part: str, labels: tuple[int, ...] = (), size: int = BATCH) -> tuple[Array, Array]:
        """Returns the truth and the scores (n, L) of a binarised part, for all labels or for these ids."""
        self.task.load_dataset(part)
        examples = self.task.datasets[part].examples
        request = self.task.dataset_of(examples, labels=labels).request
        return targets(examples, request).numpy(), np.stack(self.scores(examples, labels, size))
