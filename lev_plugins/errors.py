"""Errors a user can act on, and a last line for those that come from below."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import re
import sys
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


FAIRSEQ_ERRORS = {  # what its exceptions say: what there is to be done
    r"Size of sample #\d+ is invalid \(=(.*)\) since max_positions=(.*), skip": (
        r"a sentence is too long: it has \1 tokens (source, target), and the model takes \2; shorten it, or leave such "
        "sentences out with --skip-invalid-size-inputs-valid-test"
    ),
    r"Model file not found: (.*)": r"--path: there is no checkpoint \1",
    "--path required for generation": "--path is missing: the checkpoint to decode with",
    "gradients are Nan/Inf|Minimum loss scale reached": (
        "the loss or its gradients became NaN or infinite; if a warning above says where it was detected, that is the "
        "first layer of it. Start again from a checkpoint before that (--restore-file) with a smaller --lr, more "
        "--warmup-updates or --clip-norm 1; if it happens in the first update, the restored checkpoint has such weights"
    ),
    "min_len cannot be larger than max_len": (
        "--min-len is more than a source may be given: --max-len-a times its tokens plus --max-len-b, or as many as "
        "the model has positions for; lower --min-len, or raise the other two"
    ),
    "(--sampling|--sampling-topk|--sampling-topp) requires (.*)": r"\1 requires \2",
    "Sentences lengths should not exceed max_tokens=(.*)": r"--max-tokens is \1, but a sentence is longer: raise it",
    "DiverseBeamSearch requires (.*)": r"--diverse-beam-groups requires \1",
    "Provided Search parameters are mutually exclusive": (
        "--sampling, --diverse-beam-groups, --match-source-len and --diversity-rate exclude each other: give one"
    ),
    "--batch-size cannot be larger than --buffer-size": "--batch-size must be at most --buffer-size",
    "--replace-unk requires a raw text dataset": "--replace-unk works in fairseq-interactive only: leave it out here",
    "Unknown post_process option: (.*)": (
        r"--post-process \1 is not known: give sentencepiece, subword_nmt, letter, wordpiece or the mark of your pieces"
    ),
    r"Seed must be between 0 and 2\*\*32 - 1": "--seed must be between 0 and 4294967295",
    "shard_id must be between 0 and num_shards": "--shard-id must be at least 0 and below --num-shards",
    "num_workers option should be non-negative": "--num-workers must be at least 0",
    r"--finetune-from-model (.*) does not exist": r"--finetune-from-model: there is no checkpoint \1",
    r"Dataset not found: (\S+) \((.*)\)": r"\2 has no part called \1 (--gen-subset, --train-subset, --valid-subset)",
    r"Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict|size mismatch for ": (
        "the weights of the checkpoint belong to a model with other flags, or to another dictionary: give --arch, its "
        "flags and the data folder as in the training, and leave out what --model-overrides changes of the model"
    ),
    "Torch not compiled with CUDA enabled|no attribute 'xla_device'": (
        "--fp16 and --bf16 need a GPU: leave them out, or train on a CPU with --cpu-bf16"
    ),
}

# where fairseq takes a checkpoint apart, by file and function: the variable that says which checkpoint
CHECKPOINT_READERS = {
    ("checkpoint_utils.py", "load_checkpoint_to_cpu"): "path",
    ("checkpoint_utils.py", "load_model_ensemble_and_task"): "filename",
    ("trainer.py", "load_checkpoint"): "filename",
}


# what fairseq calls in which file, where anything that it raises is one mistake of the user's
RAISED_IN = {
    ("fairseq_cli/interactive.py", "split_paths"): "--path is missing: the checkpoint to decode with",
    ("fairseq_cli/", "literal_eval"): (
        """--model-overrides must be a dictionary in Python's notation, as in "{'dropout': 0.1}\""""
    ),
}


