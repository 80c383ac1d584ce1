"""The mean of unsmoothed sentence BLEUs, as nltk's ``sentence_bleu`` computes each by default.

Some papers report it. A sentence that shares no group of four words with its reference scores 0 (nltk: 1e-77 or so), so
the mean is lower than BLEU of the whole text, and not comparable with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from lev_plugins.errors import require

__all__ = ["mean_sentence_bleu", "sentence_bleu"]

ORDERS = (1, 2, 3, 4)


def sentence_bleu(reference: Sequence[str], words: Sequence[str]) -> float:
    """
    >>> sentence_bleu("the cat sat on a mat".split(), "the cat sat on a red mat".split())
    0.6434588841607617
    >>> sentence_bleu("the cat sat".split(), "the cat sat".split())    # no group of four
    0.0
    """
    logarithms = 0.0
    for order in ORDERS:
        found, wanted = groups(words, order), groups(reference, order)
        shared = sum((found & wanted).values())
        if not shared:
            return 0.0
        logarithms += math.log(shared / sum(found.values())) / len(ORDERS)
    brevity = min(0.0, 1 - len(reference) / len(words))
    return math.exp(brevity + logarithms)


def groups(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def mean_sentence_bleu(references: Sequence[str], texts: Sequence[str]) -> float:
    """From 0 to 100; words are separated by white space."""
    require(
        0 < len(references) == len(texts),
        f"sentence BLEU needs a reference for each text, but there are {len(references):,} and {len(texts):,}",
    )
    pairs = zip(references, texts, strict=True)
    return 100 * sum(sentence_bleu(reference.split(), text.split()) for reference, text in pairs) / len(texts)
