"""Refinement against a literal transcription of Algorithm 2, which decodes one sentence at a time without caches."""

import math
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
import torch

from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.generator import RefinementGenerator, rerank
from lev_plugins.levt.model import LevT
from lev_plugins.levt.policies import Ensemble
from lev_plugins.text.mark_bits import PREFER, SPAN
from lev_plugins.text.segments import WordEdits
from lev_plugins.utils.errors import UserError
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    UNK,
    lively_model,
    random_rows,
    rows_to_tensor,
    sentence_score,
    toy_dictionary,
    toy_task,
    toy_transformer,
)
from tests.slow_refinement import assert_refined, refine

VARIANTS: dict[str, dict[str, Any]] = {
    "base": {},
    "none-shared": {"share_weights": "none"},
    "plh-tok": {"share_weights": "plh-tok"},
    "tok-del": {"share_weights": "tok-del"},
    "deletion-exits-first": {"deletion_layers": 1},
    "placeholder-exits-first": {"placeholder_layers": 1},
    "pre-norm": {"encoder_normalize_before": True, "decoder_normalize_before": True},
    "learned-positions": {"encoder_learned_pos": True, "decoder_learned_pos": True},
    "unk": {"placeholder": "unk", "share_all_embeddings": True},
}
RANDOM_SOURCES = random_rows(16, seed=5, shortest=1)
RANDOM_DRAFTS = random_rows(16, seed=6)


def generator(models: list[LevT], **options: Any) -> RefinementGenerator:
    return RefinementGenerator(models, toy_dictionary(), RefinementOptions(**options))


def words_of(result: dict[str, Any]) -> list[int]:
    return result["tokens"].tolist()


