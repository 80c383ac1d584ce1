"""Choose how sure an editor must be of an edit: the value with the best score on validation text.

    python examples/demo/dial.py EDITOR NOISY CLEAN [--metric gleu]

prints the value for ``lev-plugins export --min-confidence``.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import lev_plugins
from examples.shared import finish, read_parallel
from lev_plugins.scoring import gleu, wrr

VALUES = [*(hundredth / 100 for hundredth in range(0, 100, 2)), 0.99]
# noisy text, clean text, output; GLEU counts a mistake that is left alone more than word recognition does
METRICS: dict[str, Callable[[list[str], list[str], list[str]], float]] = {
    "wrr": lambda noisy, clean, lines: wrr.evaluate(clean, lines).score,
    "gleu": lambda noisy, clean, lines: gleu.evaluate(noisy, clean, lines).score,
}


def best(scores: dict[float, float]) -> float:
    """Of equal ones the most cautious.

    >>> best({0.0: 0.9, 0.5: 0.95, 0.6: 0.95, 0.9: 0.8})
    0.6
    """
    return max(scores, key=lambda value: (scores[value], value))


def run(args: argparse.Namespace) -> None:
    noisy, clean = read_parallel((args.noisy, args.clean))
    edited = lev_plugins.load(args.editor).edit(noisy)
    texts = {value: [each.sure(value).text for each in edited] for value in VALUES}
    print(best({value: METRICS[args.metric](noisy, clean, lines) for value, lines in texts.items()}))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("editor", "noisy", "clean"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--metric", choices=METRICS, default="wrr", help="score of the text (default: %(default)s)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
