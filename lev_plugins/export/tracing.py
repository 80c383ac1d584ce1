"""Modules become ONNX graphs by tracing: the names of their inputs, and the part that spells words.

A module reads its inputs in groups: named tuples or dictionaries of tensors, in which None stands for what a model
lacks. ONNX passes single tensors by position. ``named`` gives them their names.

Shapes: B sentences, S length of the sources, T of the texts, n placeholders, U unknown words, P groups of letters, K
candidates, C channels; L blocks of all decoder stacks; of a pre-trained encoder, R rows of W pieces, Q of them in all.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from lev_plugins.edits.embedding import NGRAM_SCALE, CollectingTable, NgramEmbedding, WordVectors
from lev_plugins.nn.weight_cache import EvalCache

# the dynamic sizes of the examples, by which they are recognised: primes that are too large for a number of heads
SIZES = {"B": 17, "S": 19, "T": 23, "R": 29, "W": 31, "U": 37, "n": 41, "K": 43, "P": 47, "Q": 53}
NAMES = {size: name for name, size in SIZES.items()}


class Ngrams(NamedTuple):
    """The n-grams of words of a batch."""

    ids: Tensor  # (P,) of all these words
    owners: Tensor  # (P,) the word that has each n-gram
    counts: Tensor  # (U,) the n-grams of each word, at least 1


class Pieces(NamedTuple):
    """The fields of ``PiecesInRows`` as tensors."""

    rows: Tensor  # (R, W)
    places: Tensor  # (Q,)
    owners: Tensor  # (Q,)


class SourceInputs(NamedTuple):
    """The texts that an encoder reads."""

    words: Tensor  # (F, B, S) the features of their words, or their ids (1, B, S)
    ngrams: Ngrams | None = None  # with --spelling, those of the unknown words
    pieces: Pieces | None = None  # with --backbone


Groups = tuple[Any, ...]  # of inputs, the arguments of a module's ``forward``


class Traced(NamedTuple):
    """A module to trace, with examples of its inputs, and the names of its outputs."""

    module: nn.Module
    inputs: Groups
    outputs: list[str]
    axes: Mapping[str, dict[int, str]] = {}  # the dynamic sizes of inputs by their axes, where not those of SIZES


def example(shape: str, dtype: torch.dtype = torch.long) -> Tensor:
    """Returns an input for tracing.

    >>> example("1 B")
    tensor([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
    """
    fill = 0 if dtype == torch.long else 1  # ids are 0
    return torch.full([SIZES.get(size) or int(size) for size in shape.split()], fill, dtype=dtype)


def ngram_examples() -> Ngrams:
    return Ngrams(example("P"), example("P"), example("U", torch.float))


def named(groups: Groups) -> dict[str, Tensor]:
    """Returns the tensors by the names that they have in ONNX.

    >>> ngrams = Ngrams(*torch.arange(3))
    >>> [*named((SourceInputs(torch.zeros(1), ngrams), {"texts": torch.zeros(1)}))]
    ['words', 'ngrams.ids', 'ngrams.owners', 'ngrams.counts', 'texts']
    """
    tensors: dict[str, Tensor] = {}
    for group in groups:
        for name, value in (group if isinstance(group, dict) else group._asdict()).items():
            if isinstance(value, Tensor):
                tensors[name] = value
            elif value is not None:
                tensors |= {f"{name}.{field}": tensor for field, tensor in named((value,)).items()}
    return tensors


class ByPosition(nn.Module):
    """Passes inputs that come by position to a module that reads them in groups."""

    def __init__(self, module: nn.Module, groups: Groups) -> None:
        super().__init__()
        self.module = module
        self.leaves, self.structure = tree_flatten(groups)

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        tensors = iter(inputs)
        leaves = [next(tensors) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves]
        return self.module(*tree_unflatten(leaves, self.structure))


def trace(traced: Traced, path: Path) -> None:
    """Writes a module as a graph."""
    module = ByPosition(traced.module, traced.inputs).eval()
    examples = named(traced.inputs)
    axes = {
        name: {axis: NAMES[size] for axis, size in enumerate(tensor.shape) if size in NAMES}
        for name, tensor in examples.items()
    }
    caches = [part for part in module.modules() if isinstance(part, EvalCache)]
    if caches:
        module(*examples.values())
    for cache in caches:
        if cache.entry is not None:  # buffers become weights, which graphs share, and other tensors constants
            cache.register_buffer("value", cache.entry[1])
    torch.onnx.export(
        module,
        tuple(examples.values()),
        str(path),
        input_names=[*examples],
        output_names=traced.outputs,
        dynamic_axes={**axes, **traced.axes},
        dynamo=False,
    )


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

    def ngram_means(self, ngrams: Ngrams) -> Tensor:
        """Returns the vectors of the words that have the n-grams: (U, C)."""
        vectors = self.ngram_vectors(ngrams.ids)
        zeros = torch.zeros_like(ngrams.counts[:, None] * vectors[:1])
        total = zeros.scatter_add(0, ngrams.owners[:, None].expand_as(vectors), vectors)
        return NGRAM_SCALE * (total / ngrams.counts[:, None])

    def vectors(self, unknown: Tensor) -> WordVectors:
        """Returns the vectors of all words of a batch; ``unknown``: those of the unknown words (U, C)."""
        vectors = self.table.vectors(None)
        return vectors._replace(ngram_means=CollectingTable(vectors.ngram_means.weight, more=unknown))
