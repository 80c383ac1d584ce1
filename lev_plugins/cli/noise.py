"""``lev-plugins noise``: add typing, spelling and scanning errors to text, line by line."""

import argparse
from dataclasses import MISSING
from typing import get_args

from lev_plugins.cli import streams
from lev_plugins.noise import NOISE_FLAGS, NoiseOptions, build_corruption
from lev_plugins.utils.ranges import flag_name


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for flag in NOISE_FLAGS:
        required, default = flag.default is MISSING, flag.default
        if flag.type is bool:
            parser.add_argument(flag_name(flag.name), action="store_true", help=flag.metadata["help"])
            continue
        parser.add_argument(
            flag_name(flag.name),
            metavar=flag.metadata["metavar"],
            type=(get_args(flag.type) or (flag.type,))[0],  # float if the field is Optional[float]
            required=required,
            default=None if required else default,
            help=flag.metadata["help"] + ("" if required or default in (None, "") else f" (default: {default})"),
        )
    epoch = "make the noise that training uses in this epoch (default: 1)"
    parser.add_argument("--epoch", metavar="N", type=int, default=1, help=epoch)


def run(args: argparse.Namespace) -> int:
    corrupt = build_corruption(NoiseOptions(**{flag.name: getattr(args, flag.name) for flag in NOISE_FLAGS}))
    return streams.change_lines(lambda text, index: corrupt(text, index, args.epoch))
