"""Copies the log of a training to standard output, and shows each validation on the terminal.

fairseq-train ... --log-format json 2>&1 | python examples/demo/progress.py

The terminal is file descriptor 3 (see examples/stages.py), or standard error if that is closed.
"""

import json
import os
import re
import sys


def summary(line: str) -> str | None:
    """
    >>> line = '... | {"valid_loss": "2.5", "valid_token_accuracy": "60.1", "valid_num_updates": "400"}'
    >>> summary(line)
    '    update 400: validation loss 2.5, 60.1 % of the missing pieces correct'
    >>> summary("| INFO | train | {...}")
    """
    match = re.search(r"\{.*\"valid_loss\".*\}", line)
    if match is None:
        return None
    valid = json.loads(match[0])
    return (
        f"    update {valid['valid_num_updates']}: validation loss {valid['valid_loss']}, "
        f"{valid['valid_token_accuracy']} % of the missing pieces correct"
    )


def main() -> None:
    try:
        terminal = os.fdopen(3, "w")
    except OSError:
        terminal = sys.stderr
    for line in sys.stdin:
        sys.stdout.write(line)
        sys.stdout.flush()
        if text := summary(line):
            terminal.write(f"{text}\n")
            terminal.flush()


if __name__ == "__main__":
    main()
