"""The graphs of a ``levt``: its encoder, and its three policies in two passes over a text.

``GraphWords`` reads words in a graph as ``levt.spelling`` does elsewhere. Shapes: see ``lev_plugins.export.tracing``.
"""

from functools import partial
from itertools import count
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.edits.batch_words import CandidateTensors
from lev_plugins.edits.embedding import NORM_EPS, WHOLE_VOCABULARY, IntendedWordEmbedding, WordFeatures
from lev_plugins.edits.refinement import ALTERNATIVES
from lev_plugins.export import compact
from lev_plugins.export.compact import CompactTables
from lev_plugins.export.tracing import Ngrams, Pieces, SourceInputs, SpellingGraph, Traced, example, ngram_examples
from lev_plugins.levt.model import EncodedSource, LevT
from lev_plugins.levt.policies import Ensemble
from lev_plugins.levt.spelling import SpelledWords
from lev_plugins.levt.words import BatchTable, PolicyContext
from lev_plugins.nn.transformer import KeysValues, TextEmbedding, padding_of


class TextInputs(NamedTuple):
    """Texts with the sources that were encoded for them."""

    words: Tensor  # (F, B, T) the features of their words, or their ids (1, B, T)
    memory: Tensor  # (2 L, B, H, S, C / H) keys and values of the sources
    source_mask: Tensor  # (B, S) True = a token of a source, not padding
    # with --spelling; the ids of removed words are those of the batch, if the graphs read the n-grams of these words
    removed: RemovedTokens | None = None  # (B, T) what was removed after each token, or what a placeholder replaces
    unknown_vectors: Tensor | None = None  # (U, C) those of the unknown words
    ngrams: Ngrams | None = None  # in graphs of 8 bits, those of unknown and removed words, in place of the vectors
    # with --backbone
    source_states: Tensor | None = None  # (B, S, C) to align
    source_positions: Tensor | None = None  # (B, T) the state that is aligned to each token


class Replaced(NamedTuple):
    """The words that placeholders replace."""

    ids: Tensor  # (n,) padding: there is none
    shapes: Tensor  # (n,) SHAPES: there is none


class PlaceholderInputs(NamedTuple):
    """The placeholders of texts."""

    placeholders: Tensor  # (n,) their positions in (B * T)
    replaced: Replaced | None = None  # with --spelling
    candidates: CandidateTensors | None = None  # for the replaced words


class LevTGraph(SpellingGraph):
    """The part that the graphs of a levt share."""

    table: IntendedWordEmbedding

    def __init__(self, model: LevT, tables: CompactTables | None = None) -> None:
        """
        model: a levt
        tables: in graphs of 8 bits, those of the words
        """
        super().__init__(model.decoder.embedding.tokens)
        self.model, self.decoder, self.tables = model, model.decoder, tables

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return super().ngram_vectors(ngrams) if self.tables is None else compact.ngram_vectors(ngrams, self.tables)

    def batch_table(self, words: Tensor, unknown: Tensor | None, at: PlaceholderInputs | None = None) -> BatchTable:
        """Returns the table of words that the model reads in a graph.

        words: (F, B, T) the features of the words
        unknown: (U, C) with --spelling, the vectors of the unknown words, or of all words of which n-grams are read
        at: the placeholders that are filled
        """
        table = self.model.words
        if unknown is None or not isinstance(table, SpelledWords):
            return table.of_batch()
        return cast(BatchTable, GraphWords(self, table, WordFeatures(*words.unbind(0)), unknown, at))

    def unknown_vectors(self, text: TextInputs) -> Tensor | None:
        return text.unknown_vectors if text.ngrams is None else self.ngram_means(text.ngrams)

    def source(self, text: TextInputs, at: PlaceholderInputs | None = None) -> EncodedSource:
        pairs = (KeysValues(text.memory[i], text.memory[i + 1]) for i in count(step=2))
        layers = {name: [next(pairs) for _ in self.decoder.stack(name)] for name in self.decoder.stacks}
        # the last state is for tokens that are not aligned
        aligned = None if text.source_states is None else F.pad(text.source_states, (0, 0, 0, 1))
        table = self.batch_table(text.words, self.unknown_vectors(text), at)
        return EncodedSource(layers, text.source_mask[:, None, None], table, aligned)


