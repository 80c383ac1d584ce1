"""EncT5 (Liu et al., 2021, https://arxiv.org/abs/2110.08426): labels from a T5 encoder, in one pass.

The encoder is T5's (or, which the paper does not try, BERT's). The decoder is new: its inputs are learned *latent
vectors* instead of words, its attention is not causal, and projection heads read its output instead of the vocabulary's
table (Framework 1).

Algorithm 1   classification, regression   one latent; without self-attention, which would be an identity
Algorithm 2   multilabel                   one latent and one head of two classes per label; or, with --latents one, the
                                           fallback for thousands of labels, one latent and one head for all of them
Algorithm 3   tagging                      the same latent for each word, which attends only to the pieces of its own
                                           word (``encdec_segments``), while the encoder sees the whole text

Where the paper leaves a choice: latents have no positions ("decoder_positions: None"), so the distance table of T5's
decoder is not used; heads have a bias, initialised to zero; tagging with one decoder layer has no self-attention,
because it would see copies of the same latent.

Shapes: B rows, S source length, T latents per row, C channels, H heads. A row holds one example or, packed, several;
n is the number of outputs of the batch: examples, or words in tagging.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Optional

import torch
import torch.nn.functional as F
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import BaseFairseqModel, register_model
from omegaconf import II, open_dict
from torch import Tensor, nn

from lev_plugins import ranges
from lev_plugins.errors import require
from lev_plugins.layers import Spelling
from lev_plugins.layers.bert import BertEncoder
from lev_plugins.layers.t5 import FEED_FORWARDS, DistanceBias, Norm, T5Block, T5Shape
from lev_plugins.layers.transformer import LayerShape
from lev_plugins.models.backbones.enct5_weights import ENCODERS, backbone_sizes, load_backbone
from lev_plugins.models.presets import register_presets
from lev_plugins.models.requirements import require_task
from lev_plugins.optim import scale_learning_rate
from lev_plugins.text.pretrained import require_folder
from lev_plugins.text.spelling import Unknown

__all__ = [
    "PRESETS",
    "SIZES",
    "EncT5",
    "EncT5Config",
    "LabelHead",
    "LabelSpec",
    "LatentDecoder",
    "T5LabelEncoder",
    "check_config",
    "fill_sizes",
]

LATENTS = ["label", "one"]
HEADS = ["label", "shared"]
INITS = ["scratch", "backbone"]
EVERY = 2**40  # more occurrences than a word can have
BINARY = 2  # classes of a label: absent, present

# size flag -> its value where neither --backbone nor the user sets it: that of T5 1.1 "small"
SIZES: dict[str, Any] = {
    "encoder": "t5",
    "embed_dim": 512,
    "ffn_embed_dim": 1024,
    "layers": 8,
    "attention_heads": 6,
    "head_dim": 64,
    "feed_forward": "gated-gelu",
    "distance_buckets": 32,
    "farthest_distance": 128,
    "positions": 512,
}


@dataclass
class EncT5Config(FairseqDataclass):
    backbone: Optional[str] = field(
        default=None,
        metadata={
            "help": "folder made by lev-plugins import-pretrained from a T5, T5 1.1, mT5, ByT5 or BERT, which provides "
            "the encoder and all sizes; needed only to start training"
        },
    )
    backbone_lr_factor: float = field(
        default=1.0,
        metadata={
            "help": "learning rate of the pre-trained encoder, as a multiple of --lr, which applies to the decoder; "
            "requires --optimizer scaled_adam"
        },
    )
    optimizer: str = II("optimizer._name")
    encoder: Optional[str] = field(default=None, metadata={"help": "t5 or bert, which requires --backbone"})
    embed_dim: Optional[int] = field(default=None, metadata={"help": "width (without --backbone: 512)"})
    ffn_embed_dim: Optional[int] = field(default=None, metadata={"help": "feed-forward width (1024)"})
    layers: Optional[int] = field(default=None, metadata={"help": "blocks of the encoder (8)"})
    attention_heads: Optional[int] = field(default=None, metadata={"help": "attention heads (6)"})
    head_dim: Optional[int] = field(default=None, metadata={"help": "width of an attention head (64)"})
    feed_forward: Optional[str] = field(
        default=None, metadata={"help": "relu (T5) or gated-gelu (T5 1.1, mT5, ByT5) (gated-gelu)"}
    )
    distance_buckets: Optional[int] = field(
        default=None, metadata={"help": "number of classes for the distance between two pieces (32)"}
    )
    farthest_distance: Optional[int] = field(
        default=None, metadata={"help": "distances from this one on share a class (128)"}
    )
    positions: Optional[int] = field(default=None, metadata={"help": "positions of a BERT (512)"})
    decoder_layers: int = field(default=1, metadata={"help": "decoder blocks (Table 4: 1d, 12d)"})
    decoder_init: ChoiceEnum(INITS) = field(  # type: ignore[valid-type]
        default="scratch",
        metadata={"help": "initialisation of the decoder blocks; backbone: T5's first blocks (12d-T5-init)"},
    )
    latents: ChoiceEnum(LATENTS) = field(  # type: ignore[valid-type]
        default="label",
        metadata={
            "help": "multilabel: one latent per label (Algorithm 2), or a single latent with one head for all labels, "
            "for thousands of labels"
        },
    )
    heads: ChoiceEnum(HEADS) = field(  # type: ignore[valid-type]
        default="label",
        metadata={"help": "multilabel: one projection head per label (Algorithm 2), or one shared by all labels"},
    )
    no_label_interaction: bool = field(
        default=False,
        metadata={"help": "multilabel: no self-attention between latents, so that labels do not depend on each other"},
    )
    dropout: float = field(default=0.1, metadata={"help": "dropout"})
    spelling: bool = field(
        default=False,
        metadata={"help": "words know their spelling, also those that the dictionary lacks; for data in whole words"},
    )
    spelling_buckets: int = field(
        default=32768, metadata={"help": "size of the table for the parts of words, with --spelling"}
    )
    word_dropout: float = field(
        default=0.0, metadata={"help": "with --spelling: share of the words that training shows as unknown ones"}
    )


class EncT5Output(NamedTuple):
    """Logits: classification (n, classes), regression (n,), multilabel (n, requested labels), tagging (words, tags).

    They are in the order of the batch's ``where``; in multilabel, a logit is that of the label's presence.
    """

    logits: Tensor
    encoder_states: Tensor  # (B, S, C)


@dataclass(frozen=True)
class LabelSpec:
    """What the heads predict."""

    kind: str
    classes: int  # number of classes, tags or labels; 1 for regression
    latents: str = "label"
    heads: str = "label"

    @property
    def latent_per_label(self) -> bool:
        return self.kind == "multilabel" and self.latents == "label"


class T5LabelEncoder(nn.Module):
    def __init__(
        self, tokens: nn.Embedding | Spelling, pad: int, shape: T5Shape, layers: int, word_dropout: float = 0.0
    ):
        super().__init__()
        self.pad, self.dropout, self.word_dropout = pad, shape.dropout, word_dropout
        self.tokens = tokens
        self.distances = DistanceBias(shape)
        self.layers = nn.ModuleList(T5Block(shape, look_around=True, look_at_source=False) for _ in range(layers))
        self.norm = Norm(shape.dim)

    def forward(self, tokens: Tensor, segments: Tensor | None, unknown: Unknown | None = None) -> Tensor:
        """(B, S) -> (B, S, C); ``segments`` (B, S) number the examples of a packed row, 0 = padding.

        With --spelling, ``unknown`` are the words of the batch that the dictionary lacks.
        """
        # (B, 1, 1 or S, S), True = may be attended to
        allowed = tokens.ne(self.pad)[:, None, None, :] if segments is None else same(segments, segments)
        bias = self.distances(tokens.size(1)).masked_fill(~allowed, float("-inf"))  # (B, H, S, S)
        x = F.dropout(self.embedded(tokens, unknown), self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, bias)
        return F.dropout(self.norm(x), self.dropout, self.training)

    def embedded(self, tokens: Tensor, unknown: Unknown | None) -> Tensor:
        """(B, S) -> (B, S, C); in training, no word that knows its spelling counts its own occurrence; some, none."""
        if not isinstance(self.tokens, Spelling):
            return self.tokens(tokens)
        held_out = None
        if self.training:
            dropped = torch.rand_like(tokens, dtype=torch.float) < self.word_dropout
            held_out = torch.ones_like(tokens).masked_fill(dropped, EVERY)
        words = self.tokens.vectors(None if unknown is None else Unknown(*unknown))
        return self.tokens.embedding_dim**0.5 * self.tokens.look_up(tokens, words, held_out)


class BertLabelEncoder(BertEncoder):
    def forward(self, tokens: Tensor, segments: Tensor | None, unknown: None = None) -> Tensor:
        """(B, S) -> (B, S, C)"""
        assert segments is None, "positions count from the start of a row, which holds one example"
        return self.states(tokens)


def same(queries: Tensor, keys: Tensor) -> Tensor:
    """(B, T), (B, S) -> (B, 1, T, S), True = may be attended to: equal numbers.

    >>> same(torch.tensor([[1, 2]]), torch.tensor([[1, 1, 2, 0]]))[:, 0].int()
    tensor([[[1, 1, 0, 0],
             [0, 0, 1, 0]]], dtype=torch.int32)
    """
    return queries[:, None, :, None] == keys[:, None, None, :]


class LatentDecoder(nn.Module):
    def __init__(self, shape: T5Shape, layers: int, spec: LabelSpec, interaction: bool):
        super().__init__()
        self.spec, self.dropout = spec, shape.dropout
        self.latents = nn.Embedding(spec.classes if spec.latent_per_label else 1, shape.dim)
        nn.init.normal_(self.latents.weight)
        self.layers = nn.ModuleList(T5Block(shape, interaction, look_at_source=True) for _ in range(layers))
        self.norm = Norm(shape.dim)
        self.interaction = interaction

    def forward(self, latents: Tensor, source: Tensor, around: Tensor | None, across: Tensor) -> Tensor:
        """Ids (B, T) and encoder states (B, S, C) -> (B, T, C)."""
        x = F.dropout(self.latents(latents), self.dropout, self.training)
        for layer in self.layers:
            x = layer(x, around, source, across)
        return F.dropout(self.norm(x), self.dropout, self.training)


class LabelHead(nn.Module):
    """Projections that read the decoder's output; in multilabel, a label's two scores are for absence and presence."""

    def __init__(self, dim: int, spec: LabelSpec):
        super().__init__()
        self.spec = spec
        separate = spec.latent_per_label and spec.heads == "label"
        classes = BINARY if spec.latent_per_label else spec.classes
        number = spec.classes if separate else 1
        self.weight = nn.Parameter(torch.randn(number, classes, dim) * dim**-0.5)
        self.bias = nn.Parameter(torch.zeros(number, classes))

    def forward(self, states: Tensor, labels: Tensor | None) -> Tensor:
        """(n, C) -> logits, of ``labels`` (L,) only; with one latent per label, ``n`` is examples x L."""
        if not self.spec.latent_per_label:
            logits = F.linear(states, self.weight[0], self.bias[0])  # (n, classes)
            if self.spec.kind == "regression":
                return logits[:, 0]
            return logits if labels is None else logits[:, labels]
        assert labels is not None
        states = states.unflatten(0, (-1, labels.numel()))  # (examples, L, C)
        rows = labels if self.weight.size(0) > 1 else torch.zeros_like(labels)
        both = torch.einsum("nlc,lkc->nlk", states, self.weight[rows]) + self.bias[rows]  # (examples, L, 2)
        return both[..., 1] - both[..., 0]  # the logit of the second class in a softmax over two


@register_model("enct5", dataclass=EncT5Config)
class EncT5(BaseFairseqModel):
    def __init__(self, encoder: T5LabelEncoder | BertLabelEncoder, decoder: LatentDecoder, head: LabelHead):
        super().__init__()
        self.encoder, self.decoder, self.head = encoder, decoder, head

    @classmethod
    def build_model(cls, cfg: Any, task: Any) -> "EncT5":
        spec = check_config(cfg, task)
        shape = shape_of(cfg)
        encoder = bert_of(cfg, task) if cfg.encoder == "bert" else t5_of(cfg, task)
        decoder = LatentDecoder(shape, cfg.decoder_layers, spec, interacts(cfg, spec))
        model = cls(encoder, decoder, LabelHead(shape.dim, spec))
        if cfg.backbone is not None:
            load_backbone(model, cfg, task)
            scale_learning_rate(model.encoder.parameters(), cfg.backbone_lr_factor)
        return model

    @property
    def spec(self) -> LabelSpec:
        return self.head.spec

    @property
    def spelling_buckets(self) -> int | None:
        return self.encoder.tokens.buckets if isinstance(self.encoder.tokens, Spelling) else None

    def forward(
        self,
        src_tokens: Tensor,  # (B, S)
        latents: Tensor,  # (B, T) ids
        where: Tensor,  # (n,) indices of the B * T latents that are not padding
        asked: Tensor | None = None,  # (L,) multilabel: the requested labels, in this order for each example
        encoder_segments: Tensor | None = None,  # (B, S) examples of a packed row: 1, 2, ...; 0 = padding
        decoder_segments: Tensor | None = None,  # (B, T) the examples that the latents belong to
        encdec_segments: Tensor | None = None,  # (B, S) words of a row: 1, 2, ...; 0 = none
        latent_encdec_segments: Tensor | None = None,  # (B, T) the words that the latents belong to
        unknown: Unknown | None = None,  # with --spelling: the words of the batch that the dictionary lacks
        **unused: Any,
    ) -> EncT5Output:
        self.require_range()
        states = self.encoder(src_tokens, encoder_segments, unknown)
        keys, queries = (encoder_segments, decoder_segments)
        if encdec_segments is not None:
            keys, queries = encdec_segments, latent_encdec_segments
        if keys is None or queries is None:
            across = src_tokens.ne(self.encoder.pad)[:, None, None, :]  # (B, 1, 1, S)
        else:  # padding latents may attend anywhere: a softmax over nothing is NaN
            across = same(queries, keys) | queries.eq(0)[:, None, :, None]
        around = same(decoder_segments, decoder_segments) if decoder_segments is not None else None
        outputs = self.decoder(latents, states, around, across)  # (B, T, C)
        return EncT5Output(self.head(outputs.flatten(0, 1)[where], asked), states)

    def require_range(self) -> None:
        device = self.head.weight.device.type
        autocast = torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device) == torch.float16
        require(
            self.head.weight.dtype != torch.float16 and not autocast,
            "EncT5 overflows in 16-bit floats (--fp16, --amp): use --bf16 or 32 bits",
        )

    def max_positions(self) -> Any:
        return None  # distances have no maximum

    def load_state_dict(self, state_dict: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        table = "encoder.tokens.weight" if self.spelling_buckets is None else "encoder.tokens.own.weight"
        for name, what, file in (
            (table, "pieces", "dict.txt"),
            ("head.bias", "labels", "labels.txt"),
        ):
            here, there = (tuple(weights[name].shape) for weights in (self.state_dict(), state_dict))
            require(
                here == there,
                f"the checkpoint has {name} of shape {there}, but the {what} of the data require {here}: use the "
                f"folder whose {file} it was trained with",
            )
        return super().load_state_dict(state_dict, *args, **kwargs)


def tokens_of(cfg: Any, task: Any) -> nn.Embedding | Spelling:
    words = task.source_dictionary
    if cfg.spelling:
        return Spelling.of(words, cfg.embed_dim, cfg.spelling_buckets)
    tokens = nn.Embedding(len(words), cfg.embed_dim)
    nn.init.normal_(tokens.weight)
    return tokens


def t5_of(cfg: Any, task: Any) -> T5LabelEncoder:
    pad = task.source_dictionary.pad()
    return T5LabelEncoder(tokens_of(cfg, task), pad, shape_of(cfg), cfg.layers, cfg.word_dropout)


def bert_of(cfg: Any, task: Any) -> BertLabelEncoder:
    words = task.source_dictionary
    rates = {"dropout": cfg.dropout, "attention_dropout": cfg.dropout}
    shape = LayerShape(cfg.embed_dim, cfg.ffn_embed_dim, cfg.attention_heads, activation="gelu", **rates)
    return BertLabelEncoder(len(words), words.pad(), words.bos(), words.eos(), shape, cfg.layers, cfg.positions)


def shape_of(cfg: Any) -> T5Shape:
    return T5Shape(
        dim=cfg.embed_dim,
        ffn_dim=cfg.ffn_embed_dim,
        heads=cfg.attention_heads,
        head_dim=cfg.head_dim,
        feed_forward=cfg.feed_forward,
        buckets=cfg.distance_buckets,
        farthest=cfg.farthest_distance,
        dropout=cfg.dropout,
    )


def interacts(cfg: Any, spec: LabelSpec) -> bool:
    """Whether latents see each other: not if there is only one, or all are the same (tagging with one block)."""
    if spec.latent_per_label:
        return not cfg.no_label_interaction and spec.classes > 1
    return spec.kind == "tagging" and cfg.decoder_layers > 1


def check_config(cfg: Any, task: Any) -> LabelSpec:
    require_task(task, "text_labelling", cfg._name or "enct5")
    ranges.layers(cfg, "layers", "decoder_layers")
    ranges.sizes(cfg, *ranges.WIDTHS, "head_dim", "distance_buckets", "farthest_distance", "positions")
    ranges.dropouts(cfg, "dropout")
    require(
        cfg.feed_forward in FEED_FORWARDS,
        f"--feed-forward must be {' or '.join(FEED_FORWARDS)}, but is {cfg.feed_forward}",
    )
    require(cfg.encoder in ENCODERS, f"--encoder must be {' or '.join(ENCODERS)}, but is {cfg.encoder}")
    ranges.at_least(cfg, 4, "distance_buckets")
    ranges.sizes(cfg, "spelling_buckets")
    ranges.rates(cfg, "word_dropout")
    require(
        cfg.spelling or not cfg.word_dropout, "--word-dropout is for words that know their spelling: add --spelling"
    )
    require(
        not cfg.spelling or cfg.backbone is None,
        "--spelling is for words and cannot be used with --backbone, whose pieces have a table of their own",
    )
    require(
        cfg.farthest_distance > cfg.distance_buckets // 4,
        f"--farthest-distance must be more than a quarter of --distance-buckets, but is {cfg.farthest_distance}",
    )
    check_backbone(cfg, task)
    kind = str(task.cfg.label_kind)
    many = kind == "multilabel" and str(cfg.latents) == "label"
    for flag, given in (
        ("--latents one", str(cfg.latents) != LATENTS[0] and kind != "multilabel"),
        ("--heads shared", str(cfg.heads) != HEADS[0] and not many),
        ("--no-label-interaction", cfg.no_label_interaction and not many),
    ):
        require(not given, f"{flag} requires --label-kind multilabel with one latent per label: leave it out")
    require(
        str(cfg.decoder_init) == "scratch" or cfg.backbone is not None or task.from_checkpoint,
        "--decoder-init backbone requires --backbone",
    )
    classes = 1 if task.labels is None else len(task.labels)
    return LabelSpec(kind, classes, str(cfg.latents), str(cfg.heads))


def check_backbone(cfg: Any, task: Any) -> None:
    ranges.bounded("--backbone-lr-factor", cfg.backbone_lr_factor, above=0)
    if cfg.encoder == "bert":
        require(cfg.backbone is not None or task.from_checkpoint, "--encoder bert requires --backbone: add it")
        ranges.transformer(cfg, "")
        require(not cfg.spelling, "--spelling is for words and cannot be used with a BERT, which reads pieces")
        require(
            task.info.longest < cfg.positions,
            f"the folder has examples of up to {task.info.longest} tokens, but a BERT of {cfg.positions} positions can "
            f"read {cfg.positions - 1}, besides [CLS]: make it again with --longest {cfg.positions - 1}",
        )
    if task.from_checkpoint:
        return
    require(
        cfg.encoder != "bert" or not task.cfg.pack,
        "--pack cannot be used with a BERT, whose positions count from the start of a row: leave it out",
    )
    if cfg.backbone_lr_factor != 1:
        require(cfg.backbone is not None, "--backbone-lr-factor requires --backbone: leave it out")
        require(
            cfg.optimizer in ("scaled_adam", "composite"),
            f"--backbone-lr-factor requires --optimizer scaled_adam, but --optimizer is {cfg.optimizer}",
        )


# ---- sizes and weights of a pre-trained model -----------------------------------------------------------------------


def fill_sizes(cfg: Any) -> None:
    """Set the sizes that the user left out, from --backbone or the defaults, so that checkpoints contain them.

    ``cfg`` may be of an older version, which knew fewer of them.
    """
    folder = None if cfg.backbone is None else require_folder(cfg.backbone, "--backbone")
    fixed = {} if folder is None else backbone_sizes(folder)
    with open_dict(cfg):
        for name, value in {**SIZES, **fixed}.items():
            given = cfg.get(name)
            require(
                name not in fixed or given in (None, value),
                f"{ranges.flag_name(name)} is {given} (set directly or by --arch), but --backbone {folder} has "
                f"{value}: use --arch enct5 and leave out the sizes",
            )
            cfg[name] = value if given is None else given


PRESETS: dict[str, dict[str, int]] = {
    "enct5_tiny": {"embed_dim": 64, "ffn_embed_dim": 128, "layers": 2, "attention_heads": 4, "head_dim": 16},
}

register_presets("enct5", PRESETS)
