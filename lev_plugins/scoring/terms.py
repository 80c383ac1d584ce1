"""The share of the terms of a glossary that translations use.

A source that has a term twice needs its translation twice. ``text.glossary`` says where a text has a term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lev_plugins.scoring.evaluation import Additive, additive, ratio
from lev_plugins.text.edited import Term
from lev_plugins.text.glossary import Glossary, find_terms


def evaluate(
    sources: Sequence[str], texts: Sequence[str], glossary: Path | Glossary, details: bool = False
) -> Additive:
    """Score texts by the terms of their sources that they use; ``details``: also by the lines of the glossary.

    >>> glossary = Glossary({"hat": "Hut", "cap": "Mütze"})
    >>> evaluate(["a hat", "a cap and a hat"], ["ein Hut", "eine Mütze"], glossary).score  # 2 of 3
    0.6666666666666666
    """
    if not isinstance(glossary, Glossary):
        glossary = Glossary.read(glossary)
    rows, wanted, missing = [], Counter[str](), Counter[str]()
    for source, text in zip(sources, texts, strict=True):
        terms = [Term(*term[:2]) for _, term in glossary.terms_in(source)]
        lacking = find_terms(terms, text)[1]
        rows.append([len(terms) - len(lacking), len(terms)])
        wanted.update(term.source for term in terms)
        missing.update(term.source for term in lacking)
    counts = {"used": wanted.total() - missing.total(), "in the sources": wanted.total()}
    if details:
        for term, count in wanted.most_common():
            title = f"{term} > {glossary.terms[term]}"
            counts |= {f"{title}: in the sources": count, f"{title}: used": count - missing[term]}
    return additive("terms used", rows, ratio, details=counts)
