"""The policies of a LevT as graphs in ONNX Runtime, for ``generators.refinement``."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lev_plugins.edits.source_alignment import align_to_source
from lev_plugins.generators.refinement import (
    Array,
    Choices,
    Insertions,
    Policies,
    Sentence,
    removed_tokens,
    replaced_tokens,
)
from lev_plugins.onnx.session import Session
from lev_plugins.onnx.word_features import MeantBatch
from lev_plugins.text.ids import PAD, UNK, Rows, padded


class Graphs:
    """The three graphs of a model, and the numbers that they depend on."""

    def __init__(self, folder: Path, bits: int, vocabulary: int, placeholder: int):
        self.vocabulary, self.placeholder = vocabulary, placeholder
        self.encoder, self.decide, self.fill = (Session(folder, name, bits) for name in ("encoder", "decide", "fill"))


class GraphPolicies(Policies):
    """The policies for one batch of sources, which are encoded once."""

    def __init__(self, graphs: Graphs, sources: Rows, batch: MeantBatch | None = None):
        """``batch``: with --spelling, the unknown words."""
        self.graphs, self.batch = graphs, batch
        rows = padded(sources)
        features = {} if batch is None else {**batch.groups, **batch.pieces(rows)}
        # without spelling, a source has a dictionary of its own, which may be the longer one
        words = rows[None] if batch is None else self.features(rows)
        self.memory, *more = graphs.encoder(words=words, **features)
        self.rare, self.source_states = dict(zip(["rare"], more, strict=False)), more[1:]
        self.real, self.sources = rows != PAD, rows.tolist()
        # what was decided together with the last deletions, by the number of each sentence
        self.insertions: dict[int, Array] = {}

    def deletion(self, sentences: list[Sentence]) -> Array:
        log_odds, insertions = self.decide(sentences)
        self.insertions = {one.number: insertions[:, row] for row, one in enumerate(sentences)}
        return log_odds

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        changed = [one for one in sentences if one.removed or one.number not in self.insertions]
        if changed:
            _, insertions = self.decide(changed)
            self.insertions |= {one.number: insertions[:, row] for row, one in enumerate(changed)}
        joined = np.zeros((3, len(sentences), max(len(one.words) for one in sentences) - 1))
        for row, one in enumerate(sentences):
            slots = len(one.words) - 1
            joined[:, row, :slots] = self.insertions[one.number][:, :slots]
        self.insertions = {}
        return Insertions(*joined)

    def decide(self, sentences: list[Sentence]) -> tuple[Array, Array]:
        """Returns the log-odds of deletions (B, T), and the fields of ``Insertions`` (3, B, T - 1)."""
        deletion, none, best, _, counts = self.graphs.decide(**self.inputs(sentences, *removed_tokens(sentences)))
        return deletion[:, :, 1] - deletion[:, :, 0], np.stack([counts, best - none, none])

    def token(self, sentences: list[Sentence]) -> Choices:
        placeholder, candidates = self.graphs.placeholder, dict[str, Array]()
        positions = np.flatnonzero(padded([one.tokens for one in sentences]) == placeholder)
        replaced = replaced_tokens(sentences, placeholder)
        if self.batch is not None:
            candidates = self.batch.candidates_of(replaced.flat[positions], PAD)
        inputs = self.inputs(sentences, replaced, (replaced != PAD).astype(np.int64))
        words, log_probs = self.graphs.fill(holes=positions, **inputs, **candidates)
        # a stranger's graph may know more words than the dictionary
        words = np.where((words >= 0) & (words < self.graphs.vocabulary), words, UNK)
        offers = [list(zip(*pair, strict=True)) for pair in zip(words.tolist(), log_probs.tolist(), strict=True)]
        return Choices([row[0][0] for row in offers], [row[0][1] for row in offers], offers)

    def inputs(self, sentences: list[Sentence], removed: Array, count: Array) -> dict[str, Array]:
        """What a graph reads of sentences, and of the words that were removed after each token, or are replaced."""
        numbers, rows = [one.number for one in sentences], padded([one.tokens for one in sentences])
        every, inputs = len(numbers) == len(self.real), dict[str, Array]()
        for states in self.source_states:
            pairs = zip(rows.tolist(), (self.sources[number] for number in numbers), strict=True)
            inputs = {"beside": states[numbers], "places": np.array([align_to_source(*pair, PAD) for pair in pairs])}
        return {
            "words": self.features(rows),
            "memory": self.memory if every else self.memory[:, numbers],
            "real": self.real if every else self.real[numbers],
            "removed": removed,
            "count": count,
            **self.rare,
            **inputs,
        }

    def features(self, rows: Array) -> Array:
        """Returns what the graphs read of tokens (B, T): (features, B, T)."""
        return np.where(rows > self.graphs.vocabulary, UNK, rows)[None] if self.batch is None else self.batch.read(rows)
