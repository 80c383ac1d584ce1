"""``--keep-bias``: aligning the output with the source, its bonus for copying, and confidence in edits."""

import math
from functools import partial
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.sequence_generator import SequenceGenerator
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from torch import Tensor, nn

from lev_plugins.correction.copy_bias import (
    CopyBiasEnsemble,
    SourceInTargetIds,
    SourceProgress,
    add_copy_bias,
    with_edit_confidence,
)
from lev_plugins.edits.copy_alignment import distances_after, distances_before, expected_tokens
from tests.helpers import (
    EOS,
    PAD,
    left_padded,
    random_rows,
    rows_to_tensor,
    sentence_score,
    thorough,
    toy_dictionary,
    toy_pbd,
    toy_task,
    toy_transformer,
)

words = st.lists(st.integers(4, 7), max_size=6)


def distances_to_text(source: Tensor, text: list[int]) -> Tensor:
    distances = distances_before(source)
    for token in text:
        distances = distances_after(distances, source, torch.full((source.size(0),), token))
    return distances


@given(words, words.map(lambda text: text[:4]))
@thorough
def test_distances_to_source_prefixes(source: list[int], text: list[int]) -> None:
    distances = distances_to_text(torch.tensor([[*source, EOS]]), text)[0].tolist()
    assert distances == [Levenshtein.distance(text, [*source, EOS][:j]) for j in range(len(source) + 2)]


@pytest.mark.parametrize(
    ("text", "next_words"),
    [
        ([], [5]),
        ([5, 9], [6, 7]),  # 9 stands in the place of 6, or before it
        ([5, 9, 7], [8]),  # the first of the two: found again after an edit
        ([5, 7], [6, 7, 8]),  # 7 for 6, or before it, or 6 left out
        ([5, 7, 8], [EOS]),
        ([5, 6, 7, 8, 9], [EOS]),  # after the end
    ],
)
def test_expected_tokens_after_edits(text: list[int], next_words: list[int]) -> None:
    source = torch.tensor([[5, 6, 7, 8, EOS]])
    assert source[expected_tokens(distances_to_text(source, text), source, PAD)].tolist() == next_words


def test_a_bonus_is_added_to_the_log_odds() -> None:
    log_probs = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log()
    source = torch.tensor([[3, 3, 2]])  # the word 3 comes twice and gets its bonus once
    followed = SourceProgress(source, torch.tensor([[0, 0, 1, 2]]))
    biased = add_copy_bias(log_probs, followed, pad=1, bias=1.5)
    assert float(biased.exp().sum()) == pytest.approx(1)
    odds = (biased[0, 3].exp() / (1 - biased[0, 3].exp())).log()
    assert float(odds) == pytest.approx(math.log(0.4 / 0.6) + 1.5, abs=1e-5)
    assert float(biased[0, 0] - biased[0, 2]) == pytest.approx(math.log(0.1 / 0.3), abs=1e-5)


TOY_MODELS = {"pbd": toy_pbd, "transformer": partial(toy_transformer, seed=3)}


def sample_of(sources: Tensor) -> dict[str, Any]:
    return {"net_input": {"src_tokens": sources, "src_lengths": sources.ne(PAD).sum(1)}}


def decode(models: list[nn.Module], sources: Tensor, beam: int, bias: float | None, task: Any) -> list[Any]:
    copier = SourceInTargetIds(task.source_dictionary, task.target_dictionary)
    ensemble = models if bias is None else CopyBiasEnsemble(models, bias, copier)
    generator = SequenceGenerator(ensemble, task.target_dictionary, beam_size=beam, max_len_b=14)
    return generator.generate(models, sample_of(sources))


def best_tokens(groups: list[Any]) -> list[list[int]]:
    return [hypotheses[0]["tokens"].tolist() for hypotheses in groups]


