"""Scores of labels by how often the training text has them."""

from typing import Any

from lev_plugins.scoring.labelling import Scores, percent, ranking

FREQUENT = 50  # texts of a label that is neither rare nor new


def by_frequency(gold: Any, scores: Any, counts: Any, at: int) -> dict[str, Scores]:
    """RP@k and nDCG@k of labels of which training has seen more than 50 texts, fewer, or none (Table 2 of EncT5).

    Each is measured among the labels of its group, on the texts that have one. Groups without labels are left out. The
    RP@k of a group of at most k labels is always 100.

    >>> import numpy as np
    >>> gold, scores = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0.9, 0.6, 0.2], [0.1, 0.8, 0.3]])
    >>> by_frequency(gold, scores, counts=np.array([100, 80, 3]), at=1)["few"]
    {'rp_at_1': 100.0, 'ndcg_at_1': 100.0}
    """
    groups = {"frequent": counts > FREQUENT, "few": (counts > 0) & (counts <= FREQUENT), "zero": counts == 0}
    pairs = {name: (gold[:, chosen], scores[:, chosen]) for name, chosen in groups.items() if gold[:, chosen].any()}
    return {name: percent(ranking(right, given, at)) for name, (right, given) in pairs.items()}
