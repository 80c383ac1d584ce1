"""Exact match: the share of texts that are their reference, or one of their references, to the last character.

White space and case count. An empty text is right where the reference is empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairseq.dataclass import FairseqDataclass
from fairseq.scoring import register_scorer

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, share
from lev_plugins.scoring.scorer import TextScorer


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


@register_scorer("exact_match", dataclass=FairseqDataclass)
class ExactMatchScorer(TextScorer):
    def evaluate(self, texts: list[str]) -> Additive:
        return evaluate(self.ref, texts)
