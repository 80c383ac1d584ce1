"""Scores of labels, by scikit-learn and SciPy; in per cent, except for the mean squared error.

RP@k and the F1 of label sets are computed here: scikit-learn lacks RP@k, and takes sets of a single label, (n, 1), for
binary classification, where the micro-average of F1 also counts the absence of the label as a class.

Arrays: n examples (or words), L labels.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lev_plugins.utils.errors import require

Array = npt.NDArray[Any]
Scores = dict[str, float]
POSITIVE = 0.5  # the default threshold: labels with at least this probability are assigned


def classification(gold: Array, predicted: Array, classes: int) -> Scores:
    """Scores of classes (n,); with two classes, also the F1 of the last one.

    >>> scores = classification(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0]), 2)
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
        scores["f1"] = f1_score(gold, predicted, labels=[1], average="macro", zero_division=0)
    return percent(scores)


def regression(gold: Array, predicted: Array) -> Scores:
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


def multilabel(gold: Array, scores: Array, at: int, thresholds: npt.ArrayLike = POSITIVE) -> Scores:
    """Scores of sets of labels: zeros and ones (n, L), and probabilities (n, L).

    >>> gold, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.9, 0.6, 0.2], [0.1, 0.8, 0.3]])
    >>> {name: round(score, 1) for name, score in multilabel(gold, scores, at=1).items()}
    {'micro_f1': 66.7, 'macro_f1': 55.6, 'rp_at_1': 100.0, 'ndcg_at_1': 100.0}
    """
    predicted = np.asarray(scores, dtype=float) >= np.asarray(thresholds)  # 32-bit scores would round the thresholds
    positive = gold > 0
    correct, total = (predicted & positive).sum(0), predicted.sum(0) + positive.sum(0)  # (L,)
    results = {"micro_f1": f1(correct.sum(), total.sum()), "macro_f1": f1(correct, total).mean()}
    return percent(results | ranking(gold, scores, at))


def f1(correct: Any, total: Any) -> Any:
    """Return F1 from the correct labels, and the sum of predicted and gold labels; 0 if there are none."""
    return 2 * correct / np.maximum(total, 1)


def ranking(gold: Array, scores: Array, at: int) -> dict[str, float]:
    """Return RP@k, and nDCG@k of the texts that have labels; with a single label in all, nDCG is 1."""
    from sklearn.metrics import ndcg_score

    labelled = gold.any(1)
    ndcg = float(labelled.any())
    if ndcg and gold.shape[1] > 1:
        ndcg = float(ndcg_score(gold[labelled], scores[labelled], k=at))
    return {f"rp_at_{at}": r_precision(gold, scores, at), f"ndcg_at_{at}": ndcg}


def r_precision(gold: Array, scores: Array, at: int) -> float:
    """Return RP@k (Chalkidis et al., 2019): correct labels among the k likeliest, as a share of those possible.

    >>> r_precision(np.array([[1, 0, 0, 0]]), np.array([[0.5, 0.9, 0.1, 0.0]]), at=2)
    1.0
    """
    relevant = gold.sum(1)
    likeliest = np.argsort(-scores, axis=1, kind="stable")[:, :at]
    correct = np.take_along_axis(gold, likeliest, axis=1).sum(1)
    shares = correct[relevant > 0] / np.minimum(relevant[relevant > 0], at)
    return float(shares.mean()) if len(shares) else 0.0


def percent(scores: dict[str, Any]) -> Scores:
    return {name: 100 * float(score) for name, score in scores.items()}


def evaluate(
    kind: str, gold: Array, predicted: Array, classes: int, at: int = 5, numbers: Sequence[str] | None = None
) -> Scores:
    """Score predictions by the metrics of a kind of labels.

    ``kind``: a value of ``--label-kind``
    ``gold``: classes (n,), numbers (n,), or zeros and ones (n, L)
    ``predicted``: probabilities (n, classes) or (n, L), or numbers (n,)
    ``classes``: the number of classes
    ``at``: the k of RP@k and nDCG@k
    ``numbers``: names of classes that are numbers, to be scored as numbers as well
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about classes that never occur: they score 0
        if kind == "regression":
            return regression(gold, predicted)
        if kind == "multilabel":
            return multilabel(gold, predicted, at)
        likeliest = predicted.argmax(1)
        scores = classification(gold, likeliest, classes)
        if kind == "tagging":
            return {"tag_accuracy": scores["accuracy"], "macro_f1": scores["macro_f1"]}
        if numbers is not None:
            values = np.array(numbers, dtype=float)
            scores |= regression(values[gold], values[likeliest])
        return scores


def best_thresholds(gold: Array, scores: Array) -> list[float]:
    """Return the threshold with the highest F1 for each label, midway between two neighbouring scores.

    >>> best_thresholds(np.array([[1], [0], [1], [0]]), np.array([[0.4], [0.3], [0.2], [0.1]]))
    [0.15000000000000002]
    """
    return [best_threshold(gold[:, label], scores[:, label]) for label in range(gold.shape[1])]


def common_threshold(gold: Array, scores: Array) -> float:
    """Return the threshold for all labels with the highest micro-F1.

    >>> common_threshold(np.array([[1, 0], [1, 1]]), np.array([[0.8, 0.1], [0.4, 0.6]]))
    0.25
    """
    return best_threshold(gold.ravel(), scores.ravel())


def best_threshold(gold: Array, scores: Array) -> float:
    """Return the threshold with the highest F1; 0.5 for a label that never occurs."""
    require(len(gold) > 0, "thresholds are tuned on at least one example, but there are none")
    if not gold.any():
        return POSITIVE
    cuts, predicted, correct = possible_cuts(scores, gold)
    best = int((correct / (predicted + gold.sum())).argmax())  # half of F1
    following = cuts[best + 1] if best + 1 < len(cuts) else 0.0
    return (float(cuts[best]) + float(following)) / 2  # in 32 bits, the middle could be equal to one of them


def possible_cuts(scores: Array, correct: Array) -> tuple[Array, Array, Array]:
    """Return the distinct scores from the highest, how many are at least as high, and how many of those are correct.

    >>> possible_cuts(np.array([0.5, 0.9, 0.5]), np.array([1, 0, 0]))
    (array([0.9, 0.5]), array([1, 3]), array([0, 1]))
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last_of_equals = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    return ranked[last_of_equals], last_of_equals + 1, correct[order].cumsum()[last_of_equals]
