"""The mean of unsmoothed sentence BLEUs, as nltk's ``sentence_bleu`` computes each by default.

Some papers report it. A sentence that shares no group of four words with its references scores 0 (nltk: 1e-77 or so),
so the mean is lower than BLEU of the whole text, and not comparable with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import or_

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, share

ORDERS = (1, 2, 3, 4)


def sentence_bleu(references: Sequence[Sequence[str]], words: Sequence[str]) -> float:
    """
    >>> sentence_bleu(["the cat sat on a mat".split()], "the cat sat on a red mat".split())
    0.6434588841607617
    >>> sentence_bleu(["the cat sat".split()], "the cat sat".split())    # no group of four
    0.0
    """
    logarithms = 0.0
    for order in ORDERS:
        found = groups(words, order)
        wanted = reduce(or_, (groups(reference, order) for reference in references))  # the most of any reference
        shared = sum((found & wanted).values())
        if not shared:
            return 0.0
        logarithms += math.log(shared / sum(found.values())) / len(ORDERS)
    closest = min((len(reference) for reference in references), key=lambda length: (abs(length - len(words)), length))
    return math.exp(min(0.0, 1 - closest / len(words)) + logarithms)


def groups(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def mean_sentence_bleu(references: References, texts: Sequence[str]) -> float:
    """From 0 to 100; words are separated by white space.

    >>> mean_sentence_bleu(["a b c d", "a b c d"], ["a b c d", ""])
    50.0
    """
    return evaluate(references, texts).score


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    scores = [
        sentence_bleu([reference.split() for reference in group], text.split())
        for group, text in zip(alternatives(references, texts), texts, strict=True)
    ]
    return additive("sentence BLEU", [(100 * score, 1) for score in scores], share, digits=2)
