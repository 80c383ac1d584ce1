"""What fairseq 0.12.2 stores beside the weights of a Transformer, and newer versions do not.

Each layer of its encoder has its weights twice, for a fast path of torch that no longer takes the masks of fairseq.
"""

from collections.abc import Iterable
from typing import Any

from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase as EncoderLayer

PARTS = ("in_proj", "out_proj", "fc1", "fc2")
COPIES = [f"{part}_{kind}" for part in PARTS for kind in ("weight", "bias")]


def drop_weight_copies() -> None:
    """Models have the same weights in every version of fairseq, and read the checkpoints of each."""
    forget(EncoderLayer, COPIES)
    forget(SinusoidalPositionalEmbedding, ["_float_tensor"])
    if "_load_from_state_dict" in vars(EncoderLayer):  # it makes the copies, and opens the fast path
        del EncoderLayer._load_from_state_dict


def forget(module: Any, names: Iterable[str]) -> None:
    construct = module.__init__

    def drop(weights: dict[str, Any], prefix: str, *_: Any) -> None:
        for name in names:
            weights.pop(f"{prefix}{name}", None)

    def construct_without(self: Any, *args: Any, **options: Any) -> None:
        construct(self, *args, **options)
        for name in names:
            self._parameters.pop(name, None)
            self._non_persistent_buffers_set.add(name)
        self._register_load_state_dict_pre_hook(drop)

    module.__init__ = construct_without
