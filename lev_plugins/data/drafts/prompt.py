"""Lines typed at ``fairseq-interactive``: ``source``, or ``source<TAB>draft``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from fairseq.data import Dictionary, LanguagePairDataset, ListDataset
from torch import Tensor

from lev_plugins.data.drafts.dataset import TextEditingDataset
from lev_plugins.data.drafts.dictionary import Draft
from lev_plugins.errors import require


def split_line(line: str) -> tuple[str, str | None]:
    """``source`` or ``source<TAB>draft``.

    >>> split_line("ein Haus\\ta hose"), split_line("ein Haus")
    (('ein Haus', 'a hose'), ('ein Haus', None))
    """
    parts = line.split("\t")
    require(
        len(parts) <= 2,
        f"an input line must be `source` or `source<TAB>draft`, but this one has {len(parts) - 1} TABs: {line!r}",
    )
    return parts[0], parts[1] if len(parts) == 2 else None


class TypedLines(TextEditingDataset):
    """The batches of ``fairseq-interactive``, which passes on only the source and a tensor called ``constraints``.

    In fairseq, constraints are what follows a TAB. Here that is the draft: (2, B, N), its ids and requests.
    """

    def __init__(
        self,
        rows: list[tuple[Tensor, Draft]],  # sources without <s>, and their drafts
        source: Dictionary,
        target: Dictionary,
        left_pad_source: bool,
    ):
        bos = torch.tensor([source.bos()])
        sources, drafts = [torch.cat([bos, row]) for row, _ in rows], [draft for _, draft in rows]
        lengths = [len(row) for row in sources]
        pair = LanguagePairDataset(sources, lengths, source, tgt_dict=target, left_pad_source=left_pad_source)
        # no sizes: generators refuse drafts that are too long, with the right number, which fairseq does not know
        super().__init__(pair, ListDataset(drafts, np.zeros(len(drafts), dtype=int)))

    def collater(self, examples: list[dict[str, Any]], pad_to_length: Any = None) -> dict[str, Any]:
        batch = super().collater(examples, pad_to_length)
        return {**batch, "constraints": torch.stack([batch["notes"]["draft"], batch["notes"]["requests"]])}
