"""Cautious correction: change the text only where the model is confident enough.

``CopyBiasEnsemble`` acts during search: at every step it raises the log-odds of the tokens that leave the rest of the
source unchanged. ``with_edit_confidence`` acts after search: it compares an edited sentence with its source. Both work
with any model that fairseq's left-to-right search decodes.

Shapes: B sentences, R hypotheses, S source length, V vocabulary.
"""

from typing import Any, NamedTuple

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.sequence_generator import EnsembleModel
from torch import Tensor, nn

from lev_plugins.edits.copy_alignment import distances_after, distances_before, expected_tokens
from lev_plugins.training.batch import Batch, Hypothesis
from lev_plugins.training.scores import score_sentences


def target_ids(source: Dictionary, target: Dictionary) -> Tensor:
    """Returns the target's id of each symbol of the source's dictionary, or <unk>: (V_source,)."""
    is_shared = source == target
    return torch.tensor([i if is_shared else target.index(symbol) for i, symbol in enumerate(source.symbols)])


class SourceInTargetIds:
    """Translates sources into the ids of the target's dictionary, with <unk> for words that it lacks."""

    def __init__(self, source: Dictionary, target: Dictionary) -> None:
        self.target = target
        self.ids = None if source == target else target_ids(source, target)

    def __call__(self, src_tokens: Tensor) -> Tensor:
        """Returns the ids of sources (B, S), padded on either side; the result is padded on the right."""
        tokens = utils.convert_padding_direction(src_tokens, self.target.pad(), left_to_right=True)
        return tokens if self.ids is None else self.ids.to(tokens.device)[tokens]


class SourceProgress(NamedTuple):
    """How far each hypothesis has progressed through its source (``edits.copy_alignment``)."""

    source: Tensor  # (R, S)
    distances: Tensor  # (R, S + 1)


Encoded = Any  # an encoder's output; in the list of these, one per model, the last entry is a ``SourceProgress``


class CopyBiasEnsemble(EnsembleModel):
    """An ensemble that adds ``bias`` to the log-odds of leaving the text unchanged, at every step.

    The Levenshtein alignment of a hypothesis with its source determines the tokens that do so, also after an edit. The
    result is a distribution: where the model is already sure to copy, the bias has almost no effect.
    """

    def __init__(self, models: list[nn.Module], bias: float, source_in_target_ids: SourceInTargetIds) -> None:
        super().__init__(models)
        self.bias, self.source_in_target_ids = bias, source_in_target_ids

    def forward_encoder(self, net_input: dict[str, Tensor]) -> list[Encoded]:
        source = self.source_in_target_ids(net_input["src_tokens"])
        return [*super().forward_encoder(net_input), SourceProgress(source, distances_before(source))]

    def reorder_encoder_out(self, encoder_outs: list[Encoded], new_order: Tensor) -> list[Encoded]:
        progress = SourceProgress(*(rows.index_select(0, new_order) for rows in encoder_outs[-1]))
        return [*super().reorder_encoder_out(encoder_outs[:-1], new_order), progress]

    def forward_decoder(
        self, tokens: Tensor, encoder_outs: list[Encoded], incremental_states: list[object], temperature: float = 1.0
    ) -> tuple[Tensor, Tensor | None]:
        if tokens.size(1) > 1:
            source, distances = encoder_outs[-1]
            encoder_outs[-1] = SourceProgress(source, distances_after(distances, source, tokens[:, -1]))
        log_probs, attention = super().forward_decoder(tokens, encoder_outs, incremental_states, temperature)
        return add_copy_bias(log_probs, encoder_outs[-1], self.source_in_target_ids.target.pad(), self.bias), attention


def add_copy_bias(log_probs: Tensor, progress: SourceProgress, pad: int, bias: float) -> Tensor:
    """Returns log-probabilities (R, V) with ``bias`` added to those of the expected tokens, normalised again."""
    is_expected = expected_tokens(progress.distances, progress.source, pad)
    counts = torch.zeros_like(log_probs).scatter_add_(1, progress.source, is_expected.type_as(log_probs))
    # a token that is expected at several source positions gets the bias once
    return (log_probs + bias * counts.gt(0)).log_softmax(1)


def with_edit_confidence(
    models: list[nn.Module],
    sample: Batch,
    results: list[list[Hypothesis]],
    source_in_target_ids: SourceInTargetIds,
    min_confidence: float,
) -> list[list[Hypothesis]]:
    """Returns the hypotheses of each sentence, the source first where the best edit is not confident enough.

    The first hypothesis gets the key ``confidence``: p(edit) / (p(edit) + p(source)), where the edit is the best result
    of the search, even if it is rejected; 1 if the edit is the source. Below ``min_confidence``, the edit is rejected:
    the source, in ids of the target's dictionary, becomes the first hypothesis. Probabilities are of whole sentences,
    under the mean of the models, without bias, temperature or length penalty.
    """
    pad = source_in_target_ids.target.pad()
    source_rows = [row[row.ne(pad)] for row in source_in_target_ids(sample["net_input"]["src_tokens"])]
    best_rows = [hypotheses[0]["tokens"] for hypotheses in results]
    edits, sources = (
        score_sentences(models, sample, rows, source_in_target_ids.target) for rows in (best_rows, source_rows)
    )
    cautious: list[list[Hypothesis]] = []
    for hypotheses, edit, source in zip(results, edits, sources, strict=True):
        log_odds = edit["positional_scores"].sum() - source["positional_scores"].sum()
        confidence = 1.0 if torch.equal(edit["tokens"], source["tokens"]) else float(log_odds.sigmoid())
        if confidence < min_confidence:
            edited = [hyp for hyp in hypotheses if not torch.equal(hyp["tokens"], source["tokens"])]
            hypotheses = [source, *edited][: len(hypotheses)]
        cautious.append([{**hypotheses[0], "confidence": confidence}, *hypotheses[1:]])
    return cautious
