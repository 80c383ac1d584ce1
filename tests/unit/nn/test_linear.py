"""Products of oneDNN match torch's in training, and in decoding with packed weights."""

import copy
from argparse import Namespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.levt.model import LevT
from lev_plugins.nn.linear import AVAILABLE, MIN_PRODUCT, Linear, PackedLinear, linear
from lev_plugins.nn.transformer import FeedForward, LayerShape
from tests.helpers import BOS, EOS, toy_config, toy_task

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="this torch has no oneDNN products")


def assert_close(value: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(value, expected, atol=1e-2, rtol=1e-3)


@pytest.fixture
def factors() -> list[Tensor]:
    torch.manual_seed(1)
    x, weight, bias = torch.randn(2, 32, 512), torch.randn(512, 512), torch.randn(512)
    assert x.numel() * weight.size(0) >= MIN_PRODUCT
    return [x, weight, bias]


def test_large_products_and_gradients_match_torch(factors: list[Tensor]) -> None:
    assert_close(linear(*factors), F.linear(*factors))
    results: list[list[Any]] = []
    for multiply in (linear, F.linear):
        leaves = [factor.clone().requires_grad_() for factor in factors]
        out = multiply(*leaves)
        out.sin().sum().backward()
        results.append([out, *(factor.grad for factor in leaves)])
    for value, expected in zip(*results, strict=True):
        assert_close(value, expected)
    x, weight, bias = factors
    (bias_gradient,) = torch.autograd.grad(linear(x, weight, bias.requires_grad_()).sin().sum(), bias)
    assert_close(bias_gradient, results[1][3])


@pytest.mark.parametrize("shape", [(2, 32, 512), (64, 512)], ids=str)
def test_a_large_product_may_be_changed_in_place(shape: tuple[int, ...]) -> None:
    """A feed-forward layer changes it; torch permits this only if the product is not a view."""
    layer = FeedForward(LayerShape(512, 512, 2))
    layer(torch.randn(*shape)).sin().sum().backward()
    assert layer.fc1.weight.grad is not None and layer.fc1.weight.grad.isfinite().all()


@pytest.mark.parametrize("rows", [1, 2, 30])
def test_a_packed_layer_matches_the_plain_one(rows: int) -> None:
    plain = Linear(500, 700)
    packed = PackedLinear(plain.weight, plain.bias)
    x = torch.randn(rows, 3, 500)
    with torch.no_grad():
        assert torch.allclose(plain(x), packed(x), atol=1e-5)
        assert torch.allclose(plain(x), copy.deepcopy(packed)(x), atol=1e-5)
    assert torch.equal(packed.weight, plain.weight)


@pytest.mark.parametrize("tied", [False, True])
def test_packed_weights_decode_the_same_repeatedly(tied: bool) -> None:
    task = toy_task()
    big = {f"{side}_{name}": 512 for side in ("encoder", "decoder") for name in ("embed_dim", "ffn_embed_dim")}
    model = LevT.build_model(toy_config(**big, share_decoder_input_output_embed=tied), task).eval()
    sample = {"net_input": {"src_tokens": torch.tensor([[BOS, 5, 6, EOS]])}}
    flags = Namespace(iter_decode_max_iter=1)
    with torch.no_grad():
        unpacked = copy.deepcopy(model)
        expected = task.build_generator([unpacked], flags).generate([model], sample)[0][0]
    for _ in range(2):
        hypothesis = task.build_generator([model], flags).generate([model], sample)[0][0]
        assert hypothesis["tokens"].equal(expected["tokens"])
    assert sum(isinstance(module, PackedLinear) for module in model.modules()) > 5
    assert next(model.parameters()).device.type == "cpu"
