"""Batches of sentences, and the hypotheses that generators return for them."""

from typing import TypedDict

from torch import Tensor

from lev_plugins.edits.batch_words import BatchWords, EditingStates
from lev_plugins.text.segments import WordEdits


class NetInput(TypedDict, total=False):
    """The arguments of a model's ``forward``."""

    src_tokens: Tensor
    src_lengths: Tensor
    prev_output_tokens: Tensor  # for models that learn by teacher forcing
    draft: Tensor
    marks: Tensor  # what the user asks of the draft's tokens, in decoding
    words: BatchWords  # for models that spell
    states: EditingStates  # what a LevT learns from


class Batch(TypedDict, total=False):
    """A batch as fairseq's trainer and generators pass it on; empty in a process that has no examples left."""

    id: Tensor
    nsentences: int
    ntokens: int  # by which fairseq divides the loss
    target: Tensor | None
    net_input: NetInput
    marks: Tensor
    unknown_words: list[str]  # how the unknown words of the batch are spelt


class Hypothesis(TypedDict, total=False):
    """An output for one sentence, as fairseq's generators return it."""

    tokens: Tensor  # (T,) with </s>
    score: Tensor  # (), the mean log-probability of the tokens
    positional_scores: Tensor  # (T,)
    attention: Tensor | None
    alignment: Tensor | None
    steps: int  # refinement: the last iteration, counted from 0, as fairseq prints it
    history: "list[Hypothesis]"  # with --retain-iter-history: the tokens after each step
    edits: WordEdits  # with --retain-iter-history
    confidence: float  # with --min-edit-confidence: p(edit) / (p(edit) + p(source))
