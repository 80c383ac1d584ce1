"""How a LevT reads and writes words: a table of words, and what it and the decoder may read of the draft.

``EmbeddedWords`` is the table of the paper: an embedding and an output matrix. ``levt.spelling`` has another.

Shapes: B batch, T length, C channels, V vocabulary, n placeholders (see ``lev_plugins.nn``).
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens, removed_per_placeholder, unknown_to_unk
from lev_plugins.edits.batch_words import BatchWords, CandidateTensors, EditingStates
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.nn.linear import Linear, TiedLinear
from lev_plugins.nn.output_loss import HeadOutput, PolicyOutput, can_compute_gradient_early, summed_loss
from lev_plugins.nn.transformer import TextEmbedding
from lev_plugins.text.ids import PAD, UNK


class PolicyContext(NamedTuple):
    """What one policy may read besides the tokens and the source; a LevT of the paper reads none of it."""

    # placeholder policy: the words of the draft that were deleted after each token; token policy: the one word that
    # each placeholder replaces; deletion policy: None (or, in a graph, no words), as nothing has been deleted yet
    removed: RemovedTokens | None = None
    alignment: Tensor | None = None  # (B, T) the position in the source of each token
    candidates: CandidateTensors | None = None  # token policy: for the words that are replaced


NO_CONTEXT = PolicyContext()
ROLLINS = ["argmax", "sample", "dae"]


class Learning(NamedTuple):
    """How the policies learn from a batch."""

    rollin: str = "argmax"  # what fills the placeholders before the deletion policy runs, one of ROLLINS
    generator: torch.Generator | None = None  # for the random choices of the roll-in
    may_sample: bool = False  # in training, a sample of a large dictionary may stand for all its words


def insertion_contexts(states: EditingStates) -> tuple[PolicyContext, PolicyContext]:
    """Returns what the placeholder policy and the token policy may read in a training step."""
    removed = RemovedTokens(states["removed"], states["removed_counts"])
    replaced = removed_per_placeholder(states["replaced"], PAD)
    token = PolicyContext(replaced, states["target_alignment"], states["candidates"])
    return PolicyContext(removed, states["kept_alignment"]), token


class BatchTable(Protocol):
    """A table of words for one batch."""

    def embed(
        self, embedding: TextEmbedding, tokens: Tensor, padded: bool, removed: RemovedTokens | None = None
    ) -> Tensor:
        """Returns the input of the first block: (B, T) -> (B, T, C).

        Args:
            embedding: that of the encoder or of the decoder
            tokens: (B, T)
            padded: False: no token is padding
            removed: ``PolicyContext.removed``
        """
        ...

    def logits(self, states: Tensor, index: Tensor, context: PolicyContext) -> Tensor:
        """Returns the scores of all words for placeholders: (n, C) -> (n, V).

        Args:
            states: (n, C) the decoder's states of the placeholders
            index: (n,) their positions in the flattened (B * T)
            context: that of the token policy
        """
        ...

    def decide(
        self, states: Tensor, index: Tensor, context: PolicyContext, labels: Tensor, learning: Learning
    ) -> tuple[PolicyOutput, Tensor]:
        """Returns what the token policy decides in training, for its loss, and the words that it inserts (n,).

        Args:
            states: as in ``logits``
            index: as in ``logits``
            context: as in ``logits``
            labels: (n,) the missing words
            learning: whether the inserted words are the best, or drawn from the probabilities
        """
        ...

    def candidates(self, host_ids: list[int], replaced: Tensor) -> CandidateTensors | None:
        """Returns ``PolicyContext.candidates`` for the words ``replaced`` (n,), in decoding.

        ``host_ids`` are the same ids as a Python list, to save a device-to-host copy.
        """
        ...


class WordTable(Protocol):
    """The part of a LevT that has the weights of a ``BatchTable``."""

    vocabulary: int  # V

    @property
    def index(self) -> WordIndex | None:
        """The words of the dictionary by their letters, if the table reads letters."""
        ...

    def of_batch(
        self, words: BatchWords | None = None, states: EditingStates | None = None, texts: Sequence[Tensor] = ()
    ) -> BatchTable:
        """Returns the table for a batch.

        Args:
            words: the unknown words of the batch
            states: in training: the frequencies of the target's words are reduced by one, so that a word that occurs
                only there is read as an unknown word
            texts: in training: all tokens that the policies read, which the sample of words to score must contain; ():
                the whole dictionary is scored
        """
        ...

    def readable(self, tokens: Tensor) -> Tensor:
        """Returns ids that the table can look up in place of ``tokens``, of which some may be unknown words."""
        ...


def choose_classes(logits: Tensor, learning: Learning) -> Tensor:
    """Returns the best class of each row of logits, or one drawn from the probabilities: (n, V) -> (n,)."""
    if learning.rollin == "sample" and len(logits):
        return torch.multinomial(logits.float().softmax(-1), 1, generator=learning.generator)[:, 0]
    return logits.argmax(-1)


class EmbeddedWords(nn.Module):
    """The words of the paper: vectors from the tables of encoder and decoder, and an output matrix."""

    index: WordIndex | None = None

    def __init__(self, head: Linear | TiedLinear, vocabulary: int) -> None:
        """
        Args:
            head: C of Eq. (5): in the paper, always the embedding matrix
            vocabulary: V, the number of output classes
        """
        super().__init__()
        self.head, self.vocabulary = head, vocabulary

    def of_batch(
        self, words: BatchWords | None = None, states: EditingStates | None = None, texts: Sequence[Tensor] = ()
    ) -> BatchTable:
        return self

    def readable(self, tokens: Tensor) -> Tensor:
        return unknown_to_unk(tokens, self.vocabulary, UNK)

    def embed(
        self, embedding: TextEmbedding, tokens: Tensor, padded: bool, removed: RemovedTokens | None = None
    ) -> Tensor:
        return embedding(tokens, padded=padded)

    def logits(self, states: Tensor, index: Tensor, context: PolicyContext) -> Tensor:
        return self.head(states)

    def decide(
        self, states: Tensor, index: Tensor, context: PolicyContext, labels: Tensor, learning: Learning
    ) -> tuple[PolicyOutput, Tensor]:
        if can_compute_gradient_early(states) and learning.rollin != "sample":
            output = summed_loss(states, self.head.weight, labels)
            return output, output.best
        logits = self.logits(states, index, context)
        return HeadOutput(logits, labels), choose_classes(logits, learning)

    def candidates(self, host_ids: list[int], replaced: Tensor) -> None:
        return None
