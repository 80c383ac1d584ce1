"""Rank candidates with an autoregressive model."""

from typing import Any

import torch
from fairseq.data import data_utils
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor


def rerank(model: Any, tgt_dict: Any, src_tokens: Tensor, groups: list[list[dict[str, Any]]]) -> None:
    """Replace the score of every hypothesis by the mean log-probability that ``model`` gives each of its tokens.

    ``groups`` holds the candidates of each source sentence. <s> is removed from the sources, because autoregressive
    models are trained without it.
    """
    pad, bos, eos = tgt_dict.pad(), tgt_dict.bos(), tgt_dict.eos()
    sources = [row[row.ne(pad) & row.ne(bos)] for row in src_tokens]
    hypotheses = [hypo for group in groups for hypo in group]
    targets = [tgt_dict.known(hypo["tokens"]) for hypo in hypotheses]
    sample = {
        "id": torch.arange(len(targets)),
        "net_input": {
            "src_tokens": data_utils.collate_tokens(
                [source for source, group in zip(sources, groups, strict=True) for _ in group], pad, left_pad=True
            ),
            "src_lengths": torch.tensor(
                [len(source) for source, group in zip(sources, groups, strict=True) for _ in group],
                device=src_tokens.device,
            ),
            "prev_output_tokens": data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True),
        },
        "target": data_utils.collate_tokens(targets, pad, eos),
    }
    scored = SequenceScorer(tgt_dict).generate([model], sample)
    for hypo, best in zip(hypotheses, scored, strict=True):
        hypo["score"] = best[0]["score"]
