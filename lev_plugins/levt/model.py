"""Levenshtein Transformer (Gu, Wang and Zhao, 2019, https://arxiv.org/abs/1905.11006).

A Transformer whose decoder sees a whole sequence y at once and has three heads, the policies of section 3.1:

    deletion     pi^del(d | i, y)   one of 2 classes per token            Eq. (3)
    placeholder  pi^plh(p | i, y')  one of K_max + 1 counts per slot      Eq. (4)
    token        pi^tok(t | i, y'') one of V words per placeholder        Eq. (5)

Shapes: B batch, S source length, T target length, C channels, V vocabulary (see ``lev_plugins.nn``).
Padding of y is always on the right (but see ``roll_in``); the source may be padded on either side.
"""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from fairseq.dataclass import ChoiceEnum
from fairseq.models import BaseFairseqModel, register_model
from fairseq.tasks import FairseqTask
from torch import Tensor

from lev_plugins.edits.actions import unknown_to_unk
from lev_plugins.edits.batch_words import BatchWords, EditingStates
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.embedding import WHOLE_VOCABULARY, VocabularySample
from lev_plugins.edits.expert import align
from lev_plugins.levt.spelling import SpellingDecoder, build_embedding, upgrade_spelling_weights
from lev_plugins.levt.stacks import SHARING, EncodedSource, LevTDecoder, LevTEncoder
from lev_plugins.nn.output_loss import SummedLoss
from lev_plugins.nn.scaled_adam import check_learning_rate
from lev_plugins.nn.transformer import (
    Padding,
    TextEmbedding,
    TokenEmbedding,
    bert_init,
    padding_of,
    token_embedding,
)
from lev_plugins.text.ids import FILLER
from lev_plugins.training.archives import LoadedFromFolder
from lev_plugins.training.encoder_decoder import (
    EncoderDecoderConfig,
    both_sides,
    check_sizes,
    layer_shape,
    source_table,
)
from lev_plugins.training.presets import register_presets
from lev_plugins.training.requirements import BUCKETS, require_task
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

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
        "compute the vectors of words from their letters, also of words that the dictionary lacks, so that a "
        "misspelt word is close to the word that was meant; for data split into whole words, such as by --bpe words",
    )
    spelling_buckets: int = flag(BUCKETS, "with --spelling: size of the hash table for letter n-grams")
    backbone: Optional[str] = flag(
        None,
        "with --spelling: folder made by lev-plugins import-pretrained, of any type, whose encoder reads the source "
        "words as well; also needed to decode with a checkpoint",
    )
    freeze_backbone: bool = flag(False, "do not train the weights of --backbone")
    backbone_lr_factor: float = flag(
        1.0,
        "learning rate of the backbone, as a multiple of --lr, which applies to all other weights; requires "
        "--optimizer scaled_adam",
    )
    apply_bert_init: bool = flag(False, "normal(0, 0.02) initialisation, as BERT's")


class Learning(NamedTuple):
    """How the policies learn from a batch."""

    rollin: str = "argmax"  # what fills the placeholders before the deletion policy runs, one of ROLLINS
    generator: torch.Generator | None = None  # for the random choices of the roll-in
    may_sum_loss: bool = False  # the model may return the token policy's loss instead of logits, which take more memory
    may_sample: bool = False  # in training, with --spelling, a sample of a large dictionary may stand for all its words
    token_smoothing: float = 0.0  # label smoothing of the token policy, if the model returns its loss


class HeadOutput(NamedTuple):
    """One policy's n decisions, for the criterion; their positions in the batch do not matter.

    A tuple, so that module hooks (fairseq's search for the first NaN) can find its tensors.
    """

    logits: Tensor  # (n, classes)
    labels: Tensor  # (n,), IGNORE where no decision is needed
    tokens: Tensor | None = None  # (n,) the tokens that the deletion policy judges, to report <s> and </s> apart


class LevTOutput(NamedTuple):
    deletion: HeadOutput
    placeholder: HeadOutput
    token: HeadOutput | SummedLoss  # the loss itself, if the model computes it (``Learning.may_sum_loss``)


