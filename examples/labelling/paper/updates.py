"""Print how many updates a number of epochs takes.

python updates.py OUT/rte/labels/bin --epochs 3 --batch 32
"""

import argparse
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.shared import finish
from lev_plugins.data.labels.folder import LabellingInfo
from lev_plugins.ranges import at_least


def run(args: argparse.Namespace) -> None:
    at_least(args, 1, "epochs", "batch")
    sys.stdout.write(f"{args.epochs * math.ceil(LabellingInfo.load(args.folder).train_examples / args.batch)}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder made by lev-plugins prepare-labels")
    parser.add_argument("--epochs", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True, help="texts per update")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
