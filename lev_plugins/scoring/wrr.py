"""Word recognition rate: the share of the words of a reference that a text contains, in order.

Words are split at white space. Reference and text are aligned with the fewest word insertions, deletions and
substitutions; a reference word is recognised if the alignment pairs it with an equal word. Of equally cheap alignments,
the one that recognises most words is taken, and of these the first on a walk back from the end (pair before insertion
before deletion). Extra words of the text cost nothing (the word error rate measures them). With several references, the
one with the largest recognised share counts. Any text satisfies an empty reference; if there are other references, only
an empty text does.
"""

from collections.abc import Sequence

from lev_plugins.scoring.alignment import cost_table
from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio
from lev_plugins.text.edited import common

EDIT = 1 << 32  # the cost of an edit; a recognised word takes off 1, so the fewest edits come first


def recognised_words(reference: Sequence[str], text: Sequence[str]) -> list[bool]:
    """For each word of the reference, whether ``text`` has it in its place.

    >>> recognised_words("the cat sat down".split(), "the cta sat right down".split())
    [True, False, True, True]
    >>> recognised_words(["a", "b"], ["b", "c"])    # two substitutions cost the same, but recognise nothing
    [False, True]
    >>> recognised_words(["a", "b"], [])
    [False, False]
    """
    table = cost_table(reference, text, replaced=EDIT, equal=-1, gap=EDIT)
    recognised = [False] * len(reference)
    i, j = len(reference), len(text)
    while i and j:
        same = reference[i - 1] == text[j - 1]
        if table[i][j] == table[i - 1][j - 1] + (-1 if same else EDIT):
            i, j = i - 1, j - 1
            recognised[i] = same
        elif table[i][j] == table[i][j - 1] + EDIT:
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
