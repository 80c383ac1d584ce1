"""How likely it is that a text is in a language, by its letters: py3langid, naive Bayes over 97 languages."""

import logging
from functools import lru_cache
from math import exp

CACHED_TEXTS = 1000
MAX_LOG_ODDS = 700.0  # whose exponential is finite


@lru_cache(CACHED_TEXTS)
def probability_of(language: str, text: str) -> float:
    """Returns the probability that a text is in this language, or 1 if the classifier does not know the language.

    language: its code, such as ``en``
    text: a sentence or more; a few words say little

    >>> probability_of("en", "Das ist ein schönes Haus am See.") < 1e-6, probability_of("en", "It is a hosue.") > 0.1
    (True, True)
    """
    logging.getLogger("py3langid").setLevel(logging.WARNING)  # or it says that it begins
    from py3langid import rank  # not at once: its table takes 60 ms

    scores = {name: float(score) for name, score in rank(text)}  # log-probabilities, less a constant
    if language not in scores:
        return 1.0
    return 1 / sum(exp(min(MAX_LOG_ODDS, score - scores[language])) for score in scores.values())