class GraphWords(NamedTuple):
    """A ``levt.words.BatchTable`` of a model with --spelling that decodes in a graph."""

    graph: LevTGraph
    words: SpelledWords
    features: WordFeatures  # (B, T) of the tokens that are read
    unknown: Tensor  # (U, C)
    at: PlaceholderInputs | None

    def embed(
        self, embedding: TextEmbedding, tokens: Tensor, padded: bool, removed: RemovedTokens | None = None
    ) -> Tensor:
        tables = self.graph.tables
        if tables is None:
            vector_of = self.graph.vectors(self.unknown).vector_of
        else:
            vector_of = partial(compact.vectors, ngram_means=self.unknown, tables=tables)
        vectors = self.words.embedding.combine(self.features, vector_of)
        if removed is not None:
            counts = self.words.removed_counts(removed.counts.clamp(max=self.words.removed_counts.num_embeddings - 1))
            vectors = vectors + self.words.removed_projection(self.spelling_of(removed.first)) + counts
        return embedding(tokens, look_up=lambda tokens: vectors, padded=padded)

    def logits(self, states: Tensor, index: Tensor, context: PolicyContext) -> Tensor:
        scorer, replaced = self.words.scorer, cast(Replaced, cast(PlaceholderInputs, self.at).replaced)
        similarity = scorer.similarity(replaced.ids, states.dtype)
        spelling = self.spelling_of(cast(RemovedTokens, context.removed).first.flatten()[index])
        queries = scorer.queries(states, replaced.ids, similarity, spelling)
        if self.graph.tables is None:
            directions = self.words.embedding.directions(self.words.embedding.vectors(None))
            scores = queries @ directions.T + scorer.biases_of(replaced.shapes, WHOLE_VOCABULARY)
        else:
            scores = compact.scores(queries, replaced.shapes, self.graph.tables)
        return scorer.add_comparisons(scores, replaced.ids, similarity, cast(CandidateTensors, context.candidates))

    def spelling_of(self, ids: Tensor) -> Tensor:
        """Returns the means of the n-grams of words, of length 1: (...) -> (..., C)."""
        if self.graph.tables is None:
            return self.graph.vectors(self.unknown).spelling_of(ids)
        return F.normalize(compact.means_of(ids, self.unknown, self.graph.tables), dim=-1, eps=NORM_EPS)


class Encoder(LevTGraph):
    """Encodes the sources."""

    def forward(self, sources: SourceInputs) -> tuple[Tensor, ...]:
        """Returns the memory, the vectors of unknown words, and the states to align: fields of ``TextInputs``."""
        tokens = sources.words[0]
        unknown = None if sources.ngrams is None else self.ngram_means(sources.ngrams)
        padding, aligned = padding_of(tokens, self.model.pad), []
        states = self.model.encoder(tokens, padding, self.batch_table(sources.words, unknown), sources.pieces or ())
        if self.decoder.aligned_projection is not None:
            aligned = [self.decoder.aligned_projection(states)]
        keys_values = self.decoder.keys_values(states, padding)
        memory = [tensor for pairs in keys_values.values() for pair in pairs for tensor in pair]
        spelt = [] if unknown is None or self.tables is not None else [unknown]
        return torch.stack(memory), *spelt, *aligned


