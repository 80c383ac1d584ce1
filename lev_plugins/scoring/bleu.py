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
    """BLEU with sacrebleu's smoothing ("exp") from matches and totals of n-grams and lengths of text and reference.

    The k-th order without a match counts as 1 / 2^k of a match.

    >>> bleu_of(np.array([5.0, 3, 2, 1, 6, 5, 4, 3, 6, 6])).round(2).tolist()
    53.73
    >>> bleu_of(np.zeros((2, 10))).tolist()
    [0.0, 0.0]
    """
    matches, totals, lengths = np.split(sums, [ORDER, 2 * ORDER], axis=-1)
    scored = (matches[..., 0] > 0) & (totals > 0).all(-1)
    missing = matches == 0
    smoothed = np.where(missing, 0.5 ** missing.cumsum(-1), matches)
    precisions = np.divide(smoothed, totals, out=np.ones_like(smoothed), where=totals > 0)
    shortage = np.divide(lengths[..., 1], lengths[..., 0], out=np.ones_like(lengths[..., 0]), where=lengths[..., 0] > 0)
    score = np.exp(np.minimum(0, 1 - shortage) + np.log(precisions).mean(-1))
    return np.where(scored, 100 * score, 0.0)
