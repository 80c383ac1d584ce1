"""What a model demands of its task, its dictionaries and the weights it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from lev_plugins.errors import require


def require_task(task: Any, name: str, arch: str) -> None:
    """Tasks have their name as an attribute, so no model needs to import one."""
    given = getattr(task.cfg, "_name", None)
    require(
        getattr(task, "name", None) == name,
        f"--arch {arch} does not work with the batches of --task {given}: use --task {name}",
    )


def require_one_dictionary(task: Any, what: str, instead: str) -> None:
    """``what`` needs source and target to have the same words; ``instead`` says how to do without."""
    require(
        task.source_dictionary == task.target_dictionary,
        f"{what} needs one dictionary for both sides, but dict.{task.cfg.source_lang}.txt and "
        f"dict.{task.cfg.target_lang}.txt differ: run fairseq-preprocess with --joined-dictionary, or {instead}",
    )


def require_same_vocabulary(
    model: nn.Module, weights: Mapping[str, Any], table: str = "embedding.tokens.weight"
) -> None:
    """Whether the tables of both sides are as long in ``weights`` as in the model that the dictionaries made."""
    for side in ("encoder", "decoder"):
        key = f"{side}.{table}"
        here = len(model.get_parameter(key))
        there = len(weights.get(key, model.get_parameter(key)))
        require(
            here == there,
            f"the checkpoint has a {side} table of {there} symbols, but the dictionary of the data folder makes "
            f"one of {here}: use the dict.*.txt files that the model was trained with",
        )
