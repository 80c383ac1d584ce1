"""Scores of labels, in per cent, by scikit-learn and SciPy.

They lack RP@k, and would take a set of one label for two classes: these scores and F1 of label sets are computed here.

Arrays: n examples (or words), L labels.
"""

import warnings
from typing import Any

import numpy as np

from lev_plugins.errors import require

Scores = dict[str, float]
POSITIVE = 0.5  # the default threshold: labels with at least this probability are assigned


def classification(gold: Any, predicted: Any, classes: int, positive: int) -> Scores:
    """Scores of classes (n,); with two classes, also the F1 of class ``positive``.

    >>> scores = classification(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]), 2, positive=1)
    >>> {name: round(score, 1) for name, score in scores.items()}
    {'accuracy': 75.0, 'macro_f1': 73.3, 'matthews': 57.7, 'f1': 66.7}
    """
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    every = list(range(classes))
    scores = {
        "accuracy": accuracy_score(gold, predicted),
        "macro_f1": f1_score(gold, predicted, labels=every, average="macro", zero_division=0),
        "matthews": matthews_corrcoef(gold, predicted),
    }
    if classes == 2:
        scores["f1"] = f1_score(gold, predicted, labels=[positive], average="macro", zero_division=0)
    return percent(scores)


def regression(gold: Any, predicted: Any) -> Scores:
    """Scores of numbers (n,); a correlation with a constant is 0.

    >>> {name: round(score, 1) for name, score in regression(np.array([1, 2, 3.0]), np.array([2, 4, 9.0])).items()}
    {'pearson': 97.1, 'spearman': 100.0, 'mse': 13.7}
    """
    from scipy.stats import pearsonr, spearmanr

    error = float(np.mean((gold - predicted) ** 2))
    if not np.ptp(gold) or not np.ptp(predicted):
        return {"pearson": 0.0, "spearman": 0.0, "mse": error}
    correlations = {"pearson": pearsonr(gold, predicted)[0], "spearman": spearmanr(gold, predicted)[0]}
    return percent(correlations) | {"mse": error}


def multilabel(gold: Any, scores: Any, at: int, thresholds: Any = POSITIVE) -> Scores:
    """Scores of sets of labels: zeros and ones (n, L), and probabilities (n, L).

    >>> gold, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.9, 0.6, 0.2], [0.1, 0.8, 0.3]])
    >>> {name: round(score, 1) for name, score in multilabel(gold, scores, at=1).items()}
    {'micro_f1': 66.7, 'macro_f1': 55.6, 'rp_at_1': 100.0, 'ndcg_at_1': 100.0}
    """
    assigned = np.asarray(scores, dtype=float) >= thresholds  # which would be rounded to 32 bits
    wanted = gold > 0
    right, named = (assigned & wanted).sum(0), assigned.sum(0) + wanted.sum(0)  # (L,)
    results = {"micro_f1": f1(right.sum(), named.sum()), "macro_f1": f1(right, named).mean()}
    return percent(results | ranking(gold, scores, at))


def f1(right: Any, named: Any) -> Any:
    """Of counts: how often a label is given rightly, and how often it is given or wanted; 0 if it never is."""
    return 2 * right / np.maximum(named, 1)


def ranking(gold: Any, scores: Any, at: int) -> dict[str, float]:
    """RP@k, and nDCG@k of the texts that have labels, where a single label is always in its place."""
    from sklearn.metrics import ndcg_score

    some = gold.any(1)
    ndcg = float(some.any())
    if ndcg and gold.shape[1] > 1:
        ndcg = float(ndcg_score(gold[some], scores[some], k=at))
    return {f"rp_at_{at}": r_precision(gold, scores, at), f"ndcg_at_{at}": ndcg}


def r_precision(gold: Any, scores: Any, at: int) -> float:
    """RP@k of Chalkidis et al. (2019): right labels among the k likeliest, as a share of the most possible.

    >>> r_precision(np.array([[1, 0, 0, 0]]), np.array([[0.5, 0.9, 0.1, 0.0]]), at=2)
    1.0
    """
    relevant = gold.sum(1)
    best = np.argsort(-scores, axis=1, kind="stable")[:, :at]
    right = np.take_along_axis(gold, best, axis=1).sum(1)
    shares = right[relevant > 0] / np.minimum(relevant[relevant > 0], at)
    return float(shares.mean()) if len(shares) else 0.0


def percent(scores: dict[str, Any]) -> Scores:
    return {name: 100 * float(score) for name, score in scores.items()}


def evaluate(
    kind: str, gold: Any, predicted: Any, classes: int, positive: int = 1, at: int = 5, numbers: Any = None
) -> Scores:
    """``predicted``: probabilities (n, classes) or (n, L), or numbers (n,).

    ``numbers``: the names of classes that stand for numbers, to be scored as such, too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes that never occur, which score 0
        if kind == "regression":
            return regression(gold, predicted)
        if kind == "multilabel":
            return multilabel(gold, predicted, at)
        best = predicted.argmax(1)
        scores = classification(gold, best, classes, positive)
        if kind == "tagging":
            return {"tag_accuracy": scores["accuracy"], "macro_f1": scores["macro_f1"]}
        if numbers is not None:
            values = np.array(numbers, dtype=float)
            scores |= regression(values[gold], values[best])
        return scores


def best_thresholds(gold: Any, scores: Any) -> list[float]:
    """The threshold with the highest F1 for each label, midway between two neighbouring scores.

    >>> best_thresholds(np.array([[1], [0], [1], [0]]), np.array([[0.4], [0.3], [0.2], [0.1]]))
    [0.15000000000000002]
    """
    return [best_threshold(gold[:, label], scores[:, label]) for label in range(gold.shape[1])]


def common_threshold(gold: Any, scores: Any) -> float:
    """The threshold for all labels with the highest micro-F1.

    >>> common_threshold(np.array([[1, 0], [1, 1]]), np.array([[0.8, 0.1], [0.4, 0.6]]))
    0.25
    """
    return best_threshold(gold.ravel(), scores.ravel())


def best_threshold(gold: Any, scores: Any) -> float:
    """A label that never occurs keeps 0.5."""
    require(len(gold) > 0, "thresholds are tuned on at least one example, but there are none")
    if not gold.any():
        return POSITIVE
    cuts, assigned, right = possible_cuts(scores, gold)
    best = int((right / (assigned + gold.sum())).argmax())  # half of F1
    following = cuts[best + 1] if best + 1 < len(cuts) else 0.0
    return (float(cuts[best]) + float(following)) / 2  # in 32 bits, the middle could equal one of them


def possible_cuts(scores: Any, right: Any) -> tuple[Any, Any, Any]:
    """Each score (n,) that occurs, from the highest; how many are at least as high; and how many of those are right.

    >>> possible_cuts(np.array([0.5, 0.9, 0.5]), np.array([1, 0, 0]))
    (array([0.9, 0.5]), array([1, 3]), array([0, 1]))
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last_of_equals = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    return ranked[last_of_equals], last_of_equals + 1, right[order].cumsum()[last_of_equals]
