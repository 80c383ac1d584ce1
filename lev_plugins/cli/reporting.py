"""Tables that commands print."""


def table(rows: list[list[str]]) -> list[str]:
    """
    >>> table([["part", "lines", "longest"], ["train", "1,000", "9 (line 3)"]])
    ['part   lines  longest', 'train  1,000  9 (line 3)']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = {0, 1, len(widths) - 1}  # left-aligned columns
    return [
        "  ".join(
            cell.ljust(width) if i in texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
