"""The drafts of a split, put together as fairseq puts together the pairs they belong to."""

from __future__ import annotations

import logging
import os

import numpy as np
import torch
from fairseq.data import (
    ConcatDataset,
    Dictionary,
    FairseqDataset,
    LanguagePairDataset,
    ListDataset,
    PrependTokenDataset,
    data_utils,
)

from lev_plugins.errors import require

logger = logging.getLogger(__name__)

Sides = tuple[str, str, str]  # suffixes of source, target and draft


def load_drafts(
    pair: LanguagePairDataset, folder: str, split: str, sides: Sides, target: Dictionary, impl: str | None
) -> PrependTokenDataset:
    """One draft for each example of ``pair``, whose sides already begin with <s>.

    fairseq strings together the parts train, train1, train2, ... and repeats the first --upsample-primary times; the
    drafts follow it part by part. A part without drafts starts from nothing, but one of them must have some.
    """
    below = pair.src.dataset  # what is under the <s>
    parts, ratios = (below.datasets, below.sample_ratios) if isinstance(below, ConcatDataset) else ([below], [1])
    names = [f"{split}{number or ''}" for number in range(len(parts))]
    check_dictionary(folder, sides, target)
    found = [load_part(folder, name, sides, target, impl) for name in names]
    expected = os.path.join(folder, f"{split}.{sides[2]}-{sides[1]}.{sides[2]}.bin")
    require(any(drafts is not None for drafts in found), f"--draft-lang {sides[2]}: there are no drafts {expected}")
    fitted = [
        fitting(name, drafts, len(part), target.eos()) for name, drafts, part in zip(names, found, parts, strict=True)
    ]
    return PrependTokenDataset(ConcatDataset(fitted, ratios) if len(fitted) > 1 else fitted[0], target.bos())


def load_part(folder: str, name: str, sides: Sides, target: Dictionary, impl: str | None) -> FairseqDataset | None:
    """Under the name that ``fairseq-preprocess -s DRAFT -t TARGET --only-source`` gives them."""
    _, other, draft = sides
    return data_utils.load_indexed_dataset(os.path.join(folder, f"{name}.{draft}-{other}.{draft}"), target, impl)


def fitting(name: str, drafts: FairseqDataset | None, lines: int, eos: int) -> FairseqDataset:
    if drafts is None:
        logger.info(f"{name} has no drafts: its {lines:,} examples start from nothing")
        return ListDataset([torch.tensor([eos])] * lines, np.ones(lines, dtype=np.int32))
    require(
        len(drafts) == lines,
        f"every source line needs one draft line, but {name} has {lines:,} source lines and {len(drafts):,} drafts",
    )
    return drafts


def check_dictionary(folder: str, sides: Sides, target: Dictionary) -> None:
    """``fairseq-preprocess`` leaves the dictionary of the drafts beside them, ``lev-plugins prepare`` has but one."""
    path = os.path.join(folder, f"dict.{sides[2]}.txt")
    if os.path.exists(path):
        require(
            Dictionary.load(path) == target,
            f"--draft-lang {sides[2]}: the drafts were binarised with {path}, but a draft is in the words of the "
            f"target, dict.{sides[1]}.txt: use lev-plugins prepare, or fairseq-preprocess with that as --srcdict",
        )
