"""Translation edit rate: edits (including shifts of phrases) per reference word, in per cent, by sacrebleu.

Case counts, unlike in sacrebleu's default. Words are split at white space, unless a flag changes this.
With several references, the edits are those to the nearest one and the length is the mean, as in sacrebleu.
"""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import TER

from lev_plugins.errors import require
from lev_plugins.scoring.evaluation import Additive, Array, References, additive, alternatives


def evaluate(
    references: References,
    texts: Sequence[str],
    normalized: bool = False,
    no_punct: bool = False,
    asian_support: bool = False,
) -> Additive:
    """
    >>> evaluate(["the cat sat on the mat"], ["on the mat the cat Sat"]).score  # a shift and a word: 2 of 6
    33.33333333333333
    """
    require(
        not asian_support or normalized or no_punct,
        "--asian-support has no effect alone: add --normalized, --no-punct or both",
    )
    metric = TER(normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=True)
    scores = [metric.sentence_score(text, entry) for entry, text in zip(alternatives(references), texts, strict=True)]
    rows = [(score.num_edits, score.ref_length) for score in scores]
    edits, words = np.sum(rows, axis=0).tolist()
    return additive(
        "TER",
        rows,
        ter_of,
        details={"edits": int(edits), "reference words": int(words) if words == int(words) else words},
        signature=f"sacrebleu {metric.get_signature()}",
        digits=2,
        higher_is_better=False,
    )


def ter_of(sums: Array) -> Array:
    """Edits and reference words to per cent. For an empty reference: 100 with any edit, otherwise 0.

    >>> ter_of(np.array([[2.0, 6.0], [3.0, 0.0], [0.0, 0.0]])).tolist(), float(ter_of(np.array([1.0, 4.0])))
    ([33.33333333333333, 100.0, 0.0], 25.0)
    """
    edits, words = sums[..., 0], sums[..., 1]
    return 100 * np.divide(edits, words, out=np.array(np.sign(edits)), where=words > 0)
