"""ROUGE by the package rouge-score: the mean F1 of words, word pairs or longest common subsequences of the texts.

As there, text is lower-cased, everything but ASCII letters and digits separates words, and the reference with the best
F1 counts. This suits only English: ``tokenize="space"`` splits at white space instead. A text of one word has no word
pairs, so its ROUGE-2 is 0. An empty text for an empty reference is a match, 1; rouge-score gives 0.
"""

from collections.abc import Sequence
from importlib.metadata import version
from types import SimpleNamespace

import numpy as np

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio

ROUGE_KINDS = {"rouge1": "ROUGE-1", "rouge2": "ROUGE-2", "rougeL": "ROUGE-L"}
TOKENIZERS = ["english", "space"]


def evaluate(
    references: References,
    texts: Sequence[str],
    kind: str = "rougeL",
    no_stemming: bool = False,
    tokenize: str = "english",
) -> Additive:
    """Score texts by one kind of ROUGE; the other kinds are details.

    >>> evaluate(["two cats sat down"], ["two dogs sat"]).score  # "two ... sat": 2 of 3 words, 2 of 4
    0.5714285714285715
    """
    from rouge_score.rouge_scorer import RougeScorer  # importing nltk takes a second
    from rouge_score.tokenizers import DefaultTokenizer

    space = SimpleNamespace(tokenize=str.split)  # rouge-score's interface to a tokeniser
    tokenizer = space if tokenize == "space" else DefaultTokenizer(use_stemmer=not no_stemming)
    scorer = RougeScorer([*ROUGE_KINDS], tokenizer=tokenizer)
    rows = np.ones((len(texts), len(ROUGE_KINDS)))
    for row, entry, text in zip(rows, alternatives(references), texts, strict=True):
        if text.strip() or all(reference.strip() for reference in entry):
            scores = scorer.score_multi(entry, text)
            row[:] = [scores[name].fmeasure for name in ROUGE_KINDS]
    means = dict(zip(ROUGE_KINDS, rows.mean(0).tolist(), strict=True))
    stemming = f"{'without' if no_stemming else 'with'} stemming"
    words = "words between white space" if tokenize == "space" else stemming
    return additive(
        ROUGE_KINDS[kind],
        np.stack([rows[:, list(ROUGE_KINDS).index(kind)], np.ones(len(rows))], axis=1),
        ratio,
        details={title: means[name] for name, title in ROUGE_KINDS.items() if name != kind},
        signature=f"rouge-score {version('rouge-score')}, F1, {words}",
    )
