"""``gated_bart``, ``gated_bert`` and ``gated_t5``: pre-trained encoder-decoders with gates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Optional

from fairseq.data import Dictionary
from fairseq.models import register_model
from fairseq.tasks import FairseqTask
from omegaconf import II
from torch import Tensor, nn

from lev_plugins.correction.gated import GateConfig, GatedModel
from lev_plugins.nn.scaled_adam import check_learning_rate, scale_learning_rate
from lev_plugins.nn.t5 import refuse_fp16
from lev_plugins.pretrained import library
from lev_plugins.pretrained.modules import PretrainedDecoder, PretrainedEncoder, Stacks
from lev_plugins.text.pretrained import DICTIONARY, MOVED_HINT, imported_folder
from lev_plugins.training.best_checkpoint import BestCheckpointTask
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

BELOW_ALL = 30.0  # a symbol that T5 lacks scores this much below the lowest of the others


@dataclass
class PretrainedConfig(GateConfig):
    backbone: Optional[str] = flag(None, "folder made by lev-plugins import-pretrained; also needed to decode")
    backbone_lr_factor: float = flag(
        1.0,
        "learning rate of pre-trained weights, as a multiple of --lr, which applies to gates and other new weights; "
        "requires --optimizer scaled_adam",
    )
    freeze_backbone: bool = flag(False, "train only new weights")
    freeze_encoder: bool = flag(
        False, "do not train the encoder's pre-trained weights, including those shared with the decoder"
    )
    freeze_embeddings: bool = flag(False, "do not train word and position embeddings")
    dropout: Optional[float] = flag(None, "all dropout rates of the backbone (default: as in pre-training)")
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


class GatedPretrained(GatedModel):
    """One subclass per family: which library model to load, and how to split it into stacks."""

    FAMILY: ClassVar[str]

    @staticmethod
    def head(model: Any, dictionary: Dictionary) -> nn.Module:
        """Returns the output layer of an encoder-decoder."""
        raise NotImplementedError

    @classmethod
    def load_stacks(
        cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: PretrainedConfig
    ) -> Stacks:
        """Returns the parts of the encoder-decoder in a folder; ``options`` are those of ``library.read_model``."""
        model, missing = library.read_model(library.ENCODER_DECODER, folder, **options)
        decoder, config = model.get_decoder(), model.config
        require(
            not library.missing_in(decoder, model, missing),
            f"--backbone {folder} has no decoder, which --arch gated_{cls.FAMILY} requires: import a complete model",
        )
        # folders imported by earlier versions have a bos_token_id also for a T5, which has no <s>
        prefix = [] if cls.FAMILY == "t5" or config.bos_token_id is None else [dictionary.bos()]
        start = [config.decoder_start_token_id, *prefix]
        positions = getattr(config, "max_position_embeddings", None)
        return Stacks(model.get_encoder(), decoder, cls.head(model, dictionary), prefix, start, positions)

    @classmethod
    def build_model(cls, cfg: PretrainedConfig, task: FairseqTask) -> "GatedPretrained":
        folder = check_backbone(cfg, cls.FAMILY)
        dictionary = Dictionary.load(str(folder / DICTIONARY))
        for words in (task.source_dictionary, task.target_dictionary):
            require(
                words == dictionary,
                f"the dictionary of the data ({len(words)} symbols) must be that of --backbone {folder} "
                f"({len(dictionary)} symbols): tokenise the text with lev-plugins encode {folder}, then run "
                f"fairseq-preprocess with --joined-dictionary --srcdict {folder / DICTIONARY}",
            )
        settings = library.read_config(folder).to_dict()
        options: dict[str, Any] = {} if cfg.dropout is None else library.with_dropout(settings, cfg.dropout)
        options["weights"] = not (isinstance(task, BestCheckpointTask) and task.from_checkpoint)
        stacks = cls.load_stacks(folder, options, dictionary, cfg)
        encoder = PretrainedEncoder(dictionary, stacks, cfg.max_source_positions)
        decoder = PretrainedDecoder(dictionary, stacks, cfg.max_target_positions)
        model = cls(encoder, decoder, cfg.gates, str(cfg.gate_mix), str(cfg.copy_from), start=stacks.start[-1])
        gates = [module for module in (model.encoder.gate, model.decoder.gates) if module is not None]
        untrained = {*stacks.untrained, *(parameter for gate in gates for parameter in gate.parameters())}
        if options["weights"]:  # otherwise the model is for decoding, and ``untrained`` lacks the new weights in stacks
            freeze(model, untrained, cfg)
        scale_learning_rate(
            [weight for weight in model.parameters() if weight not in untrained], cfg.backbone_lr_factor
        )
        return model


def check_backbone(cfg: PretrainedConfig, family: str) -> Path:
    ranges.check_ranges(cfg)
    check_learning_rate(cfg)
    folder = imported_folder(cfg.backbone, "--backbone", MOVED_HINT)
    arch = library.gated_arch(library.read_config(folder).model_type)
    require(
        arch == f"gated_{family}",
        f"--backbone {folder} does not work with --arch gated_{family}: use --arch {arch or 'levt or enct5'}",
    )
    return folder


def freeze(model: GatedModel, untrained: set[nn.Parameter], cfg: PretrainedConfig) -> None:
    frozen: list[nn.Parameter] = []
    if cfg.freeze_backbone:
        frozen += model.parameters()
    if cfg.freeze_encoder:
        frozen += model.encoder.parameters()
    if cfg.freeze_embeddings:
        tables = [module for module in model.modules() if isinstance(module, nn.Embedding)]
        frozen += [parameter for table in tables for parameter in table.parameters()]
    for parameter in frozen:
        parameter.requires_grad = parameter in untrained
    require(
        any(parameter.requires_grad for parameter in model.parameters()),
        "--freeze-backbone leaves no weights to train: add --gates, or leave it out",
    )


# ---- BART ------------------------------------------------------------------------------------------------------------
class BartHead(nn.Module):
    bias: Tensor

    def __init__(self, table: nn.Linear, bias: Tensor) -> None:
        super().__init__()
        self.table = table
        self.register_buffer("bias", bias)

    def forward(self, states: Tensor) -> Tensor:
        return self.table(states) + self.bias


@register_model("gated_bart", dataclass=PretrainedConfig)
class GatedBart(GatedPretrained):
    """BART and its relatives: source and target are <s> ... </s>, and the decoder starts with </s> <s>.

    Those without <s> read ... </s>, and their decoder starts with one symbol.
    """

    FAMILY = "bart"

    @staticmethod
    def head(model: Any, dictionary: Dictionary) -> nn.Module:
        return BartHead(model.lm_head, model.final_logits_bias)


# ---- BERT ------------------------------------------------------------------------------------------------------------
@dataclass
class GatedBertConfig(PretrainedConfig):
    tie_encoder_decoder: bool = flag(
        False, "encoder and decoder share all weights except the decoder's cross-attention"
    )


@register_model("gated_bert", dataclass=GatedBertConfig)
class GatedBert(GatedPretrained):
    """BERT twice; the decoder's cross-attention is new, and so is its output layer if the folder has none.

    The same applies to other encoders whose blocks the library also has with cross-attention, such as RoBERTa and
    ELECTRA.
    """

    FAMILY = "bert"

    @classmethod
    def load_stacks(
        cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: PretrainedConfig
    ) -> Stacks:
        encoder = library.encoder_part(library.read_model(library.ENCODER, folder, **options)[0])
        decoder, missing = library.read_model(
            "AutoModelForCausalLM", folder, is_decoder=True, add_cross_attention=True, **options
        )
        width, dim = library.widths(encoder)
        require(
            width == dim,
            f"--backbone {folder}: its word vectors have {width} numbers, but its states {dim}, and --arch gated_bert "
            "mixes the two: use --arch levt or enct5",
        )
        blocks = decoder.base_model
        parts = [part for part in decoder.children() if part is not blocks]
        head = parts[0] if len(parts) == 1 else nn.Sequential(*parts)  # two in ELECTRA
        if cfg.tie_encoder_decoder:  # replace the decoder's weights by the encoder's of the same names
            for name, parameter in encoder.named_parameters():
                owner, _, leaf = name.rpartition(".")
                blocks.get_submodule(owner).register_parameter(leaf, parameter)
            decoder.get_output_embeddings().weight = encoder.get_input_embeddings().weight
        return Stacks(
            encoder,
            blocks,
            head,
            before_source=[dictionary.bos()],
            start=[dictionary.bos()],
            positions=getattr(decoder.config, "text_positions", decoder.config.max_position_embeddings),
            untrained=[parameter for name, parameter in decoder.named_parameters() if name in missing],
        )


# ---- T5, T5 1.1, mT5 and ByT5 ----------------------------------------------------------------------------------------
class T5Head(nn.Module):
    """T5's output layer. It first multiplies states by ``scale``: d_model ** -0.5 in T5 and umT5, 1 in T5 1.1 and mT5.

    ``absent`` is the index of <s>, which fairseq's dictionary has but T5 lacks: it becomes the least likely symbol.
    """

    def __init__(self, table: nn.Linear, scale: float, absent: int) -> None:
        super().__init__()
        self.table, self.scale, self.absent = table, scale, absent

    def forward(self, states: Tensor) -> Tensor:
        refuse_fp16(self.table.weight, "T5")
        logits = self.table(self.scale * states)
        logits[..., self.absent] = logits.detach().amin(-1) - BELOW_ALL
        return logits


@register_model("gated_t5", dataclass=PretrainedConfig)
class GatedT5(GatedPretrained):
    FAMILY = "t5"

    @staticmethod
    def head(model: Any, dictionary: Dictionary) -> nn.Module:
        # T5's configuration has this setting, False for T5 1.1; of the types without it, umT5 scales, mT5 does not
        scaled = getattr(model.config, "scale_decoder_outputs", model.config.model_type != "mt5")
        return T5Head(model.lm_head, model.config.d_model**-0.5 if scaled else 1.0, dictionary.bos())
