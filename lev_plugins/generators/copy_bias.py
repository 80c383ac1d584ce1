"""Cautious correction: change the text only where the model is confident enough.

``CopyBiasEnsemble`` acts during search: at every step it raises the log-odds of the tokens that leave the rest of the
source unchanged. ``with_confidence`` acts after search: it compares an edited sentence with its source. Both work with
any model that fairseq's left-to-right search decodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from fairseq.sequence_generator import EnsembleModel
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor, nn

from lev_plugins.edits.copy_alignment import distances_after, distances_before, expected


class Copier:
    """Sources in the ids of the target's dictionary, with <unk> for words that it lacks."""

    def __init__(self, source: Dictionary, target: Dictionary):
        self.target = target
        words = [target.index(source[index]) for index in range(len(source))]
        self.words = None if source == target else torch.tensor(words)

    def __call__(self, src_tokens: Tensor) -> Tensor:
        """(B, S), padded on either side -> (B, S), padded on the right"""
        tokens = utils.convert_padding_direction(src_tokens, self.target.pad(), left_to_right=True)
        return tokens if self.words is None else self.words.to(tokens.device)[tokens]


@dataclass
class Followed:
    """The progress of each row's text through its source."""

    source: Tensor  # (R, S)
    distances: Tensor  # (R, S + 1)

    def select(self, rows: Tensor) -> Followed:
        return Followed(self.source.index_select(0, rows), self.distances.index_select(0, rows))

    def after(self, token: Tensor) -> Followed:
        return Followed(self.source, distances_after(self.distances, self.source, token))


class CopyBiasEnsemble(EnsembleModel):
    """An ensemble that adds ``bias`` to the log-odds of leaving the text unchanged, at every step.

    The Levenshtein alignment of the text so far with its source determines the tokens that do so (``edits.expected``),
    also after an edit. The result is a distribution: where the model is already sure to keep the text, the bias has
    almost no effect.
    """

    def __init__(self, models: list[nn.Module], bias: float, copier: Copier):
        super().__init__(models)
        self.bias, self.copier = bias, copier

    def forward_encoder(self, net_input: dict[str, Tensor]) -> list[Any]:
        source = self.copier(net_input["src_tokens"])
        return [*super().forward_encoder(net_input), Followed(source, distances_before(source))]

    def reorder_encoder_out(self, encoder_outs: list[Any], new_order: Tensor) -> list[Any]:
        return [*super().reorder_encoder_out(encoder_outs[:-1], new_order), encoder_outs[-1].select(new_order)]

    def forward_decoder(
        self, tokens: Tensor, encoder_outs: list[Any], incremental_states: list[Any], temperature: float = 1.0
    ) -> tuple[Tensor, Tensor | None]:
        if tokens.size(1) > 1:
            encoder_outs[-1] = encoder_outs[-1].after(tokens[:, -1])
        log_probs, attention = super().forward_decoder(tokens, encoder_outs, incremental_states, temperature)
        return biased(log_probs, encoder_outs[-1], self.copier.target.pad(), self.bias), attention


def biased(log_probs: Tensor, followed: Followed, pad: int, bias: float) -> Tensor:
    """Log-probabilities (R, V) with ``bias`` added to those of the expected tokens, normalised again."""
    next_tokens = expected(followed.distances, followed.source, pad)
    kept = torch.zeros_like(log_probs).scatter_add_(1, followed.source, next_tokens.type_as(log_probs))
    return (log_probs + bias * kept.gt(0)).log_softmax(1)


def with_confidence(
    models: list[nn.Module], sample: dict[str, Any], results: list[list[dict[str, Any]]], copier: Copier, least: float
) -> list[list[dict[str, Any]]]:
    """The hypotheses for each sentence of ``sample``; the first has its ``confidence`` compared with the source.

    That is 1 where nothing was edited. If it is below ``least``, the source is the first of as many hypotheses.
    Probabilities are of whole sentences, under the models' mean, without bias, temperature or length penalty.
    """
    pad = copier.target.pad()
    sources = [row[row.ne(pad)] for row in copier(sample["net_input"]["src_tokens"])]
    best = [hypotheses[0]["tokens"] for hypotheses in results]
    both = (scored(models, sample, rows, copier.target) for rows in (best, sources))
    cautious = []
    for hypotheses, edited, source in zip(results, *both, strict=True):
        confidence = 1.0 if torch.equal(edited["tokens"], source["tokens"]) else preference(edited, source)
        if confidence < least:
            others = [each for each in hypotheses if not torch.equal(each["tokens"], source["tokens"])]
            hypotheses = [source, *others][: len(hypotheses)]
        cautious.append([{**hypotheses[0], "confidence": confidence}, *hypotheses[1:]])
    return cautious


def preference(one: dict[str, Any], other: dict[str, Any]) -> float:
    """p(one) / (p(one) + p(other)), of whole sentences."""
    return float((one["positional_scores"].sum() - other["positional_scores"].sum()).sigmoid())


def scored(
    models: list[nn.Module], sample: dict[str, Any], rows: list[Tensor], dictionary: Dictionary
) -> list[dict[str, Any]]:
    """The sentences in ``rows`` as hypotheses, scored in one pass by fairseq's scorer."""
    source = {name: value for name, value in sample["net_input"].items() if name != "prev_output_tokens"}
    pad, eos = dictionary.pad(), dictionary.eos()
    previous = collate_tokens(rows, pad, eos, move_eos_to_beginning=True).to(sample["net_input"]["src_tokens"])
    target = collate_tokens(rows, pad).to(previous)
    given = {"net_input": {**source, "prev_output_tokens": previous}, "target": target}
    return [hypotheses[0] for hypotheses in SequenceScorer(dictionary).generate(models, given)]
