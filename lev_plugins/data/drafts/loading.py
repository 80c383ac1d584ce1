"""The drafts of a split, joined in the same way as fairseq joins their pairs."""

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

    fairseq joins the parts train, train1, train2, ... and repeats the first --upsample-primary times; so are the
    drafts. A part without drafts starts from nothing, but at least one part must have drafts. ``draft`` and ``target``
    are suffixes: the files come from fairseq-preprocess -s DRAFT -t TARGET --only-source, or from lev-plugins prepare,
    which may add notes.
    """
    below = pair.src.dataset  # without <s>
    parts, ratios = parts_of(below)
    check_dictionary(folder, draft, target, words)
    names = [f"{split}{number or ''}" for number in range(len(parts))]
    prefixes = [os.path.join(folder, f"{name}.{draft}-{target}.{draft}") for name in names]
    drafts_of_parts = [data_utils.load_indexed_dataset(prefix, words, impl) for prefix in prefixes]
    require(
        any(part is not None for part in drafts_of_parts), f"--draft-lang {draft}: there is no file {prefixes[0]}.bin"
    )
    fitted = [
        with_notes(prefix, PrependTokenDataset(fitting(name, drafts, len(part), words.eos()), words.bos()), words)
        for name, prefix, drafts, part in zip(names, prefixes, drafts_of_parts, parts, strict=True)
    ]
    return ConcatDataset(fitted, ratios) if len(fitted) > 1 else fitted[0]


def parts_of(dataset: FairseqDataset) -> tuple[list[FairseqDataset], list[int]]:
    """train, train1, ... as fairseq joined them, and how often it repeats each."""
    return (dataset.datasets, dataset.sample_ratios) if isinstance(dataset, ConcatDataset) else ([dataset], [1])


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
    """``fairseq-preprocess`` writes a dictionary for the drafts, ``lev-plugins prepare`` only that of the target."""
    path = os.path.join(folder, f"dict.{draft}.txt")
    if os.path.exists(path):
        require(
            Dictionary.load(path) == words,
            f"--draft-lang {draft}: the drafts were binarised with {path}, but must use the dictionary of the target, "
            f"dict.{target}.txt: use lev-plugins prepare, or fairseq-preprocess with that as --srcdict",
        )
