"""The overlap of word sets that the released code of the gated Transformer calls WRR.

It is the number of lower-cased words in both text and reference, divided by those in either; the mean over texts. It
ignores order and repetition, and its numbers differ from those of ``wrr``. If both are empty, the released code gives
0.5; here, two equal texts are always a match, 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, share


def word_set_overlap(references: References, texts: Sequence[str]) -> float:
    """
    >>> word_set_overlap(["the cat saw the dog"], ["The dog saw a cat"])  # {cat, dog, saw, the} of 5
    0.8
    """
    return evaluate(references, texts).score


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    chosen = alternatives(references, texts)
    rows = [(max(overlap(entry, text) for entry in group), 1) for group, text in zip(chosen, texts, strict=True)]
    return additive("WRR of word sets", rows, share)


def overlap(reference: str, text: str) -> float:
    """
    >>> overlap("a b", "B c"), overlap("", "")
    (0.3333333333333333, 1.0)
    """
    words, other = set(reference.lower().split()), set(text.lower().split())
    return len(words & other) / len(words | other) if words | other else 1.0
