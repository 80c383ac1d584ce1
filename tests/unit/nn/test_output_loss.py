"""The loss of an output layer, a few rows at a time, against the one from all logits."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.levt.criterion import head_loss
from lev_plugins.levt.model import HeadOutput
from lev_plugins.nn.output_loss import summed_loss


def random_inputs(rows: int, classes: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(1)
    x, weight = torch.randn(rows, 8, requires_grad=True), torch.randn(classes, 8, requires_grad=True)
    return x, weight, torch.randint(classes, (rows,))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("at_once", [1, 50, 1 << 22])
def test_chunked_loss_matches_all_logits(smoothing: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lev_plugins.nn.output_loss.LOGITS_PER_CHUNK", at_once)
    x, weight, labels = random_inputs(7, 12)
    expected = head_loss(HeadOutput(F.linear(x, weight), labels), smoothing)
    gradients = torch.autograd.grad(3 * expected.loss, (x, weight))
    chunked = summed_loss(x, weight, labels, smoothing)
    assert float(chunked.loss) == pytest.approx(float(expected.loss)) and float(chunked.nll) == pytest.approx(
        float(expected.nll)
    )
    assert chunked.correct.equal(expected.correct) and chunked.best.equal(F.linear(x, weight).argmax(-1))
    for gradient, expected_gradient in zip(torch.autograd.grad(3 * chunked.loss, (x, weight)), gradients, strict=True):
        assert gradient.allclose(expected_gradient, atol=1e-5)


def test_chunked_gradients_are_summed_in_32_bits() -> None:
    """The gradient of the weight is a sum over all rows, so it is summed in 32 bits."""
    x, weight, labels = random_inputs(600, 12)
    (exact,) = torch.autograd.grad(summed_loss(x, weight, labels, 0.1).loss, [weight])
    short_x, short_weight = (x_or_weight.detach().bfloat16().requires_grad_() for x_or_weight in (x, weight))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lev_plugins.nn.output_loss.LOGITS_PER_CHUNK", 50)
        (gradient,) = torch.autograd.grad(summed_loss(short_x, short_weight, labels, 0.1).loss, [short_weight])
    assert gradient.dtype == torch.bfloat16 and float((gradient - exact).norm() / exact.norm()) < 0.02


def test_the_loss_of_no_rows_is_0_and_has_a_gradient() -> None:
    x, weight, labels = random_inputs(0, 5)
    empty = summed_loss(x, weight, labels, 0.1)
    empty.loss.backward()
    assert float(empty.loss) == 0 and weight.grad is not None and not weight.grad.any()
