"""Writes the tables of examples/NAME/RESULTS.md from examples/NAME/results.json, and puts the rows of a new run there.

    python examples/tables.py [NAME ...] [--check]
    python examples/tables.py NAME --add OUT TABLE [ROW ...] [--title TITLE] [--cells COLUMN=TEXT ...]

A table stands between ``<!-- table: TABLE -->`` and ``<!-- end -->``. In the JSON, a row begins with the name of its
run; ``runs`` has the command, version, machine, seed and minutes of each, as far as they are known. A published row is
of a ``paper``, without a command. In the columns of ``best``, the best number of ours is bold.

--add takes the ROWs, or all that TABLE has too, from the report of a run (OUT/results.json, which a run of an example
writes), where a single ROW may have another TITLE. What the report lacks is typed; the paper's columns stay.
"""

import argparse
import json
import re
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent
MARKED = re.compile(r"^( *)<!-- table: (\S+) -->\n.*?^ *<!-- end -->$", re.M | re.S)
NUMBER = re.compile(r"([-+]?[\d,]*\.?\d+)(?: %)?")
LIST = re.compile(r'\[\n((?: +".*\n)+) +\]')  # of texts, as json indents it
NOT_RUN = "not yet run"


def cells(line: str) -> list[str]:
    """
    >>> cells("| LevT | | 34.0 |"), cells("this editor  98.4 %   0.2 %")
    (['LevT', '', '34.0'], ['this editor', '98.4 %', '0.2 %'])
    """
    return [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("|") else re.split("  +", line)


def tables_in(page: str) -> list[list[list[str]]]:
    """Those of a report, in Markdown or as columns of text, each with its head.

    >>> tables_in("Scores:\\n\\n| | BLEU |\\n|---|---|\\n| LevT | 34.0 |\\n\\nMachine: unknown\\n")
    [[['', 'BLEU'], ['LevT', '34.0']]]
    """
    lines = [line.rstrip() for line in page.splitlines() if not line.startswith("|--")]
    groups = (
        list(group) for _, group in groupby(lines, lambda line: line[:1] if line[:1] == "|" else len(cells(line)))
    )
    return [[*map(cells, group)] for group in groups if group[0].startswith("|") or len(cells(group[0])) > 2]


def markdown(table: dict[str, Any], published: set[str]) -> list[str]:
    """
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
        found = [(float(match[1].replace(",", "")), row) for row in ours if (match := NUMBER.match(row[at]))]
        best = (max if which == "highest" else min)(number for number, _ in found)
        for row in (row for number, row in found if number == best):
            row[at] = NUMBER.sub(r"**\g<0>**", row[at], count=1)
    head, *rows = (" ".join(f"| {cell}" if cell else "|" for cell in row) + " |" for row in [head, *rows])
    return [head, "|---" * len(table["head"]) + "|", *rows]


def numbered(rows: list[list[str]], at: int) -> dict[tuple[str, int], list[str]]:
    """Rows by their title and how often it came before."""
    seen: Counter[str] = Counter()
    found = {}
    for row in rows:
        found[row[at], seen[row[at]]] = row
        seen[row[at]] += 1
    return found


def add(results: dict[str, Any], args: argparse.Namespace) -> None:
    folder, name, *titles = args.add
    run = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
    if name not in results["tables"]:
        sys.exit(f"there is no table {name}: choose from {', '.join(results['tables'])}")
    table, reports = results["tables"][name], run.pop("tables")
    head, typed = table["head"], dict(cell.split("=", 1) for cell in args.cells)
    if len({*head}) < len(head) or not typed.keys() <= {*head}:
        sys.exit(f"columns, each with a name of its own (otherwise, edit results.json), are {', '.join(head)}")
    columns, *lines = max(reports, key=lambda rows: len({*rows[0]} & {*head}), default=[[]])
    made = {
        key: dict(zip(columns, line, strict=True)) for key, line in numbered(lines, 0).items() if NOT_RUN not in line
    }
    label, number = Path(folder).name, 1
    while results["runs"].setdefault(label, run) != run:  # an older one, which has other rows
        number += 1
        label = f"{Path(folder).name} {number}"
    new = [title for title in titles if title not in {row[1] for row in table["rows"]}]
    table["rows"] += [["", title, *[""] * (len(head) - 1)] for title in new]
    for key, row in numbered(table["rows"], 1).items():
        if key[0] in titles or (not titles and key in made):
            old = dict(zip(head[1:], row[2:], strict=True))
            kept = {column: cell for column, cell in old.items() if not cell or column.startswith("the paper")}
            found = kept | made.get((args.title, 0) if args.title else key, {}) | typed
            if missing := [column for column in head[1:] if column not in found]:
                sys.exit(f"the report has no {', '.join(missing)} of {key[0]}: give --cells COLUMN=TEXT ...")
            row[:] = [label, key[0], *(found[column] for column in head[1:])]
    used = {row[0] for each in results["tables"].values() for row in each["rows"]}
    if label not in used:
        sys.exit(f"the report has no row of {name}; it has {', '.join(title for title, _ in made)}")
    results["runs"] = {label: run for label, run in results["runs"].items() if label in used}


def save(path: Path, results: dict[str, Any]) -> None:
    """A row is a line."""
    text = json.dumps(results, indent=1, ensure_ascii=False)
    text = LIST.sub(lambda found: f"[{' '.join(line.strip() for line in found[1].splitlines())}]", text)
    path.write_text(f"{text}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; say which tables differ")
    parser.add_argument("--add", nargs="+", metavar=("OUT", "TABLE"), help="of a new run: OUT TABLE [ROW ...]")
    parser.add_argument("--title", help="what its report calls ROW")
    parser.add_argument("--cells", nargs="+", default=[], metavar="COLUMN=TEXT", help="what its report lacks")
    args = parser.parse_args()
    if args.add and (len(args.names) != 1 or len(args.add) < 2):
        parser.error("--add OUT TABLE needs the NAME of one example")
    differ = []
    for name in args.names or sorted(path.parent.name for path in EXAMPLES.glob("*/results.json")):
        path, page = EXAMPLES / name / "results.json", EXAMPLES / name / "RESULTS.md"
        results, text = json.loads(path.read_text(encoding="utf-8")), page.read_text(encoding="utf-8")
        if args.add:
            add(results, args)
            save(path, results)
        published = {label for label, run in results["runs"].items() if "paper" in run}
        for found in MARKED.finditer(text):
            lines = [f"<!-- table: {found[2]} -->", *markdown(results["tables"][found[2]], published), "<!-- end -->"]
            made = "\n".join(found[1] + line for line in lines)
            differ += [f"{name}: {found[2]}"] if made != found[0] else []
            text = text.replace(found[0], made)
        if not args.check:
            page.write_text(text, encoding="utf-8")
    if args.check and differ:
        print(*differ, "write them with python examples/tables.py", sep="\n")
    return int(args.check and bool(differ))


if __name__ == "__main__":
    sys.exit(main())
