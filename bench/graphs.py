"""A levt as graphs in ONNX Runtime, as a folder from ``lev-plugins export --onnx`` has it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from bench.peer import Sample
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators.policies import Ensemble
from lev_plugins.generators.refinement import Policies, Refiner
from lev_plugins.inference import graphs
from lev_plugins.runtime.refinement import GraphPolicies, Graphs
from lev_plugins.text.candidates import BOS, EOS, Rows

BITS = {"fp32": 32, "int8": 8}


class Light:
    """``steps`` has the number of iterations of each sentence, the last included."""

    policies: Callable[[Graphs, Rows], Policies] = GraphPolicies

    def __init__(self, model: Any, dictionary: Any, folder: Path, precision: str, options: RefinementOptions):
        """``folder`` gets the graphs, if it has none."""
        if not folder.is_dir():
            folder.mkdir()
            graphs.write(model, Ensemble([model]).never_written, folder)
        self.refiner = Refiner(options, model.placeholder, model.max_positions()[1])
        self.graphs = Graphs(folder, BITS[precision], len(dictionary), model.placeholder)
        self.dictionary = dictionary
        self.steps: list[int] = []

    def rows(self, tokens: Tensor) -> list[list[int]]:
        return [row[row.ne(self.dictionary.pad())].tolist() for row in tokens]

    def refine(self, sample: Sample) -> list[tuple[list[int], int]]:
        """With </s>, and the number of iterations after the first."""
        given = sample["net_input"]
        sources = self.rows(given["src_tokens"])
        drafts = self.rows(given["draft"]) if "draft" in given else [[BOS, EOS] for _ in sources]
        found = self.refiner.refine(self.policies(self.graphs, sources), map(len, sources), drafts)
        return [(sentence.tokens[1:], sentence.steps) for sentence in found]

    def __call__(self, sample: Sample) -> list[list[str]]:
        found = self.refine(sample)
        self.steps += [steps + 1 for _, steps in found]
        return [[self.dictionary.symbols[i] for i in row[:-1]] for row, _ in found]
