"""Pseudo-Bidirectional Decoding (Zhou, Ge and Xu, 2020, https://arxiv.org/abs/2001.11694).

A Transformer for texts that change in few places. To predict the N-th output token, the self-attention of decoder
block l attends to the tokens generated so far and, in place of the unknown future, to the states of encoder block l at
source positions N + 1 to the end (section 2.1 of the paper). Learned segment embeddings, one pair per block, mark
states as generated or copied. Encoder and decoder share all parameters except those of cross-attention (section 2.2).

Copied states: section 2.1 takes "the representation of tokens [...] in the encoder layer to the
corresponding decoder layer" and joins it with that of the output "to form the key and the value in the decoder
self-attention module". Keys and values are made from the *input* of a block, so ``--future-states input``, the default,
copies the input of encoder block l: a copied word has passed through the same number of blocks as a generated one. The
sentence can also mean ``--future-states output``, the output of block l. In both cases the decoder block's own
self-attention projects them (with shared parameters, this is also the encoder's). The segment embedding is added to the
input of a decoder block ("to each token representation in each decoder layer"): to the states of the generated tokens,
in the residual stream, and to the copies, but not to the encoder's own states.

Positions are fairseq's: input i of the decoder (i = 0 is </s>, which stands for the beginning) predicts output
N = i + 1 and has position N, so the copied future, source tokens N + 1, N + 2, ..., </s>, continues where the generated
tokens end. The source may be padded on either side.

Shapes: B batch, S source length, T target length, t tokens generated so far, C channels, H heads, V vocabulary (see
``lev_plugins.nn``). In beam search the decoder has R = B * beams rows; what depends only on the source is stored once
per sentence.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum
from fairseq.models import FairseqEncoder, FairseqEncoderDecoderModel, FairseqIncrementalDecoder, register_model
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.nn.linear import TiedLinear, head_projection
from lev_plugins.nn.transformer import (
    Block,
    KeysValues,
    LayerShape,
    TextEmbedding,
    attend,
    attend_to_both,
    attention_mask,
    bert_init,
    token_embedding,
)
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.encoder_decoder import TransformerSizes, layer_shape
from lev_plugins.training.presets import register_presets
from lev_plugins.training.requirements import require_one_dictionary
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

GENERATED, COPIED = 0, 1  # segments
STATES = ["input", "output"]


@dataclass
class PBDConfig(TransformerSizes):
    embed_dim: int = flag(512, "width of encoder and decoder")
    ffn_embed_dim: int = flag(2048, "feed-forward width of encoder and decoder")
    layers: int = flag(6, "number of blocks in the encoder, and in the decoder")
    attention_heads: int = flag(8, "attention heads")
    normalize_before: bool = flag(False, "pre-norm")
    learned_pos: bool = flag(False, "learned positions")
    no_future: bool = flag(False, "ablation: no copied future, and therefore no segment embeddings")
    no_segments: bool = flag(False, "ablation: no segment embeddings")
    no_sharing: bool = flag(False, "ablation: encoder and decoder have separate parameters")
    future_states: ChoiceEnum(STATES) = flag("input", "what to copy from encoder block l: its input or its output")  # type: ignore[valid-type]
    future_dropout: float = flag(
        0.0, "training: probability of hiding a source token from the copied future (in all blocks)"
    )
    apply_bert_init: bool = flag(False, "normal(0, 0.02) initialisation, as BERT's")


class Source(NamedTuple):
    """The output of the encoder; beam search reorders only ``rows``."""

    states: list[Tensor]  # (B, S, C) each: the embedding, then the output of every block
    output: Tensor  # (B, S, C): the output of the encoder
    tokens: Tensor  # (B, S)
    rows: Tensor | None = None  # (R,) the sentence of each row of the decoder; None: one row per sentence


class Memory(NamedTuple):
    """Encoded sources for the decoder's blocks, once per sentence."""

    source: list[KeysValues]  # per block, for cross-attention
    future: list[KeysValues]  # per block, for self-attention; empty if nothing is copied
    source_positions: Tensor  # (B, S) 1, 2, ... counted over the tokens of the source, 0 on padding
    mask: Tensor | None  # (B, 1, 1, S) True = may be attended to
    beams: int = 1  # consecutive rows of the decoder per sentence

    def select(self, rows: Tensor) -> "Memory":
        """Returns the memory of the decoder's ``rows`` (n,), which beam search passes.

        The rows of a sentence are consecutive, and each sentence has the same number of rows. Sentences may be dropped,
        but keep their order.
        """
        sentences = (rows // self.beams).unique_consecutive()
        beams = len(rows) // len(sentences)
        if len(sentences) == len(self.source_positions):  # none was dropped
            return self._replace(beams=beams)
        source, future = ([block.select(sentences) for block in blocks] for blocks in (self.source, self.future))
        mask = None if self.mask is None else self.mask[sentences]
        return Memory(source, future, self.source_positions[sentences], mask, beams)


class Progress(NamedTuple):
    """The state that one step of decoding passes to the next."""

    memory: Memory
    generated: list[KeysValues]  # per block, of the tokens so far, (R, H, t, C / H)


class Masks(NamedTuple):
    """Attention masks of the decoder's blocks (True = may be attended to), and how self-attention is computed."""

    self_attention: Tensor | None  # (T, t), or with a future (R, 1, T, t + S); None = one token, no future
    source: Tensor | None  # cross-attention: (B, 1, 1, S); None = no padding
    concatenate: bool  # True = generated and copied positions in one tensor; False = ``attend_to_both``


def generated_mask(start: int, stop: int, device: torch.device | None = None) -> Tensor:
    """Which inputs the decoder inputs start .. stop - 1 may attend to, (T, stop): the causal mask from row ``start``.

    >>> generated_mask(1, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    return torch.ones(stop - start, stop, dtype=torch.bool, device=device).tril(start)


def future_mask(source_positions: Tensor, start: int, stop: int) -> Tensor:
    """Which copied source tokens the decoder inputs start .. stop - 1 may attend to, (B, 1, T, S).

    Input i predicts output N = i + 1, whose pseudo-future is source tokens N + 1 to the end.

    >>> source_positions = torch.tensor([[1, 2, 3, 4], [0, 0, 1, 2]])  # 0 = padding
    >>> future_mask(source_positions, 0, 3)[:, 0].int()
    tensor([[[0, 1, 1, 1],
             [0, 0, 1, 1],
             [0, 0, 0, 1]],
    <BLANKLINE>
            [[0, 0, 0, 1],
             [0, 0, 0, 0],
             [0, 0, 0, 0]]], dtype=torch.int32)
    """
    outputs = torch.arange(start + 1, stop + 1, device=source_positions.device)[:, None]  # (T, 1)
    return source_positions[:, None, None, :] > outputs


class PBDEncoder(FairseqEncoder):
    def __init__(self, dictionary: Dictionary, embedding: TextEmbedding, cfg: PBDConfig) -> None:
        super().__init__(dictionary)
        self.embedding, self.positions = embedding, cfg.max_source_positions
        shape = layer_shape(cfg)
        self.layers = nn.ModuleList(Block(shape) for _ in range(cfg.layers))
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()

    def forward(self, src_tokens: Tensor, src_lengths: Tensor | None = None) -> Source:
        mask = attention_mask(src_tokens, self.embedding.pad)
        states = [self.embedding(src_tokens)]
        for layer in self.layers:
            states.append(layer(states[-1], mask))
        return Source(states, self.norm(states[-1]), src_tokens)

    def reorder_encoder_out(self, encoder_out: Source, new_order: Tensor) -> Source:
        rows = new_order if encoder_out.rows is None else encoder_out.rows.index_select(0, new_order)
        return encoder_out._replace(rows=rows)

    def max_positions(self) -> int:
        return self.positions


class PBDLayer(Block):
    def __init__(self, shape: LayerShape, segments: bool) -> None:
        super().__init__(shape, shape.dim)
        self.segments = nn.Embedding(2, shape.dim) if segments else None
        if self.segments is not None:
            nn.init.normal_(self.segments.weight, std=shape.dim**-0.5)  # as token embeddings, before their scaling

    def in_segment(self, x: Tensor, segment: int) -> Tensor:
        return x if self.segments is None else x + self.segments.weight[segment]

    def project_future(self, states: Tensor) -> KeysValues:
        """Returns encoder states (B, S, C) as keys and values of this block's self-attention."""
        return self.self_attn.project_source(self.self_attn_residual.enter(self.in_segment(states, COPIED)))

    def forward(  # type: ignore[override]
        self, x: Tensor, past: KeysValues | None, future: KeysValues | None, source: KeysValues, masks: Masks
    ) -> tuple[Tensor, KeysValues]:
        """Returns the output (R, T, C), and the keys and values of all tokens generated so far."""
        x = self.in_segment(x, GENERATED)
        queries, generated = self.self_attn.project(self.self_attn_residual.enter(x))
        generated = generated if past is None else past.joined(generated)
        dropout = self.self_attn.dropout if self.training else 0.0
        if future is None:
            attended = attend(queries, generated, masks.self_attention, dropout)
        elif masks.concatenate:
            attended = attend(queries, generated.joined(future), masks.self_attention, dropout)
        else:  # only in decoding, therefore without dropout
            assert masks.self_attention is not None  # with a future, there always is a mask
            attended = attend_to_both(queries, generated, future, masks.self_attention)
        x = self.self_attn_residual.leave(x, self.self_attn.out_proj(attended))
        x = self.attend_to_source(x, source, masks.source)
        return self.feed_forward(x), generated


class PBDDecoder(FairseqIncrementalDecoder):
    def __init__(self, dictionary: Dictionary, embedding: TextEmbedding, cfg: PBDConfig) -> None:
        super().__init__(dictionary)
        self.embedding, self.positions = embedding, cfg.max_target_positions
        self.future, self.future_dropout = not cfg.no_future, cfg.future_dropout
        # index into the encoder's states for the first block: 0 = the embedding, 1 = the output of block 1
        self.copied_from = STATES.index(str(cfg.future_states))
        shape, segments = layer_shape(cfg), self.future and not cfg.no_segments
        self.layers = nn.ModuleList(PBDLayer(shape, segments) for _ in range(cfg.layers))
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()
        tied = cfg.share_all_embeddings or cfg.share_decoder_input_output_embed
        words = len(dictionary)
        self.token_head = TiedLinear(embedding.table, words) if tied else head_projection(shape.dim, words)

    @property
    def blocks(self) -> list[PBDLayer]:
        return cast(list[PBDLayer], list(self.layers))

    def remember(self, source: Source) -> Memory:
        """Projects the encoded sources for every block, once."""
        real = source.tokens.ne(self.embedding.pad).long()
        copied = source.states[self.copied_from :] if self.future else []
        memory = Memory(
            [layer.cross_attn.project(source.output) for layer in self.blocks],
            # not strict: --future-states input does not copy the output of the last block
            [layer.project_future(states) for layer, states in zip(self.blocks, copied, strict=False)],
            real.cumsum(1) * real,
            attention_mask(source.tokens, self.embedding.pad),
        )
        return memory if source.rows is None else memory.select(source.rows)

    def forward(
        self,
        prev_output_tokens: Tensor,  # (R, T)
        encoder_out: Source,
        incremental_state: dict[str, Any] | None = None,
    ) -> tuple[Tensor, None]:
        """Returns logits (R, T, V); with ``incremental_state``, those of the tokens added since the last call."""
        return self.output_layer(self.extract_features(prev_output_tokens, encoder_out, incremental_state)[0]), None

    def extract_features(
        self, prev_output_tokens: Tensor, encoder_out: Source, incremental_state: dict[str, Any] | None = None
    ) -> tuple[Tensor, None]:
        progress: Progress | None = self.get_incremental_state(incremental_state, "progress")
        memory = self.remember(encoder_out) if progress is None else progress.memory
        start = 0 if progress is None else progress.generated[0].keys.size(2)
        masks = self.masks(memory, start, prev_output_tokens.size(1), stepwise=incremental_state is not None)
        x = self.embedding(prev_output_tokens, start)
        generated = []
        for number, layer in enumerate(self.blocks):
            x, keys_values = layer(
                x,
                None if progress is None else progress.generated[number],
                memory.future[number] if memory.future else None,
                memory.source[number],
                masks,
            )
            generated.append(keys_values)
        self.set_incremental_state(incremental_state, "progress", Progress(memory, generated))
        return self.norm(x), None

    def masks(self, memory: Memory, start: int, stop: int, stepwise: bool) -> Masks:
        device = memory.source_positions.device
        # concatenation copies the keys and values of the future for every row: in a single step, this takes longer than
        # attention itself, and the beams of a sentence would each have a copy
        concatenate = not stepwise and memory.beams == 1
        generated = generated_mask(start, stop, device)
        if not memory.future:
            return Masks(generated if stop - start > 1 else None, memory.mask, concatenate)
        future = future_mask(memory.source_positions, start, stop)
        if self.training and self.future_dropout:
            shown = torch.rand(memory.source_positions.shape, device=device) >= self.future_dropout
            future = future & shown[:, None, None, :]
        future = future.repeat_interleave(memory.beams, 0)  # (R, 1, T, S)
        both = torch.cat([generated.expand(future.size(0), 1, -1, -1), future], 3)
        return Masks(both, memory.mask, concatenate)

    def output_layer(self, features: Tensor) -> Tensor:
        """(R, T, C) -> (R, T, V)"""
        return self.token_head(features)

    def reorder_incremental_state(self, incremental_state: dict[str, Any], new_order: Tensor) -> None:
        progress: Progress | None = self.get_incremental_state(incremental_state, "progress")
        if progress is not None:
            generated = [block.select(new_order) for block in progress.generated]
            progress = Progress(progress.memory.select(new_order), generated)
            self.set_incremental_state(incremental_state, "progress", progress)

    def max_positions(self) -> int:
        return self.positions

    def make_generation_fast_(self, need_attn: Any = False, **unused: object) -> None:
        require(not need_attn, "--print-alignment requires attention weights, which a pbd does not keep: leave it out")


@register_model("pbd", dataclass=PBDConfig)
class PBD(LoadedFromFolder, FairseqEncoderDecoderModel):
    @classmethod
    def build_model(cls, cfg: PBDConfig, task: FairseqTask) -> "PBD":
        check_pbd_config(cfg, task)
        source, target = task.source_dictionary, task.target_dictionary
        sharing = not cfg.no_sharing
        source_table = token_embedding(len(source), cfg.embed_dim, source.pad())
        target_table = source_table
        if not (sharing or cfg.share_all_embeddings):
            target_table = token_embedding(len(target), cfg.embed_dim, target.pad())
        positions = max(cfg.max_source_positions, cfg.max_target_positions) if sharing else cfg.max_source_positions
        embedding = text_embedding(cfg, source_table, positions)
        encoder = PBDEncoder(source, embedding, cfg)
        if not sharing:
            embedding = text_embedding(cfg, target_table, cfg.max_target_positions)
        decoder = PBDDecoder(target, embedding, cfg)
        if sharing:  # section 2.2: every part of the encoder's blocks; cross-attention stays separate
            for layer, encoder_layer in zip(decoder.layers, encoder.layers, strict=True):
                for name, part in encoder_layer.named_children():
                    setattr(layer, name, part)
            decoder.norm = encoder.norm
        model = cls(encoder, decoder)
        if cfg.apply_bert_init:
            model.apply(bert_init)
        return model


def text_embedding(cfg: PBDConfig, table: nn.Embedding, positions: int) -> TextEmbedding:
    return TextEmbedding(table, positions, cfg.learned_pos, not cfg.no_scale_embedding, cfg.dropout)


def check_pbd_config(cfg: PBDConfig, task: FairseqTask) -> None:
    ranges.check_ranges(cfg)
    if not cfg.no_sharing:
        require_one_dictionary(task, "an encoder that shares its embeddings with the decoder", "add --no-sharing")
    elif cfg.share_all_embeddings:
        require_one_dictionary(task, "--share-all-embeddings", "leave the flag out")


# What each preset changes in `pbd` (6 + 6 blocks, 512 wide). `pbd_big` has the size of the paper's Table 1 with
# --share-all-embeddings: 132.0 M parameters with 30,522 words, 163.3 M without. The preset does not set that flag: the
# user could not unset it, and it is impossible with two dictionaries (--no-sharing).
PBD_PRESETS: dict[str, dict[str, int]] = {
    "pbd_tiny": {"embed_dim": 64, "ffn_embed_dim": 128, "layers": 2, "attention_heads": 2},
    "pbd_big": {"embed_dim": 1024, "ffn_embed_dim": 4096, "layers": 6, "attention_heads": 16},
}

register_presets("pbd", PBD_PRESETS)
