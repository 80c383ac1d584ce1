"""Refinement against a literal transcription of Algorithm 2: one sentence at a time, nothing remembered."""

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
SOURCES = random_rows(16, seed=5, shortest=1)
DRAFTS = random_rows(16, seed=6)


def generator(models: list[LevT], **options: Any) -> RefinementGenerator:
    return RefinementGenerator(models, toy_dictionary(), RefinementOptions(**options))


def words_of(result: dict[str, Any]) -> list[int]:
    return result["tokens"].tolist()


@pytest.mark.parametrize("drafts", [None, DRAFTS], ids=["scratch", "drafts"])
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_batch_gives_what_algorithm_2_gives(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    results = assert_refined([lively_model(**options)], SOURCES, drafts)
    assert len({result["steps"] for result in results}) >= 2


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
@pytest.mark.parametrize("drafts", [None, DRAFTS], ids=["scratch", "drafts"])
def test_limits_are_kept(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    results = assert_refined([lively_model()], SOURCES, drafts, **options)
    assert max(result["steps"] for result in results) == options["max_iter"] or drafts
    assert min(len(words_of(result)) - 1 for result in results) >= options.get("min_length", 0)


@pytest.mark.parametrize("drafts", [None, DRAFTS])
def test_where_nothing_is_trained_the_result_is_the_same_and_may_be_changed(drafts: list[list[int]] | None) -> None:
    model = lively_model()
    results = refine([model], SOURCES, drafts, retain_history=True)
    final = refine([model], SOURCES, drafts, retain_history=True, inference_mode=True)
    for one, other in zip(results, final, strict=True):
        assert words_of(one) == words_of(other) and one["steps"] == other["steps"]
        assert torch.equal(one["positional_scores"], other["positional_scores"])
        other["positional_scores"].div_(2)  # as fairseq-generate does


@pytest.mark.parametrize("learned", [True, False])
def test_there_are_never_more_tokens_than_positions(learned: bool) -> None:
    model = lively_model(max_target_positions=12, decoder_learned_pos=learned)
    results = assert_refined([model], SOURCES, gamma=9.0, max_ratio=9.0, max_iter=4, retain_history=True)
    sizes = [len(state["tokens"]) for result in results for state in result["history"]]
    assert max(sizes) == 12


def test_decoding_turns_dropout_off() -> None:
    model = lively_model(dropout=0.5).train()
    first, second = (refine([model], SOURCES[:4]) for _ in range(2))
    assert [float(r["score"]) for r in first] == [float(r["score"]) for r in second]


@pytest.mark.parametrize("drafts", [None, DRAFTS], ids=["scratch", "drafts"])
@pytest.mark.parametrize("second", [{}, {"share_weights": "none"}, {"deletion_layers": 1, "max_target_positions": 9}])
def test_an_ensemble_takes_the_mean_of_probabilities(second: dict[str, Any], drafts: list[list[int]] | None) -> None:
    models = [lively_model(), lively_model(seed=2, **second)]
    sources, rows = [row[:8] for row in SOURCES], None if drafts is None else [row[:6] + [EOS] for row in drafts]
    results = assert_refined(models, sources, rows)
    alone = refine(models[:1], sources, rows)
    assert [words_of(r) for r in results] != [words_of(r) for r in alone]


def test_models_that_do_not_fit_make_no_ensemble() -> None:
    with pytest.raises(UserError, match="must have the same --max-insertions, but they have 4 and 5"):
        generator([lively_model(), lively_model(max_insertions=5)])
    with pytest.raises(UserError, match="must have the same --placeholder, but they have plh and unk"):
        generator([lively_model(), lively_model(placeholder="unk")])


def test_candidates_are_the_greedy_one_and_samples() -> None:
    model = lively_model()
    greedy = refine([model], SOURCES)
    net_input = {"src_tokens": rows_to_tensor(SOURCES)}
    groups = generator([model], candidates=4).generate([model], {"net_input": net_input})
    assert [len(group) for group in groups] == [4] * len(SOURCES)
    different = 0
    for best, group in zip(greedy, groups, strict=True):
        found = [words_of(candidate) for candidate in group]
        assert words_of(best) in found
        different += len({tuple(row) for row in found}) > 1
        scores = [float(candidate["score"]) for candidate in group]
        assert scores == sorted(scores, reverse=True)
    assert different > len(SOURCES) / 2


def test_the_reranker_chooses_by_its_own_score() -> None:
    model, teacher = lively_model(), toy_transformer()
    options = RefinementOptions(candidates=5)
    sources = SOURCES[:8]
    sample = {"net_input": {"src_tokens": rows_to_tensor(sources)}}
    torch.manual_seed(1)
    plain = RefinementGenerator([model], toy_dictionary(), options).generate([model], sample)
    reranked = RefinementGenerator([model], toy_dictionary(), options, teacher).generate([model], sample)
    moved = 0
    for source, before, after in zip(sources, plain, reranked, strict=True):
        texts = [words_of(candidate) for candidate in after]
        expected = [sentence_score([teacher], source[1:], text) / len(text) for text in texts]  # trained without <s>
        assert [float(candidate["score"]) for candidate in after] == pytest.approx(expected, abs=1e-4)
        assert expected[0] == pytest.approx(max(expected), abs=1e-6)
        moved += words_of(before[0]) != words_of(after[0])
    assert moved > 0


def test_no_candidate_is_too_long_for_the_reranker() -> None:
    model, teacher = lively_model(), toy_transformer(max_target_positions=6)
    options = RefinementOptions(candidates=5, min_length=3)
    sample = {"net_input": {"src_tokens": rows_to_tensor(SOURCES[:8])}}
    plain = RefinementGenerator([model], toy_dictionary(), options).generate([model], sample)
    assert max(len(words_of(candidate)) for group in plain for candidate in group) > 6
    reranked = RefinementGenerator([model], toy_dictionary(), options, teacher).generate([model], sample)
    assert max(len(words_of(candidate)) for group in reranked for candidate in group) == 6  # with </s>


def test_to_the_reranker_an_unknown_word_of_the_batch_is_unknown() -> None:
    scores = []
    for word in (UNK, toy_dictionary().size + 3):
        groups = [[{"tokens": torch.tensor([7, word, EOS])}]]
        rerank(toy_transformer(), toy_dictionary(), torch.tensor([[BOS, 8, 9, EOS]]), groups)
        scores.append(float(groups[0][0]["score"]))
    assert scores[0] == scores[1] < 0


def test_padding_fills_no_hole() -> None:
    """fairseq's LevT, whose placeholder is <unk>, may write the other special symbols."""
    for placeholder, never in (("unk", (PAD,)), ("plh", (PAD, BOS, EOS))):
        plain, vocabulary = generator([lively_model(placeholder=placeholder)], min_length=3), len(toy_dictionary())
        (sentence,) = plain.refine(rows_to_tensor(SOURCES[:1]), [9], [[BOS, EOS]], alternatives=vocabulary)
        for word in sentence.words[1:-1]:
            assert len(word.alternatives) == vocabulary
            assert sorted(token for token, score in word.alternatives if score == -math.inf) == sorted(never)


def test_what_pads_a_dictionary_fills_no_hole() -> None:
    task = toy_task(toy_dictionary(18))
    task.target_dictionary.pad_to_multiple_(8)
    model = lively_model(task)
    fillers = {i for i, word in enumerate(task.target_dictionary.symbols) if word.startswith("madeupword")}
    assert fillers and fillers == set(model.fillers) < set(Ensemble([model]).excluded_tokens)


def test_the_task_hands_fairseq_flags_to_the_generator() -> None:
    flags = {"iter_decode_max_iter": 4, "iter_decode_eos_penalty": 1.5, "iter_decode_force_max_iter": True}
    flags |= {"iter_decode_with_beam": 3, "retain_iter_history": True, "temperature": 0.7}
    own = {"max_ratio": 1.5, "max_ratio_floor": 7, "soft_protection": 1.0, "keep_bias": 0.5, "oracle": "delete"}
    built = toy_task(min_words=2, **own).build_generator([lively_model()], Namespace(**flags))
    given = {"max_iter": 4, "gamma": 1.5, "adaptive": False, "candidates": 3}
    given |= {"retain_history": True, "temperature": 0.7}
    assert built.options == RefinementOptions(inference_mode=True, min_length=2, **own, **given)


@pytest.mark.parametrize("flag", ["replace_unk", "print_alignment", "sampling", "match_source_len", "retain_dropout"])
def test_flags_of_left_to_right_search_are_refused(flag: str) -> None:
    with pytest.raises(UserError, match=f"--{flag.replace('_', '-')} is for left-to-right search"):
        toy_task().build_generator([lively_model()], Namespace(**{flag: True}))


@pytest.mark.parametrize(
    ("others", "beam", "message"),
    [
        ([], 3, "--path has only one: use --path levt.pt:transformer.pt"),
        ([lively_model], 1, "set --iter-decode-with-beam to more than 1"),
        ([lively_model], 3, "as the last checkpoint of --path, but it is a LevT: use --path levt.pt:transformer.pt"),
        ([toy_transformer], 0, "--path names a TransformerModel and a levt.*by --iter-decode-with-external-rer"),
    ],
)
def test_models_that_cannot_work_together(others: list[Callable[..., Any]], beam: int, message: str) -> None:
    flags = Namespace(iter_decode_with_external_reranker=beam > 0, iter_decode_with_beam=max(beam, 1))
    with pytest.raises(UserError, match=message):
        toy_task().build_generator([lively_model(), *(make() for make in others)], flags)
    with pytest.raises(UserError, match="requires a levt checkpoint in --path"):
        toy_task().build_generator([toy_transformer()], Namespace())


def test_weights_that_are_not_finite_are_refused() -> None:
    model = lively_model()
    with torch.no_grad():
        model.decoder.deletion_head.weight[0, 0] = torch.nan
    with pytest.raises(UserError, match=r"NaN or infinite weights, first in decoder\.deletion_head\.weight"):
        toy_task().build_generator([model], Namespace())


# ---- the record: what became of each word; tests/unit/editor/test_editor.py has its odds --------------------------


@pytest.mark.parametrize("options", [{}, {"max_iter": 0}, {"keep_bias": 1.0}, {"adaptive": False, "max_iter": 3}])
def test_every_word_is_kept_or_accounted_for(options: dict[str, Any]) -> None:
    found = refine([lively_model()], SOURCES, DRAFTS, retain_history=True, **options)
    born = set()
    for draft, hypothesis in zip(DRAFTS, found, strict=True):
        edits: WordEdits = hypothesis["edits"]
        tokens = hypothesis["tokens"].tolist()
        kept = [place for place in edits.origin if place >= 0]
        assert kept == sorted(set(kept))
        for token, place, iteration in zip(tokens, edits.origin, edits.inserted_at, strict=True):
            assert (token == draft[place] and iteration == 0) if place >= 0 else iteration > 0 or len(draft) == 2
        words = range(1, len(draft) - 1)
        assert all(edits.deleted_at[place] > 0 for place in words if place not in kept)
        assert max([*edits.deleted_at, *edits.inserted_at]) <= hypothesis["steps"] + 1
        assert len(edits.deleted_at) == len(edits.deletion_log_odds) == len(draft)
        born |= set(edits.inserted_at)
    assert len(born) > 1  # some insertions


def test_what_a_hole_was_offered_begins_with_what_fills_it() -> None:
    seen = 0
    drafts = random_rows(16, seed=6, shortest=1)
    for hypothesis in refine([lively_model()], SOURCES, drafts, retain_history=True):
        edits = hypothesis["edits"]
        for word, origin, chosen, offers in zip(
            hypothesis["tokens"].tolist(), edits.origin, edits.log_probs, edits.alternatives, strict=True
        ):
            assert bool(offers) == (origin < 0)
            if offers:
                seen += 1
                assert offers[0] == (word, pytest.approx(chosen)) and len(offers) == 5
                assert sorted(offers, key=lambda offer: -offer[1]) == offers
    assert seen


def test_without_history_there_is_no_record() -> None:
    plain = refine([lively_model()], SOURCES, DRAFTS)
    recorded = refine([lively_model()], SOURCES, DRAFTS, retain_history=True)
    for one, other in zip(plain, recorded, strict=True):
        assert "edits" not in one and torch.equal(one["tokens"], other["tokens"])
        assert torch.equal(one["positional_scores"], other["positional_scores"])