class UserError(ValueError):
    """The user asked for something that cannot work; the message says what and what to do instead."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise UserError(message)


def explain(error: BaseException) -> str | None:
    """What an exception means to somebody at a fairseq command line; None for one we know nothing about.

    >>> explain(UserError("--max-insertions must be at least 1, but is 0"))
    '--max-insertions must be at least 1, but is 0'
    >>> explain(KeyError("x")) is None
    True
    """
    text = str(error)
    if isinstance(error, UserError):
        return text
    if isinstance(error, UnicodeDecodeError):
        return (
            f"the input is not UTF-8 (byte 0x{error.object[error.start]:02x}): convert it first, for example with "
            "iconv -t utf-8; what was printed so far is complete"
        )
    named = re.search(r"GLOBAL (\S+)", text) if isinstance(error, pickle.UnpicklingError) else None
    if named:
        return (
            f"the checkpoint holds {named.group(1)}, which no fairseq checkpoint has need of: it was not loaded and "
            "nothing in it was executed"
        )
    if from_torch_load(error):
        return (
            "the checkpoint is cut short or is none: it was not loaded and nothing in it was executed; take an older "
            "one (--path, --restore-file)"
        )
    if (isinstance(error, OSError) and error.errno in NO_ROOM) or "PytorchStreamWriter" in text:
        return "the disk is full: checkpoints written before are intact; make room and start the same command again"
    for pattern, meaning in FAIRSEQ_ERRORS.items():
        if found := re.search(pattern, text):
            return found.expand(meaning)
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return raised_in(error)


def raised_in(error: BaseException) -> str | None:
    for caller, called in itertools.pairwise(traceback.extract_tb(error.__traceback__)):
        for (file, function), meaning in RAISED_IN.items():
            if file in caller.filename.replace(os.sep, "/") and called.name == function:
                return meaning
    return None


def from_torch_load(error: BaseException) -> bool:
    """Of a damaged file torch says anything from KeyError to OSError: what tells is where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.endswith(os.path.join("torch", "serialization.py")) for frame in frames) and not any(
        frame.name == "save" for frame in frames
    )


def chain(error: BaseException) -> list[BaseException]:
    """The error, what it was raised from, and so on down.

    >>> try:
    ...     try:
    ...         raise KeyError("inner")
    ...     except KeyError as inner:
    ...         raise ValueError("outer") from inner
    ... except ValueError as outer:
    ...     chain(outer)
    [ValueError('outer'), KeyError('inner')]
    """
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


def unreadable(error: BaseException) -> str | None:
    """Of a file that torch can load, but whose contents are not a checkpoint's, fairseq says anything."""
    for frame, _ in traceback.walk_tb(error.__traceback__) if isinstance(error, Exception) else ():
        name = CHECKPOINT_READERS.get((os.path.basename(frame.f_code.co_filename), frame.f_code.co_name))
        if name is not None:
            reason = chain(error)[-1]
            return (
                f"{frame.f_locals.get(name)} cannot be loaded: it is damaged, not a fairseq checkpoint, or was made "
                f"with other settings ({type(reason).__name__}: {' '.join(str(reason).split())})"
            )
    return None


def explained(error: BaseException) -> tuple[BaseException | None, str | None]:
    """The first error of the chain that we know something about, and what it means."""
    for link in chain(error):
        if (hint := explain(link)) is not None:
            return link, hint
    return error, unreadable(error)


def explain_at_exit() -> None:
    """In a fairseq command, end a failure with one line that says what to do.

    A ``UserError`` is that line and nothing more; any other error keeps its traceback above it. ``fairseq-hydra-train``
    is the exception: hydra itself reports a failure, by a short traceback that ends with the message.
    """
    if "fairseq_cli" not in sys.modules:  # the package of all commands, by whatever name or launcher they start
        return
    if getattr(sys.stdin, "errors", None) == "surrogateescape":  # in the locale C: what is no UTF-8 would become <unk>
        sys.stdin.reconfigure(errors="strict")  # type: ignore[union-attr]
    previous: Callable[..., Any] = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        cause, hint = explained(error)
        if not isinstance(cause, UserError):
            previous(kind, error, trace)
        if hint is not None:
            sys.stderr.write(f"lev-plugins: error: {hint}\n")

    sys.excepthook = hook
