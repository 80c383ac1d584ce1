"""``--best-checkpoint-metric`` is checked before the first batch."""

from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import pytest
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf

from lev_plugins.errors import UserError
from lev_plugins.models.encoder_decoder import SIDES
from lev_plugins.tasks.pairs import ScoredTask
from lev_plugins.tasks.text_correction import TextCorrectionTask
from lev_plugins.tasks.text_editing import TextEditingTask
from tests.helpers import toy_dictionary

TASKS: dict[str, type[ScoredTask]] = {"text_correction": TextCorrectionTask, "text_editing": TextEditingTask}
MODELS = {"text_correction": ("pbd", "cross_entropy"), "text_editing": ("levt", "dual_policy")}
SIZES = {
    "text_correction": {"embed_dim": 16, "layers": 1},
    "text_editing": {f"{side}_{name}": n for side in SIDES for name, n in (("embed_dim", 16), ("layers", 1))},
}
POSITIONS = {"max_source_positions": 64, "max_target_positions": 64}


def from_flags(task: str, scores: dict[str, Any], best: dict[str, Any]) -> Any:
    """As ``fairseq-train``."""
    arch, criterion = MODELS[task]
    words = [".", "--task", task, "--arch", arch, "--criterion", criterion]
    for name, value in {**SIZES[task], **POSITIONS, **scores, **best}.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    parser = options.get_training_parser()
    return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))


def start(cfg: Any, from_checkpoint: bool = False) -> None:
    dictionary = toy_dictionary()
    task = TASKS[cfg.task._name](cfg.task, dictionary, dictionary)
    task.build_model(cfg.model, from_checkpoint)
    task.build_criterion(cfg.criterion)


MAXIMIZE = {"maximize_best_checkpoint_metric": True}
ALL = {"eval_exact_match": True, "eval_wrr": True, "eval_bleu": True}


@pytest.mark.parametrize(
    ("task", "scores", "best", "message"),
    [
        ("text_correction", {}, {"exact_match": MAXIMIZE}, "exact_match is not computed: add --eval-metrics"),
        ("text_correction", ALL, {"exact_match": {}}, "higher is better, so add --maximize-best-checkpoint-metric"),
        ("text_correction", ALL, {"wrr": MAXIMIZE}, None),
        ("text_correction", {"eval_wrr": True}, {"bleu": MAXIMIZE}, "bleu is not computed: add --eval-metrics bleu or"),
        ("text_correction", ALL, {"loss": {}}, None),
        ("text_correction", {"eval_metrics": "ter"}, {"ter": {}}, None),
        ("text_correction", {"eval_metrics": "ter"}, {"ter": MAXIMIZE}, "lower is better, so remove"),
        ("text_correction", ALL, {"werr": MAXIMIZE}, r"werr is not in the log: choose one of loss, .* \(bleu, ter, "),
        ("text_editing", {}, {"wrr": MAXIMIZE}, "wrr is not computed: add --eval-metrics"),
        ("text_correction", ALL, {"nll_loss": {}}, "nll_loss is not in the log: choose one of loss, ppl, bsz, "),
        ("text_correction", ALL, {"accuracy": MAXIMIZE}, "accuracy is not in the log"),
        ("text_editing", {}, {"token_accuracy": MAXIMIZE}, None),
        ("text_editing", {}, {"wpb": {}}, None),
        ("text_editing", {}, {"accuracy": MAXIMIZE}, "not in the log: choose one of loss, .*token_accuracy"),
    ],
)
def test_the_best_checkpoint_is_no_mistake(
    task: str, scores: dict[str, Any], best: dict[str, dict[str, Any]], message: str | None
) -> None:
    ((metric, direction),) = best.items()
    cfg = from_flags(task, scores, {"best_checkpoint_metric": metric, **direction})
    start(deepcopy(cfg), from_checkpoint=True)  # a validation does not keep checkpoints
    with pytest.raises(UserError, match=message) if message else nullcontext():
        start(cfg)
