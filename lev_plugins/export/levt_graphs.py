"""The graphs of a ``levt``: its encoder, and its three policies in two passes over a text.

Shapes: see ``lev_plugins.export.tracing``.
"""

from itertools import count
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.editor import names
from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.edits.batch_words import CandidateTensors
from lev_plugins.edits.embedding import IntendedWordEmbedding, WordFeatures
from lev_plugins.edits.refinement import ALTERNATIVES
from lev_plugins.export.compact import CompactTables, CompactVectors
from lev_plugins.export.tracing import Inputs, SpellingGraph, Traced, example, ngram_examples
from lev_plugins.levt.model import EncodedSource, LevT
from lev_plugins.levt.policies import Ensemble
from lev_plugins.levt.spelling import SpelledBatch, SpelledWords
from lev_plugins.levt.words import BatchTable, PolicyContext
from lev_plugins.nn.transformer import KeysValues, padding_of


class LevTGraph(SpellingGraph):
    """The part that the graphs of a levt share."""

    table: IntendedWordEmbedding

    def __init__(self, model: LevT, tables: CompactTables | None = None) -> None:
        """
        model: a levt
        tables: with its ``compact`` copy, the vectors of words in 8 bits
        """
        super().__init__(model.decoder.embedding.tokens)
        self.model, self.decoder, self.tables = model, model.decoder, tables

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return super().ngram_vectors(ngrams) if self.tables is None else self.tables.ngram_vectors(ngrams)

    def batch_table(self, words: Tensor, unknown: Tensor | None = None) -> BatchTable:
        """Returns the table of words.

        words: their features (F, B, T)
        unknown: the vectors of the unknown words, or of all words of which the n-grams are read
        """
        table = self.model.words
        if unknown is None or not isinstance(table, SpelledWords):
            return table.of_batch()
        if self.tables is None:
            return SpelledBatch(table, self.vectors(words, unknown))
        vectors: Any = CompactVectors(self.tables, unknown, WordFeatures(*words.unbind(0)))
        return SpelledBatch(table, vectors)

    def spelling(self, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Returns the inputs; of a compact graph, with the vectors of unknown words in place of their n-grams."""
        return inputs if self.tables is None else (self.ngram_means(*inputs[:3]), *inputs[3:])

    def source(
        self, words: Tensor, memory: Tensor, mask: Tensor, unknown: Tensor | None = None, *aligned: Tensor
    ) -> EncodedSource:
        """Assembles the encoded source that a decoder reads.

        words: features of a text (F, B, T)
        memory: keys and values of the source (2 L, B, H, S, C / H)
        mask: (B, S) True = a token of a source, not padding
        unknown: vectors of the unknown words (U, C)
        aligned: with a pre-trained encoder, its states (B, S, C), and the one that is aligned to each token (B, T)
        """
        pairs = (KeysValues(memory[i], memory[i + 1]) for i in count(step=2))
        layers = {name: [next(pairs) for _ in self.decoder.stack(name)] for name in self.decoder.stacks}
        states = F.pad(aligned[0], (0, 0, 0, 1)) if aligned else None
        return EncodedSource(layers, mask[:, None, None], self.batch_table(words, unknown), states)


class Encoder(LevTGraph):
    """Encodes the sources."""

    def forward(self, words: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Returns the memory (2 L, B, H, S, C / H), vectors of unknown words (U, C), and states to align (B, S, C).

        words: features of the sources (F, B, S)
        inputs: n-grams of the unknown words, pieces
        """
        tokens, ngrams, pieces = words[0], inputs[:3], inputs[3:]
        unknown = [self.ngram_means(*ngrams)] if ngrams else []
        padding, decoder, aligned = padding_of(tokens, self.model.pad), self.decoder, []
        states = self.model.encoder(tokens, padding, self.batch_table(words, *unknown), pieces)
        if decoder.aligned_projection is not None:
            aligned = [decoder.aligned_projection(states)]
        keys_values = decoder.keys_values(states, padding)
        memory = [tensor for pairs in keys_values.values() for pair in pairs for tensor in pair]
        return torch.stack(memory), *([] if self.tables else unknown), *aligned


class Decide(LevTGraph):
    """The deletion and the placeholder policy in one pass."""

    def forward(self, words: Tensor, memory: Tensor, mask: Tensor, *spelling: Tensor) -> tuple[Tensor, ...]:
        """Returns log-probabilities and a number.

        deletion: of keeping and deleting each token (B, T, 2)
        nothing, best, something: of inserting nothing, the most likely number above 0, any number (B, T - 1)
        number: the most likely number above 0 (B, T - 1)
        """
        spelling = self.spelling(spelling) if spelling else ()
        decoder, removed = self.decoder, RemovedTokens(*spelling[1:3]) if spelling else None
        source = self.source(words, memory, mask, *spelling[:1], *spelling[3:])
        context = PolicyContext(removed, spelling[4] if len(spelling) > 3 else None)
        hidden = decoder.hidden_states("deletion", words[0], source, context)
        shares = decoder.sharing["deletion"] == decoder.sharing["placeholder"]
        computed = hidden if shares else ()
        placeholder_hidden = decoder.hidden_states("placeholder", words[0], source, context, computed)
        counts = decoder.placeholder_logits(placeholder_hidden).log_softmax(-1)
        best, number = counts[..., 1:].max(-1)
        some = counts[..., 1:].logsumexp(-1)
        return decoder.deletion_logits(hidden).log_softmax(-1), counts[..., 0], best, some, number + 1


class Fill(LevTGraph):
    """The token policy."""

    never: Tensor  # words that fill no placeholder

    def __init__(self, model: LevT, tables: CompactTables | None = None) -> None:
        super().__init__(model, tables)
        self.register_buffer("never", torch.tensor(Ensemble([model]).excluded_tokens))

    def forward(
        self, words: Tensor, memory: Tensor, mask: Tensor, placeholders: Tensor, *spelling: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Returns the ALTERNATIVES best words for each placeholder, best first, and their log-probabilities.

        placeholders: their positions in (B * T), (n,)
        spelling: vectors of unknown words (U, C), the replaced words (B, T), whether there is one (B, T), and the
            fields of ``CandidateTensors``; the shape of a replaced word is SHAPES if there is none
        """
        decoder, context, columns = self.decoder, PolicyContext(), 3 + len(names.CANDIDATES)
        if spelling:
            spelling = self.spelling(spelling)
            ids, ngram_overlap, edit_distance, shapes, replaced = spelling[3:columns]
            candidates = CandidateTensors(
                ids=ids, ngram_overlap=ngram_overlap, edit_distance=edit_distance, shapes=shapes, replaced=replaced
            )
            alignment = spelling[columns + 1] if len(spelling) > columns else None
            context = PolicyContext(RemovedTokens(*spelling[1:3]), alignment, candidates)
        source = self.source(words, memory, mask, *spelling[:1], *spelling[columns:])
        hidden = decoder.hidden_states("token", words[0], source, context)
        scores = decoder.token_logits(hidden, placeholders, source, context)
        # not the scores minus ``logsumexp``: that of ONNX Runtime loses the many small terms of a large dictionary
        scores = scores.log_softmax(-1).index_fill(1, self.never, -torch.inf)
        log_probs, words = scores.topk(min(ALTERNATIVES, self.model.words.vocabulary))
        return words, log_probs


def levt_graphs(model: LevT, tables: CompactTables | None = None) -> dict[str, Traced]:
    """Returns the three graphs of a levt.

    model: a levt
    tables: with its ``compact`` copy, the vectors of words in 8 bits
    """
    decoder, spelling, candidates, pieces, aligned = model.decoder, Inputs(), Inputs(), Inputs(), Inputs()
    blocks = sum(len(decoder.stack(name)) for name in decoder.stacks)
    attention = decoder.stack(decoder.sharing["token"])[0].cross_attn
    heads, dim = attention.heads, attention.out_proj.out_features
    memory = example(f"{2 * blocks} B {heads} S {dim // heads}", torch.float)
    features, encoded = 1, [names.MEMORY]
    if model.word_index is not None:
        features = len(WordFeatures._fields)
        encoded.append(names.UNKNOWN_VECTORS)
        spelling = {names.UNKNOWN_VECTORS: example(f"U {dim}", torch.float)}
        spelling |= {name: example("B T") for name in names.REMOVED}
        columns = (example("n K"), example("n K", torch.float), example("n K"), example("n"), example("n"))
        candidates = dict(zip(names.CANDIDATES, columns, strict=True))
        if tables is not None:
            encoded = [names.MEMORY]
            spelling = {**ngram_examples(model), names.SPELLED: example("B T"), names.REMOVED[1]: example("B T")}
    if model.encoder.reader is not None:
        encoded.append(names.SOURCE_STATES)
        pieces = dict(zip(names.PIECES, (example("R W"), example("Q"), example("Q")), strict=True))
        aligned = {names.SOURCE_STATES: example(f"B S {dim}", torch.float), names.SOURCE_ALIGNMENT: example("B T")}
    source = {names.WORDS: example(f"{features} B S"), **ngram_examples(model), **pieces}
    text = {names.WORDS: example(f"{features} B T"), names.MEMORY: memory}
    text[names.SOURCE_MASK] = example("B S", torch.bool)
    incomplete = {**text, names.PLACEHOLDERS: example("n"), **spelling, **candidates, **aligned}
    return {
        names.ENCODER: Traced(Encoder(model, tables), source, encoded),
        names.DECIDE: Traced(Decide(model, tables), {**text, **spelling, **aligned}, [*names.DECISIONS]),
        names.FILL: Traced(Fill(model, tables), incomplete, [*names.CHOICES]),
    }
