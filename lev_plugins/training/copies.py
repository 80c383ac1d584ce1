"""Copies of weights in the checkpoints of fairseq 0.12.2, which newer versions do not have.

Each layer of its Transformer encoder has its weights twice, for a fast path of torch that rejects fairseq's masks.
"""

from collections.abc import Iterable

from fairseq.modules import SinusoidalPositionalEmbedding
from fairseq.modules.transformer_layer import TransformerEncoderLayerBase as EncoderLayer
from torch import Tensor, nn

PARTS = ("in_proj", "out_proj", "fc1", "fc2")
COPIES = [f"{part}_{kind}" for part in PARTS for kind in ("weight", "bias")]


def drop_weight_copies() -> None:
    """Makes models have the same weights with every version of fairseq, and read the checkpoints of each."""
    drop_weights(EncoderLayer, COPIES)
    drop_weights(SinusoidalPositionalEmbedding, ["_float_tensor"])
    if "_load_from_state_dict" in vars(EncoderLayer):  # it makes the copies and enables the fast path
        del EncoderLayer._load_from_state_dict


def drop_weights(module: type[nn.Module], names: Iterable[str]) -> None:
    """Makes a class of modules neither store nor read the weights of these names."""
    construct = module.__init__

    def drop(weights: dict[str, Tensor], prefix: str, *_: object) -> None:
        for name in names:
            weights.pop(f"{prefix}{name}", None)

    def construct_without(self: nn.Module, *args: object, **options: object) -> None:
        construct(self, *args, **options)
        for name in names:
            self._parameters.pop(name, None)
            self._non_persistent_buffers_set.add(name)
        self._register_load_state_dict_pre_hook(drop)

    module.__init__ = construct_without  # type: ignore[method-assign]