@pytest.mark.parametrize("drafts", [None, RANDOM_DRAFTS], ids=["scratch", "drafts"])
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_refinement_of_a_batch_matches_algorithm_2(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    results = assert_refined([lively_model(**options)], RANDOM_SOURCES, drafts)
    assert len({result["steps"] for result in results}) >= 2


@pytest.mark.parametrize("options", [{}, {"keep_bias": 2.0, "max_iter": 3}], ids=["plain", "biased"])
def test_words_that_fill_the_unk_of_a_draft_are_new(options: dict[str, Any]) -> None:
    drafts = [
        [UNK if i % 2 and len(row) > 2 and token > EOS else token for i, token in enumerate(row)]
        for row in RANDOM_DRAFTS
    ]
    marks = [[PREFER + SPAN if token == UNK else 0 for token in row] for row in drafts]
    model = lively_model(placeholder="unk", share_all_embeddings=True)
    assert_refined([model], RANDOM_SOURCES, drafts, **options)
    assert_refined([model], RANDOM_SOURCES, drafts, marks, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"max_iter": 0},
        {"max_iter": 3, "min_length": 4},
        {"adaptive": False, "max_iter": 4},
        {"gamma": 5.0, "max_ratio": 1.0, "max_ratio_floor": 0, "max_iter": 3},
        {"gamma": -3.0, "max_ratio": 20.0, "max_iter": 1},
    ],
)
@pytest.mark.parametrize("drafts", [None, RANDOM_DRAFTS], ids=["scratch", "drafts"])
def test_limits_of_the_search_match_algorithm_2(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    results = assert_refined([lively_model()], RANDOM_SOURCES, drafts, **options)
    assert max(result["steps"] for result in results) == options["max_iter"] or drafts
    assert min(len(words_of(result)) - 1 for result in results) >= options.get("min_length", 0)


@pytest.mark.parametrize("drafts", [None, RANDOM_DRAFTS])
def test_inference_mode_gives_the_same_results_as_writable_tensors(drafts: list[list[int]] | None) -> None:
    model = lively_model()
    results = refine([model], RANDOM_SOURCES, drafts, retain_history=True)
    final = refine([model], RANDOM_SOURCES, drafts, retain_history=True, inference_mode=True)
    for result, inferred in zip(results, final, strict=True):
        assert words_of(result) == words_of(inferred) and result["steps"] == inferred["steps"]
        assert torch.equal(result["positional_scores"], inferred["positional_scores"])
        inferred["positional_scores"].div_(2)  # as fairseq-generate does


@pytest.mark.parametrize("learned", [True, False])
def test_texts_never_exceed_max_target_positions(learned: bool) -> None:
    model = lively_model(max_target_positions=12, decoder_learned_pos=learned)
    results = assert_refined([model], RANDOM_SOURCES, gamma=9.0, max_ratio=9.0, max_iter=4, retain_history=True)
    sizes = [len(state["tokens"]) for result in results for state in result["history"]]
    assert max(sizes) == 12


def test_decoding_disables_dropout() -> None:
    model = lively_model(dropout=0.5).train()
    scores = [[float(result["score"]) for result in refine([model], RANDOM_SOURCES[:4])] for _ in range(2)]
    assert scores[0] == scores[1]


@pytest.mark.parametrize("drafts", [None, RANDOM_DRAFTS], ids=["scratch", "drafts"])
@pytest.mark.parametrize("options", [{}, {"share_weights": "none"}, {"deletion_layers": 1, "max_target_positions": 9}])
def test_an_ensemble_uses_mean_probabilities(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    models = [lively_model(), lively_model(seed=2, **options)]
    sources, rows = [row[:8] for row in RANDOM_SOURCES], None if drafts is None else [row[:6] + [EOS] for row in drafts]
    results = assert_refined(models, sources, rows)
    alone = refine(models[:1], sources, rows)
    assert [words_of(r) for r in results] != [words_of(r) for r in alone]


def test_an_ensemble_of_models_with_other_limits_or_placeholders_is_refused() -> None:
    with pytest.raises(UserError, match=r"--max-insertions.* 4 and 5"):
        generator([lively_model(), lively_model(max_insertions=5)])
    with pytest.raises(UserError, match=r"--placeholder.* plh and unk"):
        generator([lively_model(), lively_model(placeholder="unk")])


def test_candidates_include_the_greedy_result_and_are_sorted_by_score() -> None:
    model = lively_model()
    greedy = refine([model], RANDOM_SOURCES)
    net_input = {"src_tokens": rows_to_tensor(RANDOM_SOURCES)}
    groups = generator([model], candidates=4).generate([model], {"net_input": net_input})
    assert [len(group) for group in groups] == [4] * len(RANDOM_SOURCES)
    different = 0
    for best, group in zip(greedy, groups, strict=True):
        texts = [words_of(candidate) for candidate in group]
        assert words_of(best) in texts
        different += len({tuple(row) for row in texts}) > 1
        scores = [float(candidate["score"]) for candidate in group]
        assert scores == sorted(scores, reverse=True)
    assert different > len(RANDOM_SOURCES) / 2


def test_reranked_candidates_have_the_rerankers_score() -> None:
    model, teacher = lively_model(), toy_transformer()
    options = RefinementOptions(candidates=5)
    sources = RANDOM_SOURCES[:8]
    sample = {"net_input": {"src_tokens": rows_to_tensor(sources)}}
    torch.manual_seed(1)
    plain = RefinementGenerator([model], toy_dictionary(), options).generate([model], sample)
    reranked = RefinementGenerator([model], toy_dictionary(), options, teacher).generate([model], sample)
    moved = 0
    for source, candidates, best_first in zip(sources, plain, reranked, strict=True):
        texts = [words_of(candidate) for candidate in best_first]
        expected = [sentence_score([teacher], source[1:], text) / len(text) for text in texts]  # trained without <s>
        assert [float(candidate["score"]) for candidate in best_first] == pytest.approx(expected, abs=1e-4)
        assert expected[0] == pytest.approx(max(expected), abs=1e-6)
        moved += words_of(candidates[0]) != words_of(best_first[0])
    assert moved > 0


def test_candidates_longer_than_the_rerankers_positions_are_dropped() -> None:
    model, teacher = lively_model(), toy_transformer(max_target_positions=6)
    options = RefinementOptions(candidates=5, min_length=3)
    sample = {"net_input": {"src_tokens": rows_to_tensor(RANDOM_SOURCES[:8])}}
    plain = RefinementGenerator([model], toy_dictionary(), options).generate([model], sample)
    assert max(len(words_of(candidate)) for group in plain for candidate in group) > 6
    reranked = RefinementGenerator([model], toy_dictionary(), options, teacher).generate([model], sample)
    assert max(len(words_of(candidate)) for group in reranked for candidate in group) == 6  # with </s>


def test_the_reranker_reads_a_spelled_unknown_word_as_unk() -> None:
    scores = []
    for word in (UNK, toy_dictionary().size + 3):
        groups = [[{"tokens": torch.tensor([7, word, EOS])}]]
        rerank(toy_transformer(), toy_dictionary(), torch.tensor([[BOS, 8, 9, EOS]]), groups)
        scores.append(float(groups[0][0]["score"]))
    assert scores[0] == scores[1] < 0


def test_special_symbols_are_never_inserted() -> None:
    """fairseq's LevT, whose placeholder is <unk>, may write the other special symbols."""
    for placeholder, excluded in (("unk", (PAD,)), ("plh", (PAD, BOS, EOS))):
        plain, vocabulary = generator([lively_model(placeholder=placeholder)], min_length=3), len(toy_dictionary())
        (sentence,) = plain.refine(rows_to_tensor(RANDOM_SOURCES[:1]), [9], [[BOS, EOS]], alternatives=vocabulary)
        for word in sentence.words[1:-1]:
            assert len(word.alternatives) == vocabulary
            assert sorted(token for token, score in word.alternatives if score == -math.inf) == sorted(excluded)


def test_madeupwords_of_a_padded_dictionary_are_never_inserted() -> None:
    task = toy_task(toy_dictionary(18))
    task.target_dictionary.pad_to_multiple_(8)
    model = lively_model(task)
    fillers = {i for i, word in enumerate(task.target_dictionary.symbols) if word.startswith("madeupword")}
    assert fillers and fillers == set(model.fillers) < set(Ensemble([model]).excluded_tokens)


def test_decoding_flags_reach_the_generator() -> None:
    flags = {"iter_decode_max_iter": 4, "iter_decode_eos_penalty": 1.5, "iter_decode_force_max_iter": True}
    flags |= {"iter_decode_with_beam": 3, "retain_iter_history": True, "temperature": 0.7}
    task_flags = {"max_ratio": 1.5, "max_ratio_floor": 7, "soft_protection": 1.0, "keep_bias": 0.5, "oracle": "delete"}
    built = toy_task(min_words=2, **task_flags).build_generator([lively_model()], Namespace(**flags))
    expected = {"max_iter": 4, "gamma": 1.5, "adaptive": False, "candidates": 3}
    expected |= {"retain_history": True, "temperature": 0.7}
    assert built.options == RefinementOptions(inference_mode=True, min_length=2, **task_flags, **expected)


@pytest.mark.parametrize("flag", ["replace_unk", "print_alignment", "sampling", "match_source_len", "retain_dropout"])
def test_search_flags_of_left_to_right_models_are_refused(flag: str) -> None:
    with pytest.raises(UserError, match=f"--{flag.replace('_', '-')} "):
        toy_task().build_generator([lively_model()], Namespace(**{flag: True}))


@pytest.mark.parametrize(
    ("more_models", "beam", "message"),
    [
        ([], 3, "--path .*levt.pt:transformer.pt"),
        ([lively_model], 1, "--iter-decode-with-beam .*1"),
        ([lively_model], 3, "--path.* LevT.*levt.pt:transformer.pt"),
        ([toy_transformer], 0, "--path .*TransformerModel.*levt.*--iter-decode-with-external-rer"),
    ],
)
def test_a_missing_or_wrong_reranker_is_refused(more_models: list[Callable[..., Any]], beam: int, message: str) -> None:
    flags = Namespace(iter_decode_with_external_reranker=beam > 0, iter_decode_with_beam=max(beam, 1))
    with pytest.raises(UserError, match=message):
        toy_task().build_generator([lively_model(), *(make() for make in more_models)], flags)
    with pytest.raises(UserError, match=r"levt .*--path"):
        toy_task().build_generator([toy_transformer()], Namespace())


def test_a_model_with_nan_weights_is_refused() -> None:
    model = lively_model()
    with torch.no_grad():
        model.decoder.deletion_head.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match=r"decoder\.deletion_head\.weight"):
        toy_task().build_generator([model], Namespace())


# ---- the edits of each word; tests/unit/editor/test_editor.py tests their odds ---------------------------------------


@pytest.mark.parametrize("options", [{}, {"max_iter": 0}, {"keep_bias": 1.0}, {"adaptive": False, "max_iter": 3}])
def test_every_word_is_kept_deleted_or_inserted_in_a_recorded_iteration(options: dict[str, Any]) -> None:
    results = refine([lively_model()], RANDOM_SOURCES, RANDOM_DRAFTS, retain_history=True, **options)
    insertion_times = set()
    for draft, hypothesis in zip(RANDOM_DRAFTS, results, strict=True):
        edits: WordEdits = hypothesis["edits"]
        tokens = hypothesis["tokens"].tolist()
        origins = [place for place in edits.origin if place >= 0]
        assert origins == sorted(set(origins))
        for token, place, iteration in zip(tokens, edits.origin, edits.inserted_at, strict=True):
            assert (token == draft[place] and iteration == 0) if place >= 0 else iteration > 0 or len(draft) == 2
        words = range(1, len(draft) - 1)
        assert all(edits.deleted_at[place] > 0 for place in words if place not in origins)
        assert max([*edits.deleted_at, *edits.inserted_at]) <= hypothesis["steps"] + 1
        assert len(edits.deleted_at) == len(edits.deletion_log_odds) == len(draft)
        insertion_times |= set(edits.inserted_at)
    assert len(insertion_times) > 1  # some insertions


def test_the_first_of_five_alternatives_is_the_inserted_word() -> None:
    insertions = 0
    drafts = random_rows(16, seed=6, shortest=1)
    for hypothesis in refine([lively_model()], RANDOM_SOURCES, drafts, retain_history=True):
        edits = hypothesis["edits"]
        for word, origin, log_prob, alternatives in zip(
            hypothesis["tokens"].tolist(), edits.origin, edits.log_probs, edits.alternatives, strict=True
        ):
            assert bool(alternatives) == (origin < 0)
            if alternatives:
                insertions += 1
                assert alternatives[0] == (word, pytest.approx(log_prob)) and len(alternatives) == 5
                assert sorted(alternatives, key=lambda alternative: -alternative[1]) == alternatives
    assert insertions


def test_without_retain_history_results_are_the_same_but_have_no_edits() -> None:
    plain = refine([lively_model()], RANDOM_SOURCES, RANDOM_DRAFTS)
    recorded = refine([lively_model()], RANDOM_SOURCES, RANDOM_DRAFTS, retain_history=True)
    for result, with_edits in zip(plain, recorded, strict=True):
        assert "edits" not in result and torch.equal(result["tokens"], with_edits["tokens"])
        assert torch.equal(result["positional_scores"], with_edits["positional_scores"])
