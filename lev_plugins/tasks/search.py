"""Limits for fairseq's search flags: fairseq accepts any number, but fails or stalls on some while decoding."""

from collections.abc import Iterable
from typing import Any

from fairseq.dataclass.configs import GenerationConfig
from fairseq.modules import FairseqDropout

from lev_plugins.checkpoints import require_finite_weights
from lev_plugins.errors import require
from lev_plugins.ranges import bounded, flag_name
from lev_plugins.tasks.pairs import refuse

# fairseq's refinement flags, which have no effect on left-to-right search
REFINEMENT = (
    "iter_decode_max_iter",
    "iter_decode_eos_penalty",
    "iter_decode_force_max_iter",
    "iter_decode_with_beam",
    "iter_decode_with_external_reranker",
    "retain_iter_history",
    "print_step",
)
LEAST = {"beam": 1, "nbest": 1, "max_len_a": 0, "max_len_b": 0, "min_len": 0, "prefix_size": 0}
LEAST |= {"no_repeat_ngram_size": 0, "sampling_topk": -1}
# beyond these, scores become indistinguishable
BETWEEN: dict[str, tuple[float, float]] = {
    "lenpen": (-10, 10),
    "unkpen": (-1000, 1000),
    "temperature": (0.0001, 10_000),
    "diverse_beam_strength": (-1000, 1000),
    "diversity_rate": (-1000, 1000),
    "lm_weight": (-1000, 1000),
    "sampling_topp": (-1, 1),
}


def check_search(models: Iterable[Any], args: Any) -> None:
    """For any model; ``args`` is fairseq's GenerationConfig, or a Namespace of what --eval-bleu-args sets."""
    for name, least in LEAST.items():
        bounded(flag_name(name), option(args, name), least)
    for name, (low, high) in BETWEEN.items():
        bounded(flag_name(name), option(args, name), low, high)
    for model in models:
        require_finite_weights(model)


def check_left_to_right(models: list[Any], args: Any, name: str, symbols: int) -> None:
    """``name`` is the model's; ``symbols`` is the size of its target dictionary."""
    check_search(models, args)
    refuse(args, REFINEMENT, GenerationConfig, f"is for refinement, which a {name} does not do")
    least = option(args, "min_len")
    most = min(model.max_decoder_positions() for model in models) - 1  # 1: </s>
    if not option(args, "max_len_a") and not option(args, "match_source_len"):
        most = min(most, option(args, "max_len_b"))
    require(
        least <= most,
        f"--min-len must be at most {most}, by --max-len-a, --max-len-b and the model's positions, but is {least}: "
        "lower it, or raise the others",
    )
    topk = option(args, "sampling_topk")
    require(topk <= symbols, f"--sampling-topk must be at most {symbols}, the size of the dictionary, but is {topk}")
    if not all(any(isinstance(part, FairseqDropout) for part in model.modules()) for model in models):
        reason = f"has no effect on a {name}, which has no dropout after training"
        refuse(args, ("retain_dropout", "retain_dropout_modules"), GenerationConfig, reason)


def option(args: Any, name: str) -> Any:
    """``args`` is fairseq's GenerationConfig, or a Namespace of what --eval-bleu-args sets."""
    value = getattr(args, name, None)
    return getattr(GenerationConfig, name) if value is None else value
