"""Errors that a user can act on, and explanations of those raised by fairseq, torch and the operating system."""

import errno
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fileinput import FileInput
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

STOPPED = "lev-plugins: stopped"
CONTINUED = "; the same command continues from checkpoint_last.pt, if there is one"
NO_ROOM = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "the disk, or your share of it, is full: free some space"),
    errno.EFBIG: "a file would be larger than the shell allows (ulimit -f): raise its limit",
}
WITH_DETAILS = (RuntimeError, ArithmeticError)  # torch says in them which weights or values are wrong


FAIRSEQ_ERRORS = {  # pattern of its message: what to tell the user
    r"Size of sample #(\d+) is invalid \(=(.*)\) since max_positions=(.*), skip": (
        r"sentence \1, counted from 0, is too long: it has \2 tokens (source, target or draft), but the model accepts "
        r"\3; shorten it, or skip such sentences with --skip-invalid-size-inputs-valid-test"
    ),
    "Sentences lengths should not exceed max_tokens=(.*)": r"--max-tokens is \1, but a sentence is longer: raise it",
    "gradients are Nan/Inf|Minimum loss scale reached": (
        "the loss or its gradients became NaN or infinite; a warning above may name the first layer affected. Restart "
        "from an earlier checkpoint (--restore-file) with a smaller --lr, more --warmup-updates or --clip-norm 1; if "
        "it happens in the first update, the restored checkpoint itself has such weights"
    ),
    "min_len cannot be larger than max_len": (
        "--min-len exceeds the longest output allowed, which is --max-len-a times the source length plus --max-len-b, "
        "and never more than the model's positions; lower --min-len, or raise the other two"
    ),
    r"Model file not found: (.*)": r"--path: there is no checkpoint \1",
    r"Dataset not found: (\S+) \((.*)\)": (
        r"\2 has no part called \1 (--gen-subset, --train-subset, --valid-subset) in these languages (--source-lang, "
        "--target-lang) and this format (--dataset-impl)"
    ),
    "Index file doesn't match": "an .idx file is damaged, or not in the format of --dataset-impl: leave the flag out",
    "shard_id must be between": "--distributed-rank counts from 0: it must be less than --distributed-world-size",
    r"world size is (\d+) but have (\d+) available": (
        r"--distributed-world-size is \1, but this machine has \2 GPUs: leave it out, or add --distributed-no-spawn"
    ),
    r"Missing key\(s\) in state_dict|Unexpected key\(s\) in state_dict|size mismatch for ": (
        "the checkpoint does not fit this model: use the --arch, model flags and data folder of its training, and "
        "remove model settings from --model-overrides"
    ),
    "Cannot resume training due to dataloader mismatch": (
        "the checkpoint is from the middle of an epoch that now has fewer batches: use the same data, number of GPUs, "
        "--max-tokens and --batch-size as before, or go back to epoch 1 with --reset-dataloader"
    ),
    r"(Criterion|Optimizer) does not match; .*\. (\S+) vs (\S+)": (
        r"the checkpoint was trained with \2, but this command asks for \3: use --criterion, --optimizer and --fp16 as "
        "before, or restart the count of updates and the learning rate with --reset-optimizer"
    ),
    "--replace-unk requires": "--replace-unk reads only data of fairseq-preprocess --dataset-impl raw: leave it out",
    "--sampling requires": "--sampling prints --beam samples: leave it out, or set --nbest to the same number",
    "'eval_lm_dataloader'": "fairseq-eval-lm is for language models: for the loss of this one, use fairseq-validate",
    "Torch not compiled with CUDA enabled": "--fp16 needs a GPU: leave it out, or train on a CPU with --cpu-bf16",
    "no attribute 'xla_device'|No module named 'torch_xla'": (
        "--bf16 needs a GPU and an --arch of lev-plugins (for one of fairseq, it needs a TPU): leave it out, or use "
        "--cpu-bf16 on a CPU, --fp16 or --amp on a GPU"
    ),
    r"GLOBAL (\S+)": r"it contains \1, which weights and settings do not need",
    r"malformed node or string|\(<unknown>, line \d+\)": (  # of ast.literal_eval, which reads no file
        """--model-overrides must be a dictionary in Python's notation, as in "{'dropout': 0.1}\""""
    ),
}
EXTRAS = {  # optional packages, and the extra that has each
    **dict.fromkeys(("scipy", "sklearn", "sacrebleu", "rouge_score"), "score"),
    **dict.fromkeys(("starlette", "uvicorn"), "serve"),
    **dict.fromkeys(("lsprotocol", "pygls"), "lsp"),
    **dict.fromkeys(("tree_sitter", "pathspec", "tomli"), "check"),
    **dict.fromkeys(("transformers", "tokenizers", "huggingface_hub"), "pretrained"),
    **{"matplotlib": "plot", "onnx": "train", "safetensors": "train", "harper": "baselines"},
}