class Decide(LevTGraph):
    """The deletion and the placeholder policy in one pass."""

    def forward(self, text: TextInputs) -> tuple[Tensor, ...]:
        """Returns log-probabilities and a number.

        deletion: of keeping and deleting each token (B, T, 2)
        no insertion, insertion: of inserting nothing, and the most likely number above 0 (B, T - 1)
        number: the most likely number above 0 (B, T - 1)
        """
        decoder, source = self.decoder, self.source(text)
        context = PolicyContext(text.removed, text.source_positions)
        hidden = decoder.hidden_states("deletion", text.words[0], source, context)
        shares = decoder.sharing["deletion"] == decoder.sharing["placeholder"]
        computed = hidden if shares else hidden[:1]
        placeholder_hidden = decoder.hidden_states("placeholder", text.words[0], source, context, computed)
        counts = decoder.placeholder_logits(placeholder_hidden).log_softmax(-1)
        best, number = counts[..., 1:].max(-1)
        return decoder.deletion_logits(hidden).log_softmax(-1), counts[..., 0], best, number + 1


class Fill(LevTGraph):
    """The token policy."""

    never: Tensor  # words that fill no placeholder

    def __init__(self, model: LevT, tables: CompactTables | None = None) -> None:
        super().__init__(model, tables)
        self.register_buffer("never", torch.tensor(Ensemble([model]).excluded_tokens))

    def forward(self, text: TextInputs, at: PlaceholderInputs) -> tuple[Tensor, Tensor]:
        """Returns the ALTERNATIVES best words for each placeholder, best first, and their log-probabilities."""
        source, context = self.source(text, at), PolicyContext(text.removed, text.source_positions, at.candidates)
        hidden = self.decoder.hidden_states("token", text.words[0], source, context)
        scores = self.decoder.token_logits(hidden, at.placeholders, source, context)
        # not the scores minus ``logsumexp``: that of ONNX Runtime loses the many small terms of a large dictionary
        scores = scores.log_softmax(-1).index_fill(1, self.never, -torch.inf)
        log_probs, words = scores.topk(min(ALTERNATIVES, self.model.words.vocabulary))
        return words, log_probs


def levt_graphs(model: LevT, is_compact: bool = False) -> dict[str, Traced]:
    """Returns the three graphs of a levt.

    model: a levt
    is_compact: those of 8 bits, of a levt with --spelling
    """
    decoder, encoded, tables = model.decoder, ["memory"], None
    if is_compact:
        words = cast(SpelledWords, model.words)
        tables = CompactTables(words.embedding, words.scorer)
    blocks = sum(len(decoder.stack(name)) for name in decoder.stacks)
    attention = decoder.stack(decoder.sharing["token"])[0].cross_attn
    heads, dim = attention.heads, attention.out_proj.out_features
    features = 1 if model.word_index is None else len(WordFeatures._fields)
    source = SourceInputs(example(f"{features} B S"))
    memory = example(f"{2 * blocks} B {heads} S {dim // heads}", torch.float)
    text = TextInputs(example(f"{features} B T"), memory, example("B S", torch.bool))
    at = PlaceholderInputs(example("n"))
    if model.word_index is not None:
        source = source._replace(ngrams=ngram_examples())
        text = text._replace(removed=RemovedTokens(example("B T"), example("B T")))
        if tables is None:
            encoded.append("unknown_vectors")
            text = text._replace(unknown_vectors=example(f"U {dim}", torch.float))
        else:
            text = text._replace(ngrams=ngram_examples())
        ids, overlap, distance = example("n K"), example("n K", torch.float), example("n K")
        candidates: CandidateTensors = {"ids": ids, "ngram_overlap": overlap, "edit_distance": distance}
        at = at._replace(replaced=Replaced(example("n"), example("n")), candidates=candidates)
    if model.encoder.reader is not None:
        encoded.append("source_states")
        source = source._replace(pieces=Pieces(example("R W"), example("Q"), example("Q")))
        text = text._replace(source_states=example(f"B S {dim}", torch.float), source_positions=example("B T"))
    decisions = ["deletion", "no_insertion", "insertion", "insertion_count"]
    return {
        "encoder": Traced(Encoder(model, tables), (source,), encoded),
        "decide": Traced(Decide(model, tables), (text,), decisions),
        "fill": Traced(Fill(model, tables), (text, at), ["words_to_insert", "log_probs"]),
    }
