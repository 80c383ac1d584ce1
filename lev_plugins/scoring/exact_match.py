"""Exact match: the share of texts identical to their reference, or to one of them.

White space and case count. An empty text is right if the reference is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, share


def exact_match_rate(references: References, texts: Sequence[str]) -> float:
    """
    >>> exact_match_rate(["a b", "c", ""], ["a b", "C", ""])
    0.6666666666666666
    """
    return evaluate(references, texts).score


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    chosen = alternatives(references, texts)
    rows = [(text in entry, 1) for entry, text in zip(chosen, texts, strict=True)]
    matches = sum(match for match, _ in rows)
    return additive("exact match", rows, share, details={"matches": matches, "sentences": len(rows)})
