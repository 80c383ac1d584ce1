"""The results of a run, as a page (OUT/report.md) and as JSON (OUT/report.json).

    python report.py OUT --noises "keyboard swap" --systems "none all" --seeds "1 2 3" --metrics "wrr bleu"

All decoding is free-running. "Do nothing" is the noisy text itself: a system with a lower score does harm. A score is
the mean over the seeds, with its standard deviation. A system that was not trained is marked as not yet run.
"""

import argparse
import json
import re
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising.released_scores import mean_sentence_bleu, word_set_overlap
from examples.shared import NOT_RUN, finish, machine, minutes, read_lines
from lev_plugins.cli.score import read_generated
from lev_plugins.errors import require
from lev_plugins.scoring import bleu, exact_match, rouge, wrr
from lev_plugins.scoring.evaluation import Evaluation

ACCURACY = re.compile(r"\| valid on 'valid' subset \|.*?\| accuracy ([\d.]+)")
METRICS: dict[str, tuple[str, Callable[[list[str], list[str]], Evaluation]]] = {
    "wrr": ("WRR", wrr.evaluate),
    "bleu": ("BLEU", bleu.evaluate),
    "rouge": ("ROUGE-L", rouge.evaluate),
    "exact": ("exact", exact_match.evaluate),
    "wrr-set": ("WRR of word sets", word_set_overlap),
    "sentence-bleu": ("sentence BLEU", mean_sentence_bleu),
}
FORCED = {
    "accuracy": "teacher-forced accuracy (validation)",
    "wrr": "teacher-forced WRR",
    "wrr_set": "teacher-forced WRR of word sets",
    "sentence_bleu": "teacher-forced sentence BLEU",
}
TITLES = {
    "none": "no gates",
    "all": "all gates",
    "MG": "mask + generate",
    "CG": "copy + generate",
    "MCG": "mask + copy + generate",
    "levt": "levt, spelling-aware words",
}


@dataclass
class Row:
    """The test results of all trainings of one system, if any."""

    title: str
    runs: dict[int, dict[str, Evaluation]] = field(default_factory=dict)  # seed -> metric -> score
    minutes: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    forced: list[dict[str, float]] = field(default_factory=list)  # teacher-forced scores of the test

    def scores(self, metric: str) -> list[float]:
        return [run[metric].score for run in self.runs.values()]

    def teacher_forced(self) -> list[str]:
        """A cell for each of FORCED."""
        accuracy = f"{np.mean(self.accuracies):.2f} %" if self.accuracies else ""
        scores = {name: [run[name] for run in self.forced if name in run] for name in FORCED if name != "accuracy"}
        return [accuracy, *(spread(each, digits_of(name)) if each else "" for name, each in scores.items())]

    def sentences(self, metric: str) -> Any:
        """(N,) The score of each sentence, averaged over the seeds."""
        return np.mean([run[metric].sentences for run in self.runs.values()], axis=0)


def spread(scores: list[float], digits: int) -> str:
    """
    >>> spread([0.5, 0.7], 3), spread([0.5], 3), spread([], 3)
    ('0.600 ± 0.141', '0.500', 'not yet run')
    """
    if not scores:
        return NOT_RUN
    mean = f"{statistics.mean(scores):.{digits}f}"
    return mean if len(scores) == 1 else f"{mean} ± {statistics.stdev(scores):.{digits}f}"


def digits_of(metric: str) -> int:
    return {"bleu": 2, "sentence-bleu": 2, "sentence_bleu": 2}.get(metric, 4)  # the others are from 0 to 1


def welch(one: Any, other: Any, tails: int = 2) -> float | None:
    """The p-value of "no difference", or with one of the ``tails`` of "no gain"; None if it is not defined.

    >>> round(welch([0.9, 0.92, 0.91], [0.8, 0.84, 0.79]), 4)
    0.0137
    >>> round(welch([0.9, 0.92, 0.91], [0.8, 0.84, 0.79], tails=1), 4)
    0.0068
    >>> welch([0.9], [0.8])
    """
    if min(len(one), len(other)) < 2 or not (np.var(one) + np.var(other)):
        return None
    alternative = {1: "greater", 2: "two-sided"}[tails]
    return float(stats.ttest_ind(one, other, equal_var=False, alternative=alternative).pvalue)


