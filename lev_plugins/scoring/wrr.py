"""Word recognition rate: the share of the words of a reference that a text contains, in order.

Words are split at white space. Reference and text are aligned with the fewest word insertions, deletions and
substitutions; a reference word is recognised if the alignment pairs it with an equal word. Of equally cheap alignments,
the one that recognises most words is taken, and of these the first on a walk back from the end (pair before insertion
before deletion). Extra words of the text cost nothing (the word error rate measures them). With several references, the
one with the largest recognised share counts. Any text satisfies an empty reference; if there are other references, only
an empty text does.
"""

from __future__ import annotations

from collections.abc import Sequence

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio
from lev_plugins.text.edited import common

Cell = tuple[int, int]  # edits, and minus the words recognised: the smaller, the better


def recognised_words(reference: Sequence[str], text: Sequence[str]) -> list[bool]:
    """For each word of the reference, whether ``text`` has it in its place.

    >>> recognised_words("the cat sat down".split(), "the cta sat right down".split())
    [True, False, True, True]
    >>> recognised_words(["a", "b"], ["b", "c"])    # two substitutions cost the same, but recognise nothing
    [False, True]
    >>> recognised_words(["a", "b"], [])
    [False, False]
    """
    table = _alignment_table(reference, text)
    recognised = [False] * len(reference)
    i, j = len(reference), len(text)
    while i and j:
        same = reference[i - 1] == text[j - 1]
        if table[i][j] == _paired(table[i - 1][j - 1], same):
            i, j = i - 1, j - 1
            recognised[i] = same
        elif table[i][j] == _edited(table[i][j - 1]):
            j -= 1
        else:
            i -= 1
    return recognised


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    """
    >>> evaluate(["the cat sat", "on a mat"], ["the cta sat", "on a red mat"]).score  # 5 of 6
    0.8333333333333334
    """
    rows = [nearest(entry, text) for entry, text in zip(alternatives(references), texts, strict=True)]
    recognised, words = (sum(column) for column in zip(*rows, strict=True))
    return additive("WRR", rows, ratio, details={"recognised": recognised, "reference words": words})


def nearest(references: Sequence[str], text: str) -> tuple[int, int]:
    """Recognised words and all words of the reference with the largest recognised share.

    >>> nearest(["a b c", "a b"], "a b"), nearest(["x", ""], "y"), nearest(["x", ""], "")
    ((2, 2), (0, 1), (0, 0))
    """
    rows = [recognition(reference, text) for reference in references]
    return max(rows, key=lambda row: row[0] / row[1] if row[1] else not text.split())


def recognition(reference: str, text: str) -> tuple[int, int]:
    """Recognised words and all words of a reference.

    >>> recognition("the cat sat", "the cta sat")
    (2, 3)
    """
    words, other = reference.split(), text.split()
    first = common(words, other)  # pairing these loses nothing, and the table of the rest is smaller
    last = common(words[first:][::-1], other[first:][::-1])
    middle = recognised_words(words[first : len(words) - last], other[first : len(other) - last])
    return first + sum(middle) + last, len(words)


def _paired(before: Cell, same: bool) -> Cell:
    return (before[0], before[1] - 1) if same else _edited(before)


def _edited(before: Cell) -> Cell:
    return before[0] + 1, before[1]


def _alignment_table(reference: Sequence[str], text: Sequence[str]) -> list[list[Cell]]:
    """``table[i][j]``: the best alignment of the first i reference words with the first j words of the text."""
    table = [[(j, 0) for j in range(len(text) + 1)]]
    for i, word in enumerate(reference, 1):
        row = [(i, 0)]
        for j, other in enumerate(text, 1):
            pair = _paired(table[i - 1][j - 1], word == other)
            row.append(min(pair, _edited(row[-1]), _edited(table[i - 1][j])))
        table.append(row)
    return table