@register_model("levt", dataclass=LevTConfig)
class LevT(LoadedFromFolder, BaseFairseqModel):
    def __init__(self, encoder: LevTEncoder, decoder: LevTDecoder, pad: int, unk: int, placeholder: int) -> None:
        """
        Args:
            encoder: reads the source, once
            decoder: reads a sequence in each of its states; with --spelling, a ``SpellingDecoder``
            pad: the id of <pad>
            unk: the id of <unk>
            placeholder: the id of the placeholder, <PLH> in the paper
        """
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.fillers: tuple[int, ...] = ()  # words of the dictionary that are in no text
        self.pad, self.unk, self.placeholder = pad, unk, placeholder

    @classmethod
    def build_model(cls, cfg: LevTConfig, task: FairseqTask) -> "LevT":
        require_task(task, "text_editing", cfg._name or "levt")
        check_levt_config(cfg)
        target = task.target_dictionary
        # the placeholder is not a word: it has a row in the input table, after the V words, but no output class
        own_symbol = cfg.placeholder == "plh"
        placeholder = len(target) if own_symbol else target.unk()
        target_table: TokenEmbedding
        if cfg.spelling:
            target_table, backbone = build_embedding(cfg, task)
        else:
            rows = len(target) + (1 if own_symbol else 0)
            target_table = token_embedding(rows, cfg.decoder_embed_dim, target.pad())
            backbone = None
        table = source_table(cfg, task, target_table)
        scale = not cfg.no_scale_embedding
        embedding = TextEmbedding(table, cfg.max_source_positions, cfg.encoder_learned_pos, scale, cfg.dropout)
        encoder = LevTEncoder(embedding, layer_shape(cfg, "encoder"), cfg.encoder_layers, backbone)
        embedding = TextEmbedding(target_table, cfg.max_target_positions, cfg.decoder_learned_pos, scale, cfg.dropout)
        decoder = (SpellingDecoder if cfg.spelling else LevTDecoder)(embedding, cfg, len(target))
        model = cls(encoder, decoder, target.pad(), target.unk(), placeholder)
        model.fillers = tuple(i for i, word in enumerate(target.symbols) if word.startswith(FILLER))
        if cfg.apply_bert_init:
            model.apply(bert_init)
        if backbone is not None and not task.from_checkpoint:  # a checkpoint has the weights of the backbone
            backbone.load(Path(str(cfg.backbone)), cfg.backbone_lr_factor)
        return model

    @property
    def max_insertions(self) -> int:
        return self.decoder.placeholder_head.out_features - 1

    def max_positions(self) -> tuple[int, int]:
        return self.encoder.embedding.max_positions, self.decoder.embedding.max_positions

    @property
    def word_index(self) -> WordIndex | None:
        """The words of the dictionary by their letters, with --spelling."""
        return self.decoder.word_index

    @property
    def signature(self) -> dict[str, object]:
        """The values of the flags in which the models of an ensemble must agree."""
        index = self.word_index
        backbone = None
        if index is not None and index.pieces is not None:
            pieces, starts = index.pieces.pieces, index.pieces.starts
            digest = sha256(pieces.tobytes() + starts.tobytes()).hexdigest()[:8]
            backbone = f"one with {len(pieces):,} pieces in the dictionary (SHA-256 {digest})"
        return {
            "--placeholder": "unk" if self.placeholder == self.unk else "plh",
            "--max-insertions": self.max_insertions,
            "--spelling-buckets": None if index is None else index.buckets,
            "--backbone": backbone,
        }

    def upgrade_names(self, state_dict: dict[str, Tensor]) -> None:
        """Give the weights of a checkpoint of an older version the names that they have now."""
        if isinstance(self.decoder, SpellingDecoder):
            upgrade_spelling_weights(state_dict, self.encoder.backbone)

    upgrade_state_dict = upgrade_names  # as fairseq calls it

    def encode(
        self,
        src_tokens: Tensor,
        words: BatchWords | None = None,
        target: Tensor | None = None,
        sample: VocabularySample = WHOLE_VOCABULARY,
        padding: Padding | None = None,
    ) -> EncodedSource:
        """Encodes the sources, once for all passes of the decoder.

        Args:
            src_tokens: (B, S), padded on either side
            words: with --spelling, the unknown words of the batch
            target: (B, T) with --spelling, in training: a word of the target counts as if the training text had it once
                less, so that a word that occurs only here is read as an unknown one
            sample: with --spelling, in training: the words of the dictionary that get vectors in this step
            padding: that of the sources, if it is known
        """
        padding = padding or padding_of(src_tokens, self.encoder.embedding.pad)
        words = None if words is None else BatchWords(*words)  # fairseq makes it a plain tuple
        look_up = self.decoder.token_look_up(words, target, sample)
        states = self.encoder(src_tokens, padding, look_up, () if words is None else words.pieces)
        return self.decoder.remember(states, padding, look_up)

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        src_lengths: Tensor,  # (B,); unused: part of fairseq's interface
        states: EditingStates,
        draft: Tensor | None = None,  # (B, N) y0
        words: BatchWords | None = None,  # the unknown words of the batch, with --spelling
        learning: Learning | None = None,
    ) -> LevTOutput:
        """Dual-policy learning (Algorithm 1): each policy learns the expert's actions in a state of its own.

        The dataset draws u against beta and v against alpha, and makes y_ins of Eq. (7) with its labels
        (``data.drafts.dataset``). y_del of Eq. (6) contains words that the token policy inserts, so it is made and
        labelled here.
        """
        states, learning = EditingStates(*states), learning or Learning()
        decoder, target = self.decoder, states.target
        index = states.placeholder_index  # (n,) positions in the flattened target of the tokens that y_ins lacks
        step = decoder.step_inputs(src_tokens, states, draft, words, self.training and learning.may_sample)
        # the targets of validation are not part of the training text
        source = self.encode(src_tokens, step.words, target if self.training else None, step.sample)

        # A word that the dictionary lacks is <unk> in the target, and therefore also in y_ins and y'_ins, which are
        # made from it. Decoding with --spelling differs: it reads a word that was kept from a draft by its letters.

        # L_ins, placeholder policy: how many tokens the expert inserts in each slot of y_ins
        hidden = decoder.hidden_states("placeholder", states.kept_tokens, source, step.removed, states.kept_alignment)
        placeholder_logits = decoder.placeholder_logits(hidden)
        no_slot = states.kept_tokens[:, 1:].eq(self.pad)  # slot i is between tokens i and i + 1
        count_labels = states.missing_counts.clamp(max=self.max_insertions).masked_fill(no_slot, IGNORE)

        # L_ins, token policy: y_ins is a subsequence of y*, and the expert inserts exactly the rest, so y'_ins is y*
        # with a placeholder for each token that y_ins lacks
        flat = target.flatten()
        with_placeholders = flat.index_fill(0, index, self.placeholder).view_as(target)
        hidden = decoder.hidden_states("token", with_placeholders, source, step.replaced, states.target_alignment)
        labels = step.sample.classes(flat[index])
        token: HeadOutput | SummedLoss
        if learning.may_sum_loss and learning.rollin != "sample" and decoder.can_sum_loss(hidden):
            token = decoder.token_loss(hidden, index, labels, learning.token_smoothing)
        else:
            logits = decoder.token_logits(hidden, index, source, step.replaced, step.candidates)
            token = HeadOutput(logits, labels)

        # L_del: y_del is y'_ins, filled by the token policy, or y0 where v < alpha (Eq. 6); the policy learns to delete
        # what the expert would. In Eq. (6), y' is any sequence; here, as in Algorithm 1, it is the y_ins of this step,
        # so the pass of the token policy is reused. <s> and </s>, which decoding never deletes, are learned as tokens
        # to keep, as in fairseq; Eq. (3) leaves them out.
        with torch.no_grad():
            edited = flat.scatter(0, index, roll_in(token, labels, learning, step.sample)).view_as(target)
            if step.draft is not None and states.from_draft is not None:
                edited = mix_rows(states.from_draft, step.draft, edited, self.pad)
            # the words that the dictionary lacks are <unk> in the target
            kept = align(unknown_to_unk(edited, decoder.vocabulary, self.unk), target, self.pad).kept
            deletion_labels = (~kept).long().masked_fill(edited.eq(self.pad), IGNORE)  # 1 = delete, not 0 as in Eq. (3)
        alignment = decoder.source_positions(edited, src_tokens)
        hidden = decoder.hidden_states("deletion", edited, source, alignment=alignment)
        deletion_logits = decoder.deletion_logits(hidden)

        return LevTOutput(
            deletion=HeadOutput(deletion_logits.flatten(0, 1), deletion_labels.flatten(), edited.flatten()),
            placeholder=HeadOutput(placeholder_logits.flatten(0, 1), count_labels.flatten()),
            token=token,
        )


