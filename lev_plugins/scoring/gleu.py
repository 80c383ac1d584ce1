"""GLEU for grammatical error correction (Napoles et al. 2015, and their note of 2016 on several references).

Unlike BLEU, it uses the source: an n-gram of the text counts if it is in the reference, and counts against the text if
it is in the source but not in the reference, because it should have been changed.

With several references, each sentence is scored against one drawn at random; the score is the mean of 500 such corpora.
The draws are those of the authors' script under Python 2, for which it was written (seeds 0, 101, 202, ... of Python's
generator): the number is the same to the last digit, in every run. Python 3 draws other references from the same seeds:
there, the script gives 0.404740 for the source of JFLEG's test set; Python 2 and this module give 0.405430. A single
sentence scores the mean over its references, with counts of 0 replaced by 1, as in the script.

Shapes: N sentences, R references, D draws, B resamples.
"""

import random
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from lev_plugins.scoring.evaluation import Array, Evaluation, References, alternatives

ORDER = 4
DRAWS = 500
SEED_STEP = 101
DRAWS_AT_ONCE = 25  # bounds the memory of many resamples


def evaluate(sources: Sequence[str], references: References, texts: Sequence[str]) -> Evaluation:
    """Score texts by GLEU; every sentence must have the same number of references.

    >>> source = "he go to school every day with his sister"
    >>> reference = "he goes to school every day with his sister"
    >>> evaluate([source], [reference], [reference]).score, round(evaluate([source], [reference], [source]).score, 4)
    (1.0, 0.4855)
    """
    entries = alternatives(references)
    statistics = np.array(
        [
            [sentence_statistics(source, reference, text) for reference in entry]
            for source, entry, text in zip(sources, entries, texts, strict=True)
        ],
        dtype=np.float64,
    )
    sentences = gleu_of(np.where(statistics == 0, 1, statistics)).mean(1)
    return Evaluation("GLEU", sentences, partial(scores, statistics, draws(len(texts), len(entries[0]))))


def scores(statistics: Array, references: npt.NDArray[np.int64], counts: Array) -> Array:
    """Return the scores (B,) of resamples: ``counts`` (B, N) says how often each one takes each sentence.

    ``statistics`` are those of each reference, (N, R, 2 + 2 * ORDER); ``references`` are drawn, (D, N).
    """
    total = np.zeros(len(counts))
    for start in range(0, len(references), DRAWS_AT_ONCE):
        rows = statistics[np.arange(len(statistics)), references[start : start + DRAWS_AT_ONCE]]  # (draws, N, K)
        sums = np.einsum("bn,dnk->bdk", counts, rows, optimize=True)
        total += gleu_of(sums).sum(1)
    return total / len(references)


def draws(sentences: int, references: int) -> npt.NDArray[np.int64]:
    """Return the reference of each sentence in each draw (D, N), as in the authors' script under Python 2.

    >>> draws(3, 1).tolist(), draws(8, 4).shape, draws(8, 4)[0].tolist()
    ([[0, 0, 0]], (500, 8), [3, 3, 1, 1, 2, 1, 3, 1])
    """
    if references == 1:
        return np.zeros((1, sentences), dtype=np.int64)
    rows = []
    for draw in range(DRAWS):
        generator = random.Random(draw * SEED_STEP)
        rows.append([int(generator.random() * references) for _ in range(sentences)])
    return np.array(rows)


def sentence_statistics(source: str, reference: str, text: str) -> list[int]:
    """Return the lengths of text and reference, then for n = 1, 2, 3, 4 the n-grams that count, and all n-grams.

    >>> sentence_statistics("he go home", "he goes home", "he go home")  # "go" is only in the source
    [3, 3, 1, 3, 0, 2, 0, 1, 0, 0]
    """
    in_source, in_reference, in_text = (ngrams(line.split()) for line in (source, reference, text))
    row = [len(text.split()), len(reference.split())]
    for n in range(ORDER):
        unwanted = Counter({gram: count for gram, count in in_source[n].items() if gram not in in_reference[n]})
        correct = (in_text[n] & in_reference[n]).total() - (in_text[n] & unwanted).total()
        row += [max(correct, 0), in_text[n].total()]
    return row


def ngrams(words: list[str]) -> list[Counter[tuple[str, ...]]]:
    return [Counter(zip(*(words[i:] for i in range(n)), strict=False)) for n in range(1, ORDER + 1)]


def gleu_of(sums: Array) -> Array:
    """Turn statistics (..., 2 + 2 * ORDER) into scores, which are 0 if one of the statistics is 0."""
    scored = sums.min(-1) > 0
    sums = np.where(np.expand_dims(scored, -1), sums, 1)
    lengths, reference_lengths = sums[..., 0], sums[..., 1]
    precision = np.log(sums[..., 2::2] / sums[..., 3::2]).mean(-1)
    return np.where(scored, np.exp(np.minimum(0, 1 - reference_lengths / lengths) + precision), 0.0)
