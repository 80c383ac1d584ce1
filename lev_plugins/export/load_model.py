"""Loads checkpoints or a model folder as fairseq's models, with their configuration and task."""

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import torch
from fairseq import checkpoint_utils, tasks
from fairseq.dataclass.configs import FairseqConfig
from fairseq.dataclass.utils import omegaconf_no_object_check, overwrite_args_by_name
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.tasks import TASK_DATACLASS_REGISTRY, FairseqTask
from fairseq.utils import split_paths
from omegaconf import DictConfig, OmegaConf, open_dict
from safetensors.torch import load_file
from torch import Tensor, nn

from lev_plugins import registration  # noqa: F401  a checkpoint names its task and model
from lev_plugins.labelling.folder import WORDS, LabellingInfo
from lev_plugins.labelling.task import TextLabellingConfig, TextLabellingTask
from lev_plugins.training import checkpoints
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, explained, require
from lev_plugins.utils.model_folder import BACKBONE, LABELLER, WEIGHTS, ModelConfig

# the models that a folder may hold, by task
ARCHITECTURES = {
    "text_editing": ["levt"],
    "text_correction": ["pbd", "gated_trans", "gated_bert", "gated_bart", "gated_t5", "transformer"],
    "text_labelling": ["enct5"],
}
PAIRS = ("source_lang", "target_lang", "left_pad_source", "max_source_positions", "max_target_positions")
# the flags of a task that say how it decodes
TASK_FLAGS = {
    "text_editing": (*PAIRS, "max_ratio", "max_ratio_floor", "min_words", "soft_protection"),
    "text_correction": PAIRS,
    "text_labelling": (),
}
# the flags of a model that matter only in training, or name files
LEFT_OUT = {
    *("backbone_lr_factor", "freeze_backbone", "freeze_encoder", "freeze_embeddings", "decoder_init"),
    *(*checkpoints.WORD_VECTOR_FILES, "encoder_layers_to_keep", "decoder_layers_to_keep"),
    *("checkpoint_activations", "offload_activations", "min_params_to_wrap", "base_layers", "base_shuffle"),
}
OTHER_VERSION = "export it again with the installed version of lev-plugins"


class Loaded(NamedTuple):
    """One or several models of one task."""

    models: list[Any]
    cfg: Any  # fairseq's configuration of the last
    task: Any


def read_model(path: Path, overrides: Mapping[str, object]) -> Loaded:
    """Loads a checkpoint, or a model folder with weights.

    path: the checkpoint or the folder
    overrides: flags of task and model that replace those of the training
    """
    return read_folder(path, overrides) if path.is_dir() else read_checkpoints([path], overrides)


def read_checkpoints(paths: list[Path], overrides: Mapping[str, object]) -> Loaded:
    """Loads checkpoints, which form an ensemble, after a check that the folders they read exist."""
    models, cfg, task = [], None, None
    for path in paths:
        state = checkpoints.load(path, mmap=True)
        name = checkpoints.config_of(state, "task", "_name")
        reads_backbone = name != "text_labelling" and checkpoints.config_of(state, "model", "backbone") is not None
        require(
            "backbone" not in overrides or reads_backbone,
            f"--backbone has no effect on {path}, which reads no pre-trained model: leave it out",
        )
        data = checkpoints.config_of(state, "task", "data")
        if data and "data" not in overrides:
            folder = split_paths(data)[0]
            require(
                os.path.isdir(folder),
                f"{path} was trained with the data in {folder}, but there is no such folder: name it with --data",
            )
        try:
            model, cfg, task = checkpoint_utils.load_model_ensemble_and_task([str(path)], dict(overrides), task=task)
        except UserError:
            raise
        except Exception as error:  # whatever fails in building a model from a checkpoint is a fault of the checkpoint
            require(
                "size mismatch" not in str(error),
                f"{path} does not fit the dictionaries in {overrides.get('data', 'its data folder')}: use a data "
                "folder with the dict.*.txt files of its training",
            )
            raise UserError(f"{path} cannot be loaded ({reason_of(error)}): use an older checkpoint") from error
        checkpoints.require_finite_weights(model[0])
        models += model
    return Loaded(models, cfg, task)


def stored_names(model: nn.Module) -> dict[str, str]:
    """Returns the name under which a folder stores each weight: tied weights have one name.

    >>> stored_names(nn.ModuleList([nn.ReLU(), nn.Linear(1, 1), nn.Linear(1, 1)]))
    {'1.weight': '1.weight', '1.bias': '1.bias', '2.weight': '2.weight', '2.bias': '2.bias'}
    >>> one = nn.Linear(1, 1)
    >>> stored_names(nn.ModuleList([one, one]))
    {'0.weight': '0.weight', '0.bias': '0.bias', '1.weight': '0.weight', '1.bias': '0.bias'}
    """
    names: dict[int, str] = {}
    return {name: names.setdefault(id(weight), name) for name, weight in model.state_dict(keep_vars=True).items()}


# ---- flags -----------------------------------------------------------------------------------------------------------


def family_of(architecture: str) -> str:
    """
    >>> family_of("transformer_iwslt_de_en"), family_of("levt")
    ('transformer', 'levt')
    """
    return ARCH_MODEL_NAME_REGISTRY.get(architecture, architecture)


def is_legacy(architecture: str) -> bool:
    """Returns whether fairseq keeps the flags of the model in a Namespace."""
    return family_of(architecture) not in MODEL_DATACLASS_REGISTRY


