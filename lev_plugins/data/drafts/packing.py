"""A draft's way to the editor: ids, what a person asked of them, and one row of source tokens for both.

``fairseq-interactive`` hands a task nothing but source tokens, so a line ``source<TAB>draft`` travels as one row,
the source and then the draft *packed*: a whole number a token, above every id, that holds its id and its request
(``lev_plugins.edits.requests``). To ``fairseq-generate`` those drafts come packed on which there are notes
(``lev_plugins.data.drafts.notes``).
"""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import data_utils
from torch import Tensor

from lev_plugins.errors import require

PACKED = 2**60  # a packed number is at least this, an id is below
REQUEST = 2**32  # ... and holds its request in this unit


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


def pack(ids: Tensor, requests: Tensor) -> Tensor:
    """Any shape of ids and of requests -> the same shape.

    >>> unpack(pack(torch.tensor([0, 11, 2]), torch.tensor([8, 17, 0])))
    (tensor([ 0, 11,  2]), tensor([ 8, 17,  0]))
    """
    return PACKED + requests * REQUEST + ids


def unpack(packed: Tensor) -> tuple[Tensor, Tensor]:
    return packed % REQUEST, (packed - PACKED) // REQUEST


def pack_words(dictionary: Any, words: list[str], requests: list[int]) -> Tensor:
    """A draft with both boundaries; the first of the requests is for ``<s>``, and nothing is asked of ``</s>``."""
    ids = [dictionary.bos(), *dictionary.ids(words), dictionary.eos()]
    return pack(torch.tensor(ids), torch.tensor([*requests, 0]))


def is_packed(tokens: Tensor) -> Tensor:
    return tokens.long() >= PACKED


def split(src_tokens: Tensor, bos: int, eos: int, pad: int, left_pad: bool) -> tuple[Tensor, Tensor | None]:
    """Source (B, S) and packed draft (B, N), or ``None`` where no row has one; rows without one get ``<s> </s>``.

    >>> draft = pack(torch.tensor([0, 21, 2]), torch.tensor([0, 17, 0]))
    >>> rows = torch.tensor([[0, 11, 2, *draft.tolist()], [0, 12, 13, 14, 2, 1]])
    >>> source, packed = split(rows, bos=0, eos=2, pad=1, left_pad=False)
    >>> source, *unpack(packed)
    (tensor([[ 0, 11,  2,  1,  1],
            [ 0, 12, 13, 14,  2]]), tensor([[ 0, 21,  2],
            [ 0,  2,  1]]), tensor([[ 0, 17,  0],
            [ 0,  0,  0]]))
    """
    drafted = is_packed(src_tokens)  # (B, S + N)
    if not bool(drafted.any()):
        return src_tokens, None
    nothing = pack(torch.tensor([bos, eos]), torch.zeros(2, dtype=torch.long)).to(src_tokens)
    sources = [row[~here & row.ne(pad)] for row, here in zip(src_tokens, drafted, strict=True)]
    drafts = [row[here] if bool(here.any()) else nothing for row, here in zip(src_tokens, drafted, strict=True)]
    return (
        data_utils.collate_tokens(sources, pad, left_pad=left_pad),
        data_utils.collate_tokens(drafts, PACKED + pad),
    )
