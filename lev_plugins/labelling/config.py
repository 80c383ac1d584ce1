"""The flags of EncT5, the sizes that a pre-trained model sets, and the combinations that are refused."""

import json
from argparse import Namespace
from contextlib import nullcontext
from dataclasses import dataclass, fields
from typing import Optional

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.tasks import FairseqTask
from omegaconf import DictConfig, open_dict

from lev_plugins.nn.scaled_adam import check_learning_rate
from lev_plugins.nn.t5 import FEED_FORWARDS
from lev_plugins.pretrained.weights import backbone_sizes
from lev_plugins.text.pretrained import imported_folder, longest_text
from lev_plugins.training.requirements import BUCKETS, require_task
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

LATENTS = ["label", "one"]
LABEL_HEADS = ["label", "shared"]
INITS = ["scratch", "backbone"]
POOLS = ["no", "cls", "mean"]


@dataclass
class EncT5Config(FairseqDataclass):
    backbone: Optional[str] = flag(
        None,
        "folder made by lev-plugins import-pretrained, of any type, which provides the encoder and all sizes; needed "
        "only to start training",
    )
    backbone_lr_factor: float = flag(
        1.0,
        "learning rate of the pre-trained encoder, as a multiple of --lr, which applies to the decoder; requires "
        "--optimizer scaled_adam",
    )
    # sizes; usual: where neither --backbone nor the user sets it, that of T5 1.1 "small"
    encoder: Optional[str] = flag(None, "t5, or with --backbone, the type of its encoder", usual="t5")
    encoder_config: Optional[str] = flag(
        None, "configuration of an encoder that is neither a T5 nor a BERT, as JSON; set by --backbone", usual=None
    )
    embed_dim: Optional[int] = flag(None, "width (without --backbone: 512)", usual=512)
    ffn_embed_dim: Optional[int] = flag(None, "feed-forward width (1024)", usual=1024)
    layers: Optional[int] = flag(None, "blocks of the encoder (8)", usual=8)
    attention_heads: Optional[int] = flag(None, "attention heads (6)", usual=6)
    head_dim: Optional[int] = flag(None, "width of an attention head (64)", usual=64)
    feed_forward: Optional[str] = flag(
        None, "relu (T5) or gated-gelu (T5 1.1, mT5, ByT5) (gated-gelu)", usual="gated-gelu"
    )
    distance_buckets: Optional[int] = flag(None, "number of classes for the distance between two pieces (32)", usual=32)
    farthest_distance: Optional[int] = flag(None, "distances from this one on share a class (128)", usual=128)
    positions: Optional[int] = flag(None, "positions of a BERT (512)", usual=512)
    decoder_layers: int = flag(1, "decoder blocks (Table 4: 1d, 12d)")
    decoder_init: ChoiceEnum(INITS) = flag(  # type: ignore[valid-type]
        "scratch", "initialisation of the decoder blocks; backbone: T5's first blocks (12d-T5-init)"
    )
    pool: ChoiceEnum(POOLS) = flag(  # type: ignore[valid-type]
        "no",
        "no decoder: the heads read the state of a BERT's [CLS], or the mean of the encoder's states (in tagging, of "
        "those of a word)",
    )
    latents: ChoiceEnum(LATENTS) = flag(  # type: ignore[valid-type]
        "label",
        "multilabel: one latent per label (Algorithm 2), or a single latent with one head for all labels, for "
        "thousands of labels",
    )
    heads: ChoiceEnum(LABEL_HEADS) = flag(  # type: ignore[valid-type]
        "label", "multilabel: one projection head per label (Algorithm 2), or one shared by all labels"
    )
    no_label_interaction: bool = flag(
        False, "multilabel: no self-attention between latents, so that labels do not depend on each other"
    )
    dropout: float = flag(0.1, "dropout")
    spelling: bool = flag(
        False, "make word vectors of letter groups, also for words that the dictionary lacks; for data in whole words"
    )
    spelling_buckets: int = flag(BUCKETS, "with --spelling: size of the hash table for letter n-grams")
    word_dropout: float = flag(0.0, "with --spelling: share of the words that training shows as unknown ones")


USUAL_SIZES = {size.name: size.metadata["usual"] for size in fields(EncT5Config) if "usual" in size.metadata}


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


