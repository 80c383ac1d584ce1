"""Levenshtein Transformer (Gu, Wang and Zhao, 2019, https://arxiv.org/abs/1905.11006).

A Transformer whose decoder sees a whole sequence y at once and has three heads, the policies of section 3.1:

    deletion     pi^del(d | i, y)   one of 2 classes per token            Eq. (3)
    placeholder  pi^plh(p | i, y')  one of K_max + 1 counts per slot      Eq. (4)
    token        pi^tok(t | i, y'') one of V words per placeholder        Eq. (5)

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.layers``).
Padding of y is always on the right; the source may be padded on either side.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

import torch
import torch.nn.functional as F
from fairseq.dataclass import ChoiceEnum
from fairseq.models import BaseFairseqModel, register_model
from torch import Tensor, nn

from lev_plugins.edits.actions import RemovedTokens, source_positions, unknown_to_unk
from lev_plugins.edits.expert import align
from lev_plugins.errors import require
from lev_plugins.fairseq_fixes.archives import LoadedFromFolder
from lev_plugins.layers.output_loss import SummedLoss
from lev_plugins.layers.transformer import TextEmbedding, bert_init, padding_of, spread, token_embedding
from lev_plugins.models.backbones.word_encoder import BackboneWords
from lev_plugins.models.encoder_decoder import SIDES, EncoderDecoderConfig, check_sizes, layer_shape, source_table
from lev_plugins.models.levt_stacks import SHARING, EncodedSource, LevTDecoder, LevTEncoder
from lev_plugins.models.presets import register_presets
from lev_plugins.models.requirements import BUCKETS, require_task
from lev_plugins.optim.scaled_adam import check_learning_rate
from lev_plugins.ranges import flag
from lev_plugins.spelling.batch_words import BatchWords, EditingStates
from lev_plugins.spelling.candidates import WordIndex
from lev_plugins.spelling.embedding import RIVALS, WHOLE, MeantWords, Sample
from lev_plugins.spelling.word_scorer import AS_MISSPELT, Nearest, by_name, weights_of
from lev_plugins.text.pretrained import MOVED, require_folder

IGNORE = -100  # a label that every loss ignores

ROLLINS = ["argmax", "sample", "dae"]


@dataclass
class LevTConfig(EncoderDecoderConfig):
    decoder_layers: int = flag(6, "decoder blocks; the token policy reads the last")
    deletion_layers: int = flag(0, "early exit: the deletion policy reads this block (0: the last)")
    placeholder_layers: int = flag(0, "early exit: the placeholder policy reads this block (0: the last)")
    share_weights: ChoiceEnum(list(SHARING)) = flag(  # type: ignore[valid-type]
        "all", "which policies share decoder blocks (Table 2a of the paper)"
    )
    max_insertions: int = flag(255, "K_max: maximum number of placeholders per slot and iteration")
    placeholder: ChoiceEnum(["plh", "unk"]) = flag(  # type: ignore[valid-type]
        "plh", "placeholder symbol: a separate one, or <unk> as in fairseq's LevT"
    )
    spelling: bool = flag(
        False,
        "make word vectors of letter groups, also for words that the dictionary lacks, so that a word is found from "
        "its misspellings; for data split into whole words, such as by --bpe words",
    )
    spelling_buckets: int = flag(BUCKETS, "size of the table for the parts of words, with --spelling")
    backbone: Optional[str] = flag(
        None,
        "with --spelling: folder made by lev-plugins import-pretrained from a T5 or a BERT, whose encoder reads the "
        "source words as well; also needed to decode with a checkpoint",
    )
    freeze_backbone: bool = flag(False, "do not train the weights of --backbone")
    backbone_lr_factor: float = flag(
        1.0,
        "learning rate of the backbone, as a multiple of --lr, which applies to the others; requires --optimizer "
        "scaled_adam",
    )
    apply_bert_init: bool = flag(False, "normal(0, 0.02) initialisation, as BERT's")


class Learning(NamedTuple):
    """How the policies learn from a batch."""

    rollin: str = "argmax"  # one of ROLLINS
    generator: torch.Generator | None = None  # of its draws
    # label smoothing of the token policy, for its loss instead of its logits. In training with 0 and --spelling, only a
    # sample of a large dictionary is scored: smoothing takes mass from all of it, so a sample would not do
    smoothing: float | None = None


class HeadOutput(NamedTuple):
    """One policy's n decisions, for the criterion; their positions in the batch do not matter.

    A tuple, so that module hooks (fairseq's search for the first NaN) can find its tensors.
    """

    logits: Tensor  # (n, classes)
    labels: Tensor  # (n,), IGNORE where no decision is needed
    tokens: Tensor | None = None  # (n,) what the deletion policy keeps or deletes


class LevTOutput(NamedTuple):
    deletion: HeadOutput
    placeholder: HeadOutput
    token: HeadOutput | SummedLoss


@register_model("levt", dataclass=LevTConfig)
class LevT(LoadedFromFolder, BaseFairseqModel):
    def __init__(self, encoder: LevTEncoder, decoder: LevTDecoder, pad: int, unk: int, placeholder: int):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.pad, self.unk, self.placeholder = pad, unk, placeholder

    @classmethod
    def build_model(cls, cfg: LevTConfig, task: Any) -> "LevT":
        require_task(task, "text_editing", cfg._name or "levt")
        check_config(cfg)
        source, target = task.source_dictionary, task.target_dictionary
        # the placeholder is not a word: it has a row in the input table, after the V words, but no output class
        own_symbol = cfg.placeholder == "plh"
        rows = len(target) + (1 if own_symbol else 0)
        tokens: nn.Embedding | MeantWords = (
            spelling_of(task, cfg) if cfg.spelling else token_embedding(rows, cfg.decoder_embed_dim, target.pad())
        )
        backbone, folder = None, None
        if cfg.backbone is not None and isinstance(tokens, MeantWords):
            folder = require_folder(cfg.backbone, "--backbone", MOVED)
            backbone = BackboneWords(folder, cfg, source, tokens.index, cfg.encoder_embed_dim)
        source_tokens = source_table(cfg, task, tokens)
        scale = not cfg.no_scale_embedding
        read = TextEmbedding(source_tokens, cfg.max_source_positions, cfg.encoder_learned_pos, scale, cfg.dropout)
        encoder = LevTEncoder(read, layer_shape(cfg, "encoder"), cfg.encoder_layers, backbone)
        edited = TextEmbedding(tokens, cfg.max_target_positions, cfg.decoder_learned_pos, scale, cfg.dropout)
        decoder = LevTDecoder(edited, cfg, len(target), beside=backbone is not None)
        model = cls(encoder, decoder, target.pad(), target.unk(), len(target) if own_symbol else target.unk())
        if cfg.apply_bert_init:
            model.apply(bert_init)
        if backbone is not None and folder is not None and not task.from_checkpoint:
            backbone.load(folder, cfg)
        return model

    @property
    def max_insertions(self) -> int:
        return self.decoder.placeholder_head.out_features - 1

    def max_positions(self) -> tuple[int, int]:
        return self.encoder.embedding.max_positions, self.decoder.embedding.max_positions

    @property
    def spelling(self) -> MeantWords | None:
        table = self.decoder.embedding.tokens
        return table if isinstance(table, MeantWords) else None

    @property
    def word_index(self) -> WordIndex | None:
        return None if self.spelling is None else self.spelling.index

    @property
    def spelling_buckets(self) -> int | None:
        return None if self.word_index is None else self.word_index.buckets

    @property
    def backbone(self) -> str | None:
        """How it is told from others."""
        pieces = None if self.word_index is None else self.word_index.pieces
        return None if pieces is None else f"one with {len(pieces.known[0]):,} pieces in the dictionary"

    def upgrade_names(self, state_dict: dict[str, Any]) -> None:
        """Until version 0.2, the weights of the scores of words were beside those of their vectors.

        A checkpoint may also lack weights for the first blocks of a backbone, and for what replaces a known word.
        """
        if self.decoder.respelling is None:
            return
        for side in SIDES:
            for weight in ("query.weight", "query.bias", "bias", "weights"):
                old = f"{side}.embedding.tokens.{weight}"
                if old in state_dict:
                    state_dict[f"decoder.respelling.{weight}"] = state_dict.pop(old)
        together = state_dict.pop("decoder.respelling.weights", None)
        if together is not None:
            state_dict |= {f"decoder.respelling.{key}": value for key, value in by_name(together).items()}
        if self.encoder.backbone is not None:
            project = "encoder.backbone.project.weight"
            if project in state_dict:
                state_dict[project] = self.encoder.backbone.upgraded(state_dict[project])
            for name, value in weights_of(AS_MISSPELT).items():
                state_dict.setdefault(f"decoder.respelling.{name}", value)

    upgrade_state_dict = upgrade_names  # as fairseq calls it

    def encode(
        self,
        src_tokens: Tensor,
        words: BatchWords | None = None,
        target: Tensor | None = None,
        sample: Sample = WHOLE,
    ) -> EncodedSource:
        """With --spelling, ``words`` are the unknown words of the batch; words of the ``target`` are held out.

        With a ``sample`` of a large dictionary, only its words have vectors.
        """
        padding = padding_of(src_tokens, self.encoder.embedding.pad)
        memory = EncodedSource({}, padding.mask)
        if self.spelling is not None:
            vectors = self.spelling.vectors(None if words is None else BatchWords(*words), sample)
            memory = memory._replace(words=vectors, target=target)
        pieces = () if memory.words is None else memory.words.words.pieces
        source = self.encoder(src_tokens, padding, self.decoder.look_up(memory), pieces)
        if self.decoder.from_beside is not None:
            theirs = spread(self.decoder.from_beside(source), padding.real)
            memory = memory._replace(beside=F.pad(theirs, (0, 0, 0, 1)))
        return memory._replace(keys_values=self.decoder.remember(source, padding.real))

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        src_lengths: Tensor,  # (B,); unused: part of fairseq's interface
        states: EditingStates,
        draft: Tensor | None = None,  # (B, N) y0
        words: BatchWords | None = None,  # with --spelling
        learning: Learning | None = None,
    ) -> LevTOutput:
        """Dual-policy learning (Algorithm 1): one state per policy, each labelled by the expert."""
        states, learning = EditingStates(*states), learning or Learning()
        decoder, target, holes = self.decoder, states.target, states.hole_index
        sample, nearest, removed, replaced = WHOLE, None, None, None
        if self.spelling is not None and decoder.respelling is not None:
            words = BatchWords.of([], self.spelling.index) if words is None else BatchWords(*words)
            self.spelling.hold_out()
            replaced, removed = states.replaced, RemovedTokens(states.removed, states.removed_counts)
            nearest = Nearest(*states.nearest)
            if self.training and learning.smoothing == 0:
                sides = (src_tokens, target, src_tokens if draft is None else draft)
                read = torch.cat([side.flatten() for side in sides])
                sample = self.spelling.sample(read, words, nearest.near[:, :RIVALS])
        elif draft is not None:
            draft = unknown_to_unk(draft, decoder.vocabulary, self.unk)
        memory = self.encode(src_tokens, words, target, sample)

        beside_kept, beside_opened = states.beside or (None, None)
        memory, tokens = memory._replace(places=beside_kept), states.kept_tokens
        counts = decoder.placeholder_logits(decoder.states("placeholder", tokens, memory, removed=removed))
        no_slot = states.kept_tokens[:, 1:].eq(self.pad)
        count_labels = states.missing_counts.clamp(max=self.max_insertions).masked_fill(no_slot, IGNORE)

        flat = target.flatten()
        opened = flat.index_fill(0, holes, self.placeholder).view_as(target)  # y'_ins
        memory = memory._replace(places=beside_opened)
        after_blocks = decoder.states("token", opened, memory, removed=one_each(replaced, self.pad))
        labels = sample.place(flat[holes])
        token: HeadOutput | SummedLoss | None = None
        if learning.smoothing is not None and learning.rollin == "argmax":
            token = decoder.token_loss(after_blocks, holes, labels, learning.smoothing)
        if token is None:
            token = HeadOutput(decoder.token_logits(after_blocks, holes, memory.words, replaced, nearest), labels)

        with torch.no_grad():  # y_del, Eq. (6)
            if isinstance(token, SummedLoss):
                inserted = token.best
            else:
                scores = sample.as_decoded(token.logits) if learning.rollin == "argmax" else token.logits
                inserted = sample.word(roll_in(scores, labels, learning))
            edited = flat.scatter(0, holes, inserted).view_as(target)
            if draft is not None and states.from_draft is not None:
                edited = mix_rows(states.from_draft, draft, edited, self.pad)
            kept = align(unknown_to_unk(edited, decoder.vocabulary, self.unk), target, self.pad).kept
            deleted = (~kept).long().masked_fill(edited.eq(self.pad), IGNORE)
        if memory.beside is not None:
            memory = memory._replace(places=source_positions(edited, src_tokens, self.pad))
        deletions = decoder.deletion_logits(decoder.states("deletion", edited, memory))

        return LevTOutput(
            deletion=HeadOutput(deletions.flatten(0, 1), deleted.flatten(), edited.flatten()),
            placeholder=HeadOutput(counts.flatten(0, 1), count_labels.flatten()),
            token=token,
        )


def spelling_of(task: Any, cfg: LevTConfig) -> MeantWords:
    require(cfg.share_all_embeddings, "--spelling is for both sides and the output: add --share-all-embeddings")
    require(
        str(cfg.placeholder) == "plh",
        "--spelling tells unknown words apart, so --placeholder must not be unk: leave it out",
    )
    index = WordIndex.of(task.target_dictionary, cfg.spelling_buckets)
    return MeantWords(task.target_dictionary, cfg.decoder_embed_dim, index)


def one_each(replaced: Tensor | None, pad: int) -> RemovedTokens | None:
    """A hole replaces one word at most."""
    return None if replaced is None else RemovedTokens(replaced, replaced.ne(pad).long())


def roll_in(logits: Tensor, words: Tensor, learning: Learning) -> Tensor:
    """The tokens that fill the holes before the deletion policy runs: (n, V) -> (n,).

    ``argmax`` and ``sample`` let the model insert (Algorithm 1 and Eq. 6). ``dae`` draws from the batch's missing
    ``words`` (n,): the ablation of Table 2b, in which the model never sees its own insertions.
    """
    if not logits.size(0):
        return words
    if learning.rollin == "argmax":
        return logits.argmax(-1)
    if learning.rollin == "sample":
        return torch.multinomial(logits.float().softmax(-1), 1, generator=learning.generator)[:, 0]
    return words[torch.randint(words.size(0), words.shape, generator=learning.generator, device=words.device)]


def mix_rows(first_where: Tensor, first: Tensor, second: Tensor, pad: float) -> Tensor:
    """Rows of ``first`` (B, N) where ``first_where`` (B,), otherwise of ``second`` (B, T): (B, the larger width)."""
    width = max(first.size(1), second.size(1))
    first, second = (F.pad(rows, (0, width - rows.size(1)), value=pad) for rows in (first, second))
    return torch.where(first_where[:, None], first, second)


def check_config(cfg: LevTConfig) -> None:
    check_sizes(cfg)
    require(cfg.spelling or cfg.backbone is None, "--backbone reads words: add --spelling")
    for name, needless in (
        ("--freeze-backbone", cfg.freeze_backbone),
        ("--backbone-lr-factor", cfg.backbone_lr_factor != 1),
    ):
        require(cfg.backbone is not None or not needless, f"{name} requires --backbone")
    check_learning_rate(cfg)
    for head in ("deletion", "placeholder"):
        depth = getattr(cfg, f"{head}_layers")
        require(
            0 <= depth <= cfg.decoder_layers,
            f"--{head}-layers must be between 0 (the last block) and --decoder-layers ({cfg.decoder_layers}), "
            f"but is {depth}",
        )


def both_sides(**changes: int) -> dict[str, int]:
    """
    >>> both_sides(layers=2)
    {'encoder_layers': 2, 'decoder_layers': 2}
    """
    return {f"{side}_{key}": value for side in SIDES for key, value in changes.items()}


# What each preset changes in `levt` (the paper's base model: 512 wide, 6 + 6 blocks)
PRESETS: dict[str, dict[str, int]] = {
    "levt_tiny": both_sides(embed_dim=64, ffn_embed_dim=128, layers=2, attention_heads=2),
    "levt_iwslt": both_sides(embed_dim=512, ffn_embed_dim=1024, layers=6, attention_heads=4),
    "levt_big": both_sides(embed_dim=1024, ffn_embed_dim=4096, layers=6, attention_heads=16),
    # the encoder runs once, the decoder three times an iteration
    "levt_fast": {"encoder_layers": 9, "decoder_layers": 3},
}

register_presets("levt", PRESETS)
