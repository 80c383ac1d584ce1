"""``gated_bart``: BART with gates."""

from pathlib import Path
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import register_model
from torch import Tensor, nn

from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.modules import Stacks
from lev_plugins.models.backbones.pretrained import GatedPretrained, PretrainedConfig


class BartHead(nn.Module):
    bias: Tensor

    def __init__(self, table: nn.Linear, bias: Tensor):
        super().__init__()
        self.table = table
        self.register_buffer("bias", bias)

    def forward(self, states: Tensor) -> Tensor:
        return self.table(states) + self.bias


@register_model("gated_bart", dataclass=PretrainedConfig)
class GatedBart(GatedPretrained):
    """BART reads source and target as <s> ... </s>, and its decoder starts with </s> <s>."""

    FAMILY = "bart"
    DROPOUTS = ["dropout", "attention_dropout", "activation_dropout"]

    @classmethod
    def load_stacks(cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: Any) -> Stacks:
        model, _ = library.read_model("BartForConditionalGeneration", folder, **options)
        bos, eos = dictionary.bos(), dictionary.eos()
        head = BartHead(model.lm_head, model.final_logits_bias)
        positions = model.config.max_position_embeddings
        return Stacks(model.model.encoder, model.model.decoder, head, [bos], [eos, bos], positions)
