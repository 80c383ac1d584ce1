"""The alignment of a text that is being edited with its source, by their Levenshtein distance."""

from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein


def align_to_source(tokens: Sequence[int], source: Sequence[int], pad: int) -> list[int]:
    """Returns for each token the position of the source token that it equals or replaces; ``len(source)``: none.

    Both rows may be padded: the source on either side, ``tokens`` anywhere, since a model in training may insert <pad>.

    >>> align_to_source([0, 11, 99, 2], [1, 0, 11, 12, 2], pad=1)
    [1, 2, 3, 4]
    >>> align_to_source([0, 12, 99, 2, 1], [1, 0, 11, 12, 2], pad=1)
    [1, 3, 5, 4, 5]
    >>> align_to_source([0, 12, 99, 2, 1], [0, 11, 12, 13, 2, 1, 1], pad=1)
    [0, 2, 3, 4, 7]
    >>> align_to_source([0, 11, 1, 13, 2], [0, 11, 12, 13, 2], pad=1)
    [0, 1, 5, 3, 4]
    """
    positions, start = [len(source)] * len(tokens), source.count(pad) if source[0] == pad else 0
    real_positions = [i for i, token in enumerate(tokens) if token != pad]
    real_tokens, real_source = ([token for token in row if token != pad] for row in (tokens, source))
    for step in Levenshtein.opcodes(real_tokens, real_source):
        if step.tag in ("equal", "replace"):
            places = range(start + step.dest_start, start + step.dest_end)
            for i, place in zip(real_positions[step.src_start : step.src_end], places, strict=True):
                positions[i] = place
    return positions
