"""Print the name, without suffix, of the scores with the highest METRIC; the earliest if several are equal.

python best.py micro_f1 OUT/eurlex/t5-choice/*.scores.json
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.shared import finish


def updates(name: str) -> float:
    """
    >>> updates("checkpoint_3_15000"), updates("checkpoint_last")
    (15000, inf)
    """
    last = name.rpartition("_")[2]
    return float("inf") if last == "last" else int(last)


def run(args: argparse.Namespace) -> None:
    scores = {path.name.removesuffix(".scores.json"): json.loads(path.read_text("utf-8")) for path in args.scores}
    for name in sorted(scores, key=updates):
        sys.stderr.write(f"{name}: {args.metric} {scores[name][args.metric]:.2f}\n")
    sys.stdout.write(f"{max(sorted(scores, key=updates), key=lambda name: scores[name][args.metric])}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("metric")
    parser.add_argument("scores", nargs="+", type=Path, help="CHECKPOINT.scores.json")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
