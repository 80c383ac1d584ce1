"""A confidence that means something: of the edits that claim 0.9, nine in ten are right.

What a model gives an edit says how sure it is, but not how often it is right, least of all in text of another kind than
its training text. So ``lev-plugins export --calibrate`` edits held-out text, looks which edits were right, and fits a
logistic regression on what the editor knows of them. Its weights are numbers with names in the model folder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import exp, log, log1p
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import OSA, Levenshtein

from lev_plugins.text.edited import Edit, Edited, apply, parts_of
from lev_plugins.text.rewrites import Rewrite
from lev_plugins.text.segments import Segment

CONSTANT = "constant"
# An unknown word with a capital inside a sentence is often a name, and to change a name is worse than to leave a typo.
# So for such a word, the confidence is cubed before it is compared with the dial, unless the language writes all nouns
# with capitals.
NAME, CUBE = "name", 3.0
CAPITAL_NOUNS = ("de", "lb")
RIDGE = 1.0  # what an edit more or less may change
SURE = 30.0  # log-odds beyond which nothing is known any better
SMALLEST = 1e-3  # of a doubt


class Evidence(NamedTuple):
    """What an editor knows of an edit."""

    odds: float  # log-odds of changing anything there
    choice: float  # log-probability of the words that were put in
    doubt: float  # logarithm of how far that is from 0
    unknown: float  # 1: the dictionary lacks what is replaced
    frequency: float  # logarithm of how often the new words occur in the training text; of several, the rarest
    distance: float  # slips from old to new, as a share of the longer one
    insertion: float
    deletion: float
    capital: float  # a word with a capital inside a sentence is changed
    signs: float  # there are digits or signs in what is changed
    around: float  # share of unknown words beside it in the sentence


WEIGHTS = (CONSTANT, *Evidence._fields)


def evidence(
    segment: Segment, change: Rewrite, written: Sequence[str], count: Callable[[str], int], odds: float, choice: float
) -> Evidence:
    """``written``: pieces of the whole segment; ``count``: how often a piece occurs in the training text."""
    edit = change.edit
    old, new = segment.text[edit.start : edit.end].strip(), edit.replacement.strip()
    counts = [count(piece) for piece in segment.pieces]
    around = [
        not counts[place]
        for place, piece in enumerate(segment.pieces)
        if place not in change.given and any(map(str.isalpha, piece))
    ]
    return Evidence(
        odds=max(-SURE, min(SURE, odds)),
        choice=max(-SURE, choice),
        doubt=log(SMALLEST + min(SURE, max(0.0, -choice))),
        unknown=not all(counts[place] for place in change.given),
        frequency=log1p(min((count(written[place]) for place in change.written), default=0)),
        distance=OSA.normalized_distance(old, new),
        insertion=not old,
        deletion=not new,
        capital=edit.start > 0 and old[:1].isupper(),
        signs=not old.replace(" ", "a").isalpha() and bool(old),
        around=sum(around) / max(1, len(around)),
    )


def log_odds(share: float) -> float:
    """
    >>> log_odds(0.5), log_odds(1.0)
    (0.0, 30.0)
    """
    return SURE if share == 1 else -SURE if share == 0 else log(share / (1 - share))


def confidence(weights: Mapping[str, float], known: Sequence[float]) -> float:
    """
    >>> nothing = Evidence(*[0.0] * len(Evidence._fields))
    >>> confidence({CONSTANT: 1.0, "distance": -2.0}, nothing._replace(distance=0.5))
    0.5
    """
    odds = sum(weights.get(name, 0.0) * value for name, value in zip(WEIGHTS, (1.0, *known), strict=True))
    return 1 / (1 + exp(-max(-SURE, min(SURE, odds))))


def calibrated(edited: Edited, weights: Mapping[str, float]) -> Edited:
    """The same edits, but with confidences that mean something."""

    def judged(edit: Edit, left: float = 1.0) -> Edit:
        known = Evidence(*edit.evidence)
        share = min(left, confidence(weights, known))
        dial = share ** max(0.0, weights[NAME]) if NAME in weights and known.unknown and known.capital else None
        left, others = left - share, []
        for other in edit.others:  # only one of them is right
            others.append(judged(other, left))
            left -= others[-1].confidence
        return replace(edit, confidence=share, dial=dial, others=tuple(others))

    return replace(edited, edits=tuple(map(judged, edited.edits)))


def right(text: str, edit: Edit, clean: str) -> bool:
    """Does this edit alone bring the text nearer to the clean one, with all that it changes?

    >>> [right("teh cat sta", edit, "the cat sat") for edit in (Edit(0, 3, "the"), Edit(0, 11, "the cat"))]
    [True, False]
    """
    given, edited, wanted = (parts_of(each) for each in (text, apply(text, [edit]), clean))
    done, left = Levenshtein.distance(given, edited), Levenshtein.distance(edited, wanted)
    return done + left == Levenshtein.distance(given, wanted)


def fit(known: Sequence[Sequence[float]], labels: Sequence[bool]) -> dict[str, float]:
    """The weights that make the ``labels`` likeliest, a little drawn towards 0."""
    from sklearn.linear_model import LogisticRegression  # not at once: editors need none of it

    rows = np.asarray(known, dtype=np.float64)
    mean, deviation = rows.mean(0), rows.std(0)
    deviation[deviation < 1e-9] = np.inf  # what never varies says nothing
    fitted = LogisticRegression(C=1 / RIDGE, solver="newton-cholesky", tol=1e-9).fit((rows - mean) / deviation, labels)
    slopes = fitted.coef_[0] / deviation
    values = [fitted.intercept_[0] - slopes @ mean, *slopes]
    return dict(zip(WEIGHTS, (round(float(value), 4) for value in values), strict=True))
