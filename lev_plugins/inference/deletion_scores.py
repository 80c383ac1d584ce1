"""How likely the deletion policy of a LevT is to delete each word of a draft."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from lev_plugins.errors import require
from lev_plugins.generators import RefinementGenerator
from lev_plugins.inference.decoder import CheckpointDecoder


def deletion_odds(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[float] | None]:
    """For each sentence of ``split``, the log-odds of each token of its draft; None where it is too long."""
    generator = decoder.generator
    require(isinstance(generator, RefinementGenerator), "only a levt has a deletion policy: give its checkpoint")
    dataset = decoder.dataset(split)
    odds: list[list[float] | None] = [None] * len(dataset)
    for sample in decoder.samples(dataset, range(len(dataset)), max_tokens):
        require("draft" in sample["net_input"], "the data has no drafts: train the levt with --draft-lang")
        words = sample["net_input"]["draft"].ne(decoder.task.target_dictionary.pad())
        of_tokens = generator.deletion_odds(sample["net_input"])
        for index, row, inside in zip(sample["id"].tolist(), of_tokens, words, strict=True):
            odds[index] = row[inside].tolist()[1:-1]  # without <s> and </s>
    return odds


def of_words(odds: Sequence[float], pieces: Sequence[int]) -> list[float] | None:
    """Those of words, from those of their pieces: a word is as suspect as the most suspect of its pieces.

    None if the words have other pieces than the draft, or none, as where a tokeniser drops a control character.

    >>> of_words([-2.0, 1.0, -3.0], [2, 1])
    [1.0, -3.0]
    >>> of_words([-2.0, 1.0, -3.0], [1, 1])
    """
    if sum(pieces) != len(odds) or 0 in pieces:
        return None
    ends = list(accumulate(pieces))
    return [max(odds[end - count : end]) for end, count in zip(ends, pieces, strict=True)]
