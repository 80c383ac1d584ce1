"""Write the tables of each RESULTS.md from the results.json beside it: ``python examples/tables.py [--check]``.

A table stands between ``<!-- table: TABLE -->`` and ``<!-- end -->``. In the JSON, a row begins with the name of its
run; ``runs`` has the command, version, machine, seed and minutes of each, as far as they are known. A published row is
of a ``paper``, without a command. In the columns of ``best``, the best number of ours is bold.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TypedDict

MARKED = re.compile(r"^( *)<!-- table: (\S+) -->\n.*?^ *<!-- end -->$", re.M | re.S)
NUMBER = re.compile(r"([-+]?[\d,]*\.?\d+)(?: %)?")


class Table(TypedDict, total=False):
    head: list[str]
    best: dict[str, str]  # column: highest or lowest
    rows: list[list[str]]


def markdown(table: Table, published: set[str]) -> list[str]:
    """Returns the lines of a table.

    >>> rows = [["a", "levt", "34.0 ± 0.2"], ["a", "pbd", ""], ["the paper", "levt", "35.1"]]
    >>> print(*markdown({"head": ["", "BLEU"], "best": {"BLEU": "highest"}, "rows": rows}, {"the paper"}), sep="\\n")
    | | BLEU |
    |---|---|
    | levt | **34.0** ± 0.2 |
    | pbd | |
    | levt | 35.1 |
    """
    head, rows = table["head"], [row[1:] for row in table["rows"]]
    ours = [row for row, (run, *_) in zip(rows, table["rows"], strict=True) if run not in published]
    for column, which in table.get("best", {}).items():
        at = head.index(column)
        numbers = [(float(match[1].replace(",", "")), row) for row in ours if (match := NUMBER.match(row[at]))]
        best = (max if which == "highest" else min)(number for number, _ in numbers)
        for row in (row for number, row in numbers if number == best):
            row[at] = NUMBER.sub(r"**\g<0>**", row[at], count=1)
    lines = [" ".join(f"| {cell}" if cell else "|" for cell in row) + " |" for row in [head, *rows]]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]


def updated(page: str, results: dict[str, dict]) -> str:
    """Returns the page with the tables of the JSON."""
    published = {name for name, run in results["runs"].items() if "paper" in run}

    def lines_of(match: re.Match[str]) -> str:
        lines = [f"<!-- table: {match[2]} -->", *markdown(results["tables"][match[2]], published), "<!-- end -->"]
        return "\n".join(match[1] + line for line in lines)

    return MARKED.sub(lines_of, page)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; say which pages differ")
    args = parser.parse_args()
    differ = []
    for path in sorted(Path(__file__).parent.glob("*/results.json")):
        page = path.with_name("RESULTS.md")
        before = page.read_text(encoding="utf-8")
        text = updated(before, json.loads(path.read_text(encoding="utf-8")))
        if text != before:
            differ.append(page)
        if not args.check:
            page.write_text(text, encoding="utf-8")
    if args.check and differ:
        print(*differ, "differ from results.json: write them with python examples/tables.py", sep="\n")
    return int(args.check and bool(differ))


if __name__ == "__main__":
    sys.exit(main())
