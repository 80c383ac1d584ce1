"""A part of the learning rate for weights that ask for it."""

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


def weights(factor: float = 0.1) -> list[nn.Parameter]:
    """Two that ask for ``factor``, one that does not, all with the same gradient."""
    found = [nn.Parameter(torch.ones(3)) for _ in range(3)]
    scale_learning_rate([found[0], found[2]], factor)
    return found


def config(**options: object) -> FairseqAdamConfig:
    return OmegaConf.structured(FairseqAdamConfig(lr=[0.01], tpu=False, **options))


def step(optimizer: FairseqAdam, parameters: list[nn.Parameter]) -> list[float]:
    """How far each weight went."""
    before = [parameter.detach().clone() for parameter in parameters]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 0.5)
    optimizer.step()
    return [float((old - new.detach()).mean()) for old, new in zip(before, parameters, strict=True)]


def test_each_weight_goes_as_far_as_it_asked_for() -> None:
    parameters = weights()
    optimizer = ScaledAdam(config(), parameters)
    assert step(optimizer, parameters) == pytest.approx([0.001, 0.01, 0.001], rel=1e-3)
    optimizer.set_lr(0.02)
    assert optimizer.get_lr() == pytest.approx(0.02)
    assert step(optimizer, parameters) == pytest.approx([0.002, 0.02, 0.002], rel=1e-3)


def test_all_weights_may_ask_for_the_same() -> None:
    """A pre-trained model without gates has nothing new: what it is compared with has the same flags."""
    parameters = weights()
    scale_learning_rate(parameters, 0.1)
    optimizer = ScaledAdam(config(), parameters)
    assert optimizer.get_lr() == pytest.approx(0.01)
    assert step(optimizer, parameters) == pytest.approx([0.001] * 3, rel=1e-3)


def test_without_a_factor_it_is_refused() -> None:
    with pytest.raises(UserError, match="needs weights with their own learning rate, but there are none: use"):
        ScaledAdam(config(), weights(factor=1))


@pytest.mark.parametrize("arch", ["levt", "levt_tiny", "gated_t5", "enct5"])
def test_an_optimizer_that_ignores_the_factor_is_refused(arch: str) -> None:
    """Whether fairseq's commands or hydra name it, and also if it has no configuration, as fairseq's sgd."""

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


def mixed(bf16: bool) -> OmegaConf:
    common = {"fp16": not bf16, "bf16": bf16, "fp16_no_flatten_grads": True, "fp16_scale_window": 8}
    common |= {"fp16_init_scale": 4, "fp16_scale_tolerance": 0.0, "threshold_loss_scale": None, "min_loss_scale": 1e-4}
    optimizer = {"_name": "scaled_adam", "lr": [0.01], "adam_betas": "(0.9, 0.999)", "adam_eps": 1e-8}
    rest = {"weight_decay": 0.0, "use_old_adam": False, "fp16_adam_stats": False, "tpu": False}
    return OmegaConf.create({"common": common, "optimizer": {**optimizer, **rest}})


def test_16_bits_keep_the_factor_or_say_that_they_do_not() -> None:
    for bf16, kind in ((True, torch.bfloat16), (False, torch.float16)):
        parameters = weights()
        for parameter in parameters:
            parameter.data = parameter.data.to(kind)
        wrapped = FP16Optimizer.build_optimizer(mixed(bf16), parameters)
        assert [group["lr"] for group in wrapped.fp32_optimizer.param_groups] == pytest.approx([0.001, 0.01])
    flat = nn.Parameter(torch.cat([parameter.data for parameter in parameters]))  # what --fp16 makes otherwise
    with pytest.raises(UserError, match="--fp16 has joined all weights in one vector: add --fp16-no-flatten-grads"):
        ScaledAdam(config(), [flat])
