"""Any encoder of ``transformers``, with the interface of the encoders that have layers of our own.

T5 and BERT keep their own layers (``pretrained.encoders``): EncT5 also trains a T5 without ``transformers`` and packs
its examples, and on a CPU a BERT of our own, which leaves padding out, takes 0.8 of the time of this class.

Shapes: B rows, S source length, C channels.
"""

import json
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.data import Dictionary
from torch import Tensor, nn

from lev_plugins.nn.linear import Linear
from lev_plugins.pretrained import library
from lev_plugins.pretrained.encoders import sides_of

# the norm after the last block of a pre-norm encoder: children of the library's module, and others by model_type
FINAL_NORMS = ["final_norm", "final_layer_norm", "layer_norm", "norm"]
FINAL_NORM_OF = {
    "roberta-prelayernorm": "LayerNorm",
    "xlm-roberta-xl": "encoder.LayerNorm",
    "megatron-bert": "encoder.ln",
    "esm": "encoder.emb_layer_norm_after",
}


class LibraryEncoder(nn.Module):
    tokens = None  # the table of tokens is the library's

    def __init__(self, words: Dictionary, sizes: Any, with_cls: bool) -> None:
        """
        Args:
            words: the dictionary of the encoder
            sizes: those of ``backbone_sizes``, and the rate of dropout
            with_cls: return also the state of the symbol in front of a text, if the encoder has one
        """
        super().__init__()
        settings = json.loads(sizes.encoder_config)
        self.stack = library.build_encoder(settings, sizes.dropout)
        for module in self.stack.modules():
            if type(module) is nn.Linear:
                module.__class__ = Linear  # has the same weights, but is faster on a CPU
        self.pad, self.eos, self.begin = words.pad(), words.eos(), settings["bos_token_id"]
        self.skipped = 0 if with_cls or self.begin is None else 1
        self.model_type: str = settings["model_type"]
        self.has_sides = (settings.get("type_vocab_size") or 0) > 1
        paths = {*FINAL_NORMS, FINAL_NORM_OF.get(self.model_type)}
        self.final_norm = next((path for path, _ in self.stack.named_modules() if path in paths), None)

    def forward(self, tokens: Tensor, segments: Tensor | None, words: None = None, read_blocks: Any = None) -> Tensor:
        """Returns the states (B, S, C) of tokens (B, S), padded on the right, or what ``read_blocks`` returns.

        ``read_blocks`` is applied to the concatenated states after all blocks, each normed: (B, S, blocks * C).
        """
        assert segments is None, "positions count from the start of a row, which holds one example"
        if self.begin is not None:
            tokens = F.pad(tokens, (1, 0), value=self.begin)
        if torch.jit.is_tracing() and read_blocks is not None:
            library.require_traceable(self.model_type)
        sides = {"token_type_ids": sides_of(tokens, self.eos)} if self.has_sides else {}
        output = self.stack(
            input_ids=tokens,
            attention_mask=tokens.ne(self.pad).long(),
            output_hidden_states=read_blocks is not None,
            **sides,
        )
        if read_blocks is None:
            return output.last_hidden_state[:, self.skipped :]
        norm = nn.Identity() if self.final_norm is None else self.stack.get_submodule(self.final_norm)
        blocks = [norm(x) for x in output.hidden_states[1:-1]]
        return read_blocks(torch.cat([*blocks, output.last_hidden_state], -1))[:, self.skipped :]
