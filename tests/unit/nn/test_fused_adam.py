"""``--optimizer fused_adam`` computes what fairseq's adam computes."""

import pytest
import torch
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from omegaconf import OmegaConf
from torch import nn

from lev_plugins.nn.fused_adam import FusedAdam


def train_towards_target(optimizer_class: type[FairseqAdam], weight_decay: float) -> torch.Tensor:
    """Returns the weights after 20 steps towards a target."""
    draw = torch.Generator().manual_seed(1)
    weights, target = (torch.randn(7, 5, generator=draw) for _ in range(2))
    parameter = nn.Parameter(weights)
    flags = FairseqAdamConfig(lr=[0.02], adam_betas="(0.9, 0.98)", weight_decay=weight_decay, tpu=False)
    optimizer = optimizer_class(OmegaConf.structured(flags), [parameter])
    for step in range(20):
        optimizer.set_lr(0.02 / (1 + step))
        optimizer.zero_grad()
        (parameter - target).pow(2).sum().backward()
        optimizer.step()
    return parameter.detach()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_fused_adam_matches_fairseqs_adam(weight_decay: float) -> None:
    expected = train_towards_target(FairseqAdam, weight_decay)
    torch.testing.assert_close(train_towards_target(FusedAdam, weight_decay), expected, rtol=1e-5, atol=1e-6)
    if weight_decay:
        assert not torch.allclose(expected, train_towards_target(FairseqAdam, 0.0))


def test_torch_fuses_the_update() -> None:
    optimizer = FusedAdam(OmegaConf.structured(FairseqAdamConfig(lr=[0.02], tpu=False)), [nn.Parameter(torch.ones(2))])
    assert [group["fused"] for group in optimizer.param_groups] == [True]