def random_sources(count: int = 5) -> list[list[int]]:
    return [row[1:] for row in random_rows(count, seed=1, shortest=1)]


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("model", TOY_MODELS)
def test_keep_bias_0_changes_nothing_and_a_large_one_copies(model: str, beam: int) -> None:
    task, rows = toy_task(), random_sources()
    models = [TOY_MODELS[model](task)]
    for sources in (rows_to_tensor(rows), left_padded(rows)):
        plain = best_tokens(decode(models, sources, beam, None, task))
        assert best_tokens(decode(models, sources, beam, 0.0, task)) == plain
        assert plain != rows
        assert best_tokens(decode(models, sources, beam, 50.0, task)) == rows


@pytest.mark.parametrize("name", TOY_MODELS)
def test_scores_with_keep_bias_match_step_by_step(name: str) -> None:
    """Compares beam search in a batch with each hypothesis computed from its first token."""
    task, rows, bias = toy_task(), random_sources(), 2.0
    model = TOY_MODELS[name](task)
    for row, hypotheses in zip(rows, decode([model], left_padded(rows), 5, bias, task), strict=True):
        source = torch.tensor([row])
        assert hypotheses[0]["tokens"].tolist() == best_tokens(decode([model], source, 5, bias, task))[0]
        for hypothesis in hypotheses:
            tokens = hypothesis["tokens"].tolist()
            with torch.no_grad():
                logits = model(source, torch.tensor([len(row)]), torch.tensor([[EOS, *tokens[:-1]]]))[0][0]
            for n, token in enumerate(tokens):
                followed = SourceProgress(source, distances_to_text(source, tokens[:n]))
                scores = add_copy_bias(logits[n : n + 1].log_softmax(1), followed, PAD, bias)
                assert float(hypothesis["positional_scores"][n]) == pytest.approx(float(scores[0, token]), abs=2e-5)


def test_keep_bias_is_added_once_to_an_ensemble() -> None:
    task, rows = toy_task(), random_sources()
    model = toy_pbd(task)
    alone, twice = (decode([model] * n, left_padded(rows), 3, 2.0, task) for n in (1, 2))
    assert best_tokens(alone) == best_tokens(twice)


def two_dictionaries() -> tuple[Dictionary, Dictionary]:
    """Returns two dictionaries; the target lacks w19 and has another order."""
    target = Dictionary()
    for number in reversed(range(19)):
        target.add_symbol(f"w{number}")
    return toy_dictionary(20), target


def test_a_large_bonus_copies_across_dictionaries() -> None:
    source, target = two_dictionaries()
    task, rows = toy_task(source, target), random_sources()
    copies = best_tokens(decode([toy_pbd(task, no_sharing=True)], rows_to_tensor(rows), 5, 50.0, task))
    strings = [[target[token] for token in text] for text in copies]
    assert strings == [[source[token] if source[token] in target else "<unk>" for token in row] for row in rows]


@pytest.mark.parametrize("names", [["pbd"], ["transformer"], ["pbd", "transformer"]])
def test_confidence_is_the_edits_share_of_probability(names: list[str]) -> None:
    task, rows = toy_task(), random_sources()
    models = [TOY_MODELS[name](task) for name in names]
    edited = [[4, 5, EOS], [EOS], rows[2], [7, EOS], [6] * 9 + [EOS]]
    results = [[{"tokens": torch.tensor(text)}] for text in edited]
    copier = SourceInTargetIds(task.source_dictionary, task.target_dictionary)
    for sources in (rows_to_tensor(rows), left_padded(rows)):
        accepted, rejected = (
            with_edit_confidence(models, sample_of(sources), results, copier, threshold) for threshold in (0.0, 1.1)
        )
        assert best_tokens(accepted) == edited and best_tokens(rejected) == rows
        for row, text, (accepted_best,), (rejected_best,) in zip(rows, edited, accepted, rejected, strict=True):
            scores = [sentence_score(models, row, tokens) for tokens in (text, row)]
            share = 1.0 if text == row else 1 / (1 + math.exp(scores[1] - scores[0]))
            assert accepted_best["confidence"] == rejected_best["confidence"] == pytest.approx(share, rel=1e-3)
            assert float(rejected_best["score"]) == pytest.approx(scores[1] / len(row), abs=1e-4)
