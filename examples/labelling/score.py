"""Score a trained EncT5 on a part of its data.

    python score.py FOLDER DATA [--output FILE]

FOLDER is a model folder from lev-plugins export, and DATA the folder that its model was trained with.

Label sets are scored three times: with thresholds of 0.5, with one threshold for all labels, and with one for each,
both tuned on the validation part. Labels that are frequent, rare or new in the training text are also scored by
themselves. --labels-of-interest scores only some labels of a set, twice: when the model is asked for all labels, and
when it is asked for these alone.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.editor.labeller import Labeller
from lev_plugins.labelling.dataset import BinarisedExamples, targets
from lev_plugins.labelling.examples import LabelRequest
from lev_plugins.labelling.folder import WORDS
from lev_plugins.labelling.scores import (
    Scores,
    best_thresholds,
    common_threshold,
    evaluate,
    multilabel,
    percent,
    ranking,
)
from lev_plugins.training.binarise import load_dictionary
from lev_plugins.utils import model_folder

AT = 5
FREQUENT = 50  # training texts of a label that is neither rare nor new


def by_frequency(truth: np.ndarray, scores: np.ndarray, counts: np.ndarray, at: int) -> dict[str, Scores]:
    """Returns RP@k and nDCG@k of the labels of which training has seen more than 50 texts, fewer, or none.

    Each group is ranked by itself, on the texts that have one of its labels (Table 2 of EncT5); a group without labels
    is left out. The RP@k of a group of at most k labels is always 100.

    >>> truth, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.9, 0.6, 0.2], [0.1, 0.8, 0.3]])
    >>> by_frequency(truth, scores, counts=np.array([100, 80, 3]), at=1)["few"]
    {'rp_at_1': 100.0, 'ndcg_at_1': 100.0}
    """
    groups = {"frequent": counts > FREQUENT, "few": (counts > 0) & (counts <= FREQUENT), "zero": counts == 0}
    return {
        name: percent(ranking(truth[:, labels], scores[:, labels], at))
        for name, labels in groups.items()
        if truth[:, labels].any()
    }


def line(title: str, scores: Scores) -> str:
    """
    >>> line("linear", {"f1": 81.234})
    'linear: f1 81.2'
    """
    return f"{title}: {', '.join(f'{name} {score:.1f}' for name, score in scores.items())}"


def lines_of_label_sets(
    test: tuple[np.ndarray, np.ndarray], valid: tuple[np.ndarray, np.ndarray], counts: np.ndarray
) -> Iterator[str]:
    """``test`` and ``valid`` have the truth and the probabilities; ``counts``, the training texts of each label."""
    yield line("one threshold tuned", multilabel(*test, AT, common_threshold(*valid)))
    yield line("thresholds tuned", multilabel(*test, AT, best_thresholds(*valid)))
    for group, scores in by_frequency(*test, counts, AT).items():
        yield line(f"{group} labels", scores)


def answers(labeller: Labeller, data: Path, part: str, ids: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Returns the truth and the probabilities of all examples, or of all words; of all labels, or of those with ids."""
    examples = [*BinarisedExamples(data, part, load_dictionary(data / WORDS))]
    request = LabelRequest(labeller.kind, ids or labeller.scorer.request.labels)
    join = np.concatenate if labeller.kind == "tagging" else np.stack
    return targets(examples, request).numpy(), join(labeller.scorer.scores(examples, ids))


def measure(labeller: Labeller, args: argparse.Namespace) -> Iterator[str]:
    start = time.perf_counter()
    truth, probabilities = answers(labeller, args.data, args.part)
    seconds = time.perf_counter() - start
    classes = max(len(labeller.names), 1)
    numbers = labeller.names if labeller.scorer.info.step is not None else None
    yield line("EncT5", evaluate(labeller.kind, truth, probabilities, classes, AT, numbers))
    if labeller.kind == "multilabel":
        counts = np.array(labeller.scorer.labels.counts)
        yield from lines_of_label_sets((truth, probabilities), answers(labeller, args.data, "valid"), counts)
    parameters = sum(map(math.prod, model_folder.read_shapes(args.folder).values()))
    yield f"{parameters / 1e6:.2f} million parameters, {len(truth) / seconds:,.0f} examples (or words) per second"


def measure_interest(labeller: Labeller, args: argparse.Namespace) -> Iterator[str]:
    ids = labeller.ids_of(labeller.names_in(args.labels_of_interest))
    truth, among_all = (columns[:, list(ids)] for columns in answers(labeller, args.data, args.part))
    _, alone = answers(labeller, args.data, args.part, ids)
    yield line("asked for all labels", multilabel(truth, among_all, AT))
    yield line("asked for these alone", multilabel(truth, alone, AT))
    yield f"mean difference of the probabilities: {np.abs(among_all - alone).mean():.3f}"


def run(args: argparse.Namespace) -> None:
    labeller = Labeller.load(args.folder)
    lines = (measure if args.labels_of_interest is None else measure_interest)(labeller, args)
    args.output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="model folder from lev-plugins export")
    parser.add_argument("data", type=Path, help="folder from lev-plugins prepare-labels")
    parser.add_argument("--part", default="test", help="train, valid or test (default)")
    parser.add_argument("--labels-of-interest", metavar="A,B", help="multilabel: score only these labels, twice")
    parser.add_argument("--output", type=Path, default="/dev/stdout", help="file to write (default: standard output)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
