"""Edits of segments of text with the graphs of a model of ``text_correction``."""

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from rapidfuzz.distance import LCSseq

from lev_plugins.editor.beam_search import BeamSearch
from lev_plugins.editor.calibration import evidence, log_odds
from lev_plugins.editor.folder import whole_number
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.segments import Origin, SegmentDecoder, dictionaries_of, sigmoid
from lev_plugins.editor.session import Session
from lev_plugins.text.edited import Edit
from lev_plugins.text.ids import BOS, EOS, UNK, Array, Rows, ids_of, padded
from lev_plugins.text.rewrites import Rewrite, rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.utils.model_folder import ModelConfig
from lev_plugins.utils.ranges import check_ranges


class Seq2SeqSegments(SegmentDecoder):
    """Edits segments with a model of ``text_correction``, which writes the corrected text from left to right.

    A minimal alignment says which tokens were kept. The confidence of an edit is p(h) / (p(h) + p(h with this edit
    undone)), where p is the probability of a whole sentence under the model, by teacher forcing. For a sentence with
    one edit it is what --min-edit-confidence of fairseq-generate compares.
    """

    task, drafts = "text_correction", False

    def __init__(self, folder: Path, config: ModelConfig, options: EditOptions) -> None:
        """
        folder: the model folder
        config: the contents of its config.json
        options: settings of decoding and computation
        """
        settings = options.given("keep_bias", "beam")
        check_ranges(Namespace(**settings))
        super().__init__(*dictionaries_of(folder, config), options.batch_tokens)
        positions = whole_number(config.model_flags, "max_target_positions")
        self.search = BeamSearch(folder, options.bits, positions, device=options.device, **settings)
        self.scorer = Session(folder, "score", options.bits, options.device)

    def try_out(self) -> None:
        """Runs each graph once, with the last word of each dictionary."""
        source = [[self.source.size - 1, EOS]]
        self.search.write(source, self.copies(source), longest=1)
        self.score(source, [[self.words.size - 1, EOS]])

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.warn_of_unknown(segments)
        sources = [[*ids_of(segment.pieces, self.source), EOS] for segment in segments]
        inputs = [ids_of(segment.pieces, self.words) for segment in segments]
        rows = self.map_in_batches(self.write, sources, [*map(len, sources)])
        outputs = [[token for token in row if token not in (BOS, EOS)] for row in rows]
        origins = [resolve_unknown(align_output(*pair), *pair, UNK) for pair in zip(inputs, outputs, strict=True)]
        pieces = [self.pieces(*row) for row in zip(segments, outputs, origins, strict=True)]
        changes = [rewrites(*row) for row in zip(segments, pieces, origins, strict=True)]
        confidences = self.confidences(sources, inputs, outputs, changes)
        return [
            [self.edit(segment, row, change, next(confidences)) for change in changes_of_segment]
            for segment, row, changes_of_segment in zip(segments, pieces, changes, strict=True)
        ]

    def copies(self, sources: Rows) -> Rows:
        """Returns the sources in ids of the target dictionary."""
        return [[self.words.index(self.source[word]) for word in source] for source in sources]

    def write(self, sources: Rows) -> Rows:
        """Returns the output for each source, all with </s>."""
        return self.search.write(sources, self.copies(sources))

    def score(self, sources: Rows, outputs: Rows) -> list[float]:
        """Returns the log-probability of an output for each source, all with </s>."""
        (scores,) = self.scorer({"words": padded(sources), "texts": padded(outputs)}, rows=len(sources))
        return scores.tolist()

    def edit(self, segment: Segment, pieces: list[str], change: Rewrite, confidence: float) -> Edit:
        features = evidence(segment, change, pieces, self.count, log_odds(confidence), 0.0)
        return replace(change.edit, confidence=confidence, evidence=features)

    def confidences(self, sources: Rows, inputs: Rows, outputs: Rows, changes: list[list[Rewrite]]) -> Iterator[float]:
        """Yields the confidence of each change; 0 if the output, with or without it, is too long for the model."""
        pairs: list[tuple[list[int], list[int]]] = []  # sources, each with an output: as written, and without a change
        places: list[tuple[int, int]] = []  # for each change, where ``pairs`` has the output with it, and without it
        for source, tokens, output, changes_of_segment in zip(sources, inputs, outputs, changes, strict=True):
            undone = [
                output[: inserted.start] + tokens[removed.start : removed.stop] + output[inserted.stop :]
                for _, removed, inserted in changes_of_segment
            ]
            places += [(len(pairs), len(pairs) + number) for number in range(1, len(undone) + 1)]
            pairs += [(source, [*row, EOS]) for row in (output, *undone) if changes_of_segment]
        short = [place for place, (_, output) in enumerate(pairs) if len(output) <= self.longest_output]
        short_pairs = [pairs[place] for place in short]
        sizes = [max(map(len, pair)) for pair in short_pairs]
        values = self.map_in_batches(lambda batch: self.score(*zip(*batch, strict=True)), short_pairs, sizes)
        scores = dict(zip(short, values, strict=True))
        for whole, without in places:
            share = sigmoid(scores[whole] - scores[without]) if {whole, without} <= scores.keys() else 0.0
            yield float(np.float32(share))  # the precision that calibrations are fitted with


