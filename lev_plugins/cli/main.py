"""``lev-plugins COMMAND ...``: finds the command's module, which does the rest."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from lev_plugins.errors import explained

# the module lev_plugins.cli.NAME; the command has a dash for each underscore
COMMANDS = [
    "path",
    *("prepare", "prepare_labels", "encode", "distill"),
    *("average", "import_levt", "import_pretrained"),
    *("trace", "plot"),
    *("score", "sweep"),
    *("label", "tune_thresholds"),
    *("noise", "confusions"),
]


class Command(Protocol):
    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    try:
        return args.run(args)
    except Exception as error:
        _, hint = explained(error)
        if hint is None:  # a fault of ours, not of the user's: let the traceback be seen
            raise
        sys.stderr.write(f"lev-plugins: error: {hint}\n")
        return 2


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lev-plugins", description="What fairseq's commands do not do.")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for command in load_commands():
        subparser = subparsers.add_parser(command.NAME, help=command.HELP, description=command.HELP)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def load_commands() -> list[Command]:
    return [import_module(f"lev_plugins.cli.{name}") for name in COMMANDS]
