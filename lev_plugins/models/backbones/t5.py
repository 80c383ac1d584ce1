"""``gated_t5``: T5, T5 1.1, mT5 and ByT5."""

from pathlib import Path
from typing import Any

from fairseq.data import Dictionary
from fairseq.models import register_model
from torch import Tensor, nn

from lev_plugins.errors import require
from lev_plugins.layers.t5 import require_range
from lev_plugins.models.backbones import library
from lev_plugins.models.backbones.modules import PretrainedEncoder, Stacks
from lev_plugins.models.backbones.pretrained import GatedPretrained, PretrainedConfig

BELOW_ALL = 30.0  # a symbol that T5 lacks scores this much below the lowest of the others


class T5Head(nn.Module):
    """The output table; T5, but not T5 1.1 and mT5, scales the states down first. T5 has no <s>."""

    def __init__(self, table: nn.Linear, scale: float, absent: int):
        super().__init__()
        self.table, self.scale, self.absent = table, scale, absent

    def forward(self, states: Tensor) -> Tensor:
        logits = self.table(self.scale * states)
        logits[..., self.absent] = logits.detach().amin(-1) - BELOW_ALL
        return logits


class T5Encoder(PretrainedEncoder):
    """T5's states overflow in 16-bit floats, so these are refused."""

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: Any) -> dict[str, list[Tensor]]:
        require_range(self.embed_tokens.weight, "T5")
        return super().forward(src_tokens, src_lengths, **unused)


@register_model("gated_t5", dataclass=PretrainedConfig)
class GatedT5(GatedPretrained):
    FAMILY = "t5"
    DROPOUTS = ["dropout_rate"]
    ENCODER = T5Encoder

    @classmethod
    def load_stacks(cls, folder: Path, options: dict[str, Any], dictionary: Dictionary, cfg: Any) -> Stacks:
        name = library.class_of(library.read_config(folder))
        model, missing = library.read_model(name, folder, **options)
        for side in ("encoder", "decoder"):
            require(
                not any(weight.startswith(f"{side}.block") for weight in missing),
                f"--backbone {folder} has no {side}, which --arch gated_t5 requires: import a complete T5",
            )
        scaled = getattr(model.config, "scale_decoder_outputs", False)  # mT5 lacks this setting
        head = T5Head(model.lm_head, model.config.d_model**-0.5 if scaled else 1.0, dictionary.bos())
        return Stacks(model.encoder, model.decoder, head, before_source=[], start=[dictionary.pad()])
