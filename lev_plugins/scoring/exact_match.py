"""Exact match: the share of texts identical to their reference, or to one of them.

White space and case count. An empty text is right if the reference is empty.
"""

from collections.abc import Sequence

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    """Score texts by exact match.

    >>> evaluate(["a b", "c", ""], ["a b", "C", ""]).score
    0.6666666666666666
    """
    rows = [(text in entry, 1) for entry, text in zip(alternatives(references), texts, strict=True)]
    matches = sum(match for match, _ in rows)
    return additive("exact match", rows, ratio, details={"matches": matches, "sentences": len(rows)})
