"""fairseq's beam search with graphs."""

from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lev_plugins.editor.session import Session
from lev_plugins.edits.candidates import best_places
from lev_plugins.text.ids import EOS, PAD, Array, Rows, padded

GROWING = "growing"  # begins the names of the parts of a decoder's state that are longer after each word
ROWS = "B"  # the dynamic size (``export.tracing``) along which rows of the state are selected
MAX_EXTRA_WORDS = 200  # that an output may have beyond its source, as in ``correction.task``


class BeamHypothesis(NamedTuple):
    """An unfinished output."""

    source: int  # number of its source in the batch
    row: int  # the row of the pass that scored its last word
    words: list[int]  # with </s> in front
    distances: Array  # to the prefixes of its source, as in ``edits.copy_alignment``
    score: float = 0.0  # log-probability of the words


class BeamSearch:
    """Writes an output for each source of a batch."""

    def __init__(
        self, folder: Path, bits: int, positions: int, beam: int = 5, keep_bias: float = 0.0, device: str = "cpu"
    ) -> None:
        """
        folder: the model folder with the graphs
        bits: precision of the matrix products, 32 or 8
        positions: tokens that an output may have, with </s>
        beam: hypotheses that are followed for each source
        keep_bias: log-odds that the next words of the source get in addition, as in ``correction.copy_bias``
        device: cpu or cuda
        """
        self.start, self.step = (Session(folder, name, bits, device) for name in ("start", "step"))
        self.positions, self.beam, self.keep_bias = positions, beam, keep_bias

    def write(self, sources: Rows, copies: Rows, longest: int | None = None) -> Rows:
        """Returns the best output for each source, all with </s>.

        sources: texts in ids of the source dictionary
        copies: the same texts in ids of the target dictionary
        longest: words that an output may have; None: as in fairseq
        """
        decoder, source_words = StepwiseDecoder(self, sources), [np.array(copy) for copy in copies]
        hypotheses = [BeamHypothesis(i, i, [EOS], np.arange(len(words) + 1)) for i, words in enumerate(source_words)]
        finished: list[list[BeamHypothesis]] = [[] for _ in sources]
        scores = decoder.scores
        if longest is None:
            longest = min(max(map(len, sources)) + MAX_EXTRA_WORDS, self.positions - 1)
        for length in range(1, longest + 2):
            if self.keep_bias:
                pairs = zip(scores, hypotheses, strict=True)
                scores = np.stack([self.add_bias(row, prefix, source_words[prefix.source]) for row, prefix in pairs])
            scores[:, [PAD, EOS] if length == 1 else [PAD]] = -np.inf  # --min-len 1
            if length > longest:
                scores[:, np.arange(scores.shape[1]) != EOS] = -np.inf
            unfinished: list[BeamHypothesis] = []
            for source, group in groupby(range(len(hypotheses)), key=lambda row: hypotheses[row].source):
                extended, ended = self.extend(hypotheses, list(group), scores)
                # --lenpen 1: the length counts </s>
                finished[source] += [output._replace(score=output.score / length) for output in ended]
                unfinished += extended if len(finished[source]) < self.beam else []
            if not unfinished:
                break
            if self.keep_bias:
                unfinished = [
                    prefix._replace(distances=next_distances(prefix, source_words[prefix.source]))
                    for prefix in unfinished
                ]
            hypotheses, scores = unfinished, decoder(unfinished)
        return [max(outputs, key=lambda hypothesis: hypothesis.score).words[1:] for outputs in finished]

    def extend(
        self, hypotheses: list[BeamHypothesis], rows: list[int], scores: Array
    ) -> tuple[list[BeamHypothesis], list[BeamHypothesis]]:
        """Adds a word to the hypotheses of one source; returns the best unfinished ones, and those that end."""
        totals = (scores[rows] + np.array([hypotheses[row].score for row in rows])[:, None]).ravel()
        extended, ended = [], []
        for rank, place in enumerate(best_places(totals, 2 * self.beam).tolist()):
            row, word = divmod(place, scores.shape[1])
            prefix = hypotheses[rows[row]]
            hypothesis = prefix._replace(row=rows[row], words=[*prefix.words, word], score=float(totals[place]))
            if word != EOS:
                extended.append(hypothesis)
            elif rank < self.beam and hypothesis.score > -np.inf:
                ended.append(hypothesis)
        return extended[: self.beam], ended

    def add_bias(self, scores: Array, hypothesis: BeamHypothesis, source: Array) -> Array:
        """Adds the copy bias to the log-probabilities (V,), as ``correction.copy_bias.add_copy_bias`` does in torch."""
        nearest = hypothesis.distances[:-1] == hypothesis.distances.min()
        scores = scores.copy()
        scores[np.unique(source[nearest])] += self.keep_bias
        return scores - np.logaddexp.reduce(scores)


class StepwiseDecoder:
    """Runs the graphs for one batch of sources, one more word of each hypothesis at a time."""

    def __init__(self, search: BeamSearch, sources: Rows) -> None:
        self.step = search.step
        self.row_sources = [*range(len(sources))]  # for each row of the state, the number of its source
        # (B, V) log-probabilities of the first word
        self.scores, *state = search.start({"words": padded(sources)}, rows=len(sources))
        by_name = zip(search.start.outputs[1:], state, strict=True)
        self.state = {name: values for name, values in by_name if name in self.step.inputs}
        self.growing = [name for name in self.state if name.startswith(GROWING)]

    def __call__(self, hypotheses: list[BeamHypothesis]) -> Array:
        """Returns the log-probabilities (R, V) of the next word of R hypotheses."""
        rows, sources = [prefix.row for prefix in hypotheses], [prefix.source for prefix in hypotheses]
        # parts that do not grow are the same for all hypotheses of a source
        reordered = self.growing if sources == self.row_sources else [*self.state]
        self.row_sources = sources
        self.state |= {name: self.state[name].take(rows, self.step.inputs[name].index(ROWS)) for name in reordered}
        words = np.array([prefix.words for prefix in hypotheses])
        scores, *longer = self.step({"words": words, **self.state}, rows=len(hypotheses))
        # ``step`` returns the growing parts in the order in which ``start`` does
        self.state |= zip(self.growing, longer, strict=True)
        return scores


def next_distances(hypothesis: BeamHypothesis, source: Array) -> Array:
    """Updates the edit distances for the last word, as ``edits.copy_alignment.distances_after`` does in torch.

    >>> hypothesis = BeamHypothesis(0, 0, [EOS, 11], np.arange(4))
    >>> next_distances(hypothesis, np.array([11, 12, EOS])).tolist()
    [1, 0, 1, 2]
    """
    inserted, steps = hypothesis.distances + 1, np.arange(len(hypothesis.distances))
    paired = hypothesis.distances[:-1] + (source != hypothesis.words[-1])
    nearest = np.minimum(inserted, np.append(inserted[0], paired))
    return np.minimum.accumulate(nearest - steps) + steps
