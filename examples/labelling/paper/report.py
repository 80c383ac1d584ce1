"""Print the scores of the models, their mean, and what makes them comparable, as a page.

python report.py OUT mnli/valid=mnli/valid:accuracy mnli/mismatched=mnli/test:accuracy
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from examples.shared import NOT_RUN, finish, minutes

MODELS = {"EncT5": ("enct5", ""), "BERT": ("enct5", ""), "T5": ("t5", ".scores")}  # folder, and suffix of its scores
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


def scores_in(test: dict[str, Any]) -> dict[str, float]:
    """Flattens what score.py or text_to_text.py writes.

    >>> scores_in({"scores": {"": {"rp_at_5": 81.3}}, "by_frequency": {"few": {"rp_at_5": 73.6}}})
    {'rp_at_5': 81.3, 'few_rp_at_5': 73.6}
    >>> scores_in({"micro_f1": 73.4})
    {'micro_f1': 73.4}
    """
    if "scores" not in test:
        return test
    groups = test["by_frequency"].items()
    return test["scores"][""] | {f"{group}_{name}": score for group, of in groups for name, score in of.items()}


def texts_per_update(log: str) -> str:
    """Of most updates; the last of an epoch may have fewer.

    >>> texts_per_update("x | train_inner | epoch 001: loss=1, bsz=128, num_updates=9\\n")
    '128'
    """
    found = TEXTS.findall(log)
    return f"{max(map(float, found)):g}" if found else NOT_RUN


def page(out: Path, rows: list[Row], models: list[str]) -> str:
    lines = [f"| | score | {' | '.join(models)} |", "|---|---|" + "---|" * len(models)]
    columns: dict[str, list[float]] = {model: [] for model in models}
    for each in rows:
        cells = []
        for model in models:
            folder, suffix = MODELS[model]
            path = out / each.task / f"{folder}-test" / f"{each.part}{suffix}.json"
            scores = scores_in(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
            columns[model] += [scores[each.metric]] if each.metric in scores else []
            cells.append(f"{scores[each.metric]:.1f}" if each.metric in scores else "-" if scores else NOT_RUN)
        lines.append(f"| {each.title} | {each.metric} | {' | '.join(cells)} |")
    if len({each.title for each in rows}) > 1:
        means = [f"{sum(each) / len(each):.1f}" if len(each) == len(rows) else "" for each in columns.values()]
        lines.append(f"| mean of {len(rows)} | | {' | '.join(means)} |")
    lines += ["", "| | | parameters (millions) | texts per update | minutes of training |", "|---|---|---|---|---|"]
    for task in dict.fromkeys(each.task for each in rows):
        for model in models:
            path = out / task / MODELS[model][0] / "log"
            log = path.read_text("utf-8", errors="replace") if path.is_file() else ""
            size = PARAMETERS.search(log)
            millions = f"{int(size[1].replace(',', '')) / 1e6:.1f}" if size else NOT_RUN
            lines.append(f"| {task} | {model} | {millions} | {texts_per_update(log)} | {minutes(path) or ''} |")
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    sys.stdout.write(page(args.out, args.rows, ["BERT"] if args.bert else ["EncT5", "T5"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT")
    parser.add_argument("--bert", action="store_true", help="the encoder is a BERT, and no T5 was trained")
    parser.add_argument("rows", type=row, nargs="+", metavar="TITLE=TASK/PART:SCORE")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
