"""Score two baselines: the most frequent label (or the mean), and a linear model on words (scikit-learn).

    python baselines.py TEXTS --label-kind tagging

TEXTS has train.tsv, valid.tsv and test.tsv. The features of a text are its words and pairs of words (tf-idf), and for a
pair of texts also their common words. The features of a word to tag are itself, its ends, and its two neighbours.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import hstack
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.labelling.score import AT, line, lines_of_label_sets
from examples.shared import finish
from lev_plugins.labelling.scores import evaluate
from lev_plugins.labelling.text import LABEL_KINDS, Layout, Row, read_rows

PARTS = ("train", "valid", "test")


def word_features(words: list[str], i: int) -> dict[str, Any]:
    """
    >>> word_features(["The", "cats"], 1)["before"], word_features(["The", "cats"], 1)["end2"]
    ('the', 'ts')
    """
    word = words[i]
    return {
        "word": word.lower(),
        "before": words[i - 1].lower() if i else "<s>",
        "after": words[i + 1].lower() if i + 1 < len(words) else "</s>",
        "capital": word[:1].isupper(),
        "digit": any(letter.isdigit() for letter in word),
        **{f"end{n}": word[-n:].lower() for n in (1, 2, 3)},
    }


def common_words(texts: list[str]) -> str:
    """
    >>> common_words(["a big dog", "the dog"])
    'dog'
    """
    return " ".join(sorted(set.intersection(*(set(text.lower().split()) for text in texts))))


def features(rows: dict[str, list[Row]], kind: str) -> dict[str, Any]:
    """Returns a sparse matrix for each part: a row for each text, or for each word to tag."""
    if kind == "tagging":
        vectors = DictVectorizer()
        words = {
            part: [word_features(row.texts, i) for row in rows[part] for i in range(len(row.texts))] for part in rows
        }
        vectors.fit(words["train"])
        return {part: with_short_indices(vectors.transform(words[part])) for part in rows}
    views = [[" ".join(row.texts) for row in rows[part]] for part in PARTS]
    bags = [bag_of_words(views)]
    if len(rows["train"][0].texts) > 1:
        bags.append(bag_of_words([[common_words(row.texts) for row in rows[part]] for part in PARTS]))
    return {
        part: with_short_indices(hstack(matrices).tocsr())
        for part, matrices in zip(PARTS, zip(*bags, strict=True), strict=True)
    }


def bag_of_words(parts: list[list[str]]) -> list[Any]:
    vectors = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\S+")
    vectors.fit(parts[0])
    return [vectors.transform(texts) for texts in parts]


def with_short_indices(matrix: Any) -> Any:
    """scikit-learn's linear models only accept 32-bit indices."""
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    return matrix


def truth(rows: list[Row], kind: str, ids: dict[str, int]) -> np.ndarray:
    if kind == "regression":
        return np.array([float(row.labels[0]) for row in rows])
    if kind != "multilabel":
        return np.array([ids[label] for row in rows for label in row.labels])
    sets = np.zeros((len(rows), len(ids)), dtype=int)
    for i, row in enumerate(rows):
        sets[i, [ids[label] for label in row.labels]] = 1
    return sets


def majority(gold: dict[str, np.ndarray], kind: str, classes: int) -> np.ndarray:
    """Predicts the most frequent label of the training text for all, or the mean of its numbers."""
    if kind == "regression":
        return np.full(len(gold["test"]), gold["train"].mean())
    counts = gold["train"].sum(0) if kind == "multilabel" else np.bincount(gold["train"], minlength=classes)
    return np.tile(np.eye(classes)[counts.argmax()], (len(gold["test"]), 1))


def linear(kind: str) -> Any:
    if kind == "tagging":
        return SGDClassifier(loss="log_loss", alpha=1e-6, max_iter=10, random_state=1)
    if kind == "regression":
        return Ridge(alpha=1.0)
    model = LogisticRegression(C=10.0, max_iter=300)
    return OneVsRestClassifier(model) if kind == "multilabel" else model


def predict(model: Any, vectors: Any, classes: int) -> np.ndarray:
    """Returns numbers, or the probabilities of all classes, including those that are not in the training text."""
    if not hasattr(model, "classes_"):
        return model.predict(vectors)
    probabilities = np.zeros((vectors.shape[0], classes))
    probabilities[:, model.classes_] = model.predict_proba(vectors)
    return probabilities


def measure(rows: dict[str, list[Row]], layout: Layout) -> Iterator[str]:
    kind = layout.kind
    names = sorted({label for part in PARTS for row in rows[part] for label in row.labels})
    gold = {part: truth(rows[part], kind, {name: i for i, name in enumerate(names)}) for part in PARTS}
    numbers = names if layout.step is not None else None

    def scores(answers: np.ndarray) -> dict[str, float]:
        return evaluate(kind, gold["test"], answers, len(names), AT, numbers)

    vectors, model = features(rows, kind), linear(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels without an example; trainings that have not converged
        model.fit(vectors["train"], gold["train"])
    valid, test = (predict(model, vectors[part], len(names)) for part in ("valid", "test"))
    yield line("the mean" if kind == "regression" else "most frequent label", scores(majority(gold, kind, len(names))))
    yield line("linear", scores(test))
    if kind == "multilabel":
        yield from lines_of_label_sets((gold["test"], test), (gold["valid"], valid), gold["train"].sum(0))


def run(args: argparse.Namespace) -> None:
    layout = Layout(args.label_kind, args.text_columns, step=args.round_labels)
    rows = {part: list(read_rows(args.texts / f"{part}.tsv", layout)) for part in PARTS}
    args.output.write_text("".join(f"{line}\n" for line in measure(rows, layout)), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("texts", type=Path, help="folder with train.tsv, valid.tsv and test.tsv")
    parser.add_argument("--label-kind", choices=LABEL_KINDS, required=True)
    parser.add_argument("--text-columns", type=int, default=1, help="columns of text before the labels")
    parser.add_argument("--round-labels", type=float, help="labels are numbers, rounded to multiples of this")
    parser.add_argument("--output", type=Path, default="/dev/stdout", help="file to write (default: standard output)")
    parser.add_argument("--labels", type=Path, help="not used: names of numbered labels")
    parser.add_argument("--numbered-labels", action="store_true", help="not used: the labels are numbers")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
