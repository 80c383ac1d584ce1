"""The driver of refinement with scripted policies, and what the policies in torch compute and copy."""

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
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    PLACEHOLDER,
    lively_model,
    random_rows,
    rows_to_tensor,
    thorough,
    toy_dictionary,
)
from tests.simulated_gpu import simulated_gpu

CERTAIN = 9.0


class ScriptedPolicies(Policies):
    """Policies that edit each sentence into its target, whose words are all different."""

    def __init__(self, targets: list[list[int]]):
        self.targets, self.calls = targets, list[tuple[str, list[int]]]()

    def call(self, name: str, sentences: list[Sentence]) -> None:
        self.calls.append((name, [sentence.number for sentence in sentences]))

    def deletion(self, sentences: list[Sentence]) -> Any:
        self.call("deletion", sentences)
        pairs = [(self.targets[sentence.number], sentence.tokens) for sentence in sentences]
        rows = [[-CERTAIN if word in target else CERTAIN for word in tokens] for target, tokens in pairs]
        # log-odds of padding are ignored
        return np.array([row + [CERTAIN] * 3 for row in padded(rows, fill=int(CERTAIN)).tolist()])

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        self.call("placeholder", sentences)
        counts = []
        for sentence in sentences:
            positions = [self.targets[sentence.number].index(token) for token in sentence.tokens]
            counts.append((np.diff(positions) - 1).tolist())
        missing = padded(counts, fill=5)
        log_odds = np.where(missing, CERTAIN, -CERTAIN)
        return Insertions(np.maximum(missing, 1), log_odds, -np.logaddexp(0, log_odds))

    def token(self, sentences: list[Sentence]) -> Choices:
        self.call("token", sentences)
        pairs = ((self.targets[sentence.number], sentence.tokens) for sentence in sentences)
        words = [target[i] for target, tokens in pairs for i, token in enumerate(tokens) if token == PLACEHOLDER]
        return Choices(words, [-0.5] * len(words), [[(word, -0.5)] for word in words])


def refined(
    targets: list[list[int]], drafts: list[list[int]], marks: list[list[int]] | None = None, **options: Any
) -> tuple[list[Sentence], list[tuple[str, list[int]]]]:
    policies = ScriptedPolicies([[BOS, *row, EOS] for row in targets])
    refiner = Refiner(RefinementOptions(**options), PLACEHOLDER, max_tokens=50)
    return refiner.refine(policies, [10] * len(drafts), [[BOS, *row, EOS] for row in drafts], marks), policies.calls


def test_finished_sentences_and_needless_policies_are_skipped() -> None:
    sentences, calls = refined([[5, 6], [5], []], [[5, 7], [5], []])
    assert [sentence.tokens for sentence in sentences] == [[BOS, 5, 6, EOS], [BOS, 5, EOS], [BOS, EOS]]
    assert [sentence.steps for sentence in sentences] == [1, 0, 0]
    assert [numbers for name, numbers in calls if name == "token"] == [[0]]  # only sentence 0 has a placeholder
    for name in ("deletion", "placeholder"):  # sentences 1 and 2 are finished after the first iteration
        assert [numbers for policy, numbers in calls if policy == name] == [[0, 1, 2], [0]]


def test_the_deletion_policy_is_skipped_for_an_empty_draft() -> None:
    (sentence,), calls = refined([[5, 6, 7]], [[]])
    assert sentence.tokens == [BOS, 5, 6, 7, EOS]
    names = [name for name, _ in calls]
    assert names.count("deletion") == 1 and names.index("deletion") > names.index("token")


def test_a_sentence_at_its_length_limit_gets_only_the_placeholders_of_marks() -> None:
    options = {"max_ratio": 0.0, "max_ratio_floor": 3, "max_iter": 0}
    (sentence,), calls = refined([[5, 6]], [[5]], **options)
    assert sentence.tokens == [BOS, 5, EOS] and [name for name, _ in calls] == ["deletion"]
    (sentence,), _ = refined([[5, 6]], [[5]], [[0, INSERT, 0]], **options)
    assert sentence.tokens == [BOS, 5, 6, EOS] and sentence.words[2].log_odds == inf


