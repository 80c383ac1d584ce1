"""Labelled text as T5 reads and writes it: OUT.src and OUT.tgt.

    python text_to_text.py train.tsv --label-kind tagging --output OUT

A set of labels is written with commas between; of words to be tagged each is followed by its number, and the tags too.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lev_plugins.data.labelled_text import KINDS, Layout, Row, read_rows
from lev_plugins.errors import UserError


def numbered(words: list[str]) -> str:
    """
    >>> numbered(["cat", "eats"])
    'cat <0> eats <1>'
    """
    return " ".join(f"{word} <{number}>" for number, word in enumerate(words))


def pair(row: Row, kind: str, template: str | None) -> tuple[str, str]:
    """
    >>> pair(Row("", ["cat", "eats"], ["NOUN", "VERB"]), "tagging", None)
    ('cat <0> eats <1>', '<0> NOUN <1> VERB')
    >>> pair(Row("", ["a", "b"], ["1"]), "classification", "x: {0} y: {1}")
    ('x: a y: b', '1')
    """
    if kind == "tagging":
        return numbered(row.texts), " ".join(f"<{number}> {tag}" for number, tag in enumerate(row.labels))
    return template.format(*row.texts) if template else " ".join(row.texts), ", ".join(row.labels)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path, help="as lev-plugins prepare-labels reads it")
    parser.add_argument("--label-kind", choices=KINDS, required=True)
    parser.add_argument("--text-columns", type=int, default=1)
    parser.add_argument("--template", help="as of lev-plugins prepare-labels")
    parser.add_argument("--output", type=Path, required=True, help="prefix of the files to write")
    args = parser.parse_args()
    try:
        rows = read_rows(args.text, Layout(args.label_kind, args.text_columns))
        pairs = [pair(row, args.label_kind, args.template) for row in rows]
    except (UserError, OSError) as error:
        sys.stderr.write(f"text_to_text.py: error: {error}\n")
        return 2
    for suffix, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        Path(f"{args.output}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