def roll_in(
    token: HeadOutput | SummedLoss, labels: Tensor, learning: Learning, sample: VocabularySample = WHOLE_VOCABULARY
) -> Tensor:
    """Returns the words that fill the placeholders before the deletion policy runs: (n,).

    ``argmax``, the default, inserts the model's best words, as in Algorithm 1, and ``sample`` draws from its
    probabilities, as in Eq. (6). ``dae`` draws from the missing words of the batch: the ablation of Table 2b, in which
    the model never sees its own insertions.

    The model may choose <s>, <pad> or </s>, which decoding forbids. A <pad> is read as padding, although words follow:
    the decoder does not attend to it, and the deletion policy does not learn from it.

    Args:
        token: the output of the token policy, for the V words or the R of a sample
        labels: (n,) the classes of the missing words
        learning: which of the three, and the random generator
        sample: the words of the classes
    """
    if not len(labels):
        classes = labels
    elif learning.rollin == "dae":
        places = torch.randint(len(labels), labels.shape, generator=learning.generator, device=labels.device)
        classes = labels[places]
    elif isinstance(token, SummedLoss):
        classes = token.best
    elif learning.rollin == "argmax":
        classes = sample.unweighted(token.logits).argmax(-1)  # the best word, not the one that stands for most words
    else:  # with the weights, by which each word also stands for those not in the sample
        classes = torch.multinomial(token.logits.float().softmax(-1), 1, generator=learning.generator)[:, 0]
    return sample.words(classes)


