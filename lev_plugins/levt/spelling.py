"""The words of a LevT with --spelling: their vectors and their scores are computed from letters.

The decoder looks up words by their letters, also those that the dictionary lacks; it sees which words have been deleted
after each token, and scores the words for a placeholder by how much they look like the word that it replaces.

Shapes: B batch, T length, C channels, V vocabulary, n placeholders (see ``lev_plugins.nn``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.edits.batch_words import BatchWords, CandidateTensors, EditingStates
from lev_plugins.edits.embedding import WHOLE_VOCABULARY, IntendedWordEmbedding, WordVectors
from lev_plugins.edits.word_scorer import WordScorer
from lev_plugins.levt.words import Learning, PolicyContext, choose_classes
from lev_plugins.nn.linear import Linear
from lev_plugins.nn.output_loss import HeadOutput
from lev_plugins.nn.transformer import TextEmbedding, token_embedding

# Maximum number of rows for the number of neighbouring words that were deleted. Row 0, for none, is zeros. The last
# row is also for all larger numbers: for 15 and more, or with --max-insertions below 15, for that number and more.
# That flag does not limit deletions, but checkpoints have the number of rows that follows from it.
REMOVED_COUNTS = 16


class SpelledWords(nn.Module):
    """A table of words that reads letters (``levt.words.WordTable``)."""

    def __init__(self, embedding: IntendedWordEmbedding, max_insertions: int, pretrained: bool) -> None:
        """
        Args:
            embedding: computes the vectors; its weights are those of the encoder's and the decoder's embedding
            max_insertions: the maximum number of placeholders per slot
            pretrained: the encoder reads the words with a pre-trained one as well
        """
        super().__init__()
        dim = embedding.embedding_dim
        self.index, self.vocabulary = embedding.index, embedding.vocabulary
        self.shared = (embedding,)  # in a tuple, so that its weights are not stored once more
        self.scorer = WordScorer(embedding.index, embedding.shapes, embedding.padding_idx, dim, pretrained)
        self.removed_projection = Linear(dim, dim, bias=False)
        nn.init.normal_(self.removed_projection.weight, std=dim**-0.5)
        self.removed_counts = token_embedding(min(max_insertions + 1, REMOVED_COUNTS), dim, 0)

    @property
    def embedding(self) -> IntendedWordEmbedding:
        return self.shared[0]

    def of_batch(
        self, words: BatchWords | None = None, states: EditingStates | None = None, texts: Sequence[Tensor] = ()
    ) -> "SpelledBatch":
        """Returns the table for a batch, as ``WordTable.of_batch`` says.

        A word that occurs once in the training text has to be read as an unknown word there, or the model would never
        learn from unknown words: so in training, the occurrence in the sentence's own target does not count.
        """
        if states is None or words is None:
            return SpelledBatch(self, self.embedding.vectors(words))
        self.embedding.prepare_training()
        sample = WHOLE_VOCABULARY
        if texts and states["candidates"] is not None:
            tokens = torch.cat([text.flatten() for text in texts])
            sample = self.embedding.sample(tokens, words, states["candidates"]["ids"])
        return SpelledBatch(self, self.embedding.vectors(words, sample), states["target"])

    def readable(self, tokens: Tensor) -> Tensor:
        return tokens


@dataclass(frozen=True)
class SpelledBatch:
    """A ``levt.words.BatchTable`` that reads letters."""

    words: SpelledWords
    vectors: WordVectors  # of all words that the batch may contain
    target: Tensor | None = None  # (B, T) in training

    def look_up(self, tokens: Tensor) -> Tensor:
        """Returns the vectors of tokens: (B, T) -> (B, T, C)."""
        held_out = None  # (B, T) True = the token occurs in the target
        if self.target is not None:
            held_out = tokens[:, :, None].eq(self.target[:, None, :]).any(2)
        return self.words.embedding.look_up(tokens, self.vectors, held_out)

    def embed(
        self, embedding: TextEmbedding, tokens: Tensor, padded: bool, removed: RemovedTokens | None = None
    ) -> Tensor:
        def look_up(tokens: Tensor) -> Tensor:
            if removed is None:
                return self.look_up(tokens)
            table = self.words.removed_counts
            counts = table(removed.counts.clamp(max=table.num_embeddings - 1))
            spelling = self.vectors.spelling_of(removed.first)
            return self.look_up(tokens) + self.words.removed_projection(spelling) + counts

        return embedding(tokens, look_up=look_up, padded=padded)

    def logits(self, states: Tensor, index: Tensor, context: PolicyContext) -> Tensor:
        """Returns the scores of all words (n, V), or of a sample of R words (n, R)."""
        replaced = cast(RemovedTokens, context.removed).first.flatten()[index]
        candidates = cast(CandidateTensors, context.candidates)
        directions = self.words.embedding.directions(self.vectors)
        return self.words.scorer(states, replaced, self.vectors, directions, candidates)

    def decide(
        self, states: Tensor, index: Tensor, context: PolicyContext, labels: Tensor, learning: Learning
    ) -> tuple[HeadOutput, Tensor]:
        sample, logits = self.vectors.sample, self.logits(states, index, context)
        # the best word is not the one that stands for most words; a draw is with the weights, by which each word also
        # stands for those not in the sample
        scores = logits if learning.rollin == "sample" else sample.unweighted(logits)
        return HeadOutput(logits, sample.classes(labels)), sample.words(choose_classes(scores, learning))

    def candidates(self, host_ids: list[int], replaced: Tensor) -> CandidateTensors:
        return self.words.scorer.candidates(host_ids, replaced, self.vectors.words)
