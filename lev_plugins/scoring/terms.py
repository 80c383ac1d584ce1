"""The share of the terms of a glossary that translations use.

A source that has a term twice needs its translation twice.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lev_plugins.scoring.evaluation import Additive, additive, ratio
from lev_plugins.text.glossary import Glossary, find_terms
from lev_plugins.text.lines import read_lines


def evaluate(sources: Sequence[str], texts: Sequence[str], glossary: Path | Glossary) -> Additive:
    """Score texts by the terms of their sources that they use.

    >>> glossary = Glossary({"hat": "Hut", "cap": "Mütze"})
    >>> score = evaluate(["a hat", "a cap and a hat"], ["ein Hut", "eine Mütze"], glossary)
    >>> score.score, score.details["hat > Hut: used"]
    (0.6666666666666666, 1)
    """
    if isinstance(glossary, Path):
        glossary = Glossary.parse(read_lines(glossary), str(glossary))
    rows, occurrences, missing = [], Counter[str](), Counter[str]()
    for source, text in zip(sources, texts, strict=True):
        terms = glossary.terms_in(source)
        lacking = find_terms(terms, text)[1]
        rows.append([len(terms) - len(lacking), len(terms)])
        occurrences.update(term.source for term in terms)
        missing.update(term.source for term in lacking)
    details = dict[str, float]()
    for term, count in occurrences.most_common():
        line = f"{term} > {glossary.terms[term]}"
        details |= {f"{line}: in the sources": count, f"{line}: used": count - missing[term]}
    return additive("terms used", rows, ratio, details=details)
