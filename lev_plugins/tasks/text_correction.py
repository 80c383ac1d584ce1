"""``--task text_correction``: noisy -> clean text, left to right."""

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional

import torch
from fairseq import utils
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.models.nat import FairseqNATModel
from fairseq.sequence_scorer import SequenceScorer
from fairseq.tasks import register_task

from lev_plugins import ranges
from lev_plugins.data.noise_flags import NoiseConfig, check_noise, with_noise
from lev_plugins.errors import require
from lev_plugins.fairseq_fixes.batching import EverySentence
from lev_plugins.generators.keeping import Copier, KeepingEnsemble, cautious, edit_confidences
from lev_plugins.tasks.pairs import refuse
from lev_plugins.tasks.search import check_left_to_right
from lev_plugins.tasks.validation import ScoredConfig, ScoredTask

CRITERIONS = ["label_smoothed_cross_entropy", "cross_entropy", "label_smoothed_cross_entropy_with_rdrop"]
NOT_WITH_THE_DIAL = ("print_alignment", "replace_unk", "score_reference")


@dataclass
class TextCorrectionConfig(NoiseConfig, ScoredConfig):
    eval_exact_match: bool = field(
        default=False,
        metadata={"help": "validation: decode and log `exact_match`, the per cent of lines without error"},
    )
    eval_wrr: bool = field(
        default=False, metadata={"help": "validation: decode, and log as `wrr` the per cent of words recognised"}
    )
    keep_bias: float = field(
        default=0.0,
        metadata={
            "help": "decoding: at every step, add this to the log-odds of the tokens that come next if the rest of the "
            "source is left as it is (negative: edit more); H- and P- lines have the changed log-probabilities"
        },
    )
    min_edit_confidence: Optional[float] = field(
        default=None,
        metadata={
            "help": "decoding: print the source in place of the best hypothesis h where p(h) / (p(h) + p(source)) is "
            "less than this, in [0, 1]; 0.5: the edit must be likelier than the source"
        },
    )


def with_room_for_the_source(search: Any) -> Any:
    """fairseq's 0 and 200 for --max-len-a and --max-len-b would cut off the end of a long text: it becomes 1 and 200.

    >>> from argparse import Namespace
    >>> vars(with_room_for_the_source(Namespace(beam=5)))
    {'beam': 5, 'max_len_a': 1, 'max_len_b': 200}
    >>> vars(with_room_for_the_source(Namespace(max_len_b=20)))
    {'max_len_b': 20}
    """
    if getattr(search, "max_len_a", 0) == 0 and getattr(search, "max_len_b", 200) == 200:
        search = copy(search)
        search.max_len_a, search.max_len_b = 1, 200
    return search


def needs_constraints(generator: Any) -> bool:
    return getattr(getattr(generator, "search", None), "supports_constraints", False)


@register_task("text_correction", dataclass=TextCorrectionConfig)
class TextCorrectionTask(ScoredTask):
    """fairseq's translation task from noisy to clean text.

    During training, validation decodes freely as ``fairseq-generate`` would: whichever of --eval-exact-match,
    --eval-wrr, --eval-bleu and --eval-metrics are given share one pass of the search that --eval-bleu-args describes.
    """

    cfg: TextCorrectionConfig
    name = "text_correction"

    @classmethod
    def check_config(cls, cfg: TextCorrectionConfig) -> None:
        super().check_config(cfg)
        ranges.bounded("--keep-bias", cfg.keep_bias, -ranges.MOST_LOG_ODDS, ranges.MOST_LOG_ODDS)
        ranges.rates(cfg, "min_edit_confidence")
        check_noise(cfg)

    def score_names(self) -> list[str]:
        asked = {"exact_match": self.cfg.eval_exact_match, "wrr": self.cfg.eval_wrr}
        return [*(name for name, wanted in asked.items() if wanted), *super().score_names()]

    @cached_property
    def copier(self) -> Copier:
        return Copier(self.source_dictionary, self.target_dictionary)

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        # of fairseq's own architectures; those with attention count their layers
        ranges.transformer(cfg, *(side for side in ("encoder_", "decoder_") if hasattr(cfg, f"{side}attention_heads")))
        model = super().build_model(cfg, from_checkpoint)
        require(
            isinstance(model, FairseqEncoderDecoderModel) and not isinstance(model, FairseqNATModel),
            "--task text_correction takes an encoder-decoder that writes from left to right, such as --arch pbd or "
            f"transformer, but --arch is {getattr(cfg, '_name', None) or getattr(cfg, 'arch', type(model).__name__)}",
        )
        return model

    def build_criterion(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        self.require_criterion(cfg, CRITERIONS)
        return super().build_criterion(cfg, from_checkpoint)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs: Any) -> None:
        ranges.bounded("the epoch in the checkpoint", epoch, 1)
        super().load_dataset(split, epoch, combine, **kwargs)
        pair = self.datasets[split]
        if self.cfg.noise_kind is not None and split == self.cfg.train_subset:
            pair = with_noise(pair, self.cfg, self.source_dictionary, self.target_dictionary)
        self.datasets[split] = EverySentence(pair)

    def build_generator(self, models: list[Any], args: Any, *options: Any, **named: Any) -> Any:
        args = with_room_for_the_source(args)
        check_left_to_right(models, args, type(models[0]).__name__, len(self.target_dictionary))
        if self.cfg.keep_bias or self.cfg.min_edit_confidence is not None:
            reason = "does not go with --keep-bias or --min-edit-confidence"
            refuse(args, NOT_WITH_THE_DIAL, GenerationConfig, reason, "leave one out")
        if self.cfg.min_edit_confidence is not None:
            source, target = utils.resolve_max_positions(
                self.max_positions(), *(each.max_positions() for each in models)
            )
            require(
                source <= target,
                "--min-edit-confidence scores every source as a target, but sources may have "
                f"{source} tokens and targets {target}: train with equal --max-source- and --max-target-positions",
            )
        require(
            getattr(args, "replace_unk", None) in (None, False) or bool(getattr(args, "print_alignment", None)),
            "--replace-unk reads from the alignment which source word to take: add --print-alignment where the model "
            "keeps alignments, and '' or a file of replacements to --replace-unk; a pbd keeps none: leave it out there",
        )
        ensemble = KeepingEnsemble(models, self.cfg.keep_bias, self.copier) if self.cfg.keep_bias else models
        return super().build_generator(ensemble, args, *options, **named)

    def inference_step(self, generator: Any, models: list[Any], sample: dict[str, Any], **options: Any) -> Any:
        """As fairseq's; with --min-edit-confidence, the best hypothesis of each sentence has its ``confidence``.

        With a threshold of 0 nothing is rejected: a sweep over thresholds decodes once so, and puts the source in the
        place of each hypothesis whose confidence is below.
        """
        require(
            options.get("constraints") is not None or not needs_constraints(generator),
            "--constraints are read behind a TAB from the lines of fairseq-interactive: leave it out here",
        )
        require(
            sample.get("target") is not None or not isinstance(generator, SequenceScorer),
            "--score-reference needs references, which fairseq-generate reads from its data: leave it out here",
        )
        found = super().inference_step(generator, models, sample, **options)
        least = self.cfg.min_edit_confidence
        if least is None:
            return found
        best = [hypotheses[0]["tokens"] for hypotheses in found]
        with torch.no_grad():
            judged = edit_confidences(models, sample, best, self.copier)
        return [cautious(hypotheses, confidence, least) for hypotheses, confidence in zip(found, judged, strict=True)]
