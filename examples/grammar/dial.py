"""Print the flags of fairseq-generate that were best in a sweep: ``python dial.py OUT/sweep/sweep.json``."""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish


def dial(sweep: Mapping[str, Mapping[str, float]]) -> str:
    """
    >>> dial({"best": {"keep_bias": 4.0, "min_edit_confidence": 0.5}})
    '--keep-bias 4 --min-edit-confidence 0.5'
    """
    best = sweep["best"]
    return f"--keep-bias {best['keep_bias']:g} --min-edit-confidence {best['min_edit_confidence']:g}"


def run(args: argparse.Namespace) -> None:
    sys.stdout.write(f"{dial(json.loads(args.sweep.read_text(encoding='utf-8')))}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sweep", type=Path, help="the output of lev-plugins sweep --json")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
