"""Score a trained EncT5 on a part of its data, as JSON.

    python score.py CHECKPOINT --output scores.json

Label sets are scored three times: with thresholds of 0.5, with one for all labels, and with one for each, both tuned on
the validation part; labels that are frequent, rare or new in the training text are also scored apart. Classes made by
``prepare-labels --round-labels`` are scored as numbers, too. ``--labels-of-interest`` scores some labels of a set only,
twice: when the model is asked for all labels, and when it is asked for these alone.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.labelling.frequency import by_frequency
from examples.shared import finish
from lev_plugins.cli.edit import device_of
from lev_plugins.inference.labeller import Labeller
from lev_plugins.inference.options import LabelOptions
from lev_plugins.scoring.labelling import best_thresholds, common_threshold, evaluate, multilabel

AT = 5


def answers(labeller: Labeller, part: str) -> tuple[Any, Any]:
    """Truth and probabilities of all examples, or of all words."""
    if labeller.kind != "tagging":
        return labeller.scorer.of_part(part)
    labeller.scorer.task.load_dataset(part)
    examples = labeller.scorer.task.datasets[part].examples
    truth = [tag for example in examples for tag in example.labels]
    return np.array(truth), np.concatenate(labeller.scorer.scores(examples))


def measure(labeller: Labeller, part: str) -> dict[str, Any]:
    begun = time.perf_counter()
    truth, found = answers(labeller, part)
    seconds = time.perf_counter() - begun
    classes = max(len(labeller.names), 1)
    numbers = labeller.names if labeller.scorer.info.step is not None else None
    scores = {"": evaluate(labeller.kind, truth, found, classes, classes - 1, AT, numbers)}
    frequencies = {}
    if labeller.kind == "multilabel":
        valid = answers(labeller, "valid")
        scores["one threshold tuned"] = multilabel(truth, found, AT, common_threshold(*valid))
        scores["thresholds tuned"] = multilabel(truth, found, AT, best_thresholds(*valid))
        frequencies = by_frequency(truth, found, np.array(labeller.scorer.labels.counts), AT)
    return {
        "scores": scores,
        "by_frequency": frequencies,
        "examples": len(labeller.scorer.task.datasets[part]),
        "seconds": seconds,
        "parameters": sum(p.numel() for p in labeller.scorer.model.parameters()),
    }


def measure_interest(labeller: Labeller, part: str, names: list[str]) -> dict[str, Any]:
    """Also the mean absolute difference of the probabilities."""
    ids = labeller.ids_of(names)
    truth, among_all = (each[:, list(ids)] for each in labeller.scorer.of_part(part))
    _, alone = labeller.scorer.of_part(part, ids)
    ways = {"asked for all labels": among_all, "asked for these alone": alone}
    scores = {way: multilabel(truth, found, AT) for way, found in ways.items()}
    return {"scores": scores, "mean difference": float(np.abs(among_all - alone).mean())}


def run(args: argparse.Namespace) -> None:
    labeller = Labeller.load(args.checkpoint, options=LabelOptions(device=device_of(args)))
    if args.labels_of_interest is None:
        found = measure(labeller, args.part)
    else:
        found = measure_interest(labeller, args.part, labeller.names_in(args.labels_of_interest))
    args.output.write_text(json.dumps(found) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", help="checkpoint of --task text_labelling")
    parser.add_argument("--part", default="test", help="train, valid or test (default)")
    parser.add_argument("--labels-of-interest", metavar="A,B", help="multilabel: score only these labels, twice")
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    parser.add_argument("--cpu", action="store_true", help="use no GPU")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
