"""Alignments of words at the least cost, where a score depends on which of equally cheap ones is taken."""

from collections.abc import Sequence


def cost_table(
    source: Sequence[str], text: Sequence[str], replaced: int, equal: int = 0, gap: int = 1
) -> list[list[int]]:
    """``table[i][j]``: the least cost of the first i and the first j words.

    >>> cost_table(["a", "b"], ["b"], replaced=1)
    [[0, 1], [1, 1], [2, 1]]
    """
    table = [[gap * j for j in range(len(text) + 1)]]
    for i, word in enumerate(source, 1):
        above, row = table[-1], [gap * i]
        for j, other in enumerate(text, 1):
            pair = above[j - 1] + (equal if word == other else replaced)
            row.append(min(pair, above[j] + gap, row[-1] + gap))
        table.append(row)
    return table