class ChainedPolicies(Policies):
    """Policies that delete the words 7 and 8, and write the word after the one that was deleted."""

    reads_removed = True

    def deletion(self, sentences: list[Sentence]) -> Any:
        return np.array([[CERTAIN if token in (7, 8) else -CERTAIN for token in s.tokens] for s in sentences])

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        counts = np.array([[len(gap) for gap in s.removed[:-1]] or [0] * (len(s.words) - 1) for s in sentences])
        return Insertions(counts, np.where(counts, CERTAIN, -CERTAIN), np.where(counts, -CERTAIN, 0.0))

    def token(self, sentences: list[Sentence]) -> Choices:
        words = [gap[0] + 1 for s in sentences for gap in s.removed if gap]
        return Choices(words, [-0.5] * len(words), [[] for _ in words])


def test_insertions_that_read_other_deleted_words_are_no_repetition() -> None:
    policies = ChainedPolicies()
    refiner = Refiner(RefinementOptions(max_iter=9), PLACEHOLDER, 50)
    (sentence,) = refiner.refine(policies, [3], [[BOS, 5, 7, EOS]])
    assert sentence.tokens == [BOS, 5, 9, EOS] and sentence.steps == 2
    policies.reads_removed = False  # the text after the deletions alone is the same in both iterations
    (sentence,) = refiner.refine(policies, [3], [[BOS, 5, 7, EOS]])
    assert sentence.tokens == [BOS, 5, 8, EOS]


class CopyingPolicies(Policies):
    """Policies that insert a copy of a single word behind it, with certainty, and delete the first of two words."""

    def deletion(self, sentences: list[Sentence]) -> Any:
        return np.array([[CERTAIN if i == 1 and len(s.words) == 4 else -CERTAIN for i in range(4)] for s in sentences])

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        counts = np.array([[0, len(s.words) == 3, 0] for s in sentences], dtype=int)
        return Insertions(np.maximum(counts, 1), np.where(counts, CERTAIN, -CERTAIN), np.where(counts, -CERTAIN, 0.0))

    def token(self, sentences: list[Sentence]) -> Choices:
        return Choices([5] * len(sentences), [0.0] * len(sentences), [[] for _ in sentences])


def test_a_word_of_the_draft_that_a_copy_replaces_counts_as_deleted() -> None:
    (sentence,) = Refiner(RefinementOptions(), PLACEHOLDER, 50).refine(CopyingPolicies(), [3], [[BOS, 5, EOS]])
    _, edits = sentence.edits()
    assert edits.deleted_at[1] > 0 and 1 not in edits.origin


def test_edits_have_the_iteration_and_the_log_odds_of_each_word() -> None:
    (sentence,), _ = refined([[5, 6]], [[5, 7]], max_iter=0, retain_history=True)
    assert sentence.history == [[BOS, 5, 7, EOS], [BOS, 5, EOS], [BOS, 5, PLACEHOLDER, EOS], [BOS, 5, 6, EOS]]
    tokens, edits = sentence.edits()
    assert tokens == [5, 6, EOS]
    assert edits.origin == [1, -1, 3] and edits.inserted_at == [0, 1, 0] and edits.log_probs == [0.0, -0.5, 0.0]
    assert edits.insertion_log_odds == pytest.approx([0.0, CERTAIN, 0.0])
    assert edits.alternatives == [[], [(6, -0.5)], []]
    assert edits.deleted_at == [0, 0, 1, 0]
    kept, deleted = edits.deletion_log_odds[1], edits.deletion_log_odds[2]
    assert kept == pytest.approx(-CERTAIN) and deleted == CERTAIN


def test_words_kept_or_deleted_by_a_mark_are_certain() -> None:
    keep = KEEP + SPAN
    (sentence,), _ = refined([[5]], [[7, 8]], [[0, keep, DELETE, 0]], max_iter=0, max_ratio=0.0, max_ratio_floor=2)
    assert sentence.tokens == [BOS, 7, EOS]
    assert sentence.deleted_at == [0, 0, 1, 0] and sentence.deletion_log_odds == [0.0, 0.0, inf, 0.0]
    assert Refiner(RefinementOptions(), PLACEHOLDER, 50).scores([sentence]) == [[0.0, 0.0, 0.0]]


# ---- deleted words and the words that a placeholder replaces: as in training -----------------------------------------

