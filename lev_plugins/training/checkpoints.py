"""Reads and writes checkpoints, which may be untrusted: nothing in them is executed.

``torch.load`` (2.6 and newer) creates only allow-listed classes. For a checkpoint, these include a plain container that
fairseq writes, and stand-ins for NumPy's numbers.
"""

import argparse
import ast
import functools
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from fairseq import checkpoint_utils
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict

from lev_plugins.utils.arrays import STAND_INS
from lev_plugins.utils.errors import UserError, explain, require
from lev_plugins.utils.files import all_or_nothing

# what the text of a setting may consist of, if it can be evaluated as Python: no calls, indices, loops or functions
PLAIN_SYNTAX = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Attribute, ast.expr_context, ast.List, ast.Tuple, ast.Set, ast.Dict),
    *(ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator),
)
PLAIN_TYPES = (type(None), bool, int, float, Enum)  # of a setting, apart from text; Python also evaluates bytes

WORD_VECTOR_FILES = ("encoder_embed_path", "decoder_embed_path")  # settings of a model

Checkpoint = dict[str, Any]  # what fairseq saves: "model" (the weights), "cfg" or "args", "extra_state", ...


@contextmanager
def only_plain_classes() -> Iterator[None]:
    """Lets ``torch.load`` create only tensors and our plain classes, not what other code has allowed."""
    allowed = torch.serialization.get_safe_globals()
    torch.serialization.clear_safe_globals()
    torch.serialization.add_safe_globals([argparse.Namespace, *STAND_INS])
    try:
        yield
    finally:
        torch.serialization.clear_safe_globals()
        torch.serialization.add_safe_globals(allowed)


def load(path: str | Path, mmap: bool = False) -> Checkpoint:
    """Returns a fairseq checkpoint as a dict on the CPU; nothing in the file is executed.

    With ``mmap``, a weight is read from disk at its first use, unless the file has torch's old format.
    """
    require(os.path.isfile(path), f"there is no checkpoint {path}")
    mmap = mmap and zipfile.is_zipfile(path)
    return read_safely(path, lambda: torch.load(path, map_location="cpu", weights_only=True, mmap=mmap))


def read_safely(path: str | Path, read_file: Callable[[], Checkpoint], advice: str = "use an older one") -> Checkpoint:
    """Returns the checkpoint that ``read_file`` loads; raises an error if it is damaged or wants something executed.

    ``advice`` ends the message.
    """
    try:
        with only_plain_classes():
            state = read_file()
    except Exception as error:  # for a damaged file, torch raises anything from KeyError to OSError
        cause = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        reason = explain(error) or f"it is truncated, or is not a checkpoint ({cause})"
        raise UserError(f"{path} was not loaded, and nothing in it was executed: {reason}; {advice}") from error
    require(
        isinstance(state, dict) and "model" in state,
        f"{path} is a torch file but not a fairseq checkpoint: it has no entry 'model'",
    )
    weights, settings = state["model"], state.get("cfg")
    require(
        isinstance(weights, dict)
        and all(map(is_weight, weights.values()))
        and isinstance(settings, (Mapping, type(None))),
        f"{path} is damaged: it has no table of weights, or none of settings; use an older checkpoint",
    )
    for flags in (state.get("args"), settings):
        require_no_programs(flags)
    for flags in (state.get("args"), config_of(state, "model")):
        forget_files(flags)
    return state


def forget_files(flags: Any) -> None:
    """Removes the files of word vectors that a model began with: fairseq would read them, but the weights have them."""
    for name in WORD_VECTOR_FILES:
        if isinstance(flags, argparse.Namespace) and hasattr(flags, name):
            setattr(flags, name, None)
        elif isinstance(flags, (dict, DictConfig)) and name in flags:
            flags[name] = None


