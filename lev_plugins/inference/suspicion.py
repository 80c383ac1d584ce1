"""How much the deletion policy of a LevT would rather have each word of a draft go."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from fairseq import utils

from lev_plugins.errors import require
from lev_plugins.generators import RefinementGenerator
from lev_plugins.inference.decoder import CheckpointDecoder

__all__ = ["deletion_odds", "of_words"]


@torch.no_grad()
def deletion_odds(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[float] | None]:
    """For each sentence of ``split``, the log-odds of each token of its draft; None where it is too long."""
    generator = decoder.generator
    require(isinstance(generator, RefinementGenerator), "only a levt has a deletion policy: give its checkpoint")
    dataset = decoder.dataset(split)
    odds: list[list[float] | None] = [None] * len(dataset)
    for batch in decoder.batches(dataset, range(len(dataset)), max_tokens):
        sample = utils.move_to_cuda(dataset.collater([dataset[index] for index in batch]), decoder.device)
        require("draft" in sample["net_input"], "the data has no drafts: train the levt with --draft-lang")
        words = sample["net_input"]["draft"].ne(decoder.task.target_dictionary.pad())
        for index, row, real in zip(
            sample["id"].tolist(), generator.deletion_odds(sample["net_input"]), words, strict=True
        ):
            odds[index] = row[real].tolist()[1:-1]  # without <s> and </s>
    return odds


def of_words(odds: Sequence[float], pieces: Sequence[int]) -> list[float]:
    """Those of words, from those of their pieces: a word is as suspect as the most suspect of its pieces.

    >>> of_words([-2.0, 1.0, -3.0], [2, 1])
    [1.0, -3.0]
    """
    require(
        sum(pieces) == len(odds),
        f"a draft has {len(odds)} tokens, but its words have {sum(pieces)} pieces: give the text and the "
        "sentencepiece model that the data was made from",
    )
    found, start = [], 0
    for count in pieces:
        found.append(max(odds[start : start + count], default=-torch.inf))
        start += count
    return found
