"""Which token of a source stands in the place of each token of a text that is being edited."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein


def align_to_source(own: Sequence[int], theirs: Sequence[int], pad: int) -> list[int]:
    """The place in ``theirs`` of the same token, or of the one that it took the place of; the length: there is none.

    Both may be padded, the source on either side.

    >>> align_to_source([0, 11, 99, 2], [1, 0, 11, 12, 2], pad=1)
    [1, 2, 3, 4]
    >>> align_to_source([0, 12, 99, 2, 1], [1, 0, 11, 12, 2], pad=1)
    [1, 3, 5, 4, 5]
    """
    row, start = [len(theirs)] * len(own), theirs.count(pad) if theirs[0] == pad else 0
    pair = [[token for token in side if token != pad] for side in (own, theirs)]
    for step in Levenshtein.opcodes(*pair):
        if step.tag in ("equal", "replace"):
            row[step.src_start : step.src_end] = range(start + step.dest_start, start + step.dest_end)
    return row
