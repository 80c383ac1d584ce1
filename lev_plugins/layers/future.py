"""The copied future of Pseudo-Bidirectional Decoding: encoded sources and attention masks.

Shapes are those of ``models/pbd.py``: in beam search the decoder has R = B * beams rows, and values of a source are
kept once per sentence.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from lev_plugins.layers.transformer import KeysValues


class Source(NamedTuple):
    """The output of the encoder; beam search reorders only ``rows``."""

    states: list[Tensor]  # (B, S, C) each: the embedding, then the output of every block
    output: Tensor  # (B, S, C): the output of the encoder
    tokens: Tensor  # (B, S)
    rows: Tensor | None = None  # (R,) the sentence of each row of the decoder; None: one row per sentence


class Memory(NamedTuple):
    """Encoded sources for the decoder's blocks, once per sentence."""

    source: list[KeysValues]  # per block, for cross-attention
    future: list[KeysValues]  # per block, for self-attention; empty if nothing is copied
    places: Tensor  # (B, S) 1, 2, ... counted over the tokens of the source, 0 on padding
    mask: Tensor | None  # (B, 1, 1, S) True = may be attended to
    beams: int = 1  # consecutive rows of the decoder per sentence

    def select(self, rows: Tensor) -> "Memory":
        """The part for the decoder's ``rows`` (n,); rows of one sentence still share it."""
        sentences, beams = grouped((rows // self.beams).tolist())
        if sentences == list(range(self.places.size(0))):
            return self._replace(beams=beams)
        chosen = torch.tensor(sentences, device=rows.device)
        return Memory(
            [keys_values.select(chosen) for keys_values in self.source],
            [keys_values.select(chosen) for keys_values in self.future],
            self.places[chosen],
            None if self.mask is None else self.mask[chosen],
            beams,
        )


class Progress(NamedTuple):
    """What one step of decoding passes to the next."""

    memory: Memory
    generated: list[KeysValues]  # per block, of the tokens so far, (R, H, t, C / H)

    def select(self, rows: Tensor) -> "Progress":
        return Progress(self.memory.select(rows), [keys_values.select(rows) for keys_values in self.generated])


class Masks(NamedTuple):
    """Attention masks: True = may be attended to."""

    generated: Tensor | None  # (T, t) without a future, (R, 1, T, t + S) with one; None = everywhere
    source: Tensor | None  # (B, 1, 1, S)
    together: bool  # whether a block joins generated and copied positions, or attends to each separately


def grouped(sentences: Sequence[int]) -> tuple[list[int], int]:
    """Rows grouped by sentence, if all sentences have the same number of consecutive rows.

    >>> grouped([0, 0, 0, 2, 2, 2])
    ([0, 2], 3)
    >>> grouped([0, 0, 2])
    ([0, 0, 2], 1)
    """
    runs = [(sentence, len(list(run))) for sentence, run in groupby(sentences)]
    if len({length for _, length in runs}) == 1:
        return [sentence for sentence, _ in runs], runs[0][1]
    return list(sentences), 1


def generated_mask(start: int, stop: int, device: torch.device | None = None) -> Tensor:
    """Which inputs the decoder inputs start .. stop - 1 may attend to, (T, stop): the causal mask from row ``start``.

    >>> generated_mask(1, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(stop - start, stop, dtype=torch.bool, device=device).tril(start)


def future_mask(places: Tensor, start: int, stop: int) -> Tensor:
    """Which copied source tokens the decoder inputs start .. stop - 1 may attend to, (B, 1, T, S).

    Input t predicts output N = t + 1, whose pseudo-future is source tokens N + 1 to the end.

    >>> places = torch.tensor([[1, 2, 3, 4], [0, 0, 1, 2]])  # 0 = padding
    >>> future_mask(places, 0, 3)[:, 0].int()
    tensor([[[0, 1, 1, 1],
             [0, 0, 1, 1],
             [0, 0, 0, 1]],
    <BLANKLINE>
            [[0, 0, 0, 1],
             [0, 0, 0, 0],
             [0, 0, 0, 0]]], dtype=torch.int32)
    """
    outputs = torch.arange(start + 1, stop + 1, device=places.device)[:, None]  # (T, 1)
    return places[:, None, None, :] > outputs


def join_masks(generated: Tensor, future: Tensor) -> Tensor:
    """The pseudo-bidirectional mask: (T, T) and (B, 1, T, S) -> (B, 1, T, T + S)."""
    return torch.cat([generated.expand(future.size(0), 1, -1, -1), future], 3)
