"""The library's stacks with fairseq's interfaces: encoder output as a dict, incremental search with a cache.

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.nn``).
"""

from dataclasses import dataclass, field
from typing import Any, TypedDict

import torch
from fairseq import utils
from fairseq.data import Dictionary
from fairseq.models import FairseqEncoder, FairseqIncrementalDecoder
from torch import Tensor, nn

IncrementalState = dict[str, dict[str, Tensor | None]]  # fairseq's: what each module caches


class EncoderOut(TypedDict, total=False):
    """The output of an encoder of fairseq; each list has one tensor, or none."""

    encoder_out: list[Tensor]  # (S, B, C)
    encoder_padding_mask: list[Tensor]  # (B, S) True = padding
    src_tokens: list[Tensor]  # (B, S)
    mask_gate: list[Tensor]  # (B, S) of a ``GatedEncoder``


@dataclass
class Stacks:
    """The parts of a pre-trained model, and how it begins a text."""

    encoder: Any
    decoder: Any
    head: nn.Module  # decoder states (B, T, C) -> logits (B, T, V)
    before_source: list[int]  # symbols that the encoder expects before fairseq's source
    start: list[int]  # symbols that the decoder starts with, where fairseq has </s>
    positions: int | None = None  # maximum sequence length, None = unlimited
    untrained: list[nn.Parameter] = field(default_factory=list)  # weights that were not pre-trained


class PretrainedEncoder(FairseqEncoder):
    def __init__(self, dictionary: Dictionary, stacks: Stacks, longest: int) -> None:
        super().__init__(dictionary)
        self.stack, self.before = stacks.encoder, stacks.before_source
        self.longest = longest if stacks.positions is None else min(longest, stacks.positions - len(self.before))
        self.embed_scale = 1.0

    @property
    def embed_tokens(self) -> nn.Embedding:
        return self.stack.get_input_embeddings()

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None = None, **unused: object) -> EncoderOut:
        """Returns states (S, B, C) of tokens (B, S), padded on either side; the result is padded on the right."""
        tokens = self.as_trained(src_tokens)
        real = tokens.ne(self.dictionary.pad())  # (B, S), True = may be attended to
        states = self.stack(input_ids=tokens, attention_mask=real.long()).last_hidden_state  # (B, S, C)
        return {"encoder_out": [states.transpose(0, 1)], "encoder_padding_mask": [~real], "src_tokens": [tokens]}

    def as_trained(self, tokens: Tensor) -> Tensor:
        """Moves padding to the right, since positions count from the first token, and adds the <s> of BERT and BART."""
        tokens = utils.convert_padding_direction(tokens, self.dictionary.pad(), left_to_right=True)
        if not self.before or bool(tokens[:, 0].eq(self.before[0]).all()):
            return tokens
        return torch.cat([tokens.new_tensor(self.before).expand(tokens.size(0), -1), tokens], 1)

    def reorder_encoder_out(self, encoder_out: dict[str, list[Tensor]], new_order: Tensor) -> dict[str, list[Tensor]]:
        return {
            name: [rows.index_select(1 if name == "encoder_out" else 0, new_order) for rows in values]
            for name, values in encoder_out.items()
        }

    def max_positions(self) -> int:
        return self.longest


class PretrainedDecoder(FairseqIncrementalDecoder):
    def __init__(self, dictionary: Dictionary, stacks: Stacks, longest: int) -> None:
        super().__init__(dictionary)
        self.stack, self.head, self.start = stacks.decoder, stacks.head, stacks.start
        self.longest = longest if stacks.positions is None else min(longest, stacks.positions + 1 - len(self.start))
        self.embed_scale = 1.0
        self.output_embed_dim = self.embed_tokens.embedding_dim

    @property
    def embed_tokens(self) -> nn.Embedding:
        return self.stack.get_input_embeddings()

    def extract_features(
        self,
        prev_output_tokens: Tensor,  # (B, T), padded on the right
        encoder_out: EncoderOut,
        incremental_state: IncrementalState | None = None,
        **unused: object,
    ) -> tuple[Tensor, dict[str, list[None]]]:
        """Returns states (B, T, C); with ``incremental_state``, of the last token only, (B, 1, C)."""
        cache = self.get_incremental_state(incremental_state, "cache")
        if cache is not None:
            tokens = prev_output_tokens[:, -1:]
        else:
            start = prev_output_tokens.new_tensor(self.start).expand(prev_output_tokens.size(0), -1)
            tokens = torch.cat([start, prev_output_tokens[:, 1:]], 1)
        out = self.stack(
            input_ids=tokens,
            encoder_hidden_states=encoder_out["encoder_out"][0].transpose(0, 1),
            encoder_attention_mask=(~encoder_out["encoder_padding_mask"][0]).long(),
            past_key_values=cache,
            use_cache=incremental_state is not None,
        )
        self.set_incremental_state(incremental_state, "cache", out.past_key_values)
        states = out.last_hidden_state
        states = states[:, -1:] if incremental_state is not None else states[:, len(self.start) - 1 :]
        return states, {"attn": [None]}

    def reorder_incremental_state(self, incremental_state: IncrementalState, new_order: Tensor) -> None:
        cache = self.get_incremental_state(incremental_state, "cache")
        if cache is not None:
            cache.reorder_cache(new_order)

    def output_layer(self, features: Tensor) -> Tensor:
        return self.head(features)

    def max_positions(self) -> int:
        return self.longest
