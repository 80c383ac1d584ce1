"""What a left-to-right model says when it reads the reference instead of its own output (teacher forcing)."""

from __future__ import annotations

import torch

from lev_plugins.inference.decoder import CheckpointDecoder


@torch.no_grad()
def forced_tokens(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[int] | None]:
    """For each sentence, the likeliest token in each place of its reference; None if it is too long for the model.

    Each is chosen after the right tokens, so the output is as long as the reference. Without </s>.
    """
    dataset, (model,) = decoder.dataset(split), decoder.models
    pad, eos = decoder.task.target_dictionary.pad(), decoder.task.target_dictionary.eos()
    said: list[list[int] | None] = [None] * len(dataset)
    for sample in decoder.samples(dataset, range(len(dataset)), max_tokens):
        output = model(**sample["net_input"])
        likeliest = model.get_normalized_probs(output, log_probs=True, sample=sample).argmax(-1)  # (B, T)
        words = sample["target"].ne(pad) & sample["target"].ne(eos)
        for index, row, inside in zip(sample["id"].tolist(), likeliest, words, strict=True):
            said[index] = row[inside].tolist()
    return said
