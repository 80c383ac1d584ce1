"""Decoding with checkpoints of any task: of a data folder, or of segments of text that were not binarised."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.data import FairseqDataset
from fairseq.dataclass.configs import GenerationConfig

from lev_plugins.data.noisy import WITHOUT_NOISE
from lev_plugins.inference.load_model import read_models
from lev_plugins.model_folder import ModelConfig
from lev_plugins.tasks.pairs import WITHOUT_SCORES
from lev_plugins.text.edit_extraction import Segment

logger = logging.getLogger(__name__)

BOUNDARIES = 2
MANY_UNKNOWN = 0.5  # of all tokens


class CheckpointDecoder:
    """Checkpoints with the task of their training, but another data folder; or a model folder."""

    def __init__(
        self,
        paths: list[Path],
        overrides: dict[str, Any],
        search: dict[str, Any],
        device: str,
        fp16: bool = False,
        folder: ModelConfig | None = None,
    ):
        """``folder``: what the model folder says of itself, if it has been read."""
        # without the metrics and the noise of their own training
        self.loaded = read_models(paths, {**WITHOUT_SCORES, **WITHOUT_NOISE, **overrides}, folder=folder)
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
        """Batches of sentences of similar length; a sentence longer than ``max_tokens`` is a batch by itself."""
        fitting, _ = dataset.filter_indices_by_size(np.array(indices), self.max_positions)
        for batch in batches({index: dataset.num_tokens(index) for index in fitting}, fitting, max_tokens):
            yield self.sample(dataset, batch)

    def sample(self, dataset: FairseqDataset, batch: list[int]) -> dict[str, Any]:
        sample = dataset.collater([dataset[index] for index in batch])
        return utils.move_to_cuda(sample, self.device)  # despite its name, to any device

    def plain(self, tokens: list[int]) -> list[int]:
        words = self.task.target_dictionary
        return [token for token in tokens if token not in (words.bos(), words.pad(), words.eos())] + [words.eos()]


def batches(sizes: Any, indices: Iterable[int], max_tokens: int) -> Iterator[list[int]]:
    """Of similar sizes; what is longer than ``max_tokens`` is a batch by itself.

    >>> list(batches([3, 9, 2, 4], range(4), max_tokens=8))
    [[2, 0], [3], [1]]
    """
    batch: list[int] = []
    for index in sorted(indices, key=sizes.__getitem__):
        if batch and sizes[index] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class SegmentDecoder:
    """What the two kinds of ``SegmentModel`` share."""

    task: str
    drafts: bool

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        self.decoder, self.max_tokens, self.words = decoder, max_tokens, decoder.task.target_dictionary
        limits = decoder.max_positions if isinstance(decoder.max_positions, tuple) else (decoder.max_positions,)
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]
        self.warned = False

    def hypotheses(self, rows: list[Any], lengths: list[int]) -> list[dict[str, Any]]:
        dataset = self.decoder.task.build_dataset_for_inference(rows, lengths)
        best = dict(self.decoder.best(dataset, range(len(rows)), self.max_tokens))
        return [best[i] for i in range(len(rows))]

    def pieces(self, segment: Segment, written: list[int], origin: list[int | None]) -> list[str]:
        """A piece that was kept is spelt as in the segment, also where the dictionary does not know it."""
        return [
            self.words[i] if place is None else segment.pieces[place] for i, place in zip(written, origin, strict=True)
        ]

    def warn_of_unknown(self, segments: list[Segment]) -> None:
        """Once: text with so many unknown words was most likely made by another tokeniser than the model's.

        A model with spelling-aware words is made for unknown words.
        """
        if self.warned or getattr(self.decoder.task, "word_index", None):
            return
        pieces = [piece for segment in segments for piece in segment.pieces]
        unknown = sum(self.words.index(piece) < self.words.nspecial for piece in pieces)
        if unknown > MANY_UNKNOWN * len(pieces):
            self.warned = True
            logger.warning(
                f"{unknown:,} of the first {len(pieces):,} tokens are not in the model's dictionary: check that --bpe "
                "and its flags are those that its data was made with"
            )
