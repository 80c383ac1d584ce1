"""What a left-to-right model says when it reads the reference instead of its own output (teacher forcing)."""

from __future__ import annotations

import torch
from fairseq import utils

from lev_plugins.inference.decoder import CheckpointDecoder

__all__ = ["forced_tokens"]


@torch.no_grad()
def forced_tokens(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[int] | None]:
    """For each sentence, the likeliest token in each place of its reference; None if it is too long for the model.

    Each is chosen after the right tokens, so the output is as long as the reference. Without </s>.
    """
    dataset, (model,) = decoder.dataset(split), decoder.models
    pad, eos = decoder.task.target_dictionary.pad(), decoder.task.target_dictionary.eos()
    found: list[list[int] | None] = [None] * len(dataset)
    for batch in decoder.batches(dataset, range(len(dataset)), max_tokens):
        sample = utils.move_to_cuda(dataset.collater([dataset[index] for index in batch]), decoder.device)
        output = model(**sample["net_input"])
        likeliest = model.get_normalized_probs(output, log_probs=True, sample=sample).argmax(-1)  # (B, T)
        words = sample["target"].ne(pad) & sample["target"].ne(eos)
        for index, row, real in zip(sample["id"].tolist(), likeliest, words, strict=True):
            found[index] = row[real].tolist()
    return found
