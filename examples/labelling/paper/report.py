"""Print the scores of both models, their mean, and what makes them comparable, as a page.

python report.py OUT mnli/valid=mnli/valid:accuracy mnli/mismatched=mnli/test:accuracy
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.shared import NOT_RUN, finish, minutes

MODELS = {"EncT5": ("enct5", lambda test: test["scores"][""], ""), "T5": ("t5", lambda test: test, ".scores")}
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")
TEXTS = re.compile(r"\| train(?:_inner)? \|.*?\bbsz[=:]? ?([\d.]+)")


class Row(NamedTuple):
    title: str
    task: str
    part: str
    metric: str


def row(word: str) -> Row:
    """
    >>> row("mnli/mismatched=mnli/test:accuracy")
    Row(title='mnli/mismatched', task='mnli', part='test', metric='accuracy')
    """
    title, _, rest = word.partition("=")
    task, part, metric = re.split("[/:]", rest)
    return Row(title, task, part, metric)


def texts_per_update(log: str) -> str:
    """Of most updates; the last of an epoch may have fewer.

    >>> texts_per_update("x | train_inner | epoch 001: loss=1, bsz=128, num_updates=9\\n")
    '128'
    """
    found = TEXTS.findall(log)
    return f"{max(map(float, found)):g}" if found else NOT_RUN


def page(out: Path, rows: list[Row]) -> str:
    lines = [f"| | score | {' | '.join(MODELS)} |", "|---|---|" + "---|" * len(MODELS)]
    found: dict[str, list[float]] = {model: [] for model in MODELS}
    for each in rows:
        cells = []
        for model, (folder, scores_of, suffix) in MODELS.items():
            path = out / each.task / f"{folder}-test" / f"{each.part}{suffix}.json"
            if path.is_file():
                found[model].append(scores_of(json.loads(path.read_text("utf-8")))[each.metric])
            cells.append(f"{found[model][-1]:.1f}" if path.is_file() else NOT_RUN)
        lines.append(f"| {each.title} | {each.metric} | {' | '.join(cells)} |")
    if len(rows) > 1:
        means = [f"{sum(each) / len(each):.1f}" if len(each) == len(rows) else "" for each in found.values()]
        lines.append(f"| mean of {len(rows)} | | {' | '.join(means)} |")
    lines += ["", "| | | parameters (millions) | texts per update | minutes of training |", "|---|---|---|---|---|"]
    for task in dict.fromkeys(each.task for each in rows):
        for model, (folder, _, _) in MODELS.items():
            path = out / task / folder / "log"
            log = path.read_text("utf-8", errors="replace") if path.is_file() else ""
            size = PARAMETERS.search(log)
            millions = f"{int(size[1].replace(',', '')) / 1e6:.1f}" if size else NOT_RUN
            lines.append(f"| {task} | {model} | {millions} | {texts_per_update(log)} | {minutes(path) or ''} |")
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    sys.stdout.write(page(args.out, args.rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT")
    parser.add_argument("rows", type=row, nargs="+", metavar="TITLE=TASK/PART:SCORE")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
