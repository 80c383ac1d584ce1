"""A levt as graphs in ONNX Runtime, as a folder from ``lev-plugins export --onnx`` has it."""

from pathlib import Path
from typing import Any

from torch import Tensor

from bench.peer import Sample
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators import ensemble
from lev_plugins.inference import graphs
from lev_plugins.runtime.refinement import Refiner, Sentence, Symbols
from lev_plugins.text.candidates import BOS, EOS

BITS = {"fp32": 32, "int8": 8}


class CountingRefiner(Refiner):
    last: dict[int, int]  # iteration of each sentence of the batch

    def delete(self, sentence: Sentence, scores: Any, step: int) -> bool:
        self.last[sentence.number] = step
        return super().delete(sentence, scores, step)


class Light:
    """``steps`` has the number of iterations of each sentence, the last included."""

    def __init__(self, model: Any, dictionary: Any, folder: Path, precision: str, options: RefinementOptions):
        """``folder`` gets the graphs, if it has none."""
        if not folder.is_dir():
            folder.mkdir()
            graphs.write(model, ensemble.Symbols.of(dictionary, ensemble.Ensemble([model])).never, folder)
        symbols = Symbols(len(dictionary), model.max_positions()[1], model.placeholder)
        self.refiner = CountingRefiner(folder, BITS[precision], symbols, options)
        self.dictionary = dictionary
        self.steps: list[int] = []

    def rows(self, tokens: Tensor) -> list[list[int]]:
        return [row[row.ne(self.dictionary.pad())].tolist() for row in tokens]

    def refine(self, sample: Sample) -> list[tuple[list[int], int]]:
        """With </s>, and the number of iterations after the first."""
        given = sample["net_input"]
        sources = self.rows(given["src_tokens"])
        drafts = self.rows(given["draft"]) if "draft" in given else [[BOS, EOS] for _ in sources]
        self.refiner.last = {}
        found = self.refiner.refine(sources, drafts, [[0] * len(draft) for draft in drafts])
        return [(row, self.refiner.last[number]) for number, (row, _) in enumerate(found)]

    def __call__(self, sample: Sample) -> list[list[str]]:
        found = self.refine(sample)
        self.steps += [steps + 1 for _, steps in found]
        return [[self.dictionary.symbols[i] for i in row[:-1]] for row, _ in found]
