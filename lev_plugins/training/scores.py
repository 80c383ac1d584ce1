"""Scores of sentences that are already written, by fairseq's scorer."""

from fairseq.data import Dictionary
from fairseq.data.data_utils import collate_tokens
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor, nn

from lev_plugins.training.batch import Batch, Hypothesis


def score_sentences(
    models: list[nn.Module], sample: Batch, rows: list[Tensor], dictionary: Dictionary
) -> list[Hypothesis]:
    """Returns the sentences in ``rows`` as hypotheses, scored in one pass by fairseq's scorer."""
    pad, eos = dictionary.pad(), dictionary.eos()
    previous = collate_tokens(rows, pad, eos, move_eos_to_beginning=True).to(sample["net_input"]["src_tokens"])
    target = collate_tokens(rows, pad).to(previous)
    forced = {"net_input": {**sample["net_input"], "prev_output_tokens": previous}, "target": target}
    return [hypotheses[0] for hypotheses in SequenceScorer(dictionary).generate(models, forced)]
