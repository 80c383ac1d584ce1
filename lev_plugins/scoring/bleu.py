"""BLEU by sacrebleu, 0 to 100; in fairseq, ``--scoring sacrebleu``.

As in sacrebleu, a text whose sentences all have fewer than four words has BLEU 0, even against itself. Single sentences
are scored with effective order, like sacrebleu's ``sentence_bleu``.
"""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

from lev_plugins.errors import UserError
from lev_plugins.scoring.evaluation import Additive, Array, References, additive, alternatives

ORDER = 4


def evaluate(references: References, texts: Sequence[str], tokenize: str = "13a", lowercase: bool = False) -> Additive:
    """
    >>> round(evaluate(["the cat sat on the mat"], ["the cat sat on a mat"]).score, 2)
    53.73
    """
    chosen = alternatives(references)
    try:
        metric = BLEU(tokenize=tokenize, lowercase=lowercase, effective_order=True, force=True)
    except (ImportError, RuntimeError, OSError) as error:  # some need packages, which they name, or a download
        raise UserError(f"the BLEU tokeniser {tokenize} cannot be loaded: {error}") from error
    scores = [metric.sentence_score(text, entry) for entry, text in zip(chosen, texts, strict=True)]
    rows = np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])
    length, reference_length = rows.sum(0)[-2:].tolist()
    corpus = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    corpus.corpus_score(texts[:1], [[reference] for reference in chosen[0]])  # the signature exists only after scoring
    return additive(
        "BLEU",
        rows,
        bleu_of,
        sentences=[score.score for score in scores],
        details={"words": length, "reference words": reference_length},
        signature=f"sacrebleu {corpus.get_signature()}",
        digits=2,
    )


def bleu_of(sums: Array) -> Array:
    """BLEU from matches and totals of n-grams, and lengths of text and reference.

    >>> bleu_of(np.array([5.0, 3, 2, 1, 6, 5, 4, 3, 6, 6])).round(2).tolist()
    53.73
    >>> bleu_of(np.zeros((2, 10))).tolist()
    [0.0, 0.0]
    """

    def of_row(row: Array) -> float:
        matches, totals, (length, wanted) = (part.tolist() for part in np.split(row.astype(int), [ORDER, 2 * ORDER]))
        return BLEU.compute_bleu(matches, totals, length, wanted, smooth_method="exp").score

    return np.apply_along_axis(of_row, -1, sums)
