"""Levenshtein Transformer (Gu, Wang and Zhao, 2019, https://arxiv.org/abs/1905.11006).

A Transformer whose decoder sees a whole sequence y at once and has three heads, the policies of section 3.1:

    deletion     pi^del(d | i, y)   one of 2 classes per token            Eq. (3)
    placeholder  pi^plh(p | i, y')  one of K_max + 1 counts per slot      Eq. (4)
    token        pi^tok(t | i, y'') one of V words per placeholder        Eq. (5)

How words become vectors, and what the scores of the token policy are computed from, is the business of a table of words
(``levt.words``): that of the paper is an embedding matrix and an output matrix.

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.nn``).
Padding of y is always on the right, except for <pad> that the model inserts in training (see ``LevT.forward``); the
source may be padded on either side.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from fairseq.models import BaseFairseqModel, register_model
from fairseq.tasks import FairseqTask
from torch import Tensor, nn

from lev_plugins.edits.actions import source_positions, unknown_to_unk
from lev_plugins.edits.batch_words import BatchWords, EditingStates
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.expert import align
from lev_plugins.levt.config import LEVT_PRESETS, SHARING, LevTConfig, build_vectors, build_words, check_levt_config
from lev_plugins.levt.words import NO_CONTEXT, BatchTable, Learning, PolicyContext, WordTable, insertion_contexts
from lev_plugins.nn.linear import Linear, head_projection
from lev_plugins.nn.output_loss import IGNORE, HeadOutput, PolicyOutput
from lev_plugins.nn.transformer import (
    Block,
    KeysValues,
    LayerShape,
    Padding,
    TextEmbedding,
    add_padding,
    bert_init,
    padding_of,
    remove_padding,
)
from lev_plugins.pretrained.word_reader import WordReader
from lev_plugins.text.ids import FILLER
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.encoder_decoder import layer_shape, source_table
from lev_plugins.training.presets import register_presets
from lev_plugins.training.requirements import require_task


class LevTOutput(NamedTuple):
    deletion: HeadOutput
    placeholder: HeadOutput
    token: PolicyOutput


# ---- encoder and decoder ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedSource:
    """What a decoder reads of the source: keys and values for each block of each of its stacks; and the words."""

    keys_values: dict[str, list[KeysValues]]
    mask: Tensor | None  # (B, 1, 1, S), True = may be attended to
    table: BatchTable
    # (B, S + 1, C) the projected state of each source token, and zeros for tokens without an alignment; if it is read
    aligned_states: Tensor | None = None

    def select(self, rows: Tensor) -> "EncodedSource":
        """Returns the sources at ``rows`` (n,), in decoding; a row may appear more than once."""
        keys_values = {stack: [block.select(rows) for block in blocks] for stack, blocks in self.keys_values.items()}
        mask, states = (None if part is None else part[rows] for part in (self.mask, self.aligned_states))
        return replace(self, keys_values=keys_values, mask=mask, aligned_states=states)


class LevTEncoder(nn.Module):
    def __init__(
        self, embedding: TextEmbedding, shape: LayerShape, layers: int, reader: WordReader | None = None
    ) -> None:
        """
        Args:
            embedding: of the source
            shape: the sizes of a block
            layers: the number of blocks
            reader: also reads the source; its vectors of words are added to the embedding
        """
        super().__init__()
        self.embedding, self.reader = embedding, reader
        self.layers = nn.ModuleList(Block(shape) for _ in range(layers))
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()

    def forward(self, src_tokens: Tensor, padding: Padding, table: BatchTable, pieces: Sequence[Tensor] = ()) -> Tensor:
        """Returns the states (B, S, C), or (n, C) of the real tokens alone.

        Args:
            src_tokens: (B, S)
            padding: where the real tokens are
            table: the words of the batch
            pieces: what the word reader reads
        """
        mask, real = padding
        x = table.embed(self.embedding, src_tokens, padded=mask is not None)
        if self.reader is not None:
            x = x + self.reader(src_tokens, *pieces)
        x = remove_padding(x, real)
        for layer in self.layers:
            x = layer(x, mask, real)
        return self.norm(x)


class LevTDecoder(nn.Module):
    """The Transformer blocks, and the policies of Eq. (3) and (4); Eq. (5) is that of the table of words."""

    def __init__(
        self,
        embedding: TextEmbedding,
        shape: LayerShape,
        source_dim: int,
        depths: dict[str, int],
        sharing: dict[str, str],
        max_insertions: int,
        reads_alignment: bool = False,
    ) -> None:
        """
        Args:
            embedding: of the target, with a row for the placeholder
            shape: the sizes of a block
            source_dim: the width of the encoder
            depths: the block that each policy reads, from 1 on
            sharing: the stack of blocks that each policy reads
            max_insertions: K_max
            reads_alignment: the state of the source token that is aligned with a token is added to the token's vector
        """
        super().__init__()
        self.embedding, self.depths, self.sharing, self.reads_alignment = embedding, depths, sharing, reads_alignment
        stacks = {
            name: max(depth for head, depth in depths.items() if sharing[head] == name)
            for name in dict.fromkeys(sharing.values())
        }
        self.stacks = nn.ModuleDict(
            {name: nn.ModuleList(Block(shape, source_dim) for _ in range(depth)) for name, depth in stacks.items()}
        )
        self.norm = nn.LayerNorm(shape.dim) if shape.pre_norm else nn.Identity()
        self.deletion_head = head_projection(shape.dim, 2)  # A of Eq. (3)
        self.placeholder_head = head_projection(2 * shape.dim, max_insertions + 1)  # B of Eq. (4)
        self.aligned_projection = Linear(source_dim, shape.dim, bias=False) if reads_alignment else None

    def stack(self, name: str) -> list[Block]:
        return list(cast(nn.ModuleList, self.stacks[name]))  # type: ignore[arg-type]

    def remember(self, states: Tensor, padding: Padding, table: BatchTable) -> EncodedSource:
        """Projects the encoder's states (B, S, C) for every block of every stack, once.

        Args:
            states: those of the real tokens alone, (n, C), if padding is left out
            padding: that of the source
            table: the words of the batch
        """
        aligned = None
        if self.aligned_projection is not None:
            aligned = F.pad(add_padding(self.aligned_projection(states), padding.real), (0, 0, 0, 1))  # last row is 0
        return EncodedSource(self.keys_values(states, padding), padding.mask, table, aligned)

    def keys_values(self, states: Tensor, padding: Padding) -> dict[str, list[KeysValues]]:
        """Returns what ``EncodedSource.keys_values`` holds; the arguments are those of ``remember``."""
        return {
            name: [layer.cross_attn.project(states, padding.real) for layer in self.stack(name)] for name in self.stacks
        }

    def embed(self, tokens: Tensor, source: EncodedSource, context: PolicyContext, padded: bool) -> Tensor:
        """Returns the input of the first block: (B, T) -> (B, T, C). The arguments are those of ``hidden_states``."""
        x = source.table.embed(self.embedding, tokens, padded, context.removed)
        if source.aligned_states is not None:
            positions = cast(Tensor, context.alignment)[:, :, None]
            x = x + source.aligned_states.gather(1, positions.expand(-1, -1, x.size(2)))
        return x

    def hidden_states(
        self,
        head: str,
        tokens: Tensor,
        source: EncodedSource,
        context: PolicyContext = NO_CONTEXT,
        computed: Sequence[Tensor] = (),
        padding: Padding | None = None,
    ) -> list[Tensor]:
        """Returns the states after each block up to the one that ``head`` reads, each (B, T, C), embedding first.

        Args:
            head: deletion, placeholder or token
            tokens: (B, T)
            source: the encoded source
            context: what the table of words reads besides the tokens
            computed: () or what this method has returned for another head of the same stack, for the same tokens,
                source and alignment, with nothing deleted: its blocks are not run again. Only two items are read: the
                last one, from which the next block continues, and number ``depths[head]``; the others may have more
                rows or columns than ``tokens``
            padding: that of the tokens, if it is known
        """
        stack = self.sharing[head]
        mask, real = padding or padding_of(tokens, self.embedding.pad)
        hidden = list(computed) or [self.embed(tokens, source, context, padded=mask is not None)]
        done = len(hidden) - 1  # blocks that have run: hidden[0] is the embedding, hidden[i] the i-th block's output
        x = remove_padding(hidden[done], real)
        blocks = list(zip(self.stack(stack), source.keys_values[stack], strict=True))
        for block, keys_values in blocks[done : self.depths[head]]:
            x = block(x, mask, real, keys_values, source.mask)
            hidden.append(add_padding(x, real))
        return hidden

    def features(self, head: str, hidden: list[Tensor]) -> Tensor:
        """Returns the normalised output (B, T, C) of the block from which ``head`` exits (early exit, section 3.1)."""
        return self.norm(hidden[self.depths[head]])

    def deletion_logits(self, hidden: list[Tensor]) -> Tensor:
        """Eq. (3): (B, T, 2), class 1 = delete.

        So it is in section 2.2, but above Eq. (3) the paper prints "deleted" (0). The equation is for i = 1 ... n - 1,
        without <s> and </s>. Here they have logits, too, and labels in training (see ``LevT.forward``), as in fairseq;
        decoding never deletes them.
        """
        return self.deletion_head(self.features("deletion", hidden))

    def placeholder_logits(self, hidden: list[Tensor]) -> Tensor:
        """Eq. (4): (B, T - 1, K + 1)"""
        h = self.features("placeholder", hidden)
        return self.placeholder_head(torch.cat([h[:, :-1], h[:, 1:]], -1))  # (B, T-1, 2C)

    def token_logits(
        self, hidden: list[Tensor], index: Tensor, source: EncodedSource, context: PolicyContext = NO_CONTEXT
    ) -> Tensor:
        """Eq. (5) at the placeholders only: (n, V)

        Args:
            hidden: the hidden states of the token policy
            index: (n,) positions of the placeholders in the flattened (B * T)
            source: the encoded source
            context: as in ``hidden_states``
        """
        return source.table.logits(self.placeholder_features(hidden, index), index, context)

    def placeholder_features(self, hidden: list[Tensor], index: Tensor) -> Tensor:
        """Returns the features (n, C) of the token policy at the placeholders, whose ``index`` is as above."""
        return self.features("token", hidden).flatten(0, 1)[index]


# ---- the model -------------------------------------------------------------------------------------------------------


@register_model("levt", dataclass=LevTConfig)
class LevT(LoadedFromFolder, BaseFairseqModel):
    def __init__(
        self,
        encoder: LevTEncoder,
        decoder: LevTDecoder,
        words: WordTable,
        pad: int,
        unk: int,
        placeholder: int,
        fillers: tuple[int, ...] = (),
    ) -> None:
        """
        Args:
            encoder: reads the source, once
            decoder: reads a sequence in each of its states
            words: the table of words, of encoder and decoder
            pad: the id of <pad>
            unk: the id of <unk>
            placeholder: the id of the placeholder, <PLH> in the paper
            fillers: words of the dictionary that are in no text
        """
        super().__init__()
        self.encoder, self.decoder, self.words = encoder, decoder, words
        self.pad, self.unk, self.placeholder, self.fillers = pad, unk, placeholder, fillers

    @classmethod
    def build_model(cls, cfg: LevTConfig, task: FairseqTask) -> "LevT":
        require_task(task, "text_editing", cfg._name or "levt")
        check_levt_config(cfg)
        target = task.target_dictionary
        # the placeholder is not a word: it has a row in the input table, after the V words, but no output class
        own_symbol = cfg.placeholder == "plh"
        vectors, reader = build_vectors(cfg, task, rows=len(target) + (1 if own_symbol else 0))
        table, scale = source_table(cfg, task, vectors), not cfg.no_scale_embedding
        embedding = TextEmbedding(table, cfg.max_source_positions, cfg.encoder_learned_pos, scale, cfg.dropout)
        encoder = LevTEncoder(embedding, layer_shape(cfg, "encoder"), cfg.encoder_layers, reader)
        embedding = TextEmbedding(vectors, cfg.max_target_positions, cfg.decoder_learned_pos, scale, cfg.dropout)
        exits = {"deletion": cfg.deletion_layers, "placeholder": cfg.placeholder_layers, "token": 0}
        decoder = LevTDecoder(
            embedding,
            layer_shape(cfg, "decoder"),
            cfg.encoder_embed_dim,
            {head: depth or cfg.decoder_layers for head, depth in exits.items()},
            SHARING[str(cfg.share_weights)],
            cfg.max_insertions,
            reads_alignment=reader is not None,
        )
        words = build_words(cfg, embedding, len(target))
        placeholder = len(target) if own_symbol else target.unk()
        fillers = tuple(i for i, word in enumerate(target.symbols) if word.startswith(FILLER))
        model = cls(encoder, decoder, words, target.pad(), target.unk(), placeholder, fillers)
        if cfg.apply_bert_init:
            model.apply(bert_init)
        if reader is not None and not task.from_checkpoint:  # a checkpoint has the weights of the reader
            reader.load()
        return model

    @property
    def max_insertions(self) -> int:
        return self.decoder.placeholder_head.out_features - 1

    def max_positions(self) -> tuple[int, int]:
        return self.encoder.embedding.max_positions, self.decoder.embedding.max_positions

    @property
    def word_index(self) -> WordIndex | None:
        return self.words.index

    def encode(
        self,
        src_tokens: Tensor,
        words: BatchWords | None = None,
        table: BatchTable | None = None,
        padding: Padding | None = None,
    ) -> EncodedSource:
        """Encodes the sources, once for all passes of the decoder.

        Args:
            src_tokens: (B, S), padded on either side
            words: the unknown words of the batch, for a table of words that reads them
            table: the table for the batch, if there is one already
            padding: that of the sources, if it is known
        """
        padding = padding or padding_of(src_tokens, self.pad)
        table = table or self.words.of_batch(words)
        states = self.encoder(src_tokens, padding, table, () if words is None else words["pieces"])
        return self.decoder.remember(states, padding, table)

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        src_lengths: Tensor,  # (B,); unused: part of fairseq's interface
        states: EditingStates,
        draft: Tensor | None = None,  # (B, N) y0
        words: BatchWords | None = None,  # the unknown words of the batch
        learning: Learning | None = None,
    ) -> LevTOutput:
        """Dual-policy learning (Algorithm 1): each policy learns the expert's actions in a state of its own.

        The dataset draws u against beta and v against alpha, and makes y_ins of Eq. (7) with its labels
        (``levt.dataset``). y_del of Eq. (6) contains words that the token policy inserts, so it is made and labelled
        here.
        """
        decoder, target, learning = self.decoder, states["target"], learning or Learning()
        index = states["placeholder_index"]  # (n,) positions in the flattened target of the tokens that y_ins lacks
        texts = [text for text in (src_tokens, target, draft) if text is not None] if learning.may_sample else []
        # the targets of validation are not part of the training text
        table = self.words.of_batch(words, states, texts) if self.training else self.words.of_batch(words)
        source = self.encode(src_tokens, words, table)
        placeholder_context, token_context = insertion_contexts(states)

        # A word that the dictionary lacks is <unk> in the target, and therefore also in y_ins and y'_ins, which are
        # made from it. Decoding may differ: there, a table can read a word that was kept from a draft.

        # L_ins, placeholder policy: how many tokens the expert inserts in each slot of y_ins
        kept = states["kept_tokens"]
        hidden = decoder.hidden_states("placeholder", kept, source, placeholder_context)
        placeholder_logits = decoder.placeholder_logits(hidden)
        no_slot = kept[:, 1:].eq(self.pad)  # slot i is between tokens i and i + 1
        count_labels = states["missing_counts"].clamp(max=self.max_insertions).masked_fill(no_slot, IGNORE)

        # L_ins, token policy: y_ins is a subsequence of y*, and the expert inserts exactly the rest, so y'_ins is y*
        # with a placeholder for each token that y_ins lacks
        flat = target.flatten()
        with_placeholders = flat.index_fill(0, index, self.placeholder).view_as(target)
        hidden = decoder.hidden_states("token", with_placeholders, source, token_context)
        features = decoder.placeholder_features(hidden, index)
        token, inserted = table.decide(features, index, token_context, flat[index], learning)

        # L_del: y_del is y'_ins, filled by the token policy, or y0 where v < alpha (Eq. 6); the policy learns to delete
        # what the expert would. In Eq. (6), y' is any sequence; here, as in Algorithm 1, it is the y_ins of this step,
        # so the pass of the token policy is reused. The words are the model's best, as in Algorithm 1, or drawn from
        # its probabilities, as in Eq. (6). It may choose <s>, <pad> or </s>, which decoding forbids. A <pad> is read as
        # padding, although words follow: the decoder does not attend to it, and the deletion policy does not learn from
        # it. Eq. (3) leaves out <s> and </s>; here the policy learns them, too, as in fairseq. Those of y* are kept,
        # except where a </s> was inserted and no kept token follows it: the expert then keeps that one, not the last.
        with torch.no_grad():
            if learning.rollin == "dae":
                inserted = random_words(flat[index], learning.generator)
            edited = flat.scatter(0, index, inserted).view_as(target)
            if draft is not None and states["from_draft"] is not None:
                edited = mix_rows(states["from_draft"], self.words.readable(draft), edited, self.pad)
            # The target has <unk> for words that the dictionary lacks, so an unknown word of the draft counts as equal
            # to any of these: its label may be "keep" although it is spelt differently.
            remains = align(unknown_to_unk(edited, self.words.vocabulary, self.unk), target, self.pad).kept
            # 1 = delete, not 0 as in Eq. (3)
            deletion_labels = (~remains).long().masked_fill(edited.eq(self.pad), IGNORE)
            alignment = source_positions(edited, src_tokens, self.pad) if decoder.reads_alignment else None
        hidden = decoder.hidden_states("deletion", edited, source, PolicyContext(alignment=alignment))
        deletion_logits = decoder.deletion_logits(hidden)

        return LevTOutput(
            deletion=HeadOutput(deletion_logits.flatten(0, 1), deletion_labels.flatten(), edited.flatten()),
            placeholder=HeadOutput(placeholder_logits.flatten(0, 1), count_labels.flatten()),
            token=token,
        )


def random_words(words: Tensor, generator: torch.Generator | None) -> Tensor:
    """Returns random words (n,) among the missing ones of a batch, with repetition.

    This is the ablation of Table 2b (``dae``), in which the model never sees its own insertions.
    """
    if not len(words):
        return words
    return words[torch.randint(len(words), words.shape, generator=generator, device=words.device)]


def mix_rows(condition: Tensor, if_true: Tensor, if_false: Tensor, pad: float) -> Tensor:
    """Returns the rows of ``if_true`` (B, N) where the condition (B,) is true, else those of ``if_false`` (B, T)."""
    width = max(if_true.size(1), if_false.size(1))
    if_true, if_false = (F.pad(rows, (0, width - rows.size(1)), value=pad) for rows in (if_true, if_false))
    return torch.where(condition[:, None], if_true, if_false)


register_presets("levt", LEVT_PRESETS)
