"""The policies of a LevT as graphs in ONNX Runtime, for ``edits.refinement``."""

from pathlib import Path

import numpy as np

from lev_plugins.editor.folder import path_of
from lev_plugins.editor.session import Session
from lev_plugins.editor.word_features import IntendedWordFeatures
from lev_plugins.edits.refinement import Choices, Insertions, Policies, Sentence, removed_tokens, replaced_tokens
from lev_plugins.edits.source_alignment import align_to_source
from lev_plugins.text.ids import PAD, UNK, Array, Rows, padded
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import AGAIN


class Graphs:
    """The three graphs of a levt."""

    def __init__(self, folder: Path, bits: int, vocabulary: int, placeholder: int, device: str = "cpu") -> None:
        """
        folder: the model folder
        bits: precision of the matrix products, 32 or 8
        vocabulary: the number of words in the target dictionary
        placeholder: the id that the model reads as a placeholder
        device: cpu or cuda
        """
        self.vocabulary, self.placeholder = vocabulary, placeholder
        bits = bits if (folder / path_of("encoder", bits)).is_file() else 8  # a compact folder has no others
        graphs = ("encoder", "decide", "fill")
        self.encoder, self.decide, self.fill = (Session(folder, name, bits, device) for name in graphs)


class GraphPolicies(Policies):
    """The policies for one batch of sources, which are encoded once."""

    def __init__(self, graphs: Graphs, sources: Rows, spelling: IntendedWordFeatures | None = None) -> None:
        """
        graphs: those of the model
        sources: in ids of the source dictionary
        spelling: with --spelling, reads the words of the batch
        """
        self.graphs, self.spelling, self.reads_removed = graphs, spelling, spelling is not None
        rows = padded(sources)
        inputs = {} if spelling is None else {**spelling.ngrams, **spelling.pieces(rows)}
        # not ``self.features``, which makes ids above the target dictionary <unk>: that of sources may be larger
        words = rows[None] if spelling is None else spelling.read(rows)
        outputs = graphs.encoder({"words": words, **inputs})
        self.encoded = {**dict(zip(graphs.encoder.outputs, outputs, strict=True)), "source_mask": rows != PAD}
        self.sources = rows.tolist()
        # what was decided together with the last deletions, by the number of each sentence
        self.insertions: dict[int, Array] = {}

    def deletion(self, sentences: list[Sentence]) -> Array:
        log_odds, insertions = self.decide(sentences)
        self.insertions = {sentence.number: insertions[:, row] for row, sentence in enumerate(sentences)}
        return log_odds

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        changed = [s for s in sentences if s.removed or s.number not in self.insertions]
        if changed:
            _, insertions = self.decide(changed)
            self.insertions |= {sentence.number: insertions[:, row] for row, sentence in enumerate(changed)}
        joined = np.zeros((3, len(sentences), max(len(sentence.words) for sentence in sentences) - 1))
        for row, sentence in enumerate(sentences):
            slots = len(sentence.words) - 1
            joined[:, row, :slots] = self.insertions[sentence.number][:, :slots]
        self.insertions = {}
        return Insertions(*joined)

    def decide(self, sentences: list[Sentence]) -> tuple[Array, Array]:
        """Returns the log-odds of deletions (B, T), and the fields of ``Insertions`` (3, B, T - 1)."""
        inputs = self.inputs(sentences, *removed_tokens(sentences))
        deletion, none, best, counts = self.graphs.decide(inputs, rows=len(sentences))
        _, count, length = inputs["words"].shape
        fits = deletion.shape[1] == length and {none.shape, best.shape, counts.shape} == {(count, length - 1)}
        require(fits, f"{self.graphs.decide.path} does not decide for each token: {AGAIN}")
        return deletion[:, :, 1] - deletion[:, :, 0], np.stack([counts, best - none, none])

    def token(self, sentences: list[Sentence]) -> Choices:
        placeholder, candidates = self.graphs.placeholder, dict[str, Array]()
        positions = np.flatnonzero(padded([sentence.tokens for sentence in sentences]) == placeholder)
        replaced = replaced_tokens(sentences, placeholder)
        if self.spelling is not None:
            candidates = self.spelling.candidates_of(replaced.flat[positions], PAD)
        inputs = self.inputs(sentences, replaced, (replaced != PAD).astype(np.int64))
        values = {"placeholders": positions, **inputs, **candidates}
        words, log_probs = self.graphs.fill(values, rows=len(positions))
        # a stranger's graph may know more words than the dictionary
        words = np.where((words >= 0) & (words < self.graphs.vocabulary), words, UNK)
        offers = [list(zip(*pair, strict=True)) for pair in zip(words.tolist(), log_probs.tolist(), strict=True)]
        return Choices([row[0][0] for row in offers], [row[0][1] for row in offers], offers)

    def inputs(self, sentences: list[Sentence], removed: Array, counts: Array) -> dict[str, Array]:
        """Returns what the graphs ``decide`` and ``fill`` read of sentences: ``export.levt_graphs.TextInputs``.

        sentences: n of the B sentences of the batch, of which the longest has T tokens
        removed: (n, T) the first token that was deleted after each token, or that a placeholder replaces; PAD: none
        counts: (n, T) how many were deleted there
        """
        numbers = [sentence.number for sentence in sentences]
        rows = padded([sentence.tokens for sentence in sentences])
        inputs = {"words": self.features(rows), "removed.first": removed, "removed.counts": counts, **self.encoded}
        if len(numbers) < len(self.sources):
            inputs["memory"] = inputs["memory"][:, numbers]  # (2 L, B, H, S, C / H)
            # (B, S) True = a token, not padding; (B, S, C)
            inputs |= {name: inputs[name][numbers] for name in ("source_mask", "source_states") if name in inputs}
        # an encoder in 8 bits returns no vectors of unknown words: its other graphs read their n-grams
        if self.spelling is not None and "unknown_vectors" not in inputs:
            inputs |= self.spelling.removed_by_ngrams(removed)
        if "source_states" in inputs:
            pairs = zip(rows.tolist(), (self.sources[number] for number in numbers), strict=True)
            inputs["source_positions"] = np.array([align_to_source(*pair, PAD) for pair in pairs])
        return inputs

    def features(self, rows: Array) -> Array:
        """Returns what the graphs read of tokens: (B, T) -> (F, B, T)."""
        if self.spelling is None:
            return np.where(rows > self.graphs.vocabulary, UNK, rows)[None]
        return self.spelling.read(rows)
