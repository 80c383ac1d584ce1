"""The driver of refinement with policies that are written down, and how much the policies in torch compute."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from lev_plugins.edits.actions import removed_after, replaced_per_placeholder
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.refinement import (
    Choices,
    Insertions,
    Policies,
    Refiner,
    Sentence,
    Word,
    removed_tokens,
    replaced_tokens,
)
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.policies import EnsemblePolicies
from lev_plugins.text.ids import padded
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, SPAN
from tests.helpers import BOS, EOS, PAD, lively_model, random_rows, rows_to_tensor, thorough, toy_dictionary
from tests.simulated_gpu import simulated_gpu

HOLE = 99
SURE = 9.0


class Written(Policies):
    """Turns each sentence into its target, whose words are all different."""

    def __init__(self, targets: list[list[int]]):
        self.targets, self.calls = targets, list[tuple[str, list[int]]]()

    def call(self, name: str, sentences: list[Sentence]) -> None:
        self.calls.append((name, [sentence.number for sentence in sentences]))

    def deletion(self, sentences: list[Sentence]) -> Any:
        self.call("deletion", sentences)
        rows = [[SURE if word not in self.targets[one.number] else -SURE for word in one.tokens] for one in sentences]
        return np.array([row + [SURE] * 3 for row in padded(rows, fill=int(SURE)).tolist()])  # anything on padding

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        self.call("placeholder", sentences)
        counts = []
        for sentence in sentences:
            places = [self.targets[sentence.number].index(token) for token in sentence.tokens]
            counts.append((np.diff(places) - 1).tolist())
        missing = padded(counts, fill=5)
        log_odds = np.where(missing, SURE, -SURE)
        return Insertions(np.maximum(missing, 1), log_odds, -np.logaddexp(0, log_odds))

    def token(self, sentences: list[Sentence]) -> Choices:
        self.call("token", sentences)
        pairs = ((self.targets[one.number], one.tokens) for one in sentences)
        words = [word for row, tokens in pairs for word, token in zip(row, tokens, strict=True) if token == HOLE]
        return Choices(words, [-0.5] * len(words), [[(word, -0.5)] for word in words])


def refined(
    targets: list[list[int]], drafts: list[list[int]], marks: list[list[int]] | None = None, **options: Any
) -> tuple[list[Sentence], list[tuple[str, list[int]]]]:
    policies = Written([[BOS, *row, EOS] for row in targets])
    refiner = Refiner(RefinementOptions(**options), HOLE, max_tokens=50)
    return refiner.refine(policies, [10] * len(drafts), [[BOS, *row, EOS] for row in drafts], marks), policies.calls


def test_no_policy_is_asked_in_vain() -> None:
    sentences, calls = refined([[5, 6], [5], []], [[5, 7], [5], []])
    assert [sentence.tokens for sentence in sentences] == [[BOS, 5, 6, EOS], [BOS, 5, EOS], [BOS, EOS]]
    assert [sentence.steps for sentence in sentences] == [1, 0, 0]
    assert calls == [
        ("deletion", [0, 1, 2]),
        ("placeholder", [0, 1, 2]),
        ("token", [0]),  # the others have no placeholder, and are finished
        ("deletion", [0]),
        ("placeholder", [0]),
    ]


def test_what_is_written_from_nothing_asks_the_deletion_policy_from_the_second_iteration_on() -> None:
    (sentence,), calls = refined([[5, 6, 7]], [[]])
    assert sentence.tokens == [BOS, 5, 6, 7, EOS]
    assert [name for name, _ in calls] == ["placeholder", "token", "deletion", "placeholder"]


def test_a_sentence_that_is_long_enough_gets_no_placeholders_unless_a_mark_asks_for_one() -> None:
    options = {"max_ratio": 0.0, "max_ratio_floor": 3, "max_iter": 0}
    (sentence,), calls = refined([[5, 6]], [[5]], **options)
    assert sentence.tokens == [BOS, 5, EOS] and [name for name, _ in calls] == ["deletion"]
    (sentence,), _ = refined([[5, 6]], [[5]], [[0, INSERT, 0]], **options)
    assert sentence.tokens == [BOS, 5, 6, EOS] and sentence.words[2].log_odds == inf


def test_the_record_says_when_and_how_surely_a_word_came_and_went() -> None:
    (sentence,), _ = refined([[5, 6]], [[5, 7]], max_iter=0, retain_history=True)
    assert sentence.history == [[BOS, 5, 7, EOS], [BOS, 5, EOS], [BOS, 5, HOLE, EOS], [BOS, 5, 6, EOS]]
    tokens, edits = sentence.edits()
    assert tokens == [5, 6, EOS]
    assert edits.origin == [1, -1, 3] and edits.inserted_at == [0, 1, 0] and edits.log_probs == [0.0, -0.5, 0.0]
    assert edits.insertion_log_odds == pytest.approx([0.0, SURE, 0.0]) and edits.alternatives == [[], [(6, -0.5)], []]
    assert edits.deleted_at == [0, 0, 1, 0] and edits.deletion_log_odds == [0.0, 0.0, SURE, 0.0]


def test_a_word_that_was_put_back_by_a_mark_is_certain() -> None:
    keep = KEEP + SPAN
    (sentence,), _ = refined([[5]], [[7, 8]], [[0, keep, DELETE, 0]], max_iter=0, max_ratio=0.0, max_ratio_floor=2)
    assert sentence.tokens == [BOS, 7, EOS]
    assert sentence.deleted_at == [0, 0, 1, 0] and sentence.deletion_log_odds == [0.0, 0.0, inf, 0.0]
    assert Refiner(RefinementOptions(), HOLE, 50).scores([sentence]) == [[0.0, 0.0, 0.0]]


# ---- what was deleted, and what a placeholder replaces: as in training -----------------------------------------------

gaps = st.lists(st.integers(5, 9), max_size=3)
rows = st.lists(st.tuples(gaps, st.integers(0, 2)), min_size=1, max_size=5)


@thorough
@given(st.lists(rows, min_size=1, max_size=3))
def test_deleted_words_are_those_of_training(batch: list[list[tuple[list[int], int]]]) -> None:
    sentences, before, deleted = [], [], []
    for slots in batch:
        words, tokens, marks = [], [], []
        for number, (removed, count) in enumerate(slots):
            kept = BOS if number == 0 else 20 + number
            words += [Word(kept), *[Word(HOLE)] * count]
            tokens += [kept, *removed]
            marks += [False, *[True] * len(removed)]
        removed = [removed for removed, _ in slots] + [[]]
        sentence = Sentence(0, [*words, Word(EOS)], 50, [], [], removed=removed)
        sentences.append(sentence)
        before.append([*tokens, EOS])
        deleted.append([*marks, False])
    tokens, holes = rows_to_tensor(before), rows_to_tensor([one.tokens for one in sentences]).eq(HOLE)
    gone = rows_to_tensor([[int(mark) for mark in row] for row in deleted]).eq(1) & tokens.ne(PAD)
    assert replaced_tokens(sentences, HOLE).tolist() == replaced_per_placeholder(tokens, gone, holes, PAD).tolist()
    first, counts = removed_after(tokens, gone, PAD)
    for one in sentences:
        one.write([word for word in one.words if word.token != HOLE])
    ours = removed_tokens(sentences)
    width = ours[0].shape[1]
    assert ours[0].tolist() == first[:, :width].tolist()
    for row, expected, one in zip(ours[1].tolist(), counts.tolist(), sentences, strict=True):
        assert row[: len(one.words)] == expected[: len(one.words)]


# ---- torch: how much is computed, and copied to the host -------------------------------------------------------------


class Kernels(TorchDispatchMode):
    """Counts the operators that compute something."""

    free = {"empty", "empty_like", "detach", "lift_fresh", "_unsafe_view"}

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.number += not (func.is_view or func.overloadpacket.__name__ in self.free)
        return func(*args, **(kwargs or {}))


def iterations(generator: RefinementGenerator, sample: dict[str, Any], count: Callable[[], Any]) -> tuple[int, int]:
    before = count()
    groups = generator.generate(None, sample)
    return 1 + max(best["steps"] for best, *_ in groups), count() - before


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("drafted", [False, True])
def test_a_sentence_takes_few_kernels(drafted: bool, device: str) -> None:
    """Per iteration of a model with 2 + 2 blocks: 82 to 90; 8 more with a mask for padding; 292 with fairseq."""
    kernels, steps = Kernels(), 0
    with simulated_gpu():
        model = lively_model().to(device)
        generator = RefinementGenerator([model], toy_dictionary(), RefinementOptions(inference_mode=True))
        for source, draft in zip(random_rows(20, seed=5, shortest=4), random_rows(20, seed=6, shortest=2), strict=True):
            net_input = {"src_tokens": rows_to_tensor([source]).to(device)}
            if drafted:
                net_input["draft"] = rows_to_tensor([draft]).to(device)
            with kernels:
                steps += iterations(generator, {"net_input": net_input}, lambda: kernels.number)[0]
        model.to("cpu")
    assert steps > 40 and kernels.number / steps < 91


def test_each_policy_takes_one_copy_to_the_host() -> None:
    model, sources = lively_model(), random_rows(8, seed=5, shortest=4)
    with simulated_gpu() as gpu:
        generator = RefinementGenerator([model.to("cuda")], toy_dictionary(), RefinementOptions())
        sample = {"net_input": {"src_tokens": rows_to_tensor(sources).to("cuda")}}
        steps, copies = iterations(generator, sample, lambda: gpu.waited)
        model.to("cpu")
    assert steps > 2
    assert copies <= 1 + 3 * steps - 1  # the lengths of the sources; the first iteration deletes nothing


@torch.no_grad()
def test_states_are_not_those_of_an_earlier_text() -> None:
    """If all sentences are empty, the placeholder policy is asked without the deletion policy."""
    generator, source = RefinementGenerator([lively_model()], toy_dictionary(), RefinementOptions()), random_rows(1, 5)
    policies, fresh = (EnsemblePolicies(generator.ensemble, rows_to_tensor(source)) for _ in range(2))
    (sentence,) = generator.refiner.start([9], [[BOS, 5, 6, 7, EOS]])
    policies.deletion([sentence])
    policies.placeholder([sentence])
    sentence.write([sentence.words[0], sentence.words[-1]])
    for ours, expected in zip(policies.placeholder([sentence]), fresh.placeholder([sentence]), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-5)
