"""``--optimizer scaled_adam``: fairseq's adam, with another learning rate for the weights of a backbone.

These weights are marked as for fairseq's ``composite`` optimizer, by ``parameter.optim_overrides`` and by
``parameter.param_group``. The latter is the only mark that every version of fairseq copies in mixed precision.
``composite`` must be set up in hydra's files, with one optimizer and one scheduler per group; here every flag of adam
and every scheduler work unchanged.
"""

from collections.abc import Iterable
from typing import Any

from fairseq.optim import register_optimizer
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from torch import nn

from lev_plugins.utils.errors import require


class ParameterGroup(str):
    """The name of a group of weights, with the factor of their learning rate."""

    lr_scale: float


def check_learning_rate(cfg: Any) -> None:
    """Refuses a ``backbone_lr_factor`` that the optimizer would ignore.

    The optimizer is read from the root of the configuration: a field that refers to it (``II("optimizer._name")``)
    fails with omegaconf 2.0 and with optimizers of fairseq that have no configuration.
    """
    if cfg.backbone_lr_factor != 1:
        optimizer = getattr(cfg._get_root().optimizer, "_name", None)
        require(
            optimizer in ("scaled_adam", "composite"),
            f"--backbone-lr-factor requires --optimizer scaled_adam, but --optimizer is {optimizer}",
        )


def scale_learning_rate(parameters: Iterable[nn.Parameter], factor: float) -> None:
    """Mark these parameters to learn with ``factor`` times the learning rate."""
    group = ParameterGroup("backbone")
    group.lr_scale = factor
    if factor != 1:
        for parameter in parameters:
            parameter.param_group = group  # type: ignore[attr-defined]
            parameter.optim_overrides = {"optimizer": {"lr_scale": factor}}  # type: ignore[attr-defined]


def lr_factor(parameter: nn.Parameter) -> float:
    """Returns the factor of the learning rate that ``scale_learning_rate`` has set, or 1."""
    group = vars(parameter).get("param_group")
    return group.lr_scale if isinstance(group, ParameterGroup) else 1.0


@register_optimizer("scaled_adam", dataclass=FairseqAdamConfig)
class ScaledAdam(FairseqAdam):
    def __init__(self, cfg: FairseqAdamConfig, params: Iterable[nn.Parameter]) -> None:
        by_factor: dict[float, list[nn.Parameter]] = {}
        for parameter in params:
            by_factor.setdefault(lr_factor(parameter), []).append(parameter)
        self.factors = list(by_factor)
        require(
            any(factor != 1 for factor in self.factors),
            "--optimizer scaled_adam needs weights with their own learning rate, but there are none: use --optimizer "
            "adam (also for --backbone-lr-factor 1); with another factor, --fp16 has joined all weights in one vector: "
            "add --fp16-no-flatten-grads",
        )
        super().__init__(cfg, [{"params": members, "lr_scale": factor} for factor, members in by_factor.items()])
        self.set_lr(self.optimizer_config["lr"])

    def set_lr(self, lr: float) -> None:
        for group, factor in zip(self.param_groups, self.factors, strict=True):
            group["lr"] = lr * factor

    def get_lr(self) -> float:
        """Returns the learning rate of --lr and the scheduler, without a factor."""
        return self.param_groups[0]["lr"] / self.factors[0]