# ---- reading -------------------------------------------------------------------------------------------------------


def scored(texts: list[str], references: list[str], metrics: list[str]) -> dict[str, Evaluation]:
    return {name: METRICS[name][1](references, texts) for name in metrics}


def checked(texts: list[str], references: list[str], path: Path) -> list[str]:
    require(
        len(texts) == len(references),
        f"{path} must have one sentence per reference ({len(references):,}), but has {len(texts):,}: "
        f"remove {path.parent} and run again",
    )
    return texts


def accuracies(log: Path) -> list[float]:
    return [float(match[1]) for line in read_lines(log) if (match := ACCURACY.search(line))]


def system(out: Path, noise: str, name: str, seeds: list[int], references: list[str], metrics: list[str]) -> Row:
    row = Row(TITLES[name])
    for seed in seeds:
        generated = out / f"test_{noise}_{name}_{seed}" / "test.out"
        log = out / f"train_{noise}_{name}_{seed}" / "log"
        if not generated.is_file():
            continue
        texts = read_lines(generated) if name == "levt" else read_generated(generated)
        row.runs[seed] = scored(checked(texts, references, generated), references, metrics)
        row.minutes.append(minutes(log) or 0.0)
        forced = out / f"forced_{noise}_{name}_{seed}" / "forced.json"
        row.forced += [json.loads(forced.read_text(encoding="utf-8"))] if forced.is_file() else []
        row.accuracies += [max(logged)] if (logged := accuracies(log)) else []  # a levt has none
    return row


def plain(title: str, path: Path, references: list[str], metrics: list[str]) -> Row:
    """A text that was not written by a trained system."""
    if not path.is_file():
        return Row(title)
    return Row(title, {0: scored(checked(read_lines(path), references, path), references, metrics)})


def test_of(out: Path, noise: str) -> Path | None:
    """The folder of test.src and test.tgt, after a pre-trained tokenizer if there is one."""
    folders = [out / f"data_{noise}", out / f"noise_{noise}", *([out / "texts"] if noise == "as-is" else [])]
    return next((folder for folder in folders if (folder / "test.tgt").is_file()), None)


def rows_of(args: argparse.Namespace, noise: str) -> dict[str, Row]:
    titles = {"do nothing": "do nothing", "symspell": "SymSpell", **{name: TITLES[name] for name in args.systems}}
    test = test_of(args.out, noise)
    if test is None:
        return {name: Row(title) for name, title in titles.items()}
    references = read_lines(test / "test.tgt")
    texts = {"do nothing": test / "test.src", "symspell": args.out / f"symspell_{noise}" / "test.out"}
    plain_rows = {name: plain(titles[name], path, references, args.metrics) for name, path in texts.items()}
    trained = {name: system(args.out, noise, name, args.seeds, references, args.metrics) for name in args.systems}
    return {**plain_rows, **trained}


# ---- printing -------------------------------------------------------------------------------------------------------


def table(noise: str, rows: dict[str, Row], metrics: list[str]) -> list[str]:
    titles = [METRICS[name][0] for name in metrics]
    lines = [
        f"| {noise} | {' | '.join(titles)} | seeds | {' | '.join(FORCED.values())} | minutes |",
        "|---|" + "---|" * (len(metrics) + 2 + len(FORCED)),
    ]
    for row in rows.values():
        cells = [spread(row.scores(metric), digits_of(metric)) for metric in metrics]
        rest = [""] * (2 + len(FORCED))
        if row.minutes:  # trained
            rest = [str(len(row.runs)), *row.teacher_forced(), f"{np.mean(row.minutes):.1f}"]
        lines.append(f"| {row.title} | {' | '.join(cells)} | {' | '.join(rest)} |")
    return lines


