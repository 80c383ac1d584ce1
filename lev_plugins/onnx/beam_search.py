"""A text written from left to right, by graphs: fairseq's beam search, and the log-probability of a given text."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lev_plugins.onnx.folder import GROWING, ROWS
from lev_plugins.onnx.session import Session
from lev_plugins.spelling.candidates import best_places
from lev_plugins.text.ids import EOS, PAD, Rows, padded

Array = NDArray[Any]
LONGER = 200  # words that an output may have more than its source, as in ``tasks.text_correction``


class Text(NamedTuple):
    """What has been written of one, and what chose its last word."""

    number: int  # of its source in the batch
    row: int  # of the pass
    words: list[int]  # </s> in front
    score: float = 0.0
    distances: Any = None  # with a bias, as in ``edits.copy_alignment``


class Writer:
    """Writes texts for sources by fairseq's beam search."""

    def __init__(self, folder: Path, bits: int, positions: int, beam: int = 5, keep_bias: float = 0.0):
        """
        folder: the model folder with the graphs
        bits: those of the products of the graphs, 32 or 8
        positions: tokens that an output may have, with </s>
        beam: hypotheses that are followed for each source
        keep_bias: log-odds added to the next words of the source, as in ``generators.keeping``
        """
        self.start, self.step, self.likely = (Session(folder, name, bits) for name in ("start", "step", "score"))
        self.positions, self.beam, self.keep_bias = positions, beam, keep_bias

    def write(self, sources: Rows, copies: Rows, longest: int | None = None) -> Rows:
        """Returns the best text for each source, all with </s>.

        ``copies``: the sources in ids of the target dictionary; ``longest``: words that a text may have.
        """
        passes, copied = Pass(self, sources), [np.array(copy) for copy in copies]
        texts = [Text(i, i, [EOS], distances=np.arange(len(copy) + 1)) for i, copy in enumerate(copied)]
        found: list[list[Text]] = [[] for _ in sources]
        scores = passes.scores
        if longest is None:
            longest = min(max(map(len, sources)) + LONGER, self.positions - 1)
        for length in range(1, longest + 2):
            if self.keep_bias:
                scores = np.stack([self.biased(*each, copied) for each in zip(scores, texts, strict=True)])
            scores[:, [PAD, EOS] if length == 1 else [PAD]] = -np.inf
            if length > longest:
                scores[:, np.arange(scores.shape[1]) != EOS] = -np.inf
            left = []
            for number, group in groupby(range(len(texts)), key=lambda row: texts[row].number):
                going, ended = self.extended(texts, list(group), scores)
                found[number] += [text._replace(score=text.score / length) for text in ended]
                left += going if len(found[number]) < self.beam else []
            if not left:
                break
            if self.keep_bias:
                left = [text._replace(distances=after(text, copied[text.number])) for text in left]
            texts, scores = left, passes(left)
        return [max(some, key=lambda text: text.score).words[1:] for some in found]

    def extended(self, texts: list[Text], rows: list[int], scores: Array) -> tuple[list[Text], list[Text]]:
        """The best of those of one source with one word more: those to go on with, and those that end."""
        totals = (scores[rows] + np.array([texts[row].score for row in rows])[:, None]).ravel()
        going, ended = [], []
        for place, at in enumerate(best_places(totals, 2 * self.beam).tolist()):
            row, word = divmod(at, scores.shape[1])
            old = texts[rows[row]]
            new = Text(old.number, rows[row], [*old.words, word], float(totals[at]), old.distances)
            if word != EOS:
                going.append(new)
            elif place < self.beam and new.score > -np.inf:
                ended.append(new)
        return going[: self.beam], ended

    def biased(self, scores: Array, text: Text, copied: list[Array]) -> Array:
        """As ``generators.copy_bias.add_copy_bias``."""
        nearest = text.distances[:-1] == text.distances.min()
        scores = scores.copy()
        scores[np.unique(copied[text.number][nearest])] += self.keep_bias
        return scores - np.logaddexp.reduce(scores)

    def score(self, sources: Rows, texts: Rows) -> list[float]:
        """The log-probability of a text for each source."""
        return self.likely(words=padded(sources), texts=padded(texts))[0].tolist()


class Pass:
    """The graphs' passes over texts of one batch, which get longer by a word from one to the next."""

    def __init__(self, writer: Writer, sources: Rows):
        self.step, self.numbers = writer.step, [*range(len(sources))]
        self.scores, *state = writer.start(words=padded(sources))  # (B, V) of what comes first
        named = zip(writer.start.outputs[1:], state, strict=True)
        self.state = {name: values for name, values in named if name in self.step.inputs}
        self.growing = [name for name in self.state if name.startswith(GROWING)]

    def __call__(self, texts: list[Text]) -> Array:
        """Log-probabilities (R, V) of what comes next."""
        rows, numbers = [text.row for text in texts], [text.number for text in texts]
        # what does not grow is the same for all texts of a source
        moving, self.numbers = self.growing if numbers == self.numbers else [*self.state], numbers
        self.state |= {name: self.state[name].take(rows, self.step.inputs[name].index(ROWS)) for name in moving}
        scores, *new = self.step(words=np.array([text.words for text in texts]), **self.state)
        self.state |= zip(self.growing, new, strict=True)
        return scores


def after(text: Text, source: Array) -> Array:
    """As ``edits.copy_alignment.distances_after``.

    >>> after(Text(0, 0, [EOS, 11], distances=np.arange(4)), np.array([11, 12, EOS])).tolist()
    [1, 0, 1, 2]
    """
    inserted, steps = text.distances + 1, np.arange(len(text.distances))
    paired = text.distances[:-1] + (source != text.words[-1])
    nearest = np.minimum(inserted, np.append(inserted[0], paired))
    return np.minimum.accumulate(nearest - steps) + steps
