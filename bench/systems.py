"""The systems: fairseq's Levenshtein Transformer, ours with the same weights, and a left-to-right Transformer."""

import contextlib
import copy
import io
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from fairseq.criterions.nat_loss import LabelSmoothedDualImitationCriterion
from fairseq.data import Dictionary
from fairseq.iterative_refinement_generator import IterativeRefinementGenerator
from fairseq.models.nat.levenshtein_transformer import LevenshteinTransformerModel, levenshtein_base_architecture
from fairseq.models.transformer import TransformerModel, base_architecture
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation_lev import TranslationLevenshteinConfig, TranslationLevenshteinTask
from torch import Tensor, nn

from lev_plugins.cli.import_levt import convert
from lev_plugins.criterions.dual_policy import DualPolicyConfig, DualPolicyCriterion
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.models.levt import LevT, LevTConfig
from lev_plugins.tasks.text_editing import TextEditingConfig, TextEditingTask

POSITIONS = 256  # the learned position tables; sentences here are much shorter
LABEL_SMOOTHING = 0.1


@dataclass(frozen=True)
class Size:
    """The size of a Transformer: channels, feed-forward channels, heads, blocks per side, words."""

    dim: int
    ffn_dim: int
    heads: int
    layers: int
    words: int


@dataclass
class Weights:
    """A trained ``levenshtein_transformer`` with the settings needed to rebuild it."""

    options: dict[str, Any]
    state: dict[str, Tensor]
    source: Dictionary
    target: Dictionary


@dataclass
class System:
    """One side of a comparison."""

    task: Any
    model: nn.Module
    criterion: Any


def levt_options(size: Size) -> dict[str, Any]:
    """The settings of fairseq's own recipe for the Levenshtein Transformer, at this size, with pre-norm."""
    options = Namespace(
        **transformer_options(size),
        arch="levenshtein_transformer",
        early_exit=",".join([str(size.layers)] * 3),
        encoder_normalize_before=True,
        decoder_normalize_before=True,
        encoder_learned_pos=True,
        decoder_learned_pos=True,
    )
    levenshtein_base_architecture(options)
    return vars(options)


def transformer_options(size: Size) -> dict[str, Any]:
    widths = {"embed_dim": size.dim, "ffn_embed_dim": size.ffn_dim, "attention_heads": size.heads}
    both = {f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in widths.items()}
    return both | {
        "encoder_layers": size.layers,
        "decoder_layers": size.layers,
        "share_all_embeddings": True,
        "dropout": 0.1,
        "label_smoothing": LABEL_SMOOTHING,
        "max_source_positions": POSITIONS,
        "max_target_positions": POSITIONS,
    }


def theirs(weights: Weights) -> System:
    """fairseq's model, task and loss."""
    cfg = TranslationLevenshteinConfig(data="", source_lang="source", target_lang="target")
    task = TranslationLevenshteinTask(cfg, weights.source, weights.target)
    model = LevenshteinTransformerModel.build_model(Namespace(**weights.options), task)
    if weights.state:
        model.load_state_dict(weights.state)
    return System(task, model, LabelSmoothedDualImitationCriterion(task, LABEL_SMOOTHING))


def ours(weights: Weights) -> System:
    """This package's, with the weights imported as ``lev-plugins import-levt`` does."""
    imported = convert({"args": None, "cfg": {"model": weights.options, "task": {}}, "model": weights.state})
    known = LevTConfig.__dataclass_fields__
    cfg = LevTConfig(**{key: value for key, value in imported["cfg"]["model"].items() if key in known})
    task = TextEditingTask(
        TextEditingConfig(data="", source_lang="source", target_lang="target"), weights.source, weights.target
    )
    model = LevT.build_model(cfg, task)
    model.load_state_dict(imported["model"])
    return System(task, model, DualPolicyCriterion(DualPolicyConfig(label_smoothing=LABEL_SMOOTHING), task))


def autoregressive(weights: Weights) -> nn.Module:
    """fairseq's ``transformer`` of the same size, untrained: its output has a fixed length, see ``decoding``."""
    options = Namespace(**{**weights.options, "arch": "transformer"})
    base_architecture(options)
    task = TranslationLevenshteinTask(TranslationLevenshteinConfig(data=""), weights.source, weights.target)
    return TransformerModel.build_model(options, task)


def for_decoding(model: nn.Module, device: torch.device) -> nn.Module:
    """A copy prepared as ``fairseq-generate`` prepares a model."""
    prepared: Any = copy.deepcopy(model).to(device).eval()
    prepared.make_generation_fast_(beamable_mm_beam_size=None, need_attn=False)
    return prepared


def their_generator(dictionary: Dictionary) -> IterativeRefinementGenerator:
    return IterativeRefinementGenerator(dictionary)


def our_generator(model: nn.Module, dictionary: Dictionary) -> RefinementGenerator:
    """As the task builds it where nothing is trained."""
    return RefinementGenerator([model], dictionary, RefinementOptions(trained_later=False))


def left_to_right(model: nn.Module, dictionary: Dictionary, beam: int) -> SequenceGenerator:
    return SequenceGenerator([model], dictionary, beam_size=beam)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Discards the line that fairseq prints for each labelled batch, because printing must not be measured."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield
