"""What all models that label texts have in common, whatever computes them: torch or ONNX Runtime."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lev_plugins.data.labels.examples import Encoder, Example
from lev_plugins.data.labels.folder import LabellingInfo
from lev_plugins.data.labels.text import Labels

BATCH = 32  # examples


class Scorer:
    """Scores of an example: (labels,), (words, tags), or the number of a regression."""

    interaction: bool  # whether labels of a set influence each other

    def __init__(self, info: LabellingInfo, dictionary: Any, labels: Labels | None, folder: Path):
        self.info, self.labels = info, labels
        self.encoder = Encoder(info, info.tokeniser(folder), dictionary, labels)

    def scores(self, examples: Sequence[Example], asked: tuple[int, ...] = (), size: int = BATCH) -> list[Any]:
        """``asked``: of a set, the labels of interest, by default all; ``size`` examples are scored together."""
        found: dict[int, Any] = {}
        lengths = [len(example.tokens) for example in examples]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        for first in range(0, len(order), size):
            some = order[first : first + size]
            found |= zip(some, self.batch([examples[i] for i in some], asked), strict=True)
        return [found[i] for i in range(len(lengths))]

    def batch(self, examples: list[Example], asked: tuple[int, ...]) -> list[Any]:
        raise NotImplementedError

    def apart(self, scores: Any, examples: list[Example]) -> list[Any]:
        """What a pass says of the examples: of each by itself."""
        if self.info.kind != "tagging":
            return list(scores)
        return np.split(scores, np.cumsum([len(example.spans) for example in examples])[:-1])
