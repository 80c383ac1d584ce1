"""The unknown words of a batch, which have borrowed ids, and how they are spelt."""

from __future__ import annotations

from typing import Any

import torch
from fairseq.data import Dictionary
from torch import Tensor

from lev_plugins.edits import BORROWED
from lev_plugins.text.spelling import Unknown, unknown_words


def joined_ids(examples: list[dict[str, Any]], sides: set[str], dictionary: Dictionary) -> dict[int, str]:
    """The unknown words of a batch by their ids; in place, ids of an example become ids of the batch.

    An example whose words have ids of its own says so in "unknown"; those of others are on loan from the dictionary.

    >>> examples = [{"source": torch.tensor([BORROWED, 4]), "unknown": {BORROWED: word}} for word in ("teh", "fo")]
    >>> list(joined_ids(examples, {"source"}, Dictionary()).values())
    ['teh', 'fo']
    >>> [(example["source"] - BORROWED).clamp(min=-1).tolist() for example in examples]
    [[0, -1], [1, -1]]
    """
    words: dict[int, str] = {}
    ids: dict[str, int] = {}
    for example in examples:
        own = example.get("unknown")
        for side in sides & example.keys():
            row = example[side]
            borrowed = row[row >= BORROWED].unique().tolist()
            if own is not None and borrowed:
                new = {i: ids.setdefault(own[i], BORROWED + len(ids)) for i in borrowed}
                example[side] = torch.tensor([new.get(i, i) for i in row.tolist()])
                words |= {new[i]: own[i] for i in borrowed}
            else:
                words |= {i: dictionary[i] for i in borrowed}
    return words


def lent_in(dictionary: Dictionary, buckets: int, *rows: Tensor | None) -> Unknown:
    """The words in ``rows`` that are on loan from the dictionary."""
    given = [row for row in rows if row is not None]
    ids = torch.cat([row[row >= BORROWED] for row in given]).unique().tolist()
    unknown = unknown_words({i: dictionary[i] for i in ids}, buckets)
    return Unknown(*(each.to(given[0].device) for each in unknown))
