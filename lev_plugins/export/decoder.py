"""Checkpoints that decode a binarised data folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TypeVar

import numpy as np
import torch
from fairseq import utils
from fairseq.data import FairseqDataset
from fairseq.dataclass.configs import GenerationConfig

from lev_plugins.editor.segments import batches
from lev_plugins.export.load_model import read_checkpoints
from lev_plugins.text.ids import BOS, EOS, PAD
from lev_plugins.training.batch import Batch, Hypothesis
from lev_plugins.training.noisy import WITHOUT_NOISE
from lev_plugins.training.pairs import WITHOUT_SCORES

Sample = TypeVar("Sample")  # tensors in dictionaries and lists, such as a batch


class CheckpointDecoder:
    """An ensemble of checkpoints, with the task of their training."""

    def __init__(
        self,
        paths: list[Path],
        overrides: Mapping[str, object],
        search: Mapping[str, object],
        device: str,
        fp16: bool = False,
    ) -> None:
        """
        paths: the checkpoints
        overrides: flags of the task, such as another data folder
        search: fairseq's flags of generation
        device: of torch
        fp16: compute in half precision
        """
        # without the metrics and the noise of their own training
        loaded = read_checkpoints(paths, {**WITHOUT_SCORES, **WITHOUT_NOISE, **overrides})
        self.models, self.task, self.device = loaded.models, loaded.task, torch.device(device)
        options = GenerationConfig(**search)
        for model in self.models:
            model.eval().to(self.device, torch.half if fp16 else None)
            model.prepare_for_inference_(SimpleNamespace(generation=options))
        self.generator = self.task.build_generator(self.models, options)
        self.max_positions = utils.resolve_max_positions(
            self.task.max_positions(), *(model.max_positions() for model in self.models)
        )

    def dataset(self, split: str) -> FairseqDataset:
        self.task.load_dataset(split)
        return self.task.dataset(split)

    def write(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> list[list[int] | None]:
        """Returns the output for each sentence, with </s>; None if the sentence is too long for the model."""
        best = self.best(dataset, indices, max_tokens)
        plain = {index: [i for i in hyp["tokens"].tolist() if i not in (BOS, PAD, EOS)] for index, hyp in best}
        return [[*plain[index], EOS] if index in plain else None for index in indices]

    def best(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[tuple[int, Hypothesis]]:
        """Yields the best hypothesis of each sentence that is not too long, in any order."""
        for sample in self.samples(dataset, indices, max_tokens):
            hypotheses = self.task.inference_step(self.generator, self.models, sample)
            for index, n_best in zip(sample["id"].tolist(), hypotheses, strict=True):
                yield index, n_best[0]

    def samples(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[Batch]:
        """Yields batches of sentences of similar length; one longer than ``max_tokens`` is a batch by itself."""
        fitting, _ = dataset.filter_indices_by_size(np.array(indices), self.max_positions)
        for batch in batches({index: dataset.num_tokens(index) for index in fitting}, fitting, max_tokens):
            sample = dataset.collater([dataset[index] for index in batch])
            yield to_device(sample, self.device)


def to_device(sample: Sample, device: torch.device) -> Sample:
    return utils.move_to_cuda(sample, device)  # despite its name, to any device
