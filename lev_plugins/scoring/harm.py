"""Harm: what a corrector does to words that were right.

Words are split at white space. The clean text is aligned with the output by their longest common blocks; a word of the
clean text that is in none of them is broken. With sources, only the words that were right in the source can be broken,
and the others are typos, which the output repairs or not. With several references, the one with the fewest missing
words counts.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np

from lev_plugins.scoring.evaluation import Additive, Array, References, additive, alternatives, ratio


def common_words(clean: Sequence[str], text: Sequence[str]) -> set[int]:
    """Return the places of the words of ``clean`` that ``text`` also has.

    >>> sorted(common_words("the cat sat down".split(), "the cta sat right down".split()))
    [0, 2, 3]
    """
    if clean == text:
        return set(range(len(clean)))
    blocks = SequenceMatcher(None, clean, text, autojunk=False).get_matching_blocks()
    return {place for block in blocks for place in range(block.a, block.a + block.size)}


def evaluate(sources: Sequence[str] | None, references: References, texts: Sequence[str]) -> Additive:
    """Score texts by the right words that they lack, of 1,000.

    >>> score = evaluate(None, ["the cat sat", "on a mat"], ["the cta sat", "on a mat"])
    >>> round(score.score, 1), score.details["% of lines changed"]
    (166.7, 50.0)
    >>> score = evaluate(["teh cat sta"], ["the cat sat"], ["the cats sta"])
    >>> score.score, score.details["% of typos repaired"], round(score.details["% of words right"], 1)
    (1000.0, 50.0, 33.3)
    """
    rows, changed = [], 0
    for entry, text, source in zip(alternatives(references), texts, sources or texts, strict=True):
        options = [(reference.split(), common_words(reference.split(), text.split())) for reference in entry]
        clean, in_text = min(options, key=lambda option: len(option[0]) - len(option[1]))
        in_source = set(range(len(clean))) if sources is None else common_words(clean, source.split())
        rows.append([len(in_source - in_text), len(in_source), len(in_text - in_source), len(clean) - len(in_source)])
        changed += (clean if sources is None else source.split()) != text.split()
    details = {"% of lines changed": 100 * changed / len(rows)}
    if sources is not None:
        sums: Array = np.array(rows, dtype=np.float64).sum(0)
        details["% of typos repaired"] = 100 * float(ratio(sums[2:]))
        details["% of words right"] = 100 * float((sums[1] - sums[0] + sums[2]) / max(1, sums[1] + sums[3]))
    style = {"details": details, "digits": 1, "higher_is_better": False}
    return additive("broken of 1,000 right words", rows, per_thousand, **style)


def per_thousand(sums: Array) -> Array:
    return 1000 * sums[..., 0] / np.maximum(sums[..., 1], 1)
