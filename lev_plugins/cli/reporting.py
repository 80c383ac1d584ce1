"""Formats the tables that commands print."""


def table(rows: list[list[str]]) -> list[str]:
    """Returns the lines of a table; the first two columns and the last are aligned to the left.

    >>> table([["part", "lines", "longest"], ["train", "1,000", "9 (line 3)"]])
    ['part   lines  longest', 'train  1,000  9 (line 3)']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    left_aligned = {0, 1, len(widths) - 1}
    return [
        "  ".join(
            cell.ljust(width) if i in left_aligned else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
