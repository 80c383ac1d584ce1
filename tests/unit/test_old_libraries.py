"""Requirements of fairseq 0.12.2, omegaconf 2.0 and NumPy 1, as far as newer libraries show them."""

import re
import shutil
from argparse import Namespace
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
from fairseq.models import ARCH_CONFIG_REGISTRY, MODEL_DATACLASS_REGISTRY
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.tasks import TASK_DATACLASS_REGISTRY, FairseqTask
from omegaconf import OmegaConf, open_dict

from lev_plugins.correction.task import TextCorrectionTask
from lev_plugins.export import load_model
from lev_plugins.labelling.task import TextLabellingTask
from lev_plugins.levt.config import LEVT_PRESETS
from lev_plugins.levt.dataset import RollIn
from lev_plugins.levt.task import TextEditingTask
from lev_plugins.training.copies import COPIES
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.commands import ROOT
from tests.helpers import FIRST_WORD, collated, toy_pairs, toy_task

GOLDEN_FOLDERS_OF_0_2 = ROOT / "tests" / "golden" / "folders" / "0.2"
CONFIGS = {
    dataclass
    for registry in (MODEL_DATACLASS_REGISTRY, TASK_DATACLASS_REGISTRY, CRITERION_DATACLASS_REGISTRY)
    for dataclass in registry.values()
    if dataclass.__module__.startswith("lev_plugins.")
}


def test_fields_do_not_shadow_their_references() -> None:
    """omegaconf 2.0 looks ``${optimizer._name}`` up in the dataclass itself: a field ``optimizer`` never ends."""
    assert len(CONFIGS) >= 8
    references = 0
    for config in CONFIGS:
        names = {field.name for field in fields(config)}
        for field in fields(config):
            if str(field.default).startswith("${"):
                assert str(field.default)[2:].split(".")[0] not in names, f"{config.__name__}.{field.name}"
                references += 1
    assert references > 5


@pytest.mark.parametrize("arch", LEVT_PRESETS)
def test_presets_complete_a_checkpoint(arch: str) -> None:
    """omegaconf 2.0 returns None for missing fields."""
    cfg = OmegaConf.create({"_name": arch, "encoder_layers": 4, "backbone": None})
    with open_dict(cfg):
        ARCH_CONFIG_REGISTRY[arch](cfg)
    expected = {"max_insertions": 255, **LEVT_PRESETS[arch], "encoder_layers": 4, "backbone": None}
    assert {name: cfg[name] for name in expected} == expected


def test_unset_flags_of_another_fairseq_are_accepted(tmp_path: Path) -> None:
    """``merge_src_tgt_embed`` of fairseq-fixed is unknown to 0.12.2, and every folder of a gated_trans has it."""
    folder = Path(shutil.copytree(GOLDEN_FOLDERS_OF_0_2 / "levt-spelling" / "model", tmp_path / "model"))
    config = model_folder.read(folder)
    off, on = (replace(config, model_flags={**config.model_flags, "of_another_fairseq": value}) for value in (False, 2))
    model_folder.save(off, folder)
    assert load_model.read_folder(folder, {}).models
    model_folder.save(on, folder)
    with pytest.raises(UserError, match="model_flags has an unknown entry 'of_another_fairseq'"):
        load_model.read_folder(folder, {})


def test_settings_of_another_version_are_dropped(tmp_path: Path) -> None:
    state = {
        "model": {},
        "cfg": {
            "model": {"_name": "levt"},
            "task": {"_name": "text_editing", "of_another_version": 1, "max_ratio": 3.0},
        },
    }
    state |= {"optimizer_history": [{"criterion_name": "DualPolicyCriterion", "num_updates": 1, "best_loss": 1.0}]}
    state |= {"extra_state": {"train_iterator": {"epoch": 1}}, "args": None}
    torch.save(state, tmp_path / "checkpoint.pt")
    task = checkpoint_utils.load_checkpoint_to_cpu(str(tmp_path / "checkpoint.pt"))["cfg"]["task"]
    assert dict(task) == {"_name": "text_editing", "max_ratio": 3.0}


def test_duplicate_weights_of_0_12_2_are_dropped() -> None:
    """Its transformer has each weight of an encoder layer twice, and a tensor beside its positions."""
    task = toy_task()
    options = Namespace(encoder_layers=1, decoder_layers=1, encoder_embed_dim=8, encoder_attention_heads=2)
    base_architecture(options)
    model = TransformerModel.build_model(options, task)
    weights = model.state_dict()
    assert not any(re.search(r"layers\.0\.in_proj_weight|_float_tensor", name) for name in weights)
    stored = {**weights, "encoder.embed_positions._float_tensor": torch.zeros(1)}
    stored |= {f"encoder.layers.0.{name}": torch.zeros(8) for name in COPIES}
    assert model.load_state_dict(stored).unexpected_keys == []
    batch = collated(toy_pairs(*[[[FIRST_WORD] * n for n in (1, 3)]] * 2))["net_input"]
    with torch.no_grad():
        evaluated = model.eval()(**batch)[0]
    assert evaluated.isfinite().all()


class OldInteger(int):
    """An integer of NumPy 1: with a Python integer, it has no shifts."""

    def __rshift__(self, shift: int) -> int:
        raise TypeError("ufunc 'right_shift' not supported for the input types")


def test_seeds_match_numpy_1(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = RollIn(3).generator(2, 5).initial_seed()
    state = int(np.random.SeedSequence((3, 2, 5)).generate_state(1, np.uint64)[0])
    assert seed == state // 2
    sequence = SimpleNamespace(generate_state=lambda *_: [OldInteger(state)])
    monkeypatch.setattr(np.random, "SeedSequence", lambda _: sequence)
    assert RollIn(3).generator(2, 5).initial_seed() == seed


@pytest.mark.parametrize("kind", [TextEditingTask, TextCorrectionTask, TextLabellingTask])
def test_build_criterion_works_with_both_signatures(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``build_criterion`` of 0.12.2 takes only the configuration."""
    task = object.__new__(kind)
    for name, value in {"from_checkpoint": True, "system": "LevT"}.items():
        monkeypatch.setattr(kind, name, value, raising=False)
    criterion = {TextEditingTask: "dual_policy", TextCorrectionTask: "cross_entropy", TextLabellingTask: "labelling"}
    monkeypatch.setattr(FairseqTask, "build_criterion", lambda self, cfg: cfg._name)
    assert task.build_criterion(SimpleNamespace(_name=criterion[kind])) == criterion[kind]
    monkeypatch.setattr(FairseqTask, "build_criterion", lambda self, cfg, from_checkpoint=False: from_checkpoint)
    assert task.build_criterion(SimpleNamespace(_name=criterion[kind]), from_checkpoint=True) is True
