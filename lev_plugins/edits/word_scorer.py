"""Scores the words of the dictionary for placeholders, of which some replace a word: a log-linear model.

Before training, the words that look like the replaced word have the highest scores.

Shapes: n placeholders, K candidates for each (``edits.candidates``), R words of a sample; see also
``lev_plugins.edits.embedding`` and ``lev_plugins.nn``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lev_plugins.edits.actions import row_index
from lev_plugins.edits.batch_words import BatchWords, CandidateTensors
from lev_plugins.edits.candidates import CASES, MAX_CANDIDATES, SHAPES, GuessWeights, WordIndex
from lev_plugins.edits.embedding import NORM_EPS, WHOLE_VOCABULARY, VocabularySample, WordVectors
from lev_plugins.nn.linear import SharedLinear
from lev_plugins.nn.weight_cache import EvalCache

CONTEXT_WEIGHT = 4.0  # for a replacement; larger values overfit to the typos of the training data
# Relative penalty for a change from the case of the replaced word (row) to another (column); see ``word_shape``. Odd
# capitals (the last row) are often a slip of the shift key at the beginning of a capitalised word.
CASE_CHANGES = [
    [0, 1, 1, 1],
    [1, 0, 1, 1],
    [1, 1, 0, 1],
    [0.5, 0, 0.5, 0],
]
INITIAL_QUERY_NORM = 0.3  # relative to the vector of the replaced word, which has norm 1
SCORE_LR_SCALE = 10.0  # Adam's step does not depend on a weight's size, so feature weights are stored at a tenth


@dataclass(frozen=True)
class FeatureWeights:
    """Initial weights of the features of a word as the replacement of another, in nats; all of them are learned."""

    context: float = 10.0  # cosine of the query and the word's vector, if no word is replaced (else CONTEXT_WEIGHT)
    ngram_overlap: float = GuessWeights.ngram_overlap  # n-grams in common with the replaced word
    edit_distance: tuple[float, ...] = GuessWeights.edit_distance  # by the distance from the replaced word
    listed: float = GuessWeights.listed  # in its place, for a correction that the lexicon lists
    frequency: float = GuessWeights.frequency  # times the logarithm of the number of occurrences
    replaced_word: float = 1.0  # weight of the replaced word's vector in the query
    self_replacement: float = 29.0  # penalty of the replaced word itself
    blank: float = 8.0  # penalty of a word that adds or removes the blank before it
    case: float = 5.0  # penalty of a word in another case, times CASE_CHANGES


@dataclass(frozen=True)
class KnownWordFeatureWeights:
    """Initial weights where a word of the dictionary is replaced, with a pre-trained encoder.

    A misspelt word looks like the one that was meant, but a wrong word need not, as in "at" for "in": there, the
    context has to decide.
    """

    known_context: float = 10.0  # in place of CONTEXT_WEIGHT
    known_similarity: float = 0.5  # factor of all features that compare the word with the replaced one


# what holds for words that are not in the dictionary, and for all words without a pre-trained encoder
MISSPELT_WORD_WEIGHTS = KnownWordFeatureWeights(known_context=CONTEXT_WEIGHT, known_similarity=1.0)


class DictionaryCandidates(nn.Module):
    """The candidates of the dictionary's own words, looked up when they are first needed.

    A decoder may replace words that it has inserted itself, which are not among the ``words`` of the batch.
    """

    ids: Tensor  # (V + 1, K)
    ngram_overlap: Tensor  # (V + 1, K) the bits of 32-bit floats as integers, which ``half()`` leaves alone
    edit_distance: Tensor  # (V + 1, K)

    def __init__(self, index: WordIndex) -> None:
        super().__init__()
        self.index = index
        size = len(index.words) + 1, min(MAX_CANDIDATES, len(index.words))
        types = {"ids": torch.int32, "ngram_overlap": torch.int32, "edit_distance": torch.uint8}
        for name, dtype in types.items():
            self.register_buffer(name, torch.zeros(size, dtype=dtype), persistent=False)
        self.filled: set[int] = set()  # words whose rows have been looked up

    def fill(self, words: Iterable[int]) -> None:
        """Looks up the words whose rows are missing; V: the placeholder, which has none."""
        missing = sorted(set(words) - self.filled)
        if missing:
            spellings = self.index.words
            ids, overlap, distance = self.index.nearest([spellings[i] if i < len(spellings) else "" for i in missing])
            rows = (self.ids, ids), (self.ngram_overlap, overlap.view(np.int32)), (self.edit_distance, distance)
            for table, values in rows:
                on_device = torch.from_numpy(values).to(table, non_blocking=True)
                table.index_copy_(0, row_index(missing, table.device), on_device)
            self.filled.update(missing)

    def forward(self, words: Tensor) -> CandidateTensors:
        """Returns the rows of words (n,) that ``fill`` has looked up."""
        overlap = self.ngram_overlap[words].view(torch.float32)
        ids, edit_distance = self.ids[words].long(), self.edit_distance[words].long()
        return {"ids": ids, "ngram_overlap": overlap, "edit_distance": edit_distance}


class WordScorer(nn.Module):
    """Scores the words of the dictionary for placeholders, of which some replace a word.

    The score of a word is the sum of the features in ``FeatureWeights``, plus a bias.
    """

    shapes: Tensor  # (V,)
    log_counts: Tensor  # (V,)
    case_changes: Tensor  # (CASES, CASES)
    # feature weights, stored at a tenth
    frequency: Tensor
    blank: Tensor
    case: Tensor

    def __init__(self, index: WordIndex, shapes: Tensor, pad: int, dim: int, pretrained: bool = False) -> None:
        """
        Args:
            index: the words of the dictionary
            shapes: (V + 1,) of these words and the placeholder
            pad: the id of <pad>
            dim: the width of the decoder's states and of the words' vectors
            pretrained: there is a pre-trained encoder: known words get ``KnownWordFeatureWeights``
        """
        super().__init__()
        self.vocabulary, self.padding_idx, self.pretrained = len(index.words), pad, pretrained
        self.register_buffer("shapes", shapes[:-1], persistent=False)  # the placeholder is no output class
        self.register_buffer("case_changes", torch.tensor(CASE_CHANGES), persistent=False)
        self.register_buffer("log_counts", torch.from_numpy(index.counts + 1.0).float().log(), persistent=False)
        self.query = nn.Linear(dim, dim)
        # small, so that the replaced word decides first; not 0, where the gradient of ``F.normalize`` is huge
        with torch.no_grad():
            self.query.weight.mul_(INITIAL_QUERY_NORM * (3 / dim) ** 0.5)  # torch begins with a variance of 1 / 3 dim
        nn.init.zeros_(self.query.bias)
        self.bias = nn.Parameter(torch.zeros(self.vocabulary))
        weights = vars(FeatureWeights())
        if pretrained:
            weights = {**weights, **vars(KnownWordFeatureWeights())}
        if index.lexicon is None:
            del weights["listed"]
        for name, value in weights.items():
            self.register_parameter(name, nn.Parameter(torch.tensor(value) / SCORE_LR_SCALE))
        self.known = DictionaryCandidates(index)
        self.biases, self.product = EvalCache(), SharedLinear()  # neither has weights of its own

    def weight(self, name: str) -> Tensor:
        return SCORE_LR_SCALE * self.get_parameter(name)

    def candidates(self, host_ids: Iterable[int], replaced: Tensor, words: BatchWords) -> CandidateTensors:
        """Returns the candidates for the words ``replaced`` (n,), whose ids are also ``host_ids``.

        Those of unknown words are a part of the batch's ``words``; those of known words are looked up if they are new.
        """
        self.known.fill(min(word, self.vocabulary) for word in host_ids)
        of_known = self.known(replaced.clamp(max=self.vocabulary))
        of_unknown = words["candidates"]
        if not len(of_unknown["ids"]):
            return of_known
        is_unknown = (replaced > self.vocabulary)[:, None]
        place = (replaced - self.vocabulary - 1).clamp(min=0)
        return {
            "ids": torch.where(is_unknown, of_unknown["ids"][place], of_known["ids"]),
            "ngram_overlap": torch.where(is_unknown, of_unknown["ngram_overlap"][place], of_known["ngram_overlap"]),
            "edit_distance": torch.where(is_unknown, of_unknown["edit_distance"][place], of_known["edit_distance"]),
        }

    def forward(
        self, states: Tensor, replaced: Tensor, words: WordVectors, directions: Tensor, candidates: CandidateTensors
    ) -> Tensor:
        """Returns scores (n, V), or (n, R) of a sample of the dictionary.

        Args:
            states: (n, C) the decoder's states of the placeholders
            replaced: (n,) the words that they replace; padding: none
            words: the vectors of the batch
            directions: (V or R, C) the vectors of the words to score, of length 1
            candidates: those for ``replaced``
        """
        similarity = self.similarity(replaced, states.dtype)
        queries = self.queries(states, replaced, similarity, words.spelling_of(replaced))
        shapes = words.shapes[replaced].masked_fill(replaced.eq(self.padding_idx), SHAPES)
        biases = self.biases_of(shapes, words.sample)
        # few passes over (n, V), which is most of the work where the dictionary is large
        if self.biases.learns:
            scores = torch.addmm(biases.to(queries.dtype), queries, directions.T)
        else:
            scores = self.product(queries, directions)
            scores += biases
        return self.add_comparisons(scores, replaced, similarity, candidates, words.sample)

    def queries(self, states: Tensor, replaced: Tensor, similarity: Tensor | float, spelling: Tensor) -> Tensor:
        """Returns the vectors (n, C) whose products with the directions of words are a part of the scores.

        Args:
            states: (n, C) the decoder's states of the placeholders
            replaced: (n,) the words that they replace; padding: none
            similarity: as returned by the method of this name
            spelling: (n, C) of the replaced words
        """
        context: Tensor | float = MISSPELT_WORD_WEIGHTS.known_context
        if self.pretrained:
            context = torch.where(self.is_known(replaced), self.weight("known_context"), context).to(states.dtype)
        replaces_none = replaced.eq(self.padding_idx)[:, None]
        context = torch.where(replaces_none, self.weight("context"), context).to(states.dtype)
        replaced_vector = similarity * self.weight("replaced_word") * spelling
        return context * F.normalize(self.query(states) + replaced_vector, dim=-1, eps=NORM_EPS)

    def biases_of(self, shapes: Tensor, sample: VocabularySample) -> Tensor:
        """Returns the rows of ``biases_by_shape`` for the shapes (n,) of the replaced words: (n, V or R)."""
        learned = self.bias, self.frequency, self.blank, self.case
        return self.biases.rows(lambda: self.biases_by_shape(sample), shapes, *learned)

    def add_comparisons(
        self,
        scores: Tensor,
        replaced: Tensor,
        similarity: Tensor | float,
        candidates: CandidateTensors,
        sample: VocabularySample = WHOLE_VOCABULARY,
    ) -> Tensor:
        """Adds, in place, how much each candidate looks like the replaced word, and the penalty of the word itself.

        Args:
            scores: (n, V or R)
            replaced: (n,) the words that are replaced; padding: none
            similarity: as returned by the method of this name
            candidates: those for ``replaced``
            sample: the words that are scored
        """
        of_distance = F.pad(self.weight("edit_distance"), (0, 1))  # MAX_DISTANCE: 0
        if self.known.index.lexicon is not None:
            of_distance = torch.cat([of_distance, self.weight("listed")[None]])
        features = self.weight("ngram_overlap") * candidates["ngram_overlap"]
        features = features + of_distance[candidates["edit_distance"]]
        scores = add_at(scores, sample.classes(candidates["ids"]), similarity * features)
        # an unknown word is no class, so the penalty goes to <pad>, which is never written
        itself = replaced.where(replaced < self.vocabulary, self.padding_idx)[:, None]
        return add_at(scores, sample.classes(itself), -self.weight("self_replacement").expand_as(itself))

    def is_known(self, replaced: Tensor) -> Tensor:
        return replaced[:, None] < self.vocabulary

    def similarity(self, replaced: Tensor, dtype: torch.dtype) -> Tensor | float:
        """Returns the factor of all features that compare a word with ``replaced`` (n,): (n, 1), or one for all."""
        factor = MISSPELT_WORD_WEIGHTS.known_similarity
        if not self.pretrained:
            return factor
        return torch.where(self.is_known(replaced), self.weight("known_similarity"), factor).to(dtype)

    def biases_by_shape(self, sample: VocabularySample) -> Tensor:
        """Returns the part of the score that depends on the shape of the replaced word alone: (SHAPES + 1, V).

        It is the bias, plus the frequency feature, less the penalties for another shape; the last row, for
        placeholders that replace no word, has no penalties.
        """
        biases = sample.select(self.bias) + self.weight("frequency") * sample.select(self.log_counts)
        if sample.log_weights is not None:
            biases = biases + sample.log_weights
        return biases - self.penalties(sample.select(self.shapes))

    def penalties(self, shapes: Tensor) -> Tensor:
        """Returns the penalties of words of these shapes (n,) that replace a word of each shape: (SHAPES + 1, n)."""
        of_word, of_replaced = shapes[None], torch.arange(SHAPES, device=shapes.device)[:, None]
        blank = (of_word // CASES).ne(of_replaced // CASES)
        case = self.case_changes[of_replaced % CASES, of_word % CASES]
        return F.pad(self.weight("blank") * blank + self.weight("case") * case, (0, 0, 0, 1))


def add_at(scores: Tensor, places: Tensor, values: Tensor) -> Tensor:
    """Adds ``values`` (n, K) to ``scores`` (n, R) in place, in the columns ``places`` (n, K); -1: nowhere.

    >>> add_at(torch.zeros(1, 3), torch.tensor([[2, -1]]), torch.tensor([[5.0, 7.0]]))
    tensor([[0., 0., 5.]])
    """
    values = values.masked_fill(places < 0, 0).to(scores.dtype)
    return scores.scatter_add_(1, places.clamp(min=0), values)
