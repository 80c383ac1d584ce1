"""Translation edit rate: edits (including shifts of phrases) per reference word, in per cent, by sacrebleu.

Case counts, unlike in sacrebleu's default. Words are split at white space, unless a flag changes this.
With several references, the edits are those to the nearest one and the length is the mean, as in sacrebleu.
"""

from collections.abc import Sequence
from dataclasses import replace

from sacrebleu.metrics import TER

from lev_plugins.scoring.evaluation import Additive, References, by_sacrebleu


def evaluate(
    references: References,
    texts: Sequence[str],
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
) -> Additive:
    """Score texts by TER; the flags are those of sacrebleu's TER.

    >>> evaluate(["the cat sat on the mat"], ["on the mat the cat Sat"]).score  # a shift and a word: 2 of 6
    33.33333333333333
    >>> [evaluate([""], [text]).score for text in ("a b c", "")]
    [100.0, 0.0]
    """
    metric = TER(normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=True)
    corpus = by_sacrebleu("TER", metric, references, texts, higher_is_better=False)
    edits, words = corpus.sums.tolist()
    return replace(
        corpus, details={"edits": int(edits), "reference words": int(words) if words == int(words) else words}
    )
