"""Modules become ONNX graphs by tracing: what a module needs for that, and the part that spells words.

Shapes: B sentences, S length of the sources, T of the texts, n placeholders, U unknown words, P groups of letters, K
candidates, C channels; L blocks of all decoder stacks; of a pre-trained encoder, R rows of W pieces, Q of them in all.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from lev_plugins.editor import names
from lev_plugins.edits.embedding import NGRAM_SCALE, CollectingTable, NgramEmbedding, WordFeatures, WordVectors
from lev_plugins.labelling.model import EncT5
from lev_plugins.levt.model import LevT
from lev_plugins.nn.weight_cache import EvalCache

# the sizes of the examples: all differ, so that tracing confuses none
SIZES = {"B": 2, "S": 5, "T": 7, "U": 3, "P": 11, "n": 4, "K": 6, "W": 8, "Q": 9, "R": 12}
Inputs = dict[str, tuple[Tensor, dict[int, str]]]


def example(shape: str, dtype: torch.dtype = torch.long) -> tuple[Tensor, dict[int, str]]:
    """Returns an input for tracing, and its dynamic sizes.

    >>> example("2 K")
    (tensor([[0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 0, 0]]), {1: 'K'})
    """
    sizes = [SIZES.get(name) or int(name) for name in shape.split()]
    axes = {axis: name for axis, name in enumerate(shape.split()) if name in SIZES}
    return torch.full(sizes, 0 if dtype == torch.long else 1, dtype=dtype), axes  # ids are 0


class Traced(NamedTuple):
    """A module to trace, an example of each input with the names of its dynamic sizes, and the names of the outputs."""

    module: nn.Module
    inputs: Inputs
    outputs: list[str]


def trace(traced: Traced, path: Path) -> None:
    """Writes a module as a graph."""
    examples = tuple(tensor for tensor, _ in traced.inputs.values())
    caches = [module for module in traced.module.eval().modules() if isinstance(module, EvalCache)]
    if caches:
        traced.module(*examples)
    for cache in caches:
        if (
            cache.entry is not None
        ):  # the exporter makes weights of buffers, which graphs share, and constants of others
            cache.register_buffer("value", cache.entry[1])
    torch.onnx.export(
        traced.module,
        examples,
        str(path),
        input_names=list(traced.inputs),
        output_names=traced.outputs,
        dynamic_axes={name: axes for name, (_, axes) in traced.inputs.items()},
        dynamo=False,
    )


def ngram_examples(model: LevT | EncT5) -> Inputs:
    """Returns examples of the inputs that spell the unknown words; a model without --spelling has none."""
    if model.word_index is None:
        return {}
    return dict(zip(names.NGRAMS, (example("P"), example("P"), example("U", torch.float)), strict=True))


class SpellingGraph(nn.Module):
    """A graph that reads words by their spelling."""

    table: NgramEmbedding  # only with --spelling

    def __init__(self, tokens: object) -> None:
        """``tokens``: the embedding of words."""
        super().__init__()
        if isinstance(tokens, NgramEmbedding):
            self.table = tokens

    def ngram_vectors(self, ngrams: Tensor) -> Tensor:
        return self.table.grams[ngrams]

    def ngram_means(self, ngrams: Tensor, owners: Tensor, counts: Tensor) -> Tensor:
        """Returns the vectors of the unknown words (U, C).

        ngrams: (P,) of all these words
        owners: (P,) the word that has each n-gram
        counts: (U,) the n-grams of each word, at least 1
        """
        vectors = self.ngram_vectors(ngrams)
        zeros = torch.zeros_like(counts[:, None] * vectors[:1])
        total = zeros.scatter_add(0, owners[:, None].expand_as(vectors), vectors)
        return NGRAM_SCALE * (total / counts[:, None])

    def vectors(self, words: Tensor, unknown: Tensor) -> WordVectors:
        """Returns what the embedding reads of the features of words (F, B, T) and the vectors of the unknown ones."""
        vectors = self.table.vectors(None)
        means = CollectingTable(vectors.ngram_means.weight, more=unknown)
        return vectors._replace(ngram_means=means, features=WordFeatures(*words.unbind(0)))
