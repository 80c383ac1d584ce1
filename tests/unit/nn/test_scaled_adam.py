"""``--optimizer scaled_adam``: learning-rate factors of weights."""

from argparse import Namespace
from typing import Any

import pytest
import torch
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import merge_with_parent, omegaconf_no_object_check
from fairseq.models import MODEL_DATACLASS_REGISTRY
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from fairseq.optim.fp16_optimizer import FP16Optimizer
from omegaconf import OmegaConf, open_dict
from torch import nn

from lev_plugins import registration  # noqa: F401  registers the models
from lev_plugins.nn.scaled_adam import ScaledAdam, check_learning_rate, scale_learning_rate
from lev_plugins.utils.errors import UserError


def scaled_parameters(factor: float = 0.1) -> list[nn.Parameter]:
    """Returns two weights with a learning-rate factor, and one without between them."""
    parameters = [nn.Parameter(torch.ones(3)) for _ in range(3)]
    scale_learning_rate([parameters[0], parameters[2]], factor)
    return parameters


def adam_config(**options: object) -> FairseqAdamConfig:
    return OmegaConf.structured(FairseqAdamConfig(lr=[0.01], tpu=False, **options))


def step_sizes(optimizer: FairseqAdam, parameters: list[nn.Parameter]) -> list[float]:
    """Makes a step with equal gradients and returns the change of each weight."""
    values = [parameter.detach().clone() for parameter in parameters]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 0.5)
    optimizer.step()
    return [float((value - parameter.detach()).mean()) for value, parameter in zip(values, parameters, strict=True)]


def test_steps_are_scaled_by_the_factor() -> None:
    parameters = scaled_parameters()
    optimizer = ScaledAdam(adam_config(), parameters)
    assert step_sizes(optimizer, parameters) == pytest.approx([0.001, 0.01, 0.001], rel=1e-3)
    optimizer.set_lr(0.02)
    assert optimizer.get_lr() == pytest.approx(0.02)
    assert step_sizes(optimizer, parameters) == pytest.approx([0.002, 0.02, 0.002], rel=1e-3)


def test_all_weights_can_have_one_factor() -> None:
    """A pre-trained model without gates has no other weights."""
    parameters = scaled_parameters()
    scale_learning_rate(parameters, 0.1)
    optimizer = ScaledAdam(adam_config(), parameters)
    assert optimizer.get_lr() == pytest.approx(0.01)
    assert step_sizes(optimizer, parameters) == pytest.approx([0.001] * 3, rel=1e-3)


def test_scaled_adam_without_factors_is_refused() -> None:
    with pytest.raises(UserError, match="needs weights with their own learning rate, but there are none: use"):
        ScaledAdam(adam_config(), scaled_parameters(factor=1))


@pytest.mark.parametrize("arch", ["levt", "levt_tiny", "gated_t5", "enct5"])
def test_an_optimizer_that_ignores_the_factor_is_refused(arch: str) -> None:
    """The optimizer comes from fairseq's commands or hydra, with or without a configuration."""

    def check(optimizer: Any, factor: float = 0.1) -> None:
        model = OmegaConf.create({"_name": arch, "backbone_lr_factor": factor})
        root = OmegaConf.structured(FairseqConfig())
        with omegaconf_no_object_check(), open_dict(root):
            root.model, root.optimizer = model, optimizer
        dataclass = MODEL_DATACLASS_REGISTRY.get(arch)
        check_learning_rate(root.model if dataclass is None else merge_with_parent(dataclass(), root.model))

    check({"_name": "scaled_adam"})
    check({"_name": "composite"})
    check(Namespace(_name="sgd"), factor=1)
    for optimizer, name in (({"_name": "adam"}, "adam"), (Namespace(_name="sgd"), "sgd"), (None, "None")):
        with pytest.raises(UserError, match=f"requires --optimizer scaled_adam, but --optimizer is {name}"):
            check(optimizer)


def mixed_config(bf16: bool) -> OmegaConf:
    common = {"fp16": not bf16, "bf16": bf16, "fp16_no_flatten_grads": True, "fp16_scale_window": 8}
    common |= {"fp16_init_scale": 4, "fp16_scale_tolerance": 0.0, "threshold_loss_scale": None, "min_loss_scale": 1e-4}
    optimizer = {"_name": "scaled_adam", "lr": [0.01], "adam_betas": "(0.9, 0.999)", "adam_eps": 1e-8}
    rest = {"weight_decay": 0.0, "use_old_adam": False, "fp16_adam_stats": False, "tpu": False}
    return OmegaConf.create({"common": common, "optimizer": {**optimizer, **rest}})


def test_fp16_keeps_factors_unless_it_flattens_weights() -> None:
    for bf16, kind in ((True, torch.bfloat16), (False, torch.float16)):
        parameters = scaled_parameters()
        for parameter in parameters:
            parameter.data = parameter.data.to(kind)
        wrapped = FP16Optimizer.build_optimizer(mixed_config(bf16), parameters)
        assert [group["lr"] for group in wrapped.fp32_optimizer.param_groups] == pytest.approx([0.001, 0.01])
    flat = nn.Parameter(torch.cat([parameter.data for parameter in parameters]))  # what --fp16 makes otherwise
    with pytest.raises(UserError, match="--fp16 has joined all weights in one vector"):
        ScaledAdam(adam_config(), [flat])
