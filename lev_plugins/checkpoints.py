"""Reading and writing checkpoints without trusting them.

``torch.load`` (2.6 and newer) creates only allow-listed classes. Importing this module adds those that fairseq writes;
all are plain containers without code of their own.
"""

from __future__ import annotations

import argparse
import ast
import os
import zipfile
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lev_plugins.errors import UserError, explain, require
from lev_plugins.files import all_or_nothing

__all__ = ["EVALUATED", "config_of", "load", "require_file", "require_finite_weights", "require_no_calls", "save"]

# flags of models and tasks whose text fairseq evaluates as Python when it builds them
EVALUATED = {
    *("adaptive_input_cutoff", "adaptive_softmax_cutoff", "character_filters", "xformers_att_config"),
    *("conv_aggregator_layers", "conv_feature_layers", "decoder_layers", "encoder_layers"),
    *("decoder_attention", "encoder_attention", "self_attention", "gated_attention"),
    *("downsample", "pretrained", "project_input", "left_pad_source", "left_pad_target"),
}


def numpy_classes() -> list[Any]:
    """The classes of numeric arrays, which --eval-bleu leaves in checkpoints, under their names in numpy 1 and 2."""
    multiarray = import_module("numpy._core.multiarray" if hasattr(np, "_core") else "numpy.core.multiarray")
    makers = [getattr(multiarray, name) for name in ("_reconstruct", "scalar")]
    named = [(maker, f"numpy.{core}.multiarray.{maker.__name__}") for maker in makers for core in ("core", "_core")]
    dtypes = [type(np.dtype(kind)) for kind in (np.int64, np.int32, np.float64, np.float32)]
    return [*named, np.ndarray, np.dtype, *dtypes]


torch.serialization.add_safe_globals([argparse.Namespace, *numpy_classes()])


def require_file(path: str | Path) -> None:
    require(os.path.isfile(path), f"there is no checkpoint {path}")


def load(path: str | Path, mmap: bool = False) -> dict[str, Any]:
    """A fairseq checkpoint as a dict on the CPU; nothing in the file is executed.

    ``mmap``: weights are read when they are looked at, if the file is not of an old format.
    """
    require_file(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=mmap and zipfile.is_zipfile(path))
    except Exception as error:  # for a damaged file, torch raises anything from KeyError to OSError
        raise UserError(f"{path}: {explain(error) or error}") from error
    require(
        isinstance(state, dict) and "model" in state,
        f"{path} is a torch file but not a fairseq checkpoint: it has no entry 'model'",
    )
    weights, settings = state["model"], state.get("cfg")
    require(
        isinstance(weights, dict) and all(isinstance(each, torch.Tensor) for each in weights.values()),
        f"{path} is damaged: its entry 'model' has no table of weights; use an older checkpoint",
    )
    require(
        settings is None or isinstance(settings, dict),
        f"{path} is damaged: its entry 'cfg' has no table of settings; use an older checkpoint",
    )
    return state


def config_of(state: dict[str, Any], *path: str) -> Any:
    """A setting recorded in a checkpoint; None if it has none."""
    value: Any = state.get("cfg") or {}
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def require_no_calls(flags: Any) -> None:
    """Of a model or a task, as a stranger's file has them: what fairseq evaluates must not call anything.

    >>> require_no_calls(argparse.Namespace(encoder_layers="[(512, 3)] * 20"))
    >>> calls("[exit()]")
    True
    """
    for name, value in entries(flags):
        if name in EVALUATED and isinstance(value, (str, bytes)):
            require(
                not calls(value),
                f"the flag {name} of the model is a program, {value[:60]!r}, which is not run: use a file that you "
                "trust, or train the model anew",
            )


def entries(flags: Any) -> Iterator[tuple[str, Any]]:
    """Of tables in tables, too."""
    table = vars(flags) if isinstance(flags, argparse.Namespace) else flags
    for name, value in table.items():
        yield name, value
        if isinstance(value, (Mapping, argparse.Namespace)):
            yield from entries(value)


def calls(text: str | bytes) -> bool:
    try:
        return any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # it cannot be evaluated either
        return False


def require_finite_weights(model: torch.nn.Module) -> None:
    """Checks all weights with one transfer from the device."""
    # one number for all of a weight stands for it while it is kept elsewhere (layers.linear)
    weights = {name: weight for name, weight in model.named_parameters() if any(weight.stride()) or not weight.dim()}
    finite = torch.stack([weight.detach().isfinite().all() for weight in weights.values()]).tolist()
    bad = [name for name, fine in zip(weights, finite, strict=True) if not fine]
    require(
        not bad,
        f"the model has NaN or infinite weights, first in {bad[0] if bad else ''}: its training diverged, or "
        "--fp16 cannot represent them; use an older checkpoint, or leave out --fp16",
    )


def save(state: dict[str, Any], path: str | Path) -> None:
    """All or nothing: an existing file is replaced only when the new one is complete."""
    with all_or_nothing(path) as file:
        torch.save(state, file)
