"""Rank candidates with an autoregressive model."""

from typing import Any

import torch
from fairseq.data import data_utils
from torch import Tensor

from lev_plugins.generators.copy_bias import scored


def rerank(model: Any, tgt_dict: Any, src_tokens: Tensor, groups: list[list[dict[str, Any]]]) -> None:
    """Replace the score of every hypothesis by the mean log-probability that ``model`` gives each of its tokens.

    ``groups`` holds the candidates of each source sentence. <s> is removed from the sources, because autoregressive
    models are trained without it.
    """
    pad, bos = tgt_dict.pad(), tgt_dict.bos()
    sources = [row[row.ne(pad) & row.ne(bos)] for row in src_tokens]
    sources = [source for source, group in zip(sources, groups, strict=True) for _ in group]
    net_input = {
        "src_tokens": data_utils.collate_tokens(sources, pad, left_pad=True),
        "src_lengths": torch.tensor([len(source) for source in sources], device=src_tokens.device),
    }
    hypotheses = [hypo for group in groups for hypo in group]
    targets = [tgt_dict.unknown_to_unk(hypo["tokens"]) for hypo in hypotheses]
    for hypo, best in zip(hypotheses, scored([model], {"net_input": net_input}, targets, tgt_dict), strict=True):
        hypo["score"] = best["score"]
