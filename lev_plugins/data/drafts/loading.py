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

from lev_plugins.data.drafts.dictionary import EditingDictionary
from lev_plugins.data.drafts.notes import with_notes
from lev_plugins.errors import require

logger = logging.getLogger(__name__)


def load_drafts(
    pair: LanguagePairDataset,
    folder: str,
    split: str,
    draft: str,
    target: str,
    words: EditingDictionary,
    impl: str | None,
) -> FairseqDataset:
    """One draft for each example of ``pair``, whose sides already begin with <s>.

    fairseq strings together the parts train, train1, train2, ... and repeats the first --upsample-primary times; the
    drafts follow it part by part. A part without drafts starts from nothing, but one of them must have some.
    ``draft`` and ``target`` are suffixes: fairseq-preprocess -s DRAFT -t TARGET --only-source made the files, or
    lev-plugins prepare, which may leave notes beside them.
    """
    below = pair.src.dataset  # what is under the <s>
    parts, ratios = (below.datasets, below.sample_ratios) if isinstance(below, ConcatDataset) else ([below], [1])
    check_dictionary(folder, draft, target, words)
    names = [f"{split}{number or ''}" for number in range(len(parts))]
    prefixes = [os.path.join(folder, f"{name}.{draft}-{target}.{draft}") for name in names]
    found = [data_utils.load_indexed_dataset(prefix, words, impl) for prefix in prefixes]
    require(any(part is not None for part in found), f"--draft-lang {draft}: there are no drafts {prefixes[0]}.bin")
    fitted = [
        with_notes(prefix, PrependTokenDataset(fitting(name, drafts, len(part), words.eos()), words.bos()), words)
        for name, prefix, drafts, part in zip(names, prefixes, found, parts, strict=True)
    ]
    return ConcatDataset(fitted, ratios) if len(fitted) > 1 else fitted[0]


def fitting(name: str, drafts: FairseqDataset | None, lines: int, eos: int) -> FairseqDataset:
    if drafts is None:
        logger.info(f"{name} has no drafts: its {lines:,} examples start from nothing")
        return ListDataset([torch.tensor([eos])] * lines, np.ones(lines, dtype=np.int32))
    require(
        len(drafts) == lines,
        f"every source line needs one draft line, but {name} has {lines:,} source lines and {len(drafts):,} drafts",
    )
    return drafts


def check_dictionary(folder: str, draft: str, target: str, words: Dictionary) -> None:
    """``fairseq-preprocess`` leaves the dictionary of the drafts beside them, ``lev-plugins prepare`` has but one."""
    path = os.path.join(folder, f"dict.{draft}.txt")
    if os.path.exists(path):
        require(
            Dictionary.load(path) == words,
            f"--draft-lang {draft}: the drafts were binarised with {path}, but a draft is in the words of the target, "
            f"dict.{target}.txt: use lev-plugins prepare, or fairseq-preprocess with that as --srcdict",
        )
