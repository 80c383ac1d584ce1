"""Decoding a data folder with checkpoints of any task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.data import FairseqDataset
from fairseq.dataclass.configs import GenerationConfig

from lev_plugins.data.noise_flags import WITHOUT_NOISE
from lev_plugins.inference.load_model import read_models
from lev_plugins.tasks.validation import WITHOUT_SCORES


class CheckpointDecoder:
    """Checkpoints with the task of their training, but another data folder; or a model folder."""

    def __init__(
        self, paths: list[Path], overrides: dict[str, Any], search: dict[str, Any], device: str, fp16: bool = False
    ):
        # without the metrics and the noise of their own training
        self.loaded = read_models(paths, {**WITHOUT_SCORES, **WITHOUT_NOISE, **overrides})
        self.models, self.task = self.loaded.models, self.loaded.task
        self.device = torch.device(device)
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
        """The output for each sentence, including </s>; None if the sentence is too long for the model."""
        best = self.best(dataset, indices, max_tokens)
        outputs = {index: self.plain(hypothesis["tokens"].tolist()) for index, hypothesis in best}
        return [outputs.get(index) for index in indices]

    def best(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The best hypothesis of each sentence that is not too long, in any order."""
        for sample in self.samples(dataset, indices, max_tokens):
            hypotheses = self.task.inference_step(self.generator, self.models, sample)
            for index, n_best in zip(sample["id"].tolist(), hypotheses, strict=True):
                yield index, n_best[0]

    def samples(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[dict[str, Any]]:
        for batch in self.batches(dataset, indices, max_tokens):
            sample = dataset.collater([dataset[index] for index in batch])
            yield utils.move_to_cuda(sample, self.device)  # despite its name, to any device

    def batches(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> list[Any]:
        """Batches of sentences of similar length; a sentence longer than ``max_tokens`` is a batch by itself."""
        by_length = np.array(sorted(indices, key=dataset.num_tokens))
        fitting, _ = dataset.filter_indices_by_size(by_length, self.max_positions)
        alone = [dataset.num_tokens(index) > max_tokens for index in fitting]
        together = [index for index, single in zip(fitting, alone, strict=True) if not single]
        batches = [[index] for index, single in zip(fitting, alone, strict=True) if single]
        if together:
            batches += dataset.batch_by_size(np.array(together), max_tokens=max_tokens, required_batch_size_multiple=1)
        return batches

    def plain(self, tokens: list[int]) -> list[int]:
        words = self.task.target_dictionary
        return [token for token in tokens if token not in (words.bos(), words.pad(), words.eos())] + [words.eos()]
