"""Shared by ``gated_t5``, ``gated_bart`` and ``gated_bert``: flags, checks and construction."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Optional

from fairseq.data import Dictionary
from omegaconf import II
from torch import nn

from lev_plugins import ranges
from lev_plugins.errors import require
from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.modules import PretrainedDecoder, PretrainedEncoder, Stacks
from lev_plugins.models.gated import GateConfig, GatedModel
from lev_plugins.models.requirements import from_checkpoint
from lev_plugins.optim import scale_learning_rate
from lev_plugins.text.pretrained import DICTIONARY, require_folder

MOVED = """; if it has moved since training, add --backbone NEW (fairseq: --model-overrides "{'backbone': 'NEW'}")"""


@dataclass
class PretrainedConfig(GateConfig):
    backbone: Optional[str] = field(
        default=None, metadata={"help": "folder made by lev-plugins import-pretrained; also needed to decode"}
    )
    backbone_lr_factor: float = field(
        default=1.0,
        metadata={
            "help": "learning rate of pre-trained weights, as a multiple of --lr, which applies to gates and other new "
            "weights; requires --optimizer scaled_adam"
        },
    )
    freeze_backbone: bool = field(default=False, metadata={"help": "train only new weights"})
    freeze_encoder: bool = field(
        default=False,
        metadata={"help": "do not train the encoder's pre-trained weights, including those shared with the decoder"},
    )
    freeze_embeddings: bool = field(default=False, metadata={"help": "do not train word and position embeddings"})
    dropout: Optional[float] = field(
        default=None, metadata={"help": "all dropout rates of the backbone (default: as in pre-training)"}
    )
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")
    left_pad_target: bool = II("task.left_pad_target")
    optimizer: str = II("optimizer._name")


class GatedPretrained(GatedModel):
    """One subclass per family: which library model to load, and how to split it into stacks."""

    FAMILY: ClassVar[str]
    DROPOUTS: ClassVar[list[str]]  # dropout fields in the library's configuration
    ENCODER: ClassVar[type[PretrainedEncoder]] = PretrainedEncoder

    @classmethod
    def load_stacks(cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: Any) -> Stacks:
        """``options``: those of ``library.read_model``."""
        raise NotImplementedError

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "GatedPretrained":
        folder = check_config(cfg, cls.FAMILY)
        dictionary = check_dictionaries(task, folder)
        options: dict[str, Any] = {} if cfg.dropout is None else dict.fromkeys(cls.DROPOUTS, cfg.dropout)
        options["weights"] = not from_checkpoint(task)
        stacks = cls.load_stacks(folder, options, dictionary, cfg)
        source_length = longest(cfg.max_source_positions, stacks.positions, stacks.before_source)
        target_length = longest(cfg.max_target_positions, stacks.positions, stacks.start[1:])
        model = cls(
            cls.ENCODER(dictionary, stacks, source_length),
            PretrainedDecoder(dictionary, stacks, target_length),
            cfg.gates,
            str(cfg.gate_mix),
            str(cfg.copy_from),
            start=stacks.start[-1],
        )
        if options["weights"]:
            freeze(model, stacks, cfg)
        pretrained = [parameter for parameter in model.parameters() if not is_new(parameter, model, stacks)]
        scale_learning_rate(pretrained, cfg.backbone_lr_factor)
        return model


def longest(limit: int, positions: int | None, extra: list[int]) -> int:
    return limit if positions is None else min(limit, positions - len(extra))


def check_config(cfg: Any, family: str) -> Path:
    frozen = "; to freeze all pre-trained weights, use --freeze-backbone"
    ranges.bounded("--backbone-lr-factor", cfg.backbone_lr_factor, above=0, advice=frozen)
    ranges.dropouts(cfg, "dropout")
    ranges.sizes(cfg, *ranges.POSITIONS)
    library.need_transformers(f"--arch gated_{family}")
    folder = require_folder(cfg.backbone, "--backbone", MOVED)
    own_family = library.family_of(library.read_config(folder))
    require(
        own_family == family,
        f"--backbone {folder} does not work with --arch gated_{family}: use --arch gated_{own_family}",
    )
    require(
        cfg.backbone_lr_factor == 1 or cfg.optimizer in ("scaled_adam", "composite"),
        f"--backbone-lr-factor requires --optimizer scaled_adam, but --optimizer is {cfg.optimizer}",
    )
    require(not cfg.left_pad_target, "--left-pad-target does not work with a pre-trained decoder: leave it out")
    return folder


def check_dictionaries(task: Any, folder: Path) -> Dictionary:
    expected = Dictionary.load(str(folder / DICTIONARY))
    for dictionary in (task.source_dictionary, task.target_dictionary):
        require(
            dictionary == expected,
            f"the dictionary of the data ({len(dictionary)} symbols) must be that of --backbone {folder} "
            f"({len(expected)} symbols): tokenise the text with lev-plugins encode {folder}, then run "
            f"fairseq-preprocess with --joined-dictionary --srcdict {folder / DICTIONARY}",
        )
    return expected


def is_new(parameter: nn.Parameter, model: GatedModel, stacks: Stacks) -> bool:
    gates = [*parameters_of(model.encoder.gate), *parameters_of(model.decoder.gates)]
    return any(parameter is new for new in [*gates, *stacks.new])


def parameters_of(module: nn.Module | None) -> list[nn.Parameter]:
    return [] if module is None else list(module.parameters())


def freeze(model: GatedModel, stacks: Stacks, cfg: Any) -> None:
    frozen: list[nn.Parameter] = []
    if cfg.freeze_backbone:
        frozen += model.parameters()
    if cfg.freeze_encoder:
        frozen += model.encoder.parameters()
    if cfg.freeze_embeddings:
        tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
        frozen += [parameter for table in tables for parameter in table.parameters()]
    for parameter in frozen:
        parameter.requires_grad = is_new(parameter, model, stacks)
    require(
        any(parameter.requires_grad for parameter in model.parameters()),
        "--freeze-backbone leaves no weights to train: add --gates, or leave it out",
    )
