"""Training in 16 bits: ``--cpu-bf16``, ``--bf16`` and ``--fp16``."""

from typing import Any

import pytest
import torch
from fairseq import options
from torch import Tensor, nn

from lev_plugins.levt.model import LevT
from lev_plugins.training import precision
from lev_plugins.utils.errors import UserError, explain
from tests import spelling
from tests.helpers import collated, toy_config, toy_criterion, toy_task


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.inner, self.outer = nn.Linear(64, 64), nn.Linear(64, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.inner(x).relu())


def loss_of(model: TwoLayers, sample: Tensor) -> Tensor:
    return torch.log_softmax(model(sample).float(), -1)[:, 0].mean().neg()


def test_products_are_in_bfloat16_and_gradients_in_32_bits() -> None:
    """Loss and gradient are those of 32 bits to a hundredth."""
    torch.manual_seed(1)
    sample, dtypes, losses, gradients = torch.randn(5, 64), [], [], []
    for loss in (loss_of, precision.in_bfloat16(loss_of)):
        model = TwoLayers()
        model.inner.register_forward_hook(lambda module, inputs, output: dtypes.append(output.dtype))
        value = loss(model, sample)
        value.backward()
        assert {weight.grad.dtype for weight in model.parameters() if weight.grad is not None} == {torch.float32}
        assert model.inner.weight.grad is not None
        losses.append(float(value.detach()))
        gradients.append(model.inner.weight.grad)
    assert dtypes == [torch.float32, torch.bfloat16] and not torch.is_autocast_enabled("cpu")
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)
    assert 0 < (gradients[0] - gradients[1]).norm() / gradients[0].norm() < 2e-2


def test_cpu_bf16_on_a_gpu_is_refused() -> None:
    model = TwoLayers().to("meta")
    with pytest.raises(UserError, match="--cpu-bf16 requires --cpu"):
        precision.in_bfloat16(loss_of)(model, torch.randn(5, 64))


def largest_gradients(model: LevT, sample: dict[str, Any]) -> dict[str, float]:
    loss, _, _ = toy_criterion()(model.train(), sample)
    loss.backward()
    return {
        name: float(weight.grad.abs().max()) for name, weight in model.named_parameters() if weight.grad is not None
    }


@pytest.mark.parametrize("seed", range(3))
def test_initial_gradients_of_spelling_fit_into_16_bits(seed: int) -> None:
    """The same loss scale of --fp16 works with and without --spelling."""
    dataset = spelling.noisy_dataset(seed)
    largest = largest_gradients(spelling.model(), collated(dataset, range(4)))
    query = max(value for name, value in largest.items() if "words.scorer.query" in name)
    assert query <= 2 * max(value for name, value in largest.items() if "words.scorer" not in name)
    dataset.index = None
    plain = LevT.build_model(toy_config(share_all_embeddings=True), toy_task(spelling.dictionary()))
    assert max(largest.values()) <= 4 * max(largest_gradients(plain, collated(dataset, range(4))).values())


def uses_tpu(*flags: str) -> bool:
    words = ["data", "--arch", "levt_tiny", "--task", "text_editing", "--criterion", "dual_policy", *flags]
    return bool(options.parse_args_and_arch(options.get_training_parser(), words).tpu)


@pytest.mark.parametrize("flag", ["--bf16", "--memory-efficient-bf16"])
def test_bf16_uses_the_gpu_instead_of_a_tpu(flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["fairseq-train"])
    assert uses_tpu(flag)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert not uses_tpu(flag) and uses_tpu(flag, "--cpu") and not uses_tpu()


@pytest.mark.parametrize("message", ["'NoneType' object has no attribute 'xla_device'", "No module named 'torch_xla'"])
def test_errors_of_bf16_without_a_gpu_are_explained(message: str) -> None:
    assert "--bf16 needs a GPU" in str(explain(Exception(message)))
