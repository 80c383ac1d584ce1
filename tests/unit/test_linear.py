"""Weights in oneDNN's order alone: the same products with less memory, and back again when they are asked for."""

from __future__ import annotations

import copy
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import prune

from lev_plugins.layers import Linear, products, save_memory
from lev_plugins.layers.products import OneDNN
from lev_plugins.models.levt import LevT
from tests.helpers import BOS, EOS, toy_config, toy_task

pytestmark = pytest.mark.skipif(not products.available(), reason="this torch has no oneDNN products")


@pytest.fixture(autouse=True)
def packed_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lev_plugins.layers.linear.verdict", lambda: OneDNN(False, False, True))


def saved(seed: int = 1) -> tuple[Linear, Linear]:
    """A matrix, and the same one that has given up its order."""
    torch.manual_seed(seed)
    plain = Linear(500, 700)
    other = copy.deepcopy(plain)
    save_memory(nn.Sequential(other))
    weight = dict(other.named_parameters())["weight"]
    assert other.alone is not None and weight.shape == plain.weight.shape
    assert weight.isnan().all() and weight.untyped_storage().nbytes() == 4
    return plain.eval(), other.eval()


@pytest.mark.parametrize("rows", [1, 2, 30])
def test_products_are_the_same(rows: int) -> None:
    plain, other = saved()
    x = torch.randn(rows, 3, 500)
    with torch.no_grad():
        assert torch.allclose(plain(x), other(x), atol=1e-5)
    assert other.alone is not None  # it still has only that one


ASKED: dict[str, Callable[[Linear], Any]] = {
    "read": lambda it: it.weight,
    "saved": lambda it: it.state_dict(),
    "copied": copy.deepcopy,
    "moved": lambda it: it.to(torch.float32),
    "trained": lambda it: it(torch.randn(2, 500)),
}


@pytest.mark.parametrize("way", ASKED)
def test_a_weight_that_is_asked_for_is_put_back(way: str) -> None:
    plain, other = saved()
    ASKED[way](other)
    assert other.alone is None
    assert torch.equal(other.weight, plain.weight) and isinstance(other._parameters["weight"], nn.Parameter)
    assert other.weight.requires_grad


def test_other_weights_can_be_loaded() -> None:
    (_, other), (wanted, _) = saved(), saved(seed=2)
    other.load_state_dict(wanted.state_dict())
    assert torch.equal(other.weight, wanted.weight)


def test_what_was_made_of_the_parameters_before_still_holds() -> None:
    """An optimiser that was built while a weight was kept elsewhere trains it."""
    plain, other = saved()
    optimiser = torch.optim.SGD(other.parameters(), lr=0.1)
    other.train()(torch.randn(2, 500)).sum().backward()
    optimiser.step()
    assert other.weight.isfinite().all() and not torch.equal(other.weight, plain.weight)


def test_it_is_put_back_for_training_also_where_nothing_is_recorded() -> None:
    _, other = saved()
    with torch.inference_mode():
        assert other.weight.isfinite().all()
    other.train()(torch.randn(2, 500, requires_grad=True)).sum().backward()


def test_a_task_decodes_with_it_again_and_again() -> None:
    task = toy_task()
    big = {f"{side}_{name}": 512 for side in ("encoder", "decoder") for name in ("embed_dim", "ffn_embed_dim")}
    model = LevT.build_model(toy_config(**big), task).eval()
    sample = {"net_input": {"src_tokens": torch.tensor([[BOS, 5, 6, EOS]])}}
    flags = Namespace(iter_decode_max_iter=1)
    with torch.no_grad():
        expected = task.build_generator([copy.deepcopy(model)], flags).generate([model], sample)[0][0]
    kept = [module for module in model.modules() if isinstance(module, Linear)]
    for _ in range(2):
        found = task.build_generator([model], flags).generate([model], sample)[0][0]
        assert found["tokens"].equal(expected["tokens"])
    assert sum(module.alone is not None for module in kept) > 5
    assert next(model.parameters()).device.type == "cpu"


def test_small_weights_and_other_precisions_stay() -> None:
    small, half = Linear(4, 4), Linear(500, 700).half()
    save_memory(nn.Sequential(small, half))
    assert small.alone is None and half.alone is None


def test_where_another_order_is_no_faster_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lev_plugins.layers.linear.verdict", lambda: OneDNN(True, True, False))
    linear = Linear(500, 700)
    save_memory(nn.Sequential(linear))
    assert linear.alone is None


def test_a_weight_that_is_computed_is_used() -> None:
    """Such as one that torch prunes: it is no parameter any more."""
    layer, x = Linear(4, 3), torch.randn(2, 4)
    prune.l1_unstructured(layer, "weight", amount=0.5)
    assert layer(x).allclose(F.linear(x, layer.weight_orig * layer.weight_mask, layer.bias))