def check_enct5_config(cfg: EncT5Config, task: FairseqTask) -> LabelSpec:
    require_task(task, "text_labelling", cfg._name or "enct5")
    ranges.check_ranges(cfg)
    require(
        cfg.feed_forward in FEED_FORWARDS,
        f"--feed-forward must be {' or '.join(FEED_FORWARDS)}, but is {cfg.feed_forward}",
    )
    advice = "; distances below a quarter of --distance-buckets have a class each"
    ranges.bounded("--farthest-distance", cfg.farthest_distance, above=(cfg.distance_buckets or 0) // 4, advice=advice)
    own_t5 = cfg.encoder == "t5" and cfg.encoder_config is None  # the library reads other T5s, such as UL2
    check_learning_rate(cfg)
    require(cfg.spelling or not cfg.word_dropout, "--word-dropout is for spelling-aware words: add --spelling")
    require(
        not cfg.spelling or (cfg.backbone is None and own_t5),
        "--spelling is for words and cannot be used with --backbone, whose pieces have a table of their own",
    )
    if not own_t5:
        require(
            cfg.backbone is not None or task.from_checkpoint, f"--encoder {cfg.encoder} requires --backbone: add it"
        )
        require(
            task.from_checkpoint or not task.cfg.pack,
            f"--pack requires a T5 with {' or '.join(FEED_FORWARDS)}: leave it out",
        )
        longest = longest_text(cfg.backbone)
        require(
            longest is None or task.info.longest <= longest,
            f"the folder has examples of up to {task.info.longest} tokens, but --backbone {cfg.backbone} reads "
            f"{longest}: make it again with --longest {longest}",
        )
    kind, pool = str(task.cfg.label_kind), str(cfg.pool)
    library = cfg.encoder_config and json.loads(cfg.encoder_config)  # import-pretrained has looked at the tokenizer
    has_cls = library["bos_token_id"] is not None if library else cfg.encoder == "bert"
    require(
        pool != "cls" or task.from_checkpoint or (has_cls and kind != "tagging"),
        "--pool cls is for whole texts, read by an encoder that puts a symbol in front, such as BERT: choose mean",
    )
    for name, used in (
        ("--decoder-init", str(cfg.decoder_init) != "scratch"),
        ("--decoder-layers", cfg.decoder_layers != 1),
        ("--no-label-interaction", cfg.no_label_interaction),
    ):
        require(pool == "no" or task.from_checkpoint or not used, f"--pool leaves no decoder for {name}: leave one out")
    latent_per_label = kind == "multilabel" and str(cfg.latents) == "label"
    for name, conflict in (
        ("--latents one", str(cfg.latents) == "one" and kind != "multilabel"),
        ("--heads shared", str(cfg.heads) == "shared" and not latent_per_label),
        ("--no-label-interaction", cfg.no_label_interaction and not latent_per_label),
    ):
        require(not conflict, f"{name} requires --label-kind multilabel with one latent per label: leave it out")
    require(
        str(cfg.decoder_init) == "scratch" or cfg.backbone is not None or task.from_checkpoint,
        "--decoder-init backbone requires --backbone",
    )
    classes = 1 if task.labels is None else len(task.labels)
    return LabelSpec(kind, classes, str(cfg.latents), str(cfg.heads))


def fill_sizes(cfg: EncT5Config | Namespace) -> None:
    """Sets the sizes that the user left out, from --backbone or the defaults, so that checkpoints contain them.

    ``cfg`` may be of an older version, which lacks some of them.
    """
    folder = None if cfg.backbone is None else imported_folder(cfg.backbone, "--backbone")
    fixed = {} if folder is None else backbone_sizes(folder)
    with open_dict(cfg) if isinstance(cfg, DictConfig) else nullcontext():  # a preset's is a Namespace
        for name, value in {**USUAL_SIZES, **fixed}.items():
            flag_value = getattr(cfg, name, None)
            require(
                name not in fixed or flag_value in (None, value),
                f"{ranges.flag_name(name)} is {flag_value} (set directly or by --arch), but --backbone {folder} has "
                f"{value}: use --arch enct5 and leave out the sizes",
            )
            setattr(cfg, name, value if flag_value is None else flag_value)
