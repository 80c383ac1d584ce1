"""Cheap baselines: the most frequent label (or the mean), and a linear model on words (scikit-learn).

    python baselines.py TEXTS --label-kind tagging --output scores.json

TEXTS has train.tsv, valid.tsv and test.tsv. The features of a text are its words and pairs of words (tf-idf),
and for a pair of texts also their common words. The features of a word to tag are itself, its ends, and its two
neighbours.
"""

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import hstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.labelling.frequency import by_frequency
from examples.shared import finish
from lev_plugins.data.labels.text import LABEL_KINDS, Layout, Row, read_rows
from lev_plugins.scoring.labelling import best_thresholds, common_threshold, evaluate, multilabel

AT = 5
PARTS = ("train", "valid", "test")


def word_features(words: list[str], i: int) -> dict[str, Any]:
    """
    >>> word_features(["The", "cats"], 1)["before"], word_features(["The", "cats"], 1)["end2"]
    ('the', 'ts')
    """
    word = words[i]
    ends = {f"end{n}": word[-n:].lower() for n in (1, 2, 3)}
    return {
        "word": word.lower(),
        "before": words[i - 1].lower() if i else "<s>",
        "after": words[i + 1].lower() if i + 1 < len(words) else "</s>",
        "capital": word[:1].isupper(),
        "digit": any(letter.isdigit() for letter in word),
        **ends,
    }


def common_words(texts: list[str]) -> str:
    """
    >>> common_words(["a big dog", "the dog"])
    'dog'
    """
    return " ".join(sorted(set.intersection(*(set(text.lower().split()) for text in texts))))


def features(rows: dict[str, list[Row]], kind: str) -> dict[str, Any]:
    if kind == "tagging":
        words = {
            part: [word_features(r.texts, i) for r in found for i in range(len(r.texts))]
            for part, found in rows.items()
        }
        vectors = DictVectorizer()
        vectors.fit(words["train"])
        return {part: with_short_indices(vectors.transform(found)) for part, found in words.items()}
    views = [lambda row: " ".join(row.texts)]
    if len(rows["train"][0].texts) > 1:
        views.append(lambda row: common_words(row.texts))
    parts: dict[str, list[Any]] = {part: [] for part in rows}
    for view in views:
        bag = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
        bag.fit([view(row) for row in rows["train"]])
        for part, found in rows.items():
            parts[part].append(bag.transform([view(row) for row in found]))
    return {part: with_short_indices(hstack(matrices).tocsr()) for part, matrices in parts.items()}


def with_short_indices(matrix: Any) -> Any:
    """scikit-learn's linear models only accept 32-bit indices."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def truth(rows: list[Row], kind: str, ids: dict[str, int]) -> Any:
    if kind == "regression":
        return np.array([float(row.labels[0]) for row in rows])
    if kind != "multilabel":
        return np.array([ids[label] for row in rows for label in row.labels])
    found = np.zeros((len(rows), len(ids)), dtype=int)
    for i, row in enumerate(rows):
        found[i, [ids[label] for label in row.labels]] = 1
    return found


def majority(gold: dict[str, Any], kind: str, classes: int) -> Any:
    """Predicts the most frequent label of the training text for all, or the mean of its numbers."""
    if kind == "regression":
        return np.full(len(gold["test"]), gold["train"].mean())
    counts = gold["train"].sum(0) if kind == "multilabel" else np.bincount(gold["train"], minlength=classes)
    found = np.zeros((len(gold["test"]), classes))
    found[:, counts.argmax()] = 1.0
    return found


def linear(kind: str) -> Any:
    if kind == "tagging":
        return SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=10, random_state=1)
    if kind == "regression":
        return Ridge(alpha=1.0)
    model = LogisticRegression(C=10.0, max_iter=300)
    return OneVsRestClassifier(model) if kind == "multilabel" else model


def measure(rows: dict[str, list[Row]], layout: Layout) -> dict[str, Any]:
    kind = layout.kind
    names = sorted(Counter(label for part in rows.values() for row in part for label in row.labels))
    ids = {name: i for i, name in enumerate(names)}
    gold = {part: truth(found, kind, ids) for part, found in rows.items()}
    classes = len(names)

    def scored(answers: Any) -> dict[str, float]:
        numbers = names if layout.step is not None else None
        return evaluate(kind, gold["test"], answers, classes, classes - 1, AT, numbers)

    begun = time.perf_counter()
    vectors, model = features(rows, kind), linear(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels without an example; trainings that have not converged
        model.fit(vectors["train"], gold["train"])
    answer = model.predict if kind == "regression" else partial(spread, model, classes=classes)
    found = {part: answer(vectors[part]) for part in ("valid", "test")}
    result, frequencies = {"": scored(found["test"])}, {}
    if kind == "multilabel":
        for name, tuned in (("one threshold tuned", common_threshold), ("thresholds tuned", best_thresholds)):
            result[name] = multilabel(gold["test"], found["test"], AT, tuned(gold["valid"], found["valid"]))
        frequencies = by_frequency(gold["test"], found["test"], gold["train"].sum(0), AT)
    return {
        "majority": {"scores": {"": scored(majority(gold, kind, classes))}},
        "linear": {
            "scores": result,
            "by_frequency": frequencies,
            "training_seconds": time.perf_counter() - begun,
        },
    }


def spread(model: Any, vectors: Any, *, classes: int) -> Any:
    """Probabilities of all classes, including those that are not in the training text."""
    found = np.zeros((vectors.shape[0], classes))
    found[:, model.classes_] = model.predict_proba(vectors)
    return found


def run(args: argparse.Namespace) -> None:
    layout = Layout(args.label_kind, args.text_columns, step=args.round_labels)
    found = measure({part: list(read_rows(args.texts / f"{part}.tsv", layout)) for part in PARTS}, layout)
    args.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", type=Path, help="folder with train.tsv, valid.tsv and test.tsv")
    parser.add_argument("--label-kind", choices=LABEL_KINDS, required=True)
    parser.add_argument("--text-columns", type=int, default=1, help="columns of text before the labels")
    parser.add_argument("--round-labels", type=float, help="labels are numbers, rounded to multiples of this")
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    parser.add_argument("--labels", type=Path, help="not used: names of numbered labels")
    parser.add_argument("--numbered-labels", action="store_true", help="not used: the labels are numbers")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