def comparisons(rows: dict[str, Row], metrics: list[str]) -> list[dict[str, Any]]:
    """Compares each system with gates with the one without."""
    base = rows.get("none")
    if base is None or not base.runs:
        return []
    return [
        {
            "system": row.title,
            "metric": METRICS[metric][0],
            "difference": statistics.mean(row.scores(metric)) - statistics.mean(base.scores(metric)),
            "digits": digits_of(metric),
            "p_seeds": welch(row.scores(metric), base.scores(metric)),
            "p_seeds_one_tailed": welch(row.scores(metric), base.scores(metric), tails=1),
            "p_sentences": welch(row.sentences(metric), base.sentences(metric)),
            "p_sentences_one_tailed": welch(row.sentences(metric), base.sentences(metric), tails=1),
        }
        for name, row in rows.items()
        if name not in ("do nothing", "symspell", "none") and row.runs
        for metric in metrics
    ]


def p_value(p: float | None) -> str:
    """
    >>> p_value(0.04321), p_value(1e-9), p_value(None)
    ('0.043', '< 0.001', 'not defined')
    """
    if p is None:
        return "not defined"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def significance(compared: list[dict[str, Any]]) -> list[str]:
    tests = [f"p, between {what}{tails}" for what in ("seeds", "sentences") for tails in ("", ", one-tailed")]
    lines = [f"| gates against none | | difference | {' | '.join(tests)} |", "|---|---|---|---|---|---|---|"]
    for entry in compared:
        difference = f"{entry['difference']:+.{entry['digits']}f}"
        ps = [p_value(entry[f"p_{what}{tails}"]) for what in ("seeds", "sentences") for tails in ("", "_one_tailed")]
        lines.append(f"| {entry['system']} | {entry['metric']} | {difference} | {' | '.join(ps)} |")
    return lines if compared else []


def page(found: dict[str, dict[str, Row]], metrics: list[str]) -> str:
    lines = []
    for noise, rows in found.items():
        lines += [*table(noise, rows, metrics), ""]
        if compared := significance(comparisons(rows, metrics)):
            lines += [*compared, ""]
    lines += [
        "Scores: mean ± standard deviation over the seeds, from free-running decoding. p: Welch's t-test of the",
        "seeds' scores, and of the sentences' scores (means over the seeds), two-sided, and one-tailed for a gain.",
        "Teacher-forced: the model reads the reference. Accuracy: share of correct next pieces after correct ones, the",
        "highest of all validations. The others: of the likeliest pieces, on the test; the last two, overlap of word",
        "sets and the mean of nltk's sentence BLEUs, as the code that belongs to the paper scores. Minutes: of one",
        "training.",
        "",
        f"{machine()}.",
    ]
    return "\n".join(lines) + "\n"


def as_json(rows: dict[str, Row], metrics: list[str]) -> dict[str, Any]:
    systems = {
        name: {
            "scores": {metric: row.scores(metric) for metric in metrics},
            "seeds": list(row.runs),
            "minutes": row.minutes,
            "teacher_forced_accuracy": row.accuracies,
            "teacher_forced": row.forced,
        }
        for name, row in rows.items()
    }
    return {"systems": systems, "comparisons": comparisons(rows, metrics)}


def run(args: argparse.Namespace) -> None:
    unknown = [name for name in args.metrics if name not in METRICS]
    require(not unknown, f"--metrics must be some of {', '.join(METRICS)}, but has {', '.join(unknown)}")
    found = {noise: rows_of(args, noise) for noise in args.noises}
    result = {noise: as_json(rows, args.metrics) for noise, rows in found.items()}
    (args.out / "report.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (args.out / "report.md").write_text(page(found, args.metrics), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    for name, kind in (("noises", str), ("systems", str), ("seeds", int), ("metrics", str)):
        parser.add_argument(
            f"--{name}", required=True, type=lambda text, kind=kind: [kind(part) for part in text.split()]
        )
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
