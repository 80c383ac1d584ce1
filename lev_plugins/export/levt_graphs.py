"""The graphs of a ``levt``: its encoder, and its three policies in two passes over a text.

What reads the parts of a decoder is all in ``LevTGraph``. Shapes: see ``lev_plugins.export.tracing``.
"""

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.actions import RemovedTokens
from lev_plugins.edits.embedding import NORM_EPS, WHOLE_VOCABULARY, IntendedWordEmbedding, WordFeatures
from lev_plugins.edits.refinement import ALTERNATIVES
from lev_plugins.edits.word_scorer import CandidateTensors
from lev_plugins.export import compact
from lev_plugins.export.compact import CompactTables
from lev_plugins.export.tracing import (
    Ngrams,
    Pieces,
    SourceInputs,
    SpellingGraph,
    Traced,
    example,
    ngram_examples,
)
from lev_plugins.levt.model import LevT
from lev_plugins.levt.policies import Ensemble
from lev_plugins.levt.spelling import SpellingDecoder
from lev_plugins.levt.stacks import EncodedSource
from lev_plugins.nn.transformer import KeysValues, padding_of


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

    # ---- words -------------------------------------------------------------------------------------------------------

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return super().ngram_vectors(ngrams) if self.tables is None else compact.ngram_vectors(ngrams, self.tables)

    def look_up(self, words: Tensor, unknown: Tensor) -> Callable[[Tensor], Tensor]:
        """Returns what stands for the table of embeddings: the vectors of the words that are read.

        words: (F, B, T) their features
        unknown: (U, C) the vectors of the unknown words, or of all words of which the n-grams are read
        """
        if self.tables is None:
            vector_of = self.vectors(unknown).vector_of
        else:
            vector_of = partial(compact.vectors, ngram_means=unknown, tables=self.tables)
        vectors = self.table.combine(WordFeatures(*words.unbind(0)), vector_of)
        return lambda tokens: vectors

    def spelling_of(self, ids: Tensor, unknown: Tensor) -> Tensor:
        """Returns the means of the n-grams of words, of length 1: (...) -> (..., C)."""
        if self.tables is None:
            return self.vectors(unknown).spelling_of(ids)
        return F.normalize(compact.means_of(ids, unknown, self.tables), dim=-1, eps=NORM_EPS)

    def with_unknown_vectors(self, text: TextInputs) -> TextInputs:
        return text if text.ngrams is None else text._replace(unknown_vectors=self.ngram_means(text.ngrams))

    # ---- the decoder -------------------------------------------------------------------------------------------------

    def source(self, text: TextInputs) -> EncodedSource:
        pairs = (KeysValues(text.memory[i], text.memory[i + 1]) for i in count(step=2))
        layers = {name: [next(pairs) for _ in self.decoder.stack(name)] for name in self.decoder.stacks}
        return EncodedSource(layers, text.source_mask[:, None, None])

    def embed(self, text: TextInputs) -> Tensor:
        """Returns what the first block reads: (B, T, C)."""
        tokens = text.words[0]
        if text.removed is None or text.unknown_vectors is None:
            return self.decoder.embedding(tokens)
        decoder, look_up = speller_of(self.model), self.look_up(text.words, text.unknown_vectors)
        counts = decoder.removed_counts(text.removed.counts.clamp(max=decoder.removed_counts.num_embeddings - 1))
        removed = decoder.removed_projection(self.spelling_of(text.removed.first, text.unknown_vectors))
        x = decoder.embedding(tokens, look_up=lambda tokens: look_up(tokens) + removed + counts)
        if text.source_states is not None and text.source_positions is not None:
            states = F.pad(text.source_states, (0, 0, 0, 1))  # the last is for tokens that are not aligned
            x = x + states.gather(1, text.source_positions[:, :, None].expand(-1, -1, x.size(2)))
        return x

    def token_scores(self, hidden: list[Tensor], text: TextInputs, at: PlaceholderInputs) -> Tensor:
        """Returns the scores of the dictionary's words for each placeholder: (n, V)."""
        if at.replaced is None or at.candidates is None or text.removed is None or text.unknown_vectors is None:
            return self.decoder.token_logits(hidden, at.placeholders)
        scorer, replaced = speller_of(self.model).word_scorer, at.replaced.ids
        states = self.decoder.placeholder_features(hidden, at.placeholders)
        similarity = scorer.similarity(replaced, states.dtype)
        spelling = self.spelling_of(text.removed.first.flatten()[at.placeholders], text.unknown_vectors)
        queries = scorer.queries(states, replaced, similarity, spelling)
        if self.tables is None:
            directions = self.table.directions(self.table.vectors(None))
            scores = queries @ directions.T + scorer.biases_of(at.replaced.shapes, WHOLE_VOCABULARY)
        else:
            scores = compact.scores(queries, at.replaced.shapes, self.tables)
        return scorer.add_comparisons(scores, replaced, similarity, at.candidates)


