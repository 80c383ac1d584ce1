"""A draft's way through ``fairseq-interactive``, which hands a task nothing but source tokens.

A line ``source<TAB>draft`` travels as one row, ``source </s> <s> draft </s>``, and is taken apart before decoding.
``<s>`` cannot be typed, so an ordinary source never contains it past its first place.
"""

from __future__ import annotations

import torch
from fairseq.data import data_utils
from torch import Tensor

from lev_plugins.errors import require


def split_line(line: str) -> tuple[str, str | None]:
    """``source`` or ``source<TAB>draft``.

    >>> split_line("ein Haus\\ta hose"), split_line("ein Haus")
    (('ein Haus', 'a hose'), ('ein Haus', None))
    """
    parts = line.split("\t")
    require(
        len(parts) <= 2,
        f"an input line is `source` or `source<TAB>draft`, but this one has {len(parts) - 1} TABs: {line!r}",
    )
    return parts[0], parts[1] if len(parts) == 2 else None


def join(source: Tensor, draft: Tensor, bos: int) -> Tensor:
    return torch.cat([source, source.new_tensor([bos]), draft])


def split(src_tokens: Tensor, bos: int, eos: int, pad: int, left_pad: bool) -> tuple[Tensor, Tensor | None]:
    """Source (B, S) and draft (B, N), or ``None`` where no row has one; rows without one get ``<s> </s>``.

    >>> rows = torch.tensor([[0, 11, 2, 0, 21, 2], [0, 12, 13, 14, 2, 1]])
    >>> split(rows, bos=0, eos=2, pad=1, left_pad=False)
    (tensor([[ 0, 11,  2,  1,  1],
            [ 0, 12, 13, 14,  2]]), tensor([[ 0, 21,  2],
            [ 0,  2,  1]]))
    """
    starts = src_tokens.eq(bos)
    if int(starts.sum(1).max()) < 2:
        return src_tokens, None
    sources, drafts = [], []
    for row in src_tokens:
        row = row[row.ne(pad)]
        cut = row.eq(bos).nonzero()[:, 0].tolist()
        end = cut[1] if len(cut) > 1 else row.numel()
        sources.append(row[:end])
        drafts.append(row[end:] if len(cut) > 1 else row.new_tensor([bos, eos]))
    return (
        data_utils.collate_tokens(sources, pad, left_pad=left_pad),
        data_utils.collate_tokens(drafts, pad),
    )
