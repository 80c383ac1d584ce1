"""fairseq's translation task, with our scores on the validation set."""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Any, Optional

from fairseq import utils
from fairseq.dataclass.configs import GenerationConfig
from fairseq.tasks.translation import TranslationConfig, TranslationTask

from lev_plugins.errors import require
from lev_plugins.fairseq_fixes.best_checkpoint import BestCheckpointConfig, BestCheckpointTask
from lev_plugins.ranges import flag_name
from lev_plugins.scoring.validation import VALIDATION_SCORES, ValidationScores, parse_names
from lev_plugins.tasks.pairs import PairTask
from lev_plugins.tasks.precision import PrecisionConfig, PrecisionTask

logger = logging.getLogger(__name__)

# unknown words never count as correct; tokenisers do not split these
UNKNOWN_IN_TEXT, UNKNOWN_IN_REFERENCE = "UNKNOWNTOKENINHYP", "UNKNOWNTOKENINREF"
# for decoding: each of them makes fairseq prepare what the validation of the training needed
WITHOUT_SCORES = {"eval_bleu": False, "eval_metrics": None, "eval_exact_match": False, "eval_wrr": False}
IN_JSON = {"eval_bleu_args": '{"beam": 5}', "eval_bleu_detok_args": '{"target_lang": "de"}'}


def is_json_object(text: str) -> bool:
    """
    >>> is_json_object('{"beam": 5}'), is_json_object("5"), is_json_object("beam=5")
    (True, False, False)
    """
    try:
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError:
        return False


@dataclass
class ScoredConfig(BestCheckpointConfig, PrecisionConfig, TranslationConfig):
    eval_metrics: Optional[str] = field(
        default=None,
        metadata={
            "help": "validation scores in addition to BLEU, in per cent, also for --best-checkpoint-metric: any of "
            "ter, rouge1, rouge2, rougeL, wrr, exact_match, separated by commas; implies --eval-bleu, whose flags "
            "set how to decode"
        },
    )


class ScoredTask(BestCheckpointTask, PrecisionTask, PairTask):
    """Decodes a validation batch once for all scores."""

    cfg: ScoredConfig

    def __init__(self, cfg: ScoredConfig, src_dict: Any, tgt_dict: Any):
        super().__init__(cfg, src_dict, tgt_dict)
        names = self.score_names()
        if names:
            cfg.eval_bleu = True  # makes fairseq prepare decoding
        self.scores = ValidationScores(names, "none" if cfg.eval_tokenized_bleu else "13a")
        self.lower_is_better = self.scores.lower_is_better

    @classmethod
    def check_config(cls, cfg: Any) -> None:
        super().check_config(cfg)
        for name, example in IN_JSON.items():
            require(
                is_json_object(getattr(cfg, name)),
                f"{flag_name(name)} must be a JSON object, such as {example}, but is {getattr(cfg, name)}",
            )
        unknown = json.loads(cfg.eval_bleu_args).keys() - {each.name for each in fields(GenerationConfig)}
        require(
            not unknown, f"--eval-bleu-args must name flags of fairseq-generate, but names {', '.join(sorted(unknown))}"
        )

    def scores_of(self, criterion: Any) -> tuple[list[str], Collection[str]]:
        return list(self.scores.scores), VALIDATION_SCORES

    def score_names(self) -> list[str]:
        """The scores in the order of the log; if empty, validation does not decode."""
        names = parse_names(self.cfg.eval_metrics)
        return ["bleu", *names] if names or self.cfg.eval_bleu else []

    def valid_step(self, sample: dict[str, Any], model: Any, criterion: Any) -> tuple[Any, Any, dict[str, Any]]:
        own = {**sample, "net_input": dict(sample["net_input"])}  # R-drop doubles its input in place
        loss, size, output = super(TranslationTask, self).valid_step(own, model, criterion)
        if self.cfg.eval_bleu:
            output.update(self.scores.statistics(*self._decode(sample, model)))
        return loss, size, output

    def reduce_metrics(self, logging_outputs: list[dict[str, Any]], criterion: Any) -> None:
        super(TranslationTask, self).reduce_metrics(logging_outputs, criterion)
        self.scores.log(logging_outputs)

    def _decode(self, sample: dict[str, Any], model: Any) -> tuple[list[str], list[str]]:
        """The references and the decoded texts."""
        results = self.inference_step(self.sequence_generator, [model], sample, prefix_tokens=None)
        texts = [self._text(hypotheses[0]["tokens"], UNKNOWN_IN_TEXT) for hypotheses in results]
        rows = (utils.strip_pad(row, self.tgt_dict.pad()) for row in sample["target"])
        references = [self._text(row, UNKNOWN_IN_REFERENCE) for row in rows]
        if self.cfg.eval_bleu_print_samples:
            logger.info("example hypothesis: " + texts[0])
            logger.info("example reference: " + references[0])
        return references, texts

    def _text(self, tokens: Any, unknown: str) -> str:
        words = self.tgt_dict.string(tokens.int().cpu(), self.cfg.eval_bleu_remove_bpe, unk_string=unknown)
        return self.tokenizer.decode(words) if self.tokenizer else words
