"""The two scores of the released code of the gated Transformer.

What it calls WRR is the number of lower-cased words in both text and reference, divided by those in either; the mean
over texts. It ignores order and repetition. If both are empty, the released code gives 0.5; here, two equal texts are
always a match, 1. The other is the mean of unsmoothed sentence BLEUs of lower-cased text, by nltk: a sentence that
shares no group of four words with its reference scores 0, so it is lower than BLEU of the whole text.
"""

import warnings
from collections.abc import Sequence

from nltk.translate.bleu_score import sentence_bleu

from lev_plugins.scoring.evaluation import Additive, additive, ratio


def word_set_overlap(references: Sequence[str], texts: Sequence[str]) -> Additive:
    """
    >>> word_set_overlap(["the cat saw the dog"], ["The dog saw a cat"]).score  # {cat, dog, saw, the} of 5
    0.8
    """
    return additive("WRR of word sets", [(overlap(*pair), 1) for pair in zip(references, texts, strict=True)], ratio)


def overlap(reference: str, text: str) -> float:
    """
    >>> overlap("a b", "B c"), overlap("", "")
    (0.3333333333333333, 1.0)
    """
    expected, words = set(reference.lower().split()), set(text.lower().split())
    return len(words & expected) / len(words | expected) if words | expected else 1.0


def mean_sentence_bleu(references: Sequence[str], texts: Sequence[str]) -> Additive:
    """Returns a score from 0 to 100, which ignores case; words are separated by white space.

    >>> mean_sentence_bleu(["The Cat sat on it"], ["the cat sat on it"]).score
    100.0
    >>> round(mean_sentence_bleu(["a b c d", "a b c d"], ["a b c d", ""]).score, 4)
    50.0
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sentences that score 0
        scores = [
            100 * sentence_bleu([reference.lower().split()], text.lower().split())
            for reference, text in zip(references, texts, strict=True)
        ]
    return additive("sentence BLEU", [(score, 1) for score in scores], ratio, digits=2)