def mix_rows(condition: Tensor, if_true: Tensor, if_false: Tensor, pad: float) -> Tensor:
    """Returns the rows of ``if_true`` (B, N) where the condition (B,) is true, else those of ``if_false`` (B, T)."""
    width = max(if_true.size(1), if_false.size(1))
    if_true, if_false = (F.pad(rows, (0, width - rows.size(1)), value=pad) for rows in (if_true, if_false))
    return torch.where(condition[:, None], if_true, if_false)


def check_levt_config(cfg: LevTConfig) -> None:
    check_sizes(cfg)
    require(cfg.spelling or cfg.backbone is None, "--backbone reads words: add --spelling")
    if cfg.backbone is None:
        require(not cfg.freeze_backbone, "--freeze-backbone requires --backbone")
        require(cfg.backbone_lr_factor == 1, "--backbone-lr-factor requires --backbone")
    check_learning_rate(cfg)
    for head, depth in (("deletion", cfg.deletion_layers), ("placeholder", cfg.placeholder_layers)):
        require(
            0 <= depth <= cfg.decoder_layers,
            f"--{head}-layers must be between 0 (the last block) and --decoder-layers ({cfg.decoder_layers}), "
            f"but is {depth}",
        )


# the defaults that each preset changes in `levt` (sizes of the paper's base model: 512 wide, 6 + 6 blocks)
LEVT_PRESETS: dict[str, dict[str, int]] = {
    "levt_tiny": both_sides(embed_dim=64, ffn_embed_dim=128, layers=2, attention_heads=2),
    "levt_iwslt": both_sides(embed_dim=512, ffn_embed_dim=1024, layers=6, attention_heads=4),
    "levt_big": both_sides(embed_dim=1024, ffn_embed_dim=4096, layers=6, attention_heads=16),
    # the encoder runs once, the decoder three times an iteration
    "levt_fast": {"encoder_layers": 9, "decoder_layers": 3},
}

register_presets("levt", LEVT_PRESETS)
