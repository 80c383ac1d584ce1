"""Flags that have no effect without another one, and flags of earlier versions."""

import argparse
from collections.abc import Sequence

from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import flag_name

NAME_CHECKPOINTS = "name the checkpoints, as in FOLDER/checkpoint.best_*.pt"
USE_SELECT = "choose sentences with --select, or read the whole trace in a pager"
ONLY_FOLDERS = "sweep reads only model folders now: lev-plugins export makes one of a checkpoint; to compare flags of "
ONLY_FOLDERS += "fairseq-generate, decode with each of them, and score the outputs with lev-plugins score --generated"
# flags of earlier versions, by command, and what to use instead
REMOVED_FLAGS: dict[str, dict[str, str]] = {
    "average": dict.fromkeys(["--best", "--metric", "--by-updates"], NAME_CHECKPOINTS),
    "distill": {"--processes": "to use several GPUs, decode with fairseq-generate (docs/scaling.md)"},
    "label": {"--json": "label prints JSON anyway: leave it out"},
    "prepare": {"--m2-annotator": "prepare reads the corrections of the first annotator: leave others out of the file"},
    "sweep": dict.fromkeys(
        ["--path", "--split", "--keep-bias", "--post-process", "--beam", "--lenpen", "--plot"], ONLY_FOLDERS
    ),
    "trace": {
        "--html": "print the trace with --color always, and let a program such as aha make a page of it",
        **dict.fromkeys(["--first", "--changed"], USE_SELECT),
    },
    "tune-thresholds": {"--cpu-int8": "thresholds are tuned on a checkpoint, and graphs are in model folders"},
}


def refuse_removed(command: str, words: Sequence[str]) -> None:
    """Raises an error for a flag that only earlier versions of the command had.

    >>> refuse_removed("label", ["model", "--json"])
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --json was removed: label prints JSON anyway: leave it out
    """
    for word in words:
        flag = word.partition("=")[0]
        if flag in REMOVED_FLAGS.get(command, {}):
            raise UserError(f"{flag} was removed: {REMOVED_FLAGS[command][flag]}")


def requires(args: argparse.Namespace, condition: str, present: bool, **defaults: object) -> None:
    """Unless ``condition`` is ``present``, these flags must have their defaults.

    >>> requires(argparse.Namespace(by_updates=True, last=None), "--last", present=False, by_updates=False)
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: --by-updates requires --last
    """
    for name, default in defaults.items():
        require(present or getattr(args, name) == default, f"{flag_name(name)} requires {condition}")
