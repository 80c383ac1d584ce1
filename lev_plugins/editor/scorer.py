"""What all models that label texts have in common, whatever computes them: torch or ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lev_plugins.labelling.examples import Example, ExampleEncoder
from lev_plugins.labelling.folder import LabellingInfo
from lev_plugins.labelling.text import Labels
from lev_plugins.text.ids import Array, TokenDictionary

BATCH = 32  # examples


class Scorer:
    """Scores the labels of examples: (labels,), (words, tags), or the number of a regression for each example."""

    interaction: bool  # whether labels of a set influence each other

    def __init__(self, info: LabellingInfo, dictionary: TokenDictionary, labels: Labels | None, folder: Path) -> None:
        """
        info: how the texts of the training were read
        dictionary: the words that the model reads
        labels: the names of the labels; None: a regression
        folder: holds the files of the tokeniser
        """
        self.info, self.labels = info, labels
        self.encoder = ExampleEncoder(info, info.tokeniser(folder), dictionary, labels)

    def scores(self, examples: Sequence[Example], labels: tuple[int, ...] = (), size: int = BATCH) -> list[Array]:
        """Returns the scores of each example.

        examples: texts to label
        labels: the ids of the labels to score; (): all
        size: the number of examples that are scored together
        """
        lengths = [len(example.tokens) for example in examples]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        scores: dict[int, Array] = {}
        for start in range(0, len(order), size):
            indices = order[start : start + size]
            scores |= zip(indices, self.batch([examples[i] for i in indices], labels), strict=True)
        return [scores[i] for i in range(len(lengths))]

    def batch(self, examples: list[Example], labels: tuple[int, ...]) -> list[Array]:
        """Scores examples together."""
        raise NotImplementedError

    def split_by_example(self, scores: Array, examples: list[Example]) -> list[Array]:
        """Splits the scores of a batch into one array per example."""
        if self.info.kind != "tagging":
            return list(scores)
        return np.split(scores, np.cumsum([len(example.spans) for example in examples])[:-1])
