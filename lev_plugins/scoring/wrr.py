"""Word recognition rate: the share of the words of a reference that a text contains, in order.

Words are split at white space. Reference and text are aligned with the fewest word insertions, deletions and
substitutions; a reference word is recognised if the alignment pairs it with an equal word. Of equally cheap alignments,
the one that recognises most words is taken. Extra words of the text cost nothing (the word error rate measures them).
With several references, the one with the largest recognised share counts. Any text satisfies an empty reference; if
there are other references, only an empty text does.
"""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from lev_plugins.scoring.evaluation import Additive, References, additive, alternatives, ratio

EDIT = 1 << 32  # the cost of an edit; a substitution costs 1 more, so that ties prefer more recognised words


def evaluate(references: References, texts: Sequence[str]) -> Additive:
    """Score texts by their word recognition rate.

    >>> evaluate(["the cat sat", "on a mat"], ["the cta sat", "on a red mat"]).score  # 5 of 6
    0.8333333333333334
    """
    rows = [nearest(entry, text) for entry, text in zip(alternatives(references), texts, strict=True)]
    recognised, words = (sum(column) for column in zip(*rows, strict=True))
    return additive("WRR", rows, ratio, details={"recognised": recognised, "reference words": words})


def nearest(references: Sequence[str], text: str) -> tuple[int, int]:
    """Return the recognised words and all words of the reference with the largest recognised share.

    >>> nearest(["a b c", "a b"], "a b"), nearest(["x", ""], "y"), nearest(["x", ""], "")
    ((2, 2), (0, 1), (0, 0))
    """
    rows = [recognition(reference, text) for reference in references]
    return max(rows, key=lambda row: row[0] / row[1] if row[1] else not text.split())


def recognition(reference: str, text: str) -> tuple[int, int]:
    """Return the recognised words and all words of a reference.

    >>> recognition("the cat sat", "the cta sat"), recognition("a b", "b c")  # two words replaced recognise nothing
    ((2, 3), (1, 2))
    """
    words, text_words = reference.split(), text.split()
    edits, substitutions = divmod(Levenshtein.distance(words, text_words, weights=(EDIT, EDIT, EDIT + 1)), EDIT)
    return (len(words) + len(text_words) - edits - substitutions) // 2, len(words)