def align_output(source: list[int], target: list[int]) -> Origin:
    """Returns the place in ``source`` of each token of ``target``, as ``edits.expert.align`` does.

    >>> align_output([11, 12, 13], [12, 14, 13, 15])
    [1, None, 2, None]
    """
    origin: Origin = [None] * len(target)
    # rapidfuzz pairs a common end first: two different ends that no text has prevent that
    for block in LCSseq.editops([*target, -2], [*source, -3]).as_matching_blocks():
        origin[block.a : block.a + block.size] = range(block.b, block.b + block.size)
    return origin


def resolve_unknown(origin: Origin, source: list[int], target: list[int], unknown: int) -> Origin:
    """Returns the alignment with other pairs of unknown words: those that are nearest in position.

    All unknown words have the same id, so an alignment may pair the wrong ones. Between two known words, the aligned
    unknown words of the target are paired with those of the source that are nearest in position, counted from both
    known words. Where ``a ? ? ? b`` became ``a x y ? b``, the ``?`` is the fourth word of the source, not the second:

    >>> resolve_unknown([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    resolved = list(origin)
    anchors = [(here, there) for here, there in enumerate(origin) if there is not None and target[here] != unknown]
    for start, end in pairwise([(-1, -1), *anchors, (len(target), len(source))]):
        rows = [here for here in range(start[0] + 1, end[0]) if origin[here] is not None]
        if not rows:
            continue
        free = np.array([there for there in range(start[1] + 1, end[1]) if source[there] == unknown])
        here = np.array(rows)[:, None]
        moves = abs(free - start[1] - here + start[0]) + abs(end[1] - free - end[0] + here)
        # a move costs more than any sum of columns, which decide only between equal moves, for the leftmost words
        costs = moves * len(source) ** 2 + np.arange(len(free))
        for row, column in zip(rows, cheapest_columns(costs), strict=True):
            resolved[row] = int(free[column])
    return resolved


def cheapest_columns(costs: Array) -> list[int]:
    """Returns ascending columns, one for each row of (n, m) costs, with the least sum.

    >>> cheapest_columns(np.array([[1, 0, 5], [7, 2, 3]]))
    [0, 1]
    """
    totals = np.zeros((len(costs) + 1, costs.shape[1] + 1))  # of the first rows in the first columns
    totals[1:, 0] = np.inf
    for row, cost in enumerate(costs):
        totals[row + 1, 1:] = np.minimum.accumulate(totals[row, :-1] + cost)
    columns, end = list[int](), costs.shape[1]
    for row in range(len(costs), 0, -1):
        end = int(totals[row, : end + 1].argmin()) - 1
        columns.insert(0, end)
    return columns
