"""Reports that commands print: tables, and the next command to run."""

import shlex

USER_DIR = '"$(lev-plugins path)"'


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


def next_step(title: str, command: list[str]) -> list[str]:
    return [title, "", for_a_shell(command), ""]


def for_a_shell(command: list[str], width: int = 110) -> str:
    """A command over several lines, broken before flags.

    >>> print(for_a_shell(["fairseq-train", "data", "--lr", "1", "--betas", "(1, 2)"], width=20))
      fairseq-train data --lr 1 \\
        --betas '(1, 2)'
    """
    lines = [" "]
    for word in command:
        quoted = word if word == USER_DIR else shlex.quote(word)
        if word.startswith("--") and len(lines[-1]) > width:
            lines.append("   ")
        lines[-1] += f" {quoted}"
    return " \\\n".join(lines)