def is_weight(value: object) -> bool:
    """Returns whether a value is a tensor with numbers: torch also saves those of others, and sparse ones."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided and value.device.type == "cpu"


def config_of(state: Checkpoint, *path: str) -> Any:
    """Returns a setting that is recorded in a checkpoint, or None."""
    value: Any = state.get("cfg") or {}
    for name in path:
        if not isinstance(value, Mapping):
            value = getattr(value, name, None)
        elif name in value:
            value = value[name]
        else:  # ``get`` of omegaconf 2.0 raises an error here
            return None
    return value


def require_no_programs(flags: object) -> None:
    """Requires that the settings in an untrusted file are plain data, since fairseq evaluates some of them as Python.

    References to other settings or to the environment are refused as well: fairseq stores values.

    >>> require_no_programs(argparse.Namespace(encoder_layers="[(512, 3)]", data="data/bin"))
    >>> require_no_programs({"model": {"seed": ["${oc.env:HOME}"]}})
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: the setting seed is a program or a reference, '${oc.env:HOME}', which is not \
run: rename the folder if it is a path, or train the model again
    """
    for name, value in entries(flags):
        plain = not is_program(value) if isinstance(value, str) else isinstance(value, PLAIN_TYPES)
        require(
            plain,
            f"the setting {name} is a program or a reference, {str(value)[:60]!r}, which is not run: rename the "
            "folder if it is a path, or train the model again",
        )


def entries(flags: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yields the name and the value of each flag, also of nested tables and of each item of a list."""
    if isinstance(flags, argparse.Namespace):
        flags = vars(flags)
    if isinstance(flags, (DictConfig, ListConfig)):
        flags = OmegaConf.to_container(flags, resolve=False)
    if isinstance(flags, Mapping):
        for key, value in flags.items():
            yield from entries(value, str(key))
    elif isinstance(flags, (list, tuple)):
        for value in flags:
            yield from entries(value, name)
    else:
        yield name, flags


def is_program(text: str) -> bool:
    """Returns whether evaluating this text may run code, or read another setting.

    >>> is_program("[(512, 3)]"), is_program("data/bin"), is_program("exit()"), is_program("f[0]"), is_program("${a}")
    (False, False, True, True, True)
    """
    try:
        syntax = ast.parse(text.lstrip(" \t"), mode="eval")
    except SyntaxError:  # it cannot be evaluated either
        return "${" in text
    except (ValueError, MemoryError, RecursionError):
        return True
    return "${" in text or not all(isinstance(node, PLAIN_SYNTAX) for node in ast.walk(syntax))


def refuse_programs() -> None:
    """Makes fairseq read every checkpoint safely, whatever its task; called once, when the plug-ins are registered."""
    load_checkpoint = checkpoint_utils.load_checkpoint_to_cpu

    @functools.wraps(load_checkpoint)
    def read_without_programs(path: str, arg_overrides: Any = None, *args: Any, **options: Any) -> Checkpoint:
        advice = "use an older one"
        if os.path.basename(path).startswith("checkpoint_last"):
            advice = "replace it with an older checkpoint from the same folder, and run the same command again"
        if arg_overrides:
            advice += f", or leave out the settings {arg_overrides}"
        state = read_safely(path, lambda: load_checkpoint(path, arg_overrides, *args, **options), advice)
        # fairseq turns any text into a table
        tables = not any(isinstance(config_of(state, name), (str, type(None))) for name in ("model", "task"))
        require(tables, f"{path} is damaged: it has no settings of a model and a task; use an older checkpoint")
        task, config = config_of(state, "task"), TASK_DATACLASS_REGISTRY.get(config_of(state, "task", "_name"))
        if config is not None and isinstance(task, DictConfig):
            with open_dict(task):  # settings of other versions, which not every version of fairseq drops
                for name in task.keys() - config.__dataclass_fields__.keys():
                    del task[name]
        return state

    checkpoint_utils.load_checkpoint_to_cpu = read_without_programs


def require_finite_weights(model: torch.nn.Module) -> None:
    """Checks all parameters and buffers with one device-to-host copy."""
    weights = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    # fairseq 0.12.2 knows the device of positions by a buffer that it leaves uninitialised
    weights = {name: weight for name, weight in weights.items() if not name.endswith("._float_tensor")}
    finite = torch.stack([weight.detach().isfinite().all() for weight in weights.values()]).tolist()
    bad = [name for name, fine in zip(weights, finite, strict=True) if not fine]
    require(
        not bad,
        f"the model has NaN or infinite weights, first in {bad[0] if bad else ''}: its training diverged, or "
        "--fp16 cannot represent them; use an older checkpoint, or leave out --fp16",
    )


def save(state: Checkpoint, path: str | Path) -> None:
    """Writes a checkpoint; an existing file is replaced only when the new one is complete."""
    with all_or_nothing(path) as file:
        torch.save(state, file)
