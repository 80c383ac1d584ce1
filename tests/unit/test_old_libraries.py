"""What fairseq 0.12.2 and its own pins (omegaconf 2.0, NumPy 1) require, as far as newer libraries show it."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_DATACLASS_REGISTRY
from fairseq.tasks import TASK_DATACLASS_REGISTRY, FairseqTask
from omegaconf import OmegaConf, open_dict

from lev_plugins.data.drafts.dataset import RollIn
from lev_plugins.models.levt import PRESETS
from lev_plugins.tasks.text_correction import TextCorrectionTask
from lev_plugins.tasks.text_editing import TextEditingTask
from lev_plugins.tasks.text_labelling import TextLabellingTask

CONFIGS = {
    dataclass
    for registry in (MODEL_DATACLASS_REGISTRY, TASK_DATACLASS_REGISTRY, CRITERION_DATACLASS_REGISTRY)
    for dataclass in registry.values()
    if dataclass.__module__.startswith("lev_plugins.")
}


def test_no_field_has_the_name_of_what_it_refers_to() -> None:
    """omegaconf 2.0 looks ``${optimizer._name}`` up in the dataclass itself: a field ``optimizer`` never ends."""
    assert len(CONFIGS) >= 8
    references = 0
    for config in CONFIGS:
        names = {each.name for each in fields(config)}
        for each in fields(config):
            if str(each.default).startswith("${"):
                assert str(each.default)[2:].split(".")[0] not in names, f"{config.__name__}.{each.name}"
                references += 1
    assert references > 10


@pytest.mark.parametrize("arch", PRESETS)
def test_a_checkpoint_of_version_0_2_knows_its_optimizer(arch: str) -> None:
    """It has the name as ``model.optimizer``, and fairseq adds no defaults of the dataclass to those of a preset."""
    old = {"_name": arch, "optimizer": "scaled_adam", "backbone_lr_factor": 0.1}
    cfg = OmegaConf.create({"optimizer": {"_name": "scaled_adam"}, "model": old})
    with open_dict(cfg):
        ARCH_CONFIG_REGISTRY[arch](cfg.model)
    assert cfg.model.optimizer_name == "scaled_adam"


class OldInteger(int):
    """An integer of NumPy 1: with a Python integer, it has no shifts."""

    def __rshift__(self, other: int) -> int:
        raise TypeError("ufunc 'right_shift' not supported for the input types")


def test_seeds_of_numpy_1(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = RollIn(3).generator(2, 5).initial_seed()
    state = int(np.random.SeedSequence((3, 2, 5)).generate_state(1, np.uint64)[0])
    assert seed == state // 2
    sequence = SimpleNamespace(generate_state=lambda *_: [OldInteger(state)])
    monkeypatch.setattr(np.random, "SeedSequence", lambda _: sequence)
    assert RollIn(3).generator(2, 5).initial_seed() == seed


@pytest.mark.parametrize("kind", [TextEditingTask, TextCorrectionTask, TextLabellingTask])
def test_a_criterion_is_built_as_the_installed_fairseq_does(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``build_criterion`` of 0.12.2 takes only the configuration."""
    task = object.__new__(kind)
    for name, value in {"from_checkpoint": True, "system": "LevT"}.items():
        monkeypatch.setattr(kind, name, value, raising=False)
    criterion = {TextEditingTask: "dual_policy", TextCorrectionTask: "cross_entropy", TextLabellingTask: "labelling"}
    monkeypatch.setattr(FairseqTask, "build_criterion", lambda self, cfg: cfg._name)
    assert task.build_criterion(SimpleNamespace(_name=criterion[kind])) == criterion[kind]
    monkeypatch.setattr(FairseqTask, "build_criterion", lambda self, cfg, from_checkpoint=False: from_checkpoint)
    assert task.build_criterion(SimpleNamespace(_name=criterion[kind]), from_checkpoint=True) is True
