"""The loss of an output layer, a few rows at a time, against the one from all logits."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.nn.output_loss import HeadOutput, summed_loss


def random_inputs(rows: int, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    x, weight = torch.randn(rows, 8, requires_grad=True), torch.randn(classes, 8, requires_grad=True)
    return x, weight, torch.randint(classes, (rows,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_once", [1, 50, 1 << 22])
def test_chunked_loss_matches_all_logits(smoothing: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lev_plugins.nn.output_loss.LOGITS_PER_CHUNK", at_once)
    x, weight, labels = random_inputs(7, 12)
    expected = HeadOutput(F.linear(x, weight), labels).loss(smoothing)
    gradients = torch.autograd.grad(3 * expected.loss, (x, weight))
    output = summed_loss(x, weight, labels)
    chunked = output.loss(smoothing)
    for value, expected_value in zip(vars(chunked).values(), vars(expected).values(), strict=True):
        assert float(value) == pytest.approx(float(expected_value))
    assert output.best.equal(F.linear(x, weight).argmax(-1))
    for gradient, expected_gradient in zip(torch.autograd.grad(3 * chunked.loss, (x, weight)), gradients, strict=True):
        assert gradient.allclose(expected_gradient, atol=1e-5)


def test_chunked_gradients_are_summed_in_32_bits() -> None:
    """The gradient of the weight is a sum over all rows, so it is summed in 32 bits."""
    x, weight, labels = random_inputs(600, 12)
    (exact,) = torch.autograd.grad(summed_loss(x, weight, labels).loss(0.1).loss, [weight])
    short_x, short_weight = (x_or_weight.detach().bfloat16().requires_grad_() for x_or_weight in (x, weight))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lev_plugins.nn.output_loss.LOGITS_PER_CHUNK", 50)
        (chunked,) = torch.autograd.grad(summed_loss(short_x, short_weight, labels).loss(0.1).loss, [short_weight])
    assert chunked.dtype == torch.bfloat16 and float((chunked - exact).norm() / exact.norm()) < 0.02


def test_without_decisions_the_loss_is_0_and_has_a_gradient() -> None:
    x, weight, labels = random_inputs(0, 5)
    chunked = summed_loss(x, weight, labels).loss(0.1)
    chunked.loss.backward()
    assert float(chunked.loss) == 0 and weight.grad is not None and not weight.grad.any()
