"""Refinement at fixed widths against refinement: on a CPU, with a stand-in that behaves as a CUDA graph does."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lev_plugins.edits import requests
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import UserError
from lev_plugins.generators import fixed
from lev_plugins.generators.fixed import FixedRefinement
from lev_plugins.generators.refinement import RefinementGenerator
from lev_plugins.layers.transformer import Padding
from lev_plugins.models.levt import LevT
from tests.helpers import BOS, EOS, lively_model, random_rows, rows_to_tensor, toy_config, toy_dictionary, toy_task
from tests.slow_refinement import refine
from tests.unit.test_generator import VARIANTS

SOURCES = random_rows(16, seed=5, shortest=1)
DRAFTS = random_rows(16, seed=6)


def tensors(found: Any) -> Iterator[Tensor]:
    """All in a nest of tuples, lists, dictionaries and objects."""
    if isinstance(found, Tensor):
        yield found
    elif isinstance(found, (tuple, list)):
        for each in found:
            yield from tensors(each)
    elif isinstance(found, dict) or hasattr(found, "__dict__"):
        yield from tensors(list((found if isinstance(found, dict) else vars(found)).values()))


class Questions(TorchDispatchMode):
    """Forbids what makes the processor wait for a GPU, and so cannot be recorded."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        asking = {"_local_scalar_dense", "item", "is_nonzero", "nonzero", "masked_select", "unique"}
        assert func.overloadpacket.__name__ not in asking | {"repeat_interleave"}, func
        return func(*args, **(kwargs or {}))


def as_recorded(function: Callable[..., Any], *example: Tensor) -> Callable[..., Any]:
    """Reads from places of its own, always writes to the same tensors, and asks nothing."""
    places = [each.clone() for each in example]

    def call() -> Any:
        with Questions():
            return function(*places)

    written = call()

    def replay(*given: Tensor) -> Any:
        for place, each in zip(places, given, strict=True):
            place.copy_(each)
        for old, new in zip(tensors(written), list(tensors(call())), strict=True):
            old.copy_(new)
        return written

    return replay


@pytest.fixture(autouse=True)
def padding_as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("levt", "levt_stacks"):
        monkeypatch.setattr(
            f"lev_plugins.models.{module}.padding_of",
            lambda tokens, pad: Padding(tokens.ne(pad)[:, None, None, :], None),
        )


def generators(model: LevT, words: Any = None, **options: Any) -> tuple[RefinementGenerator, RefinementGenerator]:
    """The usual one, and one with fixed widths."""
    target = words or toy_dictionary()
    plain, other = (RefinementGenerator([model], target, RefinementOptions(**options)) for _ in range(2))
    other.fixed = FixedRefinement(other.ensemble, other.options, other.symbols, as_recorded)
    return plain, other


def assert_same(model: LevT, drafts: list[list[int]] | None, **options: Any) -> tuple[set[int], list[int]]:
    """The numbers of iterations, and the widths that were used."""
    plain, other = generators(model, **options)
    assert other.fixed is not None
    steps = set()
    for i, source in enumerate(SOURCES):
        net_input = {"src_tokens": rows_to_tensor([source])}
        if drafts is not None:
            net_input["draft"] = rows_to_tensor([drafts[i]])
        ((expected,),), ((found,),) = (each.generate([model], {"net_input": net_input}) for each in (plain, other))
        assert found["tokens"].tolist() == expected["tokens"].tolist() and found["steps"] == expected["steps"]
        assert found["positional_scores"].allclose(expected["positional_scores"], atol=1e-4)
        assert float(found["score"]) == pytest.approx(float(expected["score"]), abs=1e-4)
        steps.add(found["steps"])
    assert other.fixed.at_width
    return steps, list(other.fixed.at_width)


def test_questions_are_noticed() -> None:
    with pytest.raises(AssertionError, match="_local_scalar_dense"), Questions():
        bool(torch.ones(2).any())


@pytest.mark.parametrize("drafts", [None, DRAFTS], ids=["scratch", "drafts"])
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_texts_scores_and_iterations_are_the_same(options: dict[str, Any], drafts: list[list[int]] | None) -> None:
    steps, widths = assert_same(lively_model(**options), drafts)
    assert len(steps) >= 2 and set(widths) <= set(fixed.WIDTHS)


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (2, {"gamma": -2.0}),
        (5, {"gamma": 3.0}),
        (6, {"min_length": 9}),
        (7, {"adaptive": False, "max_iter": 3}),
        (7, {"max_ratio": 0.5}),
    ],
    ids=lambda each: next(iter(each)) if isinstance(each, dict) else str(each),
)
def test_options_have_the_same_effect(seed: int, options: dict[str, Any]) -> None:
    assert_same(lively_model(seed=seed), DRAFTS if seed % 2 else None, **options)