class UserError(ValueError):
    """The user asked for something that cannot work; the message says what and what to do instead."""


def require(condition: bool, message: str) -> None:
    """Raises a ``UserError`` with this message unless the condition holds."""
    if not condition:
        raise UserError(message)


@contextmanager
def at_line(text: Path | str, number: int) -> Iterator[None]:
    """Adds the number of a line of the text to each ``UserError``."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{text}, line {number}: {error}") from error


def explain(error: BaseException) -> str | None:
    """Returns what an exception means to the user of a fairseq command; None for one that has no explanation.

    >>> explain(UserError("--max-insertions must be at least 1, but is 0"))
    '--max-insertions must be at least 1, but is 0'
    >>> explain(KeyError("x")) is None
    True
    """
    text = re.sub(r"np\.int\d+\((\d+)\)", r"\1", str(error))  # as NumPy 2 writes numbers
    if isinstance(error, UserError):
        return text
    if not isinstance(error, Exception):  # Ctrl-C
        return None
    if isinstance(error, UnicodeDecodeError):
        return (
            f"{input_of(error)} is not UTF-8 (byte 0x{error.object[error.start]:02x}): convert it first, for example "
            "with iconv -f latin1 -t utf-8; what was printed so far is complete"
        )
    match = re.search(r"os error (\d+)|PytorchStreamWriter", text)  # of safetensors; of torch, which gives no number
    number = int(match[1] or errno.ENOSPC) if match else getattr(error, "errno", None)
    if number in NO_ROOM:
        intact = "; earlier checkpoints are intact" if "fairseq_cli.train" in sys.modules else ""
        return f"{NO_ROOM[number]}, and run the same command again{intact}"
    # of all grammars of tree-sitter, whose packages are tree_sitter_LANGUAGE
    name = re.sub(r"\..*|(?<=^tree_sitter)_.*", "", str(getattr(error, "name", "")))
    if isinstance(error, ModuleNotFoundError) and name in EXTRAS:
        return f"this needs the package {name}, which is not installed: pip install 'lev-plugins[{EXTRAS[name]}]'"
    for pattern, meaning in FAIRSEQ_ERRORS.items():
        if match := re.search(pattern, text):
            return match.expand(meaning)
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename or repr('')}: {error.strerror}"
    return None


def input_of(error: UnicodeDecodeError) -> str:
    """Returns the line of ``fairseq-interactive`` with a byte that cannot be decoded; "the input" in other programs."""
    for frame, _ in walk_tb(error.__traceback__):
        reader = frame.f_locals.get("self")
        if isinstance(reader, FileInput):  # its number is that of the last line that it decoded
            return f"line {reader.lineno() + 1 + error.object[: error.start].count(10)} of the input"
    return "the input"


def explained(error: BaseException | None) -> tuple[BaseException | None, str | None]:
    """Returns the first error of the chain that has an explanation, and the explanation."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        if (hint := explain(error)) is not None:
            return error, hint
        seen.append(error)
        error = error.__cause__ or error.__context__
    return None, None


def explain_at_exit() -> None:
    """Makes a fairseq command that fails end with one line that says what to do.

    A traceback comes before that line if an error of torch has details, or if another error hides the one that has an
    explanation. ``fairseq-hydra-train`` is different: hydra reports a failure with a short traceback that ends with the
    message.
    """
    if "fairseq_cli" not in sys.modules:  # all commands live there, whatever starts them
        return
    # in the locale C: bytes that are not UTF-8 would become <unk>
    if getattr(sys.stdin, "errors", None) == "surrogateescape":
        sys.stdin.reconfigure(errors="strict")  # type: ignore[union-attr]
    previous: Callable[..., Any] = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, KeyboardInterrupt):
            sys.stderr.write(f"{STOPPED}{CONTINUED if 'fairseq_cli.train' in sys.modules else ''}\n")
            return
        cause, hint = explained(error)
        hidden = cause is not error and not isinstance(cause, (UserError, ModuleNotFoundError))
        if hidden or isinstance(cause, WITH_DETAILS):
            previous(kind, error, trace)
        if hint is not None:
            sys.stderr.write(f"lev-plugins: error: {hint}\n")

    sys.excepthook = hook
