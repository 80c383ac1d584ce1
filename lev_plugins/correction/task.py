"""``--task text_correction``: noisy -> clean text, left to right."""

from argparse import Namespace
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import torch
from fairseq.criterions import FairseqCriterion
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel, FairseqEncoderDecoderModel
from fairseq.models.nat import FairseqNATModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks import register_task
from torch import Tensor

from lev_plugins.correction.copy_bias import CopyBiasEnsemble, SourceInTargetIds, with_edit_confidence
from lev_plugins.training.batch import Batch, Hypothesis
from lev_plugins.training.batching import KeepLastBatch
from lev_plugins.training.noisy import NoiseConfig, check_noise, noise_and_codec
from lev_plugins.training.pairs import ScoredConfig, ScoredTask
from lev_plugins.training.search import check_left_to_right, option, refuse, registered_name
from lev_plugins.training.tokenise import row_of
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

CORRECTION_CRITERIONS = ["label_smoothed_cross_entropy", "cross_entropy", "label_smoothed_cross_entropy_with_rdrop"]
# the first and the last use generators that cannot add the bias or reject an edit; the second requires the first
NOT_WITH_CAUTION = ("print_alignment", "replace_unk", "score_reference")


@dataclass
class TextCorrectionConfig(NoiseConfig, ScoredConfig):
    eval_exact_match: bool = flag(
        False, "validation: decode and log `exact_match`, the percentage of lines without errors"
    )
    eval_wrr: bool = flag(False, "validation: decode and log `wrr`, the percentage of words recognised")
    keep_bias: float = flag(
        0.0,
        "decoding: at every step, add this to the log-odds of the tokens that leave the rest of the source unchanged "
        "(negative: edit more); H- and P- lines show the changed log-probabilities",
    )
    min_edit_confidence: Optional[float] = flag(
        None,
        "decoding: print the source instead of the best hypothesis h if p(h) / (p(h) + p(source)) is less than this, "
        "in [0, 1]; 0.5: the edit must be more likely than the source",
    )


def with_room_for_the_source(search: GenerationConfig | Namespace) -> GenerationConfig | Namespace:
    """Sets --max-len-a to 1 if --max-len-a and --max-len-b both have fairseq's defaults, 0 and 200.

    These would truncate long texts. Flags that are set to the same values cannot be told from the defaults.

    >>> from argparse import Namespace
    >>> vars(with_room_for_the_source(Namespace(beam=5)))
    {'beam': 5, 'max_len_a': 1, 'max_len_b': 200}
    >>> vars(with_room_for_the_source(Namespace(max_len_b=20)))
    {'max_len_b': 20}
    """
    if option(search, "max_len_a") == 0 and option(search, "max_len_b") == 200:
        search = copy(search)
        search.max_len_a, search.max_len_b = 1, 200
    return search


@register_task("text_correction", dataclass=TextCorrectionConfig)
class TextCorrectionTask(ScoredTask):
    """fairseq's translation task from noisy to clean text.

    During training, validation decodes as ``fairseq-generate`` does, once for all of --eval-exact-match, --eval-wrr,
    --eval-bleu and --eval-metrics, with the search flags in --eval-bleu-args.
    """

    cfg: TextCorrectionConfig
    name = "text_correction"

    @classmethod
    def check_config(cls, cfg: TextCorrectionConfig) -> None:
        super().check_config(cfg)
        check_noise(cfg)

    def score_names(self) -> list[str]:
        selected = {"exact_match": self.cfg.eval_exact_match, "wrr": self.cfg.eval_wrr}
        return [*(name for name, on in selected.items() if on), *super().score_names()]

    @cached_property
    def source_in_target_ids(self) -> SourceInTargetIds:
        return SourceInTargetIds(self.source_dictionary, self.target_dictionary)

    def build_model(self, cfg: FairseqDataclass | Namespace, from_checkpoint: bool = False) -> BaseFairseqModel:
        ranges.check_ranges(cfg)  # for fairseq's own architectures
        model = super().build_model(cfg, from_checkpoint)
        require(
            isinstance(model, FairseqEncoderDecoderModel) and not isinstance(model, FairseqNATModel),
            "--task text_correction requires a left-to-right encoder-decoder, such as --arch pbd or transformer, but "
            f"--arch is {registered_name(cfg, 'arch') or type(model).__name__}",
        )
        return model

    def build_criterion(self, cfg: FairseqDataclass | Namespace, **options: object) -> FairseqCriterion:
        self.require_criterion(cfg, CORRECTION_CRITERIONS)
        return super().build_criterion(cfg, **options)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object) -> None:
        ranges.bounded("the epoch in the checkpoint", epoch, 1)
        self.cfg.upsample_primary = max(1, self.cfg.upsample_primary)  # fairseq cannot join parts with its default, -1
        super().load_dataset(split, epoch, combine, **kwargs)
        pair = self.datasets[split]
        if self.cfg.noise_kind is not None and split == self.cfg.train_subset:
            pair, _ = noise_and_codec(pair, self.cfg, self.source_dictionary, self.target_dictionary)
        self.datasets[split] = KeepLastBatch(pair)

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[Tensor], list[int]]:
        """Encodes typed lines; unlike fairseq's method, reads text that looks like a symbol (</s>) as <unk>."""
        rows = [torch.tensor(row_of(encode_fn(line).split(), self.source_dictionary)) for line in lines]
        return rows, [len(row) for row in rows]

    def build_generator(
        self, models: list[BaseFairseqModel], args: GenerationConfig | Namespace, *more: object, **options: object
    ) -> SequenceGenerator:
        args = with_room_for_the_source(args)
        check_left_to_right(models, args, type(models[0]).__name__)
        if self.cfg.keep_bias or self.cfg.min_edit_confidence is not None:
            reason = "does not work with --keep-bias or --min-edit-confidence"
            refuse(args, NOT_WITH_CAUTION, GenerationConfig, reason, "leave one out")
        require(
            option(args, "replace_unk") in (None, False) or bool(option(args, "print_alignment")),
            "--replace-unk takes source words from the alignment: add --print-alignment, and pass '' or a file of "
            "replacements to --replace-unk; with a pbd, which has no alignment, leave it out",
        )
        self.prepare_for_decoding(models)
        if self.cfg.keep_bias:
            models = CopyBiasEnsemble(models, self.cfg.keep_bias, self.source_in_target_ids)
        return super().build_generator(models, args, *more, **options)

    def inference_step(
        self,
        generator: SequenceGenerator,
        models: list[BaseFairseqModel],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Decodes a batch; with --min-edit-confidence, the first hypothesis has the ``confidence`` of the best edit.

        A threshold of 0 rejects nothing: a sweep over thresholds decodes once with it, then replaces each hypothesis
        of lower confidence by the source.
        """
        results = super().inference_step(generator, models, sample, prefix_tokens, constraints)
        min_confidence = self.cfg.min_edit_confidence
        if min_confidence is None:
            return results
        with torch.no_grad():
            return with_edit_confidence(models, sample, results, self.source_in_target_ids, min_confidence)
