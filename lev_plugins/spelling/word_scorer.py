"""Which word of the dictionary takes the place of another: what looks alike scores alike before training.

Shapes: n words that are replaced, K candidates of each (``text.candidates``); see also ``lev_plugins.layers.spelling``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits.actions import row_index
from lev_plugins.layers.linear import SharedLinear
from lev_plugins.layers.weight_cache import Keeping
from lev_plugins.spelling.batch_words import BatchWords
from lev_plugins.spelling.candidates import CASES, FAR, NEAR, SHAPES, Plausible, WordIndex
from lev_plugins.spelling.embedding import SHORT, Sample, WordVectors

CONTEXT = 4.0  # say of the context in what replaces a word; with more, training learns by heart which typos it has seen
OTHER_CASE = [
    [0, 1, 1, 1],
    [1, 0, 1, 1],
    [1, 1, 0, 1],
    [0.5, 0, 0.5, 0],
]  # from the word that is replaced (row) to the one that is wanted
QUIET = 0.3  # length, at first, of what the model asks for by itself, beside the 1 of the word that is replaced
FAST = 10.0  # an optimiser changes all parameters by like amounts: weights of a score must move faster than vectors


@dataclass(frozen=True)
class Say:
    """What has a say in the choice of a word, before training, in units of log-probability."""

    vectors: float = 10.0  # its vector is like what the model asks for, where it replaces no word (else CONTEXT)
    alike: float = Plausible.alike  # it has the groups of letters of the word that it replaces
    slips: tuple[float, ...] = Plausible.slips  # ... or is so few slips away from it
    frequency: float = Plausible.frequency  # times the logarithm of its occurrences
    handed: float = 1.0  # share of the replaced word in what the model asks for
    itself: float = 29.0  # a word that would replace itself loses this; one with another blank or case, less
    blank: float = 8.0
    case: float = 5.0


@dataclass(frozen=True)
class SayOfKnown:
    """With a pre-trained encoder, in place of a word of the dictionary.

    A misspelt word looks like what is meant, but a wrong word need not, as in "at" for "in": the context must decide.
    """

    context: float = 10.0  # in place of CONTEXT
    likeness: float = 0.5  # share of what likeness to a misspelt word counts


AS_MISSPELT = SayOfKnown(context=CONTEXT, likeness=1.0)  # in checkpoints that lack these weights


def weights_of(say: Say | SayOfKnown) -> dict[str, Tensor]:
    """As they are stored, a ``FAST``-th of what they say.

    >>> {name: round(weight.item(), 2) for name, weight in weights_of(AS_MISSPELT).items()}
    {'context': 0.4, 'likeness': 0.1}
    """
    return {name: torch.tensor(value) / FAST for name, value in vars(say).items()}


class Nearest(NamedTuple):
    """The candidates for the places of n words, as tensors."""

    near: Tensor  # (n, K) words of the dictionary
    alike: Tensor  # (n, K)
    slips: Tensor  # (n, K)
    shapes: Tensor | None = None  # (n,) in a graph, of the words that are replaced


class KnownCandidates(nn.Module):
    """The candidates of the dictionary's own words, each found when it is first asked for.

    A model may replace words that it wrote itself, which no batch brings.
    """

    near: Tensor  # (V + 1, K)
    alike: Tensor
    slips: Tensor

    def __init__(self, index: WordIndex):
        super().__init__()
        self.index = index
        size = len(index.words) + 1, min(NEAR, len(index.words))
        # alike: the bits of numbers, which no change of precision alters
        types = {"near": torch.int32, "alike": torch.int32, "slips": torch.uint8}
        for name, dtype in types.items():
            self.register_buffer(name, torch.zeros(size, dtype=dtype), persistent=False)
        self.filled: set[int] = set()  # words whose rows are there

    def find(self, words: Iterable[int]) -> None:
        """Fills the rows of words that were not looked for before."""
        new = sorted(set(words) - self.filled)
        if new:
            spelt = self.index.words
            near, alike, slips = self.index.nearest([spelt[i] if i < len(spelt) else "" for i in new])
            tables = (self.near, near), (self.alike, alike.view(np.int32)), (self.slips, slips)
            for table, rows in tables:
                table.index_copy_(0, row_index(new, table.device), torch.from_numpy(rows).to(table, non_blocking=True))
            self.filled.update(new)

    def forward(self, words: Tensor) -> Nearest:
        """Of words that have been found."""
        return Nearest(self.near[words].long(), self.alike[words].view(torch.float32), self.slips[words].long())


class Respelling(nn.Module):
    """Scores the words of the dictionary for holes, of which some take the place of a word."""

    shapes: Tensor  # (V,)
    log_counts: Tensor  # (V,)
    other_case: Tensor  # (CASES, CASES)
    # weights, a FAST-th of what Say says
    slips: Tensor  # (FAR,)
    frequency: Tensor
    blank: Tensor
    case: Tensor

    def __init__(self, index: WordIndex, shapes: Tensor, pad: int, dim: int, reads: bool = False):
        """``reads``: the states come from a pre-trained encoder."""
        super().__init__()
        self.vocabulary, self.padding_idx, self.reads = len(index.words), pad, reads
        self.register_buffer("shapes", shapes[:-1], persistent=False)
        self.register_buffer("other_case", torch.tensor(OTHER_CASE), persistent=False)
        self.register_buffer("log_counts", torch.from_numpy(index.counts + 1.0).float().log(), persistent=False)
        self.query = nn.Linear(dim, dim)
        # before training, the word that is replaced decides almost alone; from 0, the gradient of a direction is huge
        with torch.no_grad():
            self.query.weight.mul_(QUIET * (3 / dim) ** 0.5)  # torch begins with a variance of 1 / 3 dim
        nn.init.zeros_(self.query.bias)
        self.bias = nn.Parameter(torch.zeros(self.vocabulary))
        weights = weights_of(Say()) | (weights_of(SayOfKnown()) if reads else {})
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(value))
        self.known = KnownCandidates(index)
        self.shaped, self.product = Keeping(), SharedLinear()  # without weights

    def weight(self, name: str) -> Tensor:
        return FAST * self.get_parameter(name)

    def find(self, words: Iterable[int]) -> None:
        self.known.find(min(word, self.vocabulary) for word in words)

    def found(self, replaced: Tensor, words: BatchWords | None) -> Nearest:
        """The candidates of words (n,), after ``find``; those of unknown ``words`` came with the batch."""
        unknown, known = replaced > self.vocabulary, self.known(replaced.clamp(max=self.vocabulary))
        if words is None or not len(words.near):
            return known
        place = (replaced - self.vocabulary - 1).clamp(min=0)
        pairs = zip((words.near, words.alike, words.slips), known[:3], strict=True)
        return Nearest(*(torch.where(unknown[:, None], new[place], old) for new, old in pairs))

    def forward(
        self, states: Tensor, replaced: Tensor, words: WordVectors, directions: Tensor, nearest: Nearest
    ) -> Tensor:
        """Scores (n, V) for holes with ``states`` (n, C) in the place of words ``replaced`` (n,); padding: of none.

        Of a sample of the dictionary, (n, R). ``directions`` are the vectors of its words.
        """
        near, alike, slips, shapes = nearest
        none = replaced.eq(self.padding_idx)
        context, likeness = self.context_and_likeness(replaced, states.dtype)
        say = torch.where(none[:, None], self.weight("vectors"), context).to(states.dtype)
        handed = likeness * self.weight("handed") * words.spelling_of(replaced)
        query = say * F.normalize(self.query(states) + handed, dim=-1, eps=SHORT)
        shapes = (words.shapes[replaced] if shapes is None else shapes).masked_fill(none, SHAPES)
        learned = self.bias, self.frequency, self.blank, self.case
        of_shapes = self.shaped.constant(lambda: self.of_shapes(words.sample), *learned)
        # few passes over (n, V), which is most of the work where the dictionary is large
        if self.shaped.learns:
            scores = torch.addmm(F.embedding(shapes, of_shapes).to(query.dtype), query, directions.T)
        else:
            scores = self.product(query, directions)
            scores += F.embedding(shapes, of_shapes)
        of_slips = F.pad(self.weight("slips"), (0, FAR + 1 - len(self.slips)))  # FAR: nothing
        like = likeness * (self.weight("alike") * alike + of_slips[slips])
        scores = add_at(scores, words.sample.place(near), like)
        itself = replaced.where(replaced < self.vocabulary, self.padding_idx)[:, None]
        return add_at(scores, words.sample.place(itself), -self.weight("itself").expand_as(itself))

    def context_and_likeness(self, replaced: Tensor, dtype: torch.dtype) -> tuple[Tensor | float, Tensor | float]:
        """(n, 1) what the context has to say in place of words (n,), and what likeness to them counts."""
        if not self.reads:
            return AS_MISSPELT.context, AS_MISSPELT.likeness
        known = replaced[:, None] < self.vocabulary
        context = torch.where(known, self.weight("context"), AS_MISSPELT.context)
        return context.to(dtype), torch.where(known, self.weight("likeness"), AS_MISSPELT.likeness).to(dtype)

    def of_shapes(self, sample: Sample) -> Tensor:
        """(shapes + 1, V) how frequent words are, less what they lose in place of a word of another shape.

        Nothing is lost in the last row, for holes that replace no word.
        """
        wanted, old = sample.of(self.shapes)[None], torch.arange(SHAPES, device=self.shapes.device)[:, None]
        blank = (wanted // CASES).ne(old // CASES)
        case = self.other_case[old % CASES, wanted % CASES]
        losses = F.pad(self.weight("blank") * blank + self.weight("case") * case, (0, 0, 0, 1))
        frequent = sample.of(self.bias) + self.weight("frequency") * sample.of(self.log_counts)
        if sample.stands_for is not None:
            frequent = frequent + sample.stands_for
        return frequent - losses


def by_name(weights: Tensor) -> dict[str, Tensor]:
    """Until version 0.2, all weights of scores were one vector.

    >>> {name: value.tolist() for name, value in by_name(torch.arange(11.0)).items() if name in ("slips", "case")}
    {'slips': [2.0, 3.0, 4.0, 5.0], 'case': 10.0}
    """
    sizes = {name: torch.tensor(value).shape for name, value in vars(Say()).items()}
    values = weights.split([size.numel() for size in sizes.values()])
    return {name: value.view(size) for (name, size), value in zip(sizes.items(), values, strict=True)}


def add_at(scores: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """``scores`` (n, R), in place, with ``values`` (n, K) added at ``places``; -1: nowhere.

    >>> add_at(torch.zeros(1, 3), torch.tensor([[2, -1]]), torch.tensor([[5.0, 7.0]]))
    tensor([[0., 0., 5.]])
    """
    values = values.masked_fill(places < 0, 0).to(scores.dtype)
    return scores.scatter_add_(1, places.clamp(min=0), values)
