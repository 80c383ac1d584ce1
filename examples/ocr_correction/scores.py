"""Print word accuracies in per cent, on dev and test, with mean and standard deviation over the folds of a run.

    python scores.py OUT pbd2 transformer2

Each training has two candidates: the best checkpoint, and the average of the best ones. The accuracy on dev chooses
which of them is tested.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines
from lev_plugins.cli.score import read_generated
from lev_plugins.scoring import exact_match
from lev_plugins.utils.errors import require

SPLITS = ("valid", "test")
CANDIDATES = ("checkpoint_best", "average")


def accuracy(fold: Path, split: str, texts: list[str]) -> float:
    references = read_lines(fold / "text" / f"{split}.tgt")
    require(len(texts) == len(references), f"{fold} has {len(texts):,} words of {split}, not {len(references):,}")
    return 100 * exact_match.evaluate(references, texts).score


def unedited(fold: Path) -> list[float]:
    return [accuracy(fold, split, read_lines(fold / "text" / f"{split}.src")) for split in SPLITS]


def system(fold: Path, name: str) -> list[float]:
    """Returns the accuracies on dev and test of the candidate that is better on dev; of equal ones, the average."""
    candidates = [
        [accuracy(fold, split, read_generated(fold / f"{name}.{split}.{candidate}")) for split in SPLITS]
        for candidate in CANDIDATES
    ]
    return max(reversed(candidates), key=lambda accuracies: accuracies[0])


def spread(numbers: list[float]) -> str:
    """
    >>> spread([87.0, 88.0, 89.0]), spread([87.0])
    ('88.0 ± 1.0', '87.0')
    """
    mean = f"{statistics.mean(numbers):.1f}"
    return f"{mean} ± {statistics.stdev(numbers):.1f}" if len(numbers) > 1 else mean


def run(args: argparse.Namespace) -> None:
    folds = sorted(args.out.glob("fold*"))
    rows = {"do nothing": [unedited(fold) for fold in folds]}
    for name in args.names:
        rows[name] = [system(fold, name) for fold in folds if (fold / f"{name}.test.average").is_file()]
    print("| word accuracy | dev | test | folds |", "|---|---|---|---|", sep="\n")
    for title, accuracies in rows.items():
        dev, test = (spread(list(column)) for column in zip(*accuracies, strict=True))
        print(f"| {title} | {dev} | {test} | {len(accuracies)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of run.sh")
    parser.add_argument("names", nargs="+", help="systems")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