def test_source_and_target_may_have_dictionaries_of_their_own() -> None:
    task = toy_task(toy_dictionary(200), toy_dictionary(8))
    model = lively_model(task)
    plain, other = generators(model, task.target_dictionary)
    source = {"src_tokens": torch.tensor([[BOS, 150, 199, 40, 7, EOS]])}
    expected, found = (each.generate([model], {"net_input": source})[0][0] for each in (plain, other))
    assert found["tokens"].equal(expected["tokens"]) and other.fixed is not None and other.fixed.at_width


def test_a_sentence_that_outgrows_the_canvas_moves_to_a_wider_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "WIDTHS", (*range(3, 20), 40))
    steps, widths = assert_same(lively_model(), None, gamma=2.0)
    assert len(steps) >= 2 and any(width not in {len(source) for source in SOURCES} for width in widths)


def test_what_is_longer_than_the_widest_canvas_is_refined_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed, "WIDTHS", (8,))
    _, widths = assert_same(lively_model(), DRAFTS, gamma=2.0)
    assert widths == [8] and max(map(len, SOURCES)) > 8


def test_a_sentence_may_fill_the_canvas(monkeypatch: pytest.MonkeyPatch) -> None:
    model, options = lively_model(), {"gamma": 2.0, "max_iter": 1}
    usual = refine([model], SOURCES[:4], retain_history=True, **options)
    longest = [max(len(state["tokens"]) for state in result["history"]) for result in usual]
    row = next(row for row, source in enumerate(SOURCES[:4]) if longest[row] > len(source))
    for spare, expected in ((0, usual[row]["steps"]), (-1, None)):
        monkeypatch.setattr(fixed, "WIDTHS", (longest[row] + spare,))
        _, other = generators(model, **options)
        assert other.fixed is not None
        with torch.no_grad():
            canvas = other._start(torch.tensor([SOURCES[row]]), None, None, None)
            assert other.fixed.refine(torch.tensor([SOURCES[row]]), canvas) == expected


def refined_as_usual(other: RefinementGenerator, sources: int = 1, **given: Tensor) -> bool:
    net_input = {"src_tokens": rows_to_tensor(SOURCES[:sources]), **given}
    sample = {"net_input": net_input, "target": rows_to_tensor(DRAFTS[:sources])}
    other.generate([], sample)
    assert other.fixed is not None
    return not other.fixed.at_width


def test_what_it_cannot_do_is_refined_as_usual() -> None:
    for options in ({"candidates": 2}, {"keep_bias": 1.0}, {"retain_history": True}):
        assert refined_as_usual(generators(lively_model(), **options)[1])
    assert refined_as_usual(generators(lively_model())[1], sources=9)
    draft = rows_to_tensor(DRAFTS[:1])
    marks = torch.full_like(draft, requests.DELETE)
    assert refined_as_usual(generators(lively_model())[1], draft=draft, requests=marks)
    assert refined_as_usual(generators(lively_model(), oracle="delete")[1], draft=draft)
    assert not refined_as_usual(generators(lively_model())[1], draft=draft)


def test_words_that_know_their_spelling_are_refined_as_usual() -> None:
    model = LevT.build_model(toy_config(share_all_embeddings=True, spelling=True, spelling_buckets=64), toy_task())
    assert refined_as_usual(generators(model)[1])


def test_a_history_that_is_asked_for_later_is_kept() -> None:
    _, other = generators(lively_model())
    other.options = replace(other.options, retain_history=True)  # as ``Refining`` does
    assert refined_as_usual(other, draft=rows_to_tensor(DRAFTS[:1]))


def test_the_flag_requires_a_gpu() -> None:
    task = toy_task(cuda_graphs=True)
    with pytest.raises(UserError, match="--cuda-graphs requires a GPU: leave it out"):
        task.build_generator([lively_model(task)], Namespace())


def test_the_flag_is_for_decoding() -> None:
    with pytest.raises(UserError, match="--cuda-graphs is for decoding: in training, leave it out"):
        toy_task(cuda_graphs=True).build_model(toy_config())
