"""``--task text_correction``: noisy -> clean text, left to right."""

import json
import math
from argparse import Namespace
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Optional

import torch
from fairseq import utils
from fairseq.data import encoders
from fairseq.logging import metrics
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig
from torch import Tensor

from lev_plugins.data.batching import EverySentence
from lev_plugins.errors import UserError, require
from lev_plugins.generators.keeping import Copier, KeepingEnsemble, cautious, edit_confidences
from lev_plugins.scoring.wrr import recognised_words
from lev_plugins.tasks.pairs import PairTask

CRITERIONS = ["label_smoothed_cross_entropy", "cross_entropy", "label_smoothed_cross_entropy_with_rdrop"]


EXAMPLE = '{"beam": 5}'


@dataclass
class TextCorrectionConfig(TranslationConfig):
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


class DecodedOnce:
    """A generator that decodes a batch once, however many scores ask for it."""

    def __init__(self, generator: Any):
        self.generator = generator
        self.sample: Any = None
        self.hypotheses: Any = None

    def generate(self, models: Any, sample: dict[str, Any], **options: Any) -> Any:
        if sample is not self.sample:
            self.hypotheses = self.generator.generate(models, sample, **options)
            self.sample = sample
        return self.hypotheses


@register_task("text_correction", dataclass=TextCorrectionConfig)
class TextCorrectionTask(PairTask):
    """fairseq's translation task from noisy to clean text.

    During training, validation decodes freely as ``fairseq-generate`` would: whichever of --eval-exact-match,
    --eval-wrr and --eval-bleu are given share one pass of the search that --eval-bleu-args describes.
    """

    cfg: TextCorrectionConfig
    name = "text_correction"

    @classmethod
    def check_config(cls, cfg: TextCorrectionConfig) -> None:
        super().check_config(cfg)
        require(math.isfinite(cfg.keep_bias), f"--keep-bias must be a finite number, but is {cfg.keep_bias}")
        least = cfg.min_edit_confidence
        require(
            least is None or 0 <= least <= 1,
            f"--min-edit-confidence must be between 0 and 1, but is {least}",
        )
        for name in ("eval_bleu_args", "eval_bleu_detok_args"):
            try:
                json.loads(getattr(cfg, name))
            except json.JSONDecodeError as error:
                raise UserError(
                    f"--{name.replace('_', '-')} must be JSON, as in {EXAMPLE}, but is {getattr(cfg, name)}"
                ) from error

    @cached_property
    def copier(self) -> Copier:
        return Copier(self.source_dictionary, self.target_dictionary)

    def build_model(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        model = super().build_model(cfg, from_checkpoint)
        require(
            isinstance(model, FairseqEncoderDecoderModel),
            "--task text_correction takes an encoder-decoder that writes from left to right, such as --arch pbd or "
            f"transformer, but --arch is {getattr(cfg, '_name', None) or getattr(cfg, 'arch', type(model).__name__)}",
        )
        if self.cfg.eval_bleu or self.cfg.eval_exact_match or self.cfg.eval_wrr:
            detokenizer = json.loads(self.cfg.eval_bleu_detok_args)
            self.tokenizer = encoders.build_tokenizer(Namespace(tokenizer=self.cfg.eval_bleu_detok, **detokenizer))
            search = Namespace(**json.loads(self.cfg.eval_bleu_args))
            self.sequence_generator = DecodedOnce(self.build_generator([model], search))
        return model

    def build_criterion(self, cfg: Any, from_checkpoint: bool = False) -> Any:
        self.require_criterion(cfg, CRITERIONS)
        return super().build_criterion(cfg, from_checkpoint)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs: Any) -> None:
        super().load_dataset(split, epoch, combine, **kwargs)
        self.datasets[split] = EverySentence(self.datasets[split])

    def valid_step(self, sample: dict[str, Any], model: Any, criterion: Any) -> tuple[Any, Any, dict[str, Any]]:
        loss, sample_size, log = super().valid_step(sample, model, criterion)
        if not (self.cfg.eval_exact_match or self.cfg.eval_wrr):
            return loss, sample_size, log
        hypotheses = self.inference_step(self.sequence_generator, [model], sample)
        texts = [self._text(found[0]["tokens"]) for found in hypotheses]
        pad = self.target_dictionary.pad()
        # an unknown word of a reference matches nothing
        references = [self._text(utils.strip_pad(row, pad), escape_unk=True) for row in sample["target"]]
        words = [recognised_words(one.split(), other.split()) for one, other in zip(references, texts, strict=True)]
        counts = {
            "_lines": len(texts),
            "_lines_matched": sum(one == other for one, other in zip(references, texts, strict=True)),
            "_words": sum(len(line) for line in words),
            "_words_recognised": sum(sum(line) for line in words),
        }
        return loss, sample_size, {**log, **counts}

    def _text(self, tokens: Tensor, escape_unk: bool = False) -> str:
        text = self.target_dictionary.string(tokens.int().cpu(), self.cfg.eval_bleu_remove_bpe, escape_unk)
        return self.tokenizer.decode(text) if self.tokenizer else text

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        super().reduce_metrics(logging_outputs, criterion)
        for wanted, score, part, whole in (
            (self.cfg.eval_exact_match, "exact_match", "_lines_matched", "_lines"),
            (self.cfg.eval_wrr, "wrr", "_words_recognised", "_words"),
        ):
            logs = [log for log in logging_outputs if whole in log]
            if wanted and logs:
                total = sum(int(log[whole]) for log in logs)
                right = sum(int(log[part]) for log in logs)
                metrics.log_scalar(score, 100 * right / max(total, 1), total, round=3)

    def build_generator(self, models: list[Any], args: Any, *options: Any, **named: Any) -> Any:
        cautious = self.cfg.keep_bias or self.cfg.min_edit_confidence is not None
        for flag in ("print_alignment", "score_reference") if cautious else ():
            require(
                not getattr(args, flag, False),
                f"--{flag.replace('_', '-')} does not go with --keep-bias or --min-edit-confidence: leave one out",
            )
        ensemble = KeepingEnsemble(models, self.cfg.keep_bias, self.copier) if self.cfg.keep_bias else models
        return super().build_generator(ensemble, args, *options, **named)

    def inference_step(self, generator: Any, models: list[Any], sample: dict[str, Any], **options: Any) -> Any:
        """As fairseq's; with --min-edit-confidence, the best hypothesis of each sentence has its ``confidence``.

        With a threshold of 0 nothing is rejected: a sweep over thresholds decodes once so, and puts the source in the
        place of each hypothesis whose confidence is below.
        """
        found = super().inference_step(generator, models, sample, **options)
        least = self.cfg.min_edit_confidence
        if least is None:
            return found
        best = [hypotheses[0]["tokens"] for hypotheses in found]
        with torch.no_grad():
            judged = edit_confidences(models, sample, best, self.copier)
        return [cautious(hypotheses, confidence, least) for hypotheses, confidence in zip(found, judged, strict=True)]
