"""Confidences that are shares: of the edits with a confidence of 0.9, nine in ten are right.

A model's own confidence says how sure it is of an edit, but not how often such edits are right, least of all in text of
another kind than its training text. So ``lev-plugins export --calibrate`` edits held-out text, checks which edits were
right, and fits a logistic regression on what the editor knows of them. The model folder stores its weights by name.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import exp, log, log1p
from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import OSA, Levenshtein

from lev_plugins.text.edited import Edit, Edited, Span, apply, parts_of
from lev_plugins.text.rewrites import Rewrite
from lev_plugins.text.segments import Segment

CONSTANT = "constant"
FOREIGN = 0.5  # share of unknown words among the others of a segment above which it may be of another language
RIDGE = 1.0  # L2 strength of the logistic regression: its C is 1 / RIDGE
MAX_LOG_ODDS = 30.0  # in either direction: a larger number says no more
MIN_SURPRISE = 1e-3  # added before the logarithm


class Evidence(NamedTuple):
    """What an editor knows of an edit: the features of the logistic regression."""

    odds: float  # log-odds of changing anything there
    choice: float  # log-probability of the inserted words
    doubt: float  # log(MIN_SURPRISE - choice)
    unknown: float  # 1: a replaced word is unknown: neither the dictionary nor the lexicon has it
    frequency: float  # logarithm of the count of the rarest inserted word in the training text
    distance: float  # edit distance from the replaced to the inserted text, as a share of the longer one
    insertion: float  # 1: nothing is replaced
    deletion: float  # 1: nothing is inserted
    capital: float  # 1: a capitalised word inside a sentence is replaced
    signs: float  # 1: the replaced text has digits or signs
    foreign: float  # 1: most of the other words of the segment are unknown
    recurring: float = 0.0  # 1: a replaced word is unknown, and the text has all of them in several sentences
    listed: float = 0.0  # 1: the lexicon has the inserted word as the correction of the replaced one
    replaced_frequency: float = 0.0  # as ``frequency``, of the rarest replaced word
    letters: float = 0.0  # logarithm of the number of characters of the replaced text
    affix: float = 0.0  # 1: the inserted text begins or ends the replaced one, as "set" does "unset"; 0 if listed


WEIGHTS = (CONSTANT, *Evidence._fields)


def evidence(
    segment: Segment, change: Rewrite, pieces: Sequence[str], count: Callable[[str], int], odds: float, choice: float
) -> Evidence:
    """Collects the features of one change of a segment.

    pieces: the whole segment as the model rewrote it
    count: returns how often a piece occurs in the training text
    odds, choice: as in ``Evidence``, before they are limited
    """
    edit = change.edit
    source, target = segment.text[edit.start : edit.end].strip(), edit.replacement.strip()
    counts = [count(piece) for piece in segment.pieces]
    others_unknown = [  # for each other word of the segment
        not counts[place]
        for place, piece in enumerate(segment.pieces)
        if place not in change.removed and any(map(str.isalpha, piece))
    ]
    return Evidence(
        odds=max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, odds)),
        choice=max(-MAX_LOG_ODDS, choice),
        doubt=log(MIN_SURPRISE + min(MAX_LOG_ODDS, max(0.0, -choice))),
        unknown=not all(counts[place] for place in change.removed),
        frequency=log1p(min((count(pieces[place]) for place in change.inserted), default=0)),
        distance=OSA.normalized_distance(source, target),
        insertion=not source,
        deletion=not target,
        capital=edit.start > 0 and source[:1].isupper(),
        signs=bool(source) and not source.replace(" ", "a").isalpha(),
        foreign=sum(others_unknown) > FOREIGN * len(others_unknown),
        replaced_frequency=log1p(min((counts[place] for place in change.removed), default=0)),
        letters=log1p(len(source)),
        affix=is_longer(source.lower(), target.lower()),
    )


def is_longer(word: str, part: str) -> bool:
    """Returns whether a word is another one with letters before or after it.

    >>> is_longer("feedbacks", "feedback"), is_longer("unset", "set"), is_longer("wrold", "world")
    (True, True, False)
    """
    return bool(part) and len(word) > len(part) and (word.startswith(part) or word.endswith(part))


def log_odds(probability: float) -> float:
    """Returns log(p / (1 - p)), at most MAX_LOG_ODDS in either direction.

    >>> log_odds(0.5), log_odds(1.0), log_odds(1e-20)
    (0.0, 30.0, -30.0)
    """
    if probability in (0, 1):
        return MAX_LOG_ODDS if probability == 1 else -MAX_LOG_ODDS
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, log(probability / (1 - probability))))


def confidence(weights: Mapping[str, float], features: Sequence[float]) -> float:
    """Returns the share of edits with these features that are right.

    >>> nothing = Evidence(*[0.0] * len(Evidence._fields))
    >>> confidence({CONSTANT: 1.0, "distance": -2.0}, nothing._replace(distance=0.5))
    0.5
    """
    odds = sum(weights.get(name, 0.0) * value for name, value in zip(WEIGHTS, (1.0, *features), strict=True))
    return 1 / (1 + exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, odds))))


def calibrate(edited: Edited, weights: Mapping[str, float]) -> Edited:
    """Replaces the confidences of all edits by those of the logistic regression."""

    def calibrate_edit(edit: Edit, limit: float = 1.0) -> Edit:
        share = min(limit, confidence(weights, edit.evidence))
        alternatives: list[Edit] = []
        limit -= share
        for alternative in edit.alternatives:  # at most one of them is right, so their confidences add up to at most 1
            alternatives.append(calibrate_edit(alternative, limit))
            limit -= alternatives[-1].confidence
        alternatives.sort(key=lambda alternative: -alternative.confidence)
        return replace(edit, confidence=share, alternatives=tuple(alternatives))

    return replace(edited, edits=tuple(map(calibrate_edit, edited.edits)))


def recurring_words(text: str, sentences: Iterable[Span]) -> set[str]:
    """Returns the words and signs that occur, spelt the same, in several sentences of a text.

    >>> sorted(recurring_words("Tam met Ada. Ada, ada!", [Span(0, 12), Span(13, 22)]))
    [' ', 'Ada']
    """
    counts = Counter(part for start, end in sentences for part in {*parts_of(text[start:end])})
    return {part for part, count in counts.items() if count > 1}


def with_recurring(edited: Edited, recurring: Collection[str]) -> Edited:
    """Notes which edits replace unknown words that recur: they are more often words of the text than typos."""

    def note(edit: Edit) -> Edit:
        parts = parts_of(edited.original[edit.start : edit.end])
        is_recurring = bool(parts) and all(part in recurring for part in parts)
        if not edit.evidence or not Evidence(*edit.evidence).unknown or not is_recurring:
            return edit
        features = Evidence(*edit.evidence)._replace(recurring=1.0)
        return replace(edit, evidence=features, alternatives=tuple(map(note, edit.alternatives)))

    return replace(edited, edits=tuple(map(note, edited.edits)))


def is_right(text: str, edit: Edit, clean: str) -> bool:
    """Returns whether this edit alone brings the text nearer to the clean one, with all that it changes.

    >>> [is_right("teh cat sta", edit, "the cat sat") for edit in (Edit(0, 3, "the"), Edit(0, 11, "the cat"))]
    [True, False]
    """
    source, edited, target = (parts_of(version) for version in (text, apply(text, [edit]), clean))
    distance = Levenshtein.distance(source, edited) + Levenshtein.distance(edited, target)
    return distance == Levenshtein.distance(source, target)


def fit(features: Sequence[Sequence[float]], labels: Sequence[bool]) -> dict[str, float]:
    """Fits the weights of a logistic regression; ``labels`` says which of the edits are right."""
    from sklearn.linear_model import LogisticRegression  # not at once: editors need none of it

    rows = np.asarray(features, dtype=np.float64)
    mean, deviation = rows.mean(0), rows.std(0)
    deviation[deviation < 1e-9] = np.inf  # a constant feature gets the weight 0
    model = LogisticRegression(C=1 / RIDGE, solver="newton-cholesky", tol=1e-9).fit((rows - mean) / deviation, labels)
    slopes = model.coef_[0] / deviation
    values = [model.intercept_[0] - slopes @ mean, *slopes]
    return dict(zip(WEIGHTS, (round(float(value), 4) for value in values), strict=True))
