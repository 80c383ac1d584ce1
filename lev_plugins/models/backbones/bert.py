"""``gated_bert``: BERT as encoder and as decoder."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import register_model
from torch import nn

from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.modules import Stacks
from lev_plugins.models.backbones.pretrained import GatedPretrained, PretrainedConfig


@dataclass
class GatedBertConfig(PretrainedConfig):
    tie_encoder_decoder: bool = field(
        default=False, metadata={"help": "encoder and decoder share all weights except the decoder's cross-attention"}
    )


@register_model("gated_bert", dataclass=GatedBertConfig)
class GatedBert(GatedPretrained):
    """BERT twice; the decoder's cross-attention is new, and so is its output layer if the folder has none."""

    FAMILY = "bert"
    DROPOUTS = ["hidden_dropout_prob", "attention_probs_dropout_prob"]

    @classmethod
    def load_stacks(cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: Any) -> Stacks:
        encoder, _ = library.read_model("BertModel", folder, add_pooling_layer=False, **options)
        decoder, missing = library.read_model(
            "BertLMHeadModel", folder, is_decoder=True, add_cross_attention=True, **options
        )
        if cfg.tie_encoder_decoder:
            tie(encoder, decoder.bert)
            decoder.cls.predictions.decoder.weight = encoder.embeddings.word_embeddings.weight
        return Stacks(
            encoder,
            decoder.bert,
            decoder.cls,
            before_source=[dictionary.bos()],
            start=[dictionary.bos()],
            positions=decoder.config.max_position_embeddings,
            new=[parameter for name, parameter in decoder.named_parameters() if name in missing],
        )


def tie(encoder: nn.Module, decoder: nn.Module) -> None:
    """Replace the decoder's weights by the encoder's of the same names."""
    for name, parameter in encoder.named_parameters():
        owner, _, leaf = name.rpartition(".")
        decoder.get_submodule(owner).register_parameter(leaf, parameter)