gaps = st.lists(st.integers(5, 9), max_size=3)
rows = st.lists(st.tuples(gaps, st.integers(0, 2)), min_size=1, max_size=5)


@thorough
@given(st.lists(rows, min_size=1, max_size=3))
def test_deleted_and_replaced_words_match_those_of_training(batch: list[list[tuple[list[int], int]]]) -> None:
    sentences, drafts, deleted = [], [], []
    for slots in batch:
        words, tokens, marks = [], [], []
        for number, (removed, count) in enumerate(slots):
            token = BOS if number == 0 else 20 + number
            words += [Word(token), *[Word(PLACEHOLDER)] * count]
            tokens += [token, *removed]
            marks += [False, *[True] * len(removed)]
        removed = [removed for removed, _ in slots] + [[]]
        sentence = Sentence(0, [*words, Word(EOS)], 50, [], [], removed=removed)
        sentences.append(sentence)
        drafts.append([*tokens, EOS])
        deleted.append([*marks, False])
    tokens = rows_to_tensor(drafts)
    placeholders = rows_to_tensor([sentence.tokens for sentence in sentences]).eq(PLACEHOLDER)
    is_deleted = rows_to_tensor([[int(mark) for mark in row] for row in deleted]).eq(1) & tokens.ne(PAD)
    expected = replaced_per_placeholder(tokens, is_deleted, placeholders, PAD)
    assert replaced_tokens(sentences, PLACEHOLDER).tolist() == expected.tolist()
    removed_ids, removed_counts = removed_after(tokens, is_deleted, PAD)
    for sentence in sentences:
        sentence.write([word for word in sentence.words if word.token != PLACEHOLDER])
    ids, counts = removed_tokens(sentences)
    assert ids.tolist() == removed_ids[:, : ids.shape[1]].tolist()
    for row, expected_row, sentence in zip(counts.tolist(), removed_counts.tolist(), sentences, strict=True):
        assert row[: len(sentence.words)] == expected_row[: len(sentence.words)]


# ---- torch: kernels, and copies to the host --------------------------------------------------------------------------


class Kernels(TorchDispatchMode):
    """Counts the operators that launch a kernel."""

    free = {"empty", "empty_like", "detach", "lift_fresh", "_unsafe_view"}

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.number += not (func.is_view or func.overloadpacket.__name__ in self.free)
        return func(*args, **(kwargs or {}))


def iterations(generator: RefinementGenerator, sample: dict[str, Any], count: Callable[[], Any]) -> tuple[int, int]:
    start = count()
    groups = generator.generate(None, sample)
    return 1 + max(best["steps"] for best, *_ in groups), count() - start


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("drafted", [False, True])
def test_an_iteration_takes_fewer_than_91_kernels(drafted: bool, device: str) -> None:
    """A model with 2 + 2 blocks takes 82 to 90 kernels per iteration, and fairseq's LevT takes 292."""
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


def test_each_policy_copies_to_the_host_at_most_once() -> None:
    model, sources = lively_model(), random_rows(8, seed=5, shortest=4)
    with simulated_gpu() as gpu:
        generator = RefinementGenerator([model.to("cuda")], toy_dictionary(), RefinementOptions())
        sample = {"net_input": {"src_tokens": rows_to_tensor(sources).to("cuda")}}
        steps, copies = iterations(generator, sample, lambda: gpu.waited)
        model.to("cpu")
    assert steps > 2
    assert copies <= 1 + 3 * steps - 1  # 1 for source lengths; iteration 1 deletes nothing


@torch.no_grad()
def test_decoder_states_are_recomputed_when_the_text_changed() -> None:
    """The placeholder policy of an empty text runs without the deletion policy, which caches states."""
    generator, source = RefinementGenerator([lively_model()], toy_dictionary(), RefinementOptions()), random_rows(1, 5)
    policies, fresh = (EnsemblePolicies(generator.ensemble, rows_to_tensor(source)) for _ in range(2))
    (sentence,) = generator.refiner.start([9], [[BOS, 5, 6, 7, EOS]])
    policies.deletion([sentence])
    policies.placeholder([sentence])
    sentence.write([sentence.words[0], sentence.words[-1]])
    for scores, expected in zip(policies.placeholder([sentence]), fresh.placeholder([sentence]), strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-5)