class Encoder(LevTGraph):
    """Encodes the sources."""

    def forward(self, sources: SourceInputs) -> tuple[Tensor, ...]:
        """Returns the memory, the vectors of unknown words, and the states to align: fields of ``TextInputs``."""
        tokens = sources.words[0]
        unknown = [] if sources.ngrams is None else [self.ngram_means(sources.ngrams)]
        look_up = self.look_up(sources.words, unknown[0]) if unknown else None
        padding, aligned = padding_of(tokens, self.model.pad), []
        states = self.model.encoder(tokens, padding, look_up, sources.pieces or ())
        if isinstance(self.decoder, SpellingDecoder) and self.decoder.aligned_projection is not None:
            aligned = [self.decoder.aligned_projection(states)]
        keys_values = self.decoder.keys_values(states, padding)
        memory = [tensor for pairs in keys_values.values() for pair in pairs for tensor in pair]
        return torch.stack(memory), *(unknown if self.tables is None else []), *aligned


class Decide(LevTGraph):
    """The deletion and the placeholder policy in one pass."""

    def forward(self, text: TextInputs) -> tuple[Tensor, ...]:
        """Returns log-probabilities and a number.

        deletion: of keeping and deleting each token (B, T, 2)
        no insertion, insertion: of inserting nothing, and the most likely number above 0 (B, T - 1)
        number: the most likely number above 0 (B, T - 1)
        """
        text = self.with_unknown_vectors(text)
        decoder, source, embedded = self.decoder, self.source(text), [self.embed(text)]
        hidden = decoder.hidden_states("deletion", text.words[0], source, computed=embedded)
        shares = decoder.sharing["deletion"] == decoder.sharing["placeholder"]
        computed = hidden if shares else embedded
        placeholder_hidden = decoder.hidden_states("placeholder", text.words[0], source, computed=computed)
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
        text, decoder = self.with_unknown_vectors(text), self.decoder
        hidden = decoder.hidden_states("token", text.words[0], self.source(text), computed=[self.embed(text)])
        scores = self.token_scores(hidden, text, at)
        # not the scores minus ``logsumexp``: that of ONNX Runtime loses the many small terms of a large dictionary
        scores = scores.log_softmax(-1).index_fill(1, self.never, -torch.inf)
        log_probs, words = scores.topk(min(ALTERNATIVES, decoder.vocabulary))
        return words, log_probs


def speller_of(model: LevT) -> SpellingDecoder:
    assert isinstance(model.decoder, SpellingDecoder)
    return model.decoder


def levt_graphs(model: LevT, is_compact: bool = False) -> dict[str, Traced]:
    """Returns the three graphs of a levt.

    model: a levt
    is_compact: those of 8 bits, of a levt with --spelling
    """
    decoder, encoded, tables = model.decoder, ["memory"], None
    if is_compact:
        tables = CompactTables(speller_of(model).word_embedding, speller_of(model).word_scorer)
    blocks = sum(len(decoder.stack(name)) for name in decoder.stacks)
    attention = decoder.stack("shared")[0].cross_attn
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
        candidates = CandidateTensors(example("n K"), example("n K", torch.float), example("n K"))
        at = at._replace(replaced=Replaced(example("n"), example("n")), candidates=candidates)
    if model.encoder.backbone is not None:
        encoded.append("source_states")
        source = source._replace(pieces=Pieces(example("R W"), example("Q"), example("Q")))
        text = text._replace(source_states=example(f"B S {dim}", torch.float), source_positions=example("B T"))
    decisions = ["deletion", "no_insertion", "insertion", "insertion_count"]
    return {
        "encoder": Traced(Encoder(model, tables), (source,), encoded),
        "decide": Traced(Decide(model, tables), (text,), decisions),
        "fill": Traced(Fill(model, tables), (text, at), ["words_to_insert", "log_probs"]),
    }
