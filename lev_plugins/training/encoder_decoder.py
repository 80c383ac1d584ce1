"""The flags of the encoder-decoders that are trained from scratch, and the parts that follow from them."""

from dataclasses import dataclass
from typing import TypeVar

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.tasks import FairseqTask
from fairseq.utils import get_available_activation_fns
from omegaconf import II
from torch import nn

from lev_plugins.nn.transformer import LayerShape, TokenEmbedding, token_embedding
from lev_plugins.training.requirements import require_one_dictionary
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

SIDES = ("encoder", "decoder")
Table = TypeVar("Table", bound=TokenEmbedding)


@dataclass
class TransformerSizes(FairseqDataclass):
    """Flags that apply to both sides of any of these models."""

    activation_fn: ChoiceEnum(get_available_activation_fns()) = flag("relu", "activation in the feed-forward layers")  # type: ignore[valid-type]
    dropout: float = flag(0.1, "dropout")
    attention_dropout: float = flag(0.0, "dropout of attention weights")
    activation_dropout: float = flag(0.0, "dropout after the activation")
    share_all_embeddings: bool = flag(False, "one table for source, target and output (needs a joined dictionary)")
    share_decoder_input_output_embed: bool = flag(False, "one table for target input and output")
    no_scale_embedding: bool = flag(False, "do not scale embeddings by sqrt(width)")
    max_source_positions: int = II("task.max_source_positions")
    max_target_positions: int = II("task.max_target_positions")


@dataclass
class EncoderDecoderConfig(TransformerSizes):
    encoder_embed_dim: int = flag(512, "encoder width")
    encoder_ffn_embed_dim: int = flag(2048, "encoder feed-forward width")
    encoder_layers: int = flag(6, "encoder blocks")
    encoder_attention_heads: int = flag(8, "encoder attention heads")
    encoder_normalize_before: bool = flag(False, "pre-norm in the encoder")
    encoder_learned_pos: bool = flag(False, "learned positions in the encoder")
    decoder_embed_dim: int = flag(512, "decoder width")
    decoder_ffn_embed_dim: int = flag(2048, "decoder feed-forward width")
    decoder_layers: int = flag(6, "decoder blocks")
    decoder_attention_heads: int = flag(8, "decoder attention heads")
    decoder_normalize_before: bool = flag(False, "pre-norm in the decoder")
    decoder_learned_pos: bool = flag(False, "learned positions in the decoder")


def both_sides(**sizes: int) -> dict[str, int]:
    """Returns the flags that set sizes of encoder and decoder.

    >>> both_sides(layers=2)
    {'encoder_layers': 2, 'decoder_layers': 2}
    """
    return {f"{side}_{name}": size for side in SIDES for name, size in sizes.items()}


def layer_shape(cfg: TransformerSizes, side: str = "") -> LayerShape:
    """Returns the sizes of the blocks on one ``side`` of an ``EncoderDecoderConfig``, or on both of a ``PBDConfig``."""
    prefix = f"{side}_" if side else ""
    return LayerShape(
        dim=getattr(cfg, f"{prefix}embed_dim"),
        ffn_dim=getattr(cfg, f"{prefix}ffn_embed_dim"),
        heads=getattr(cfg, f"{prefix}attention_heads"),
        pre_norm=getattr(cfg, f"{prefix}normalize_before"),
        activation=str(cfg.activation_fn),
        dropout=cfg.dropout,
        attention_dropout=cfg.attention_dropout,
        activation_dropout=cfg.activation_dropout,
    )


def source_table(cfg: EncoderDecoderConfig, task: FairseqTask, target_table: Table) -> Table | nn.Embedding:
    """Returns the table of the target with --share-all-embeddings, otherwise a new one for the source."""
    if cfg.share_all_embeddings:
        require_one_dictionary(task, "--share-all-embeddings", "leave the flag out")
        return target_table
    return token_embedding(len(task.source_dictionary), cfg.encoder_embed_dim, task.source_dictionary.pad())


def check_sizes(cfg: EncoderDecoderConfig) -> None:
    ranges.check_ranges(cfg)
    if cfg.share_all_embeddings:
        require_equal_widths(cfg, "--share-all-embeddings")


def require_equal_widths(cfg: EncoderDecoderConfig, reason: str) -> None:
    require(
        cfg.encoder_embed_dim == cfg.decoder_embed_dim,
        f"{reason} requires equal --encoder-embed-dim and --decoder-embed-dim, but they are "
        f"{cfg.encoder_embed_dim} and {cfg.decoder_embed_dim}",
    )
