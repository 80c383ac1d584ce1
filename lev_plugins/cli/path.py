"""``lev-plugins path``: print the folder for ``--user-dir``, as in ``--user-dir "$(lev-plugins path)"``."""

import argparse
import sys

import lev_plugins


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no arguments."""


def run(args: argparse.Namespace) -> int:
    sys.stdout.write(f"{lev_plugins.__path__[0]}\n")
    return 0