def flags_of(architecture: str) -> set[str]:
    """Returns the names of the flags that a folder may have for the model."""
    if is_legacy(architecture):
        parser = ArgumentParser(add_help=False)
        MODEL_REGISTRY[family_of(architecture)].add_args(parser)
        names = {action.dest for action in parser._actions} | {"max_source_positions", "max_target_positions"}
    else:
        names = {field.name for field in fields(MODEL_DATACLASS_REGISTRY[family_of(architecture)])} - {"_name"}
    return names - LEFT_OUT


# ---- a folder --------------------------------------------------------------------------------------------------------


def read_folder(folder: Path, overrides: Mapping[str, object]) -> Loaded:
    require(
        "data" not in overrides,
        f"{folder} is a model folder, which has its own dictionaries, but a data folder is given as well: name a "
        "checkpoint",
    )
    config = model_folder.read(folder)
    require((folder / WEIGHTS).exists(), f"{folder} has no {WEIGHTS}: export its checkpoint again with --trainable")
    check_flags(config, folder)
    try:
        cfg = configuration(config, folder, overrides)
        task = build_task(config, cfg, folder)
        state = {"cfg": cfg, "model": read_weights(task, cfg, folder)}
        # with a state, fairseq only checks that the path exists, and reads nothing from it
        models, cfg, task = checkpoint_utils.load_model_ensemble_and_task([str(folder)], task=task, state=state)
        checkpoints.require_finite_weights(models[0])
        return Loaded(models, cfg, task)
    except UserError:
        raise
    except Exception as error:  # whatever fails in building a model from a folder is a fault of the folder
        raise UserError(f"{folder} cannot be loaded ({reason_of(error)}): {OTHER_VERSION}") from error


def reason_of(error: Exception) -> str:
    """Returns what an error of fairseq or torch says, in one line."""
    return explained(error)[1] or " ".join(f"{type(error).__name__}: {error}".split())[:300]


def check_flags(config: ModelConfig, folder: Path) -> None:
    path = folder / model_folder.CONFIG
    checkpoints.require_no_programs([config.model_flags, config.task_flags])
    families = ARCHITECTURES.get(config.task, [])
    require(
        bool(families) and (config.kind == LABELLER) == (config.task == "text_labelling"),
        f"{path}: task must be text_labelling for a labeller, and text_editing or text_correction for an editor, but "
        f"is {config.task!r}",
    )
    require(
        family_of(config.architecture) in families,
        f"{path}: the architecture must be one of {', '.join(families)}, or a size of it, but is "
        f"{config.architecture!r}",
    )
    entries = {
        "model_flags": (config.model_flags, flags_of(config.architecture)),
        "task_flags": (config.task_flags, TASK_FLAGS[config.task]),
    }
    for entry, (flags, names) in entries.items():
        # one that is off may be of another version of fairseq
        active = [name for name, value in flags.items() if value not in (None, False)]
        unknown = sorted({*active} - {*names})
        if unknown:
            raise UserError(f"{path}: {entry} has an unknown entry {unknown[0][:60]!r}: {OTHER_VERSION}")
    backbone = config.model_flags.get("backbone")
    require(backbone in (None, BACKBONE), f"{path}: backbone must be {BACKBONE!r}, but is {backbone!r}")


def configuration(config: ModelConfig, folder: Path, overrides: Mapping[str, object]) -> DictConfig:
    """Builds the configuration that a checkpoint would have, with defaults for what matters only in training."""
    legacy = is_legacy(config.architecture)  # otherwise the flags say all that the name of a size stands for
    flags: dict[str, Any] = {"_name": config.architecture if legacy else family_of(config.architecture)}
    flags |= config.model_flags
    if flags.get("backbone") is not None:
        backbone = folder / BACKBONE
        model_folder.require_listed(config, folder, BACKBONE)
        flags["backbone"] = str(backbone)
    names = {field.name for field in fields(TASK_DATACLASS_REGISTRY[config.task])}
    changed = {name: value for name, value in overrides.items() if name in names}
    cfg = OmegaConf.structured(FairseqConfig())
    with omegaconf_no_object_check(), open_dict(cfg):  # for a Namespace
        cfg.task = {"_name": config.task, **config.task_flags, **changed, "data": str(folder)}
        cfg.model = Namespace(**flags) if legacy else flags
        cfg.optimizer = {"_name": "adam"}
    overwrite_args_by_name(cfg, dict(overrides))
    return cfg


def build_task(config: ModelConfig, cfg: DictConfig, folder: Path) -> FairseqTask:
    """Builds the task without its training data."""
    require(
        os.pathsep not in str(folder),
        f"fairseq cannot read {folder}, because its name has the character {os.pathsep!r}: rename it",
    )
    if config.task != "text_labelling":
        for side in ("source_lang", "target_lang"):
            model_folder.require_listed(config, folder, f"dict.{config.task_flags.get(side)}.txt")
        return tasks.setup_task(cfg.task, from_checkpoint=True)
    info = LabellingInfo.of(config, folder)
    settings = TextLabellingConfig(data=str(folder), label_kind=info.kind)
    return TextLabellingTask(settings, info, load_dictionary(folder / WORDS), info.labels(folder))


def read_weights(task: FairseqTask, cfg: DictConfig, folder: Path) -> dict[str, Tensor]:
    """Returns the weights of a folder under all names that the model has for them."""
    with torch.device("meta"):
        model = task.build_model(cfg.model, from_checkpoint=True)
    weights, names = load_file(model_folder.member(folder, WEIGHTS)), stored_names(model)
    return {name: weights[stored] for name, stored in names.items()}
