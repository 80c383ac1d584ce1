"""``--cpu-bf16``: the same training, up to the precision of bfloat16."""

import pytest
import torch
from torch import nn

from lev_plugins.training import precision
from lev_plugins.utils.errors import UserError


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.outer = nn.Linear(64, 64), nn.Linear(64, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.outer(self.inner(x).relu())


def loss_of(model: Model, sample: torch.Tensor) -> torch.Tensor:
    return torch.log_softmax(model(sample).float(), -1)[:, 0].mean().neg()


def test_products_are_in_bfloat16_and_gradients_in_32_bits() -> None:
    """Loss and gradient are those of 32 bits to a hundredth."""
    torch.manual_seed(1)
    sample, found, seen = torch.randn(5, 64), [], []
    for loss in (loss_of, precision.in_bfloat16(loss_of)):
        model = Model()
        model.inner.register_forward_hook(lambda module, given, output: seen.append(output.dtype))
        value = loss(model, sample)
        value.backward()
        assert {each.grad.dtype for each in model.parameters() if each.grad is not None} == {torch.float32}
        assert model.inner.weight.grad is not None
        found.append((float(value.detach()), model.inner.weight.grad))
    assert seen == [torch.float32, torch.bfloat16] and not torch.is_autocast_enabled("cpu")
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-2)
    difference = (found[0][1] - found[1][1]).norm() / found[0][1].norm()
    assert 0 < difference < 2e-2


def test_a_gpu_is_refused() -> None:
    model = Model().to("meta")
    with pytest.raises(UserError, match="--cpu-bf16 requires --cpu: on a GPU, use --fp16"):
        precision.in_bfloat16(loss_of)(model, torch.randn(5, 64))
