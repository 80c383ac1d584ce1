"""Labels by an enct5 in torch."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.utils import move_to_cuda

from lev_plugins import checkpoints
from lev_plugins.criterions.labelling import answers_of
from lev_plugins.data.labels.dataset import targets
from lev_plugins.data.labels.examples import Example
from lev_plugins.inference.load_model import read_models
from lev_plugins.inference.scorer import BATCH, Scorer
from lev_plugins.model_folder import ModelConfig, moved_folders
from lev_plugins.models.enct5 import EncT5
from lev_plugins.tasks.text_labelling import TextLabellingTask


class TaskScorer(Scorer):
    def __init__(self, task: TextLabellingTask, model: EncT5, device: str = "cpu"):
        super().__init__(task.info, task.dictionary, task.labels, task.folder)
        checkpoints.require_finite_weights(model)
        self.task, self.device, self.model = task, torch.device(device), model.to(device).eval()
        self.interaction = model.decoder.interaction
        task.prepare_for_decoding([model])

    @classmethod
    def load(
        cls, path: Path, data: str | Path | None, device: str, cpu_int8: bool, folder: ModelConfig | None
    ) -> "TaskScorer":
        overrides = {"pack": False, "cpu_int8": cpu_int8, **moved_folders(data)}
        loaded = read_models([path], overrides, ["text_labelling"], folder)
        return cls(loaded.task, loaded.models[0], device)

    def batch(self, examples: list[Example], asked: tuple[int, ...]) -> list[Any]:
        dataset = self.task.dataset_of(examples, labels=asked)
        sample = move_to_cuda(dataset.collater([dataset[i] for i in range(len(dataset))]), self.device)  # to any device
        with torch.no_grad():
            scored = answers_of(self.model(**sample["net_input"]).logits.float(), self.info.kind).cpu().numpy()
        places = sample["id"].tolist()  # where rows hold several examples, in another order
        found = dict(zip(places, self.apart(scored, [examples[i] for i in places]), strict=True))
        return [found[i] for i in range(len(examples))]

    def of_part(self, part: str, asked: tuple[int, ...] = (), size: int = BATCH) -> tuple[Any, Any]:
        """Truth and scores (n, L) of a binarised part, of all labels or of those of interest."""
        self.task.load_dataset(part)
        examples = self.task.datasets[part].examples
        request = self.task.dataset_of(examples, labels=asked).request
        return targets(examples, request).numpy(), np.stack(self.scores(examples, asked, size))
