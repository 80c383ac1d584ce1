"""Where scores can be cut in two."""

from __future__ import annotations

from typing import Any

import numpy as np


def possible_cuts(scores: Any, right: Any) -> tuple[Any, Any, Any]:
    """Each score (n,) that occurs, from the highest; how many are at least as high; and how many of those are right.

    >>> possible_cuts(np.array([0.5, 0.9, 0.5]), np.array([1, 0, 0]))
    (array([0.9, 0.5]), array([1, 3]), array([0, 1]))
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last_of_equals = np.flatnonzero(np.append(ranked[1:] < ranked[:-1], True))
    return ranked[last_of_equals], last_of_equals + 1, right[order].cumsum()[last_of_equals]
