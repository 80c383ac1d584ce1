"""Convert labelled text for T5, and score the output of T5.

    python text_to_text.py train.tsv --label-kind tagging --output OUT                        # OUT.src and OUT.tgt
    python text_to_text.py valid.tsv --label-kind tagging --generated FILE --output OUT       # OUT.scores.json

The labels of a set are separated by commas. For tagging, each word is followed by its number, and each tag follows the
number of its word. With --label-words negative positive, T5 writes these words for the labels 0 and 1. FILE is the
output of fairseq-generate. Output that is not a label counts as wrong.
"""

import argparse
import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.cli.score import read_generated
from lev_plugins.labelling.scores import classification, multilabel, regression
from lev_plugins.labelling.text import LABEL_KINDS, Layout, Row, is_number, read_rows, round_to_step
from lev_plugins.utils.errors import require

STEP = 0.2  # T5 writes numbers rounded to steps
NO_NUMBER = -1.0  # the value of output that is not a number, as in T5's own evaluation


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
    >>> pair(Row("", ["a"], ["2.57"]), "regression", None)
    ('a', '2.6')
    """
    if kind == "tagging":
        return numbered(row.texts), " ".join(f"<{number}> {tag}" for number, tag in enumerate(row.labels))
    text = template.format(*row.texts) if template else " ".join(row.texts)
    if kind == "regression":  # as for STS-B in T5
        return text, round_to_step(row.labels[0], STEP, row.where)
    return text, ", ".join(row.labels)


def in_words(row: Row, words: list[str]) -> Row:
    """
    >>> in_words(Row("", ["a", "b"], ["1"]), ["not_equivalent", "equivalent"]).labels
    ['equivalent']
    """
    label = row.labels[0]
    require(
        is_number(label) and int(label) < len(words),
        f"{row.where}: --label-words has a word for the labels 0 to {len(words) - 1}, but the label is {label!r}",
    )
    return replace(row, labels=[words[int(label)]])


# ---- scoring the output ----------------------------------------------------------------------------------------------


def tags_of(text: str, words: int) -> list[str]:
    """The tag of each word; "" if it has none.

    >>> tags_of("<0> NOUN <2> VERB <9> X", words=3)
    ['NOUN', '', 'VERB']
    """
    _, *rest = re.split(r"<(\d+)>", text)
    found = {int(number): tag.strip() for number, tag in zip(rest[::2], rest[1::2], strict=True)}
    return [found.get(i, "") for i in range(words)]


def number_in(text: str) -> float:
    """
    >>> number_in("3.8"), number_in("three"), number_in("nan")
    (3.8, -1.0, -1.0)
    """
    try:
        number = float(text)
    except ValueError:
        return NO_NUMBER
    return number if math.isfinite(number) else NO_NUMBER


def score(rows: list[Row], outputs: list[str], kind: str, classes: list[str]) -> dict[str, float]:
    """The scores of T5's output; the F1 of two ``classes`` is that of the last one.

    >>> rows = [Row("", ["cat", "eats"], ["NOUN", "VERB"])]
    >>> score(rows, ["<0> NOUN <2> VERB"], "tagging", [])
    {'tag_accuracy': 50.0}
    """
    if kind == "regression":
        return regression(
            np.array([float(row.labels[0]) for row in rows]), np.array([number_in(text) for text in outputs])
        )
    if kind == "tagging":
        found = [tags_of(text, len(row.labels)) for row, text in zip(rows, outputs, strict=True)]
        right = [a == b for row, tags in zip(rows, found, strict=True) for a, b in zip(row.labels, tags, strict=True)]
        return {"tag_accuracy": 100 * float(np.mean(right))}
    names = classes or sorted({label for row in rows for label in row.labels})
    if kind == "classification":
        ids = {name: i for i, name in enumerate(names)}
        gold = np.array([ids[row.labels[0]] for row in rows])
        answers = np.array([ids.get(text.strip(), len(names)) for text in outputs])
        return classification(gold, answers, len(names))
    sets = [{label.strip() for label in text.split(",")} - {""} for text in outputs]
    names = sorted(
        {*names, *(label for labels in sets for label in labels)}
    )  # labels that do not exist count as wrong, too
    truth = indicators([set(row.labels) for row in rows], names)
    return {"micro_f1": multilabel(truth, indicators(sets, names), at=1)["micro_f1"]}


def indicators(sets: list[set[str]], names: list[str]) -> Any:
    """
    >>> indicators([{"b"}, set()], ["a", "b"]).tolist()
    [[0, 1], [0, 0]]
    """
    return np.array([[int(name in labels) for name in names] for labels in sets])


def run(args: argparse.Namespace) -> None:
    rows = list(read_rows(args.text, Layout(args.label_kind, args.text_columns)))
    if args.label_words:
        rows = [in_words(row, args.label_words) for row in rows]
    if args.generated is not None:
        outputs = read_generated(args.generated)
        require(
            len(outputs) == len(rows),
            f"--generated {args.generated} must have one answer per text of {args.text} ({len(rows):,}), but has "
            f"{len(outputs):,}: decode again",
        )
        write(args.output, "scores.json", [json.dumps(score(rows, outputs, args.label_kind, args.label_words))])
        return
    pairs = [pair(row, args.label_kind, args.template) for row in rows]
    for suffix, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        write(args.output, suffix, lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path, help="labelled text, in the format of lev-plugins prepare-labels")
    parser.add_argument("--label-kind", choices=LABEL_KINDS, required=True)
    parser.add_argument("--text-columns", type=int, default=1)
    parser.add_argument("--template", help="the --template of lev-plugins prepare-labels")
    words = "classification: what T5 writes for the labels 0, 1, ..."
    parser.add_argument("--label-words", nargs="+", default=[], metavar="WORD", help=words)
    parser.add_argument("--generated", type=Path, help="output of fairseq-generate for this text, to be scored")
    parser.add_argument("--output", type=Path, required=True, help="prefix of the files to write")
    return finish(parser, run)


def write(prefix: Path, suffix: str, lines: Any) -> None:
    Path(f"{prefix}.{suffix}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
