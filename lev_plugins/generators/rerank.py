"""Ranking of candidates by an autoregressive model."""

import torch
from fairseq.data import data_utils
from torch import Tensor, nn

from lev_plugins.data.batch import Hypothesis, NetInput
from lev_plugins.generators.copy_bias import score_sentences
from lev_plugins.spelling.batch_words import EditingDictionary


def rerank(model: nn.Module, tgt_dict: EditingDictionary, src_tokens: Tensor, groups: list[list[Hypothesis]]) -> None:
    """Replaces the score of every hypothesis by the mean log-probability that ``model`` gives its tokens.

    ``groups`` holds the candidates of each source sentence. <s> is removed from the sources, because autoregressive
    models are trained without it.
    """
    pad, bos = tgt_dict.pad(), tgt_dict.bos()
    sources = [row[row.ne(pad) & row.ne(bos)] for row in src_tokens]
    sources = [source for source, group in zip(sources, groups, strict=True) for _ in group]
    net_input: NetInput = {
        "src_tokens": data_utils.collate_tokens(sources, pad, left_pad=True),
        "src_lengths": torch.tensor([len(source) for source in sources], device=src_tokens.device),
    }
    hypotheses = [hypothesis for group in groups for hypothesis in group]
    targets = [tgt_dict.unknown_to_unk(hypothesis["tokens"]) for hypothesis in hypotheses]
    results = score_sentences([model], {"net_input": net_input}, targets, tgt_dict)
    for hypothesis, result in zip(hypotheses, results, strict=True):
        hypothesis["score"] = result["score"]
