"""Print the scores of the systems of one noise, and whether gates help, as tables.

    python scores.py OUT/random --metrics wrr,bleu

The folder has the test (test.src and test.tgt), outputs of fairseq-generate (SYSTEM_SEED.out) or as text
(SYSTEM_SEED.txt), and beside them what training (.log) and teacher forcing (.forced.json) say. "Do nothing" is the
noisy text itself: a system with a lower score does harm. A score is the mean over the seeds, with its standard
deviation.
"""

import argparse
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising.released_scores import mean_sentence_bleu, word_set_overlap
from examples.shared import finish, read_lines
from lev_plugins.cli.score import read_generated
from lev_plugins.scoring import bleu, exact_match, rouge, wrr
from lev_plugins.scoring.evaluation import Evaluation
from lev_plugins.utils.errors import require

ACCURACY = re.compile(r"\| valid on 'valid' subset \|.*?\| accuracy ([\d.]+)")
METRICS: dict[str, Callable[[list[str], list[str]], Evaluation]] = {
    "wrr": wrr.evaluate,
    "bleu": bleu.evaluate,
    "rouge": rouge.evaluate,
    "exact": exact_match.evaluate,
    "wrr-set": word_set_overlap,
    "sentence-bleu": mean_sentence_bleu,
}
GATES = {
    "none": "no gates",
    "all": "all gates",
    "MG": "mask, generate",
    "CG": "copy, generate",
    "MCG": "mask, copy, generate",
}


@dataclass
class System:
    """The scores of all trainings of a system, by their column."""

    seeds: int = 0
    columns: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, texts: list[str], references: list[str], metrics: list[str], path: Path) -> None:
        require(len(texts) == len(references), f"{path} must have {len(references):,} lines, but has {len(texts):,}")
        self.seeds += 1
        for metric in metrics:
            self.columns[metric].append(METRICS[metric](references, texts).score)

    def add_teacher_forced(self, prefix: Path) -> None:
        log, forced = prefix.with_name(f"{prefix.name}.log"), prefix.with_name(f"{prefix.name}.forced.json")
        if log.is_file() and (accuracies := ACCURACY.findall(log.read_text(encoding="utf-8"))):
            self.columns["accuracy (validation)"].append(max(map(float, accuracies)))
        if forced.is_file():
            for name, score in json.loads(forced.read_text(encoding="utf-8")).items():
                self.columns[f"forced {name}"].append(score)


def spread(scores: Sequence[float]) -> str:
    """
    >>> spread([0.5, 0.7]), spread([45.1234]), spread([])
    ('0.6000 ± 0.1414', '45.12', '')
    """
    if not scores:
        return ""
    digits = 4 if max(scores) <= 1 else 2
    mean = f"{statistics.mean(scores):.{digits}f}"
    return f"{mean} ± {statistics.stdev(scores):.{digits}f}" if len(scores) > 1 else mean


def p_values(system: Sequence[float], base: Sequence[float]) -> str:
    """Returns the p-values of Welch's t-test between the seeds, for "no difference" and for "no gain".

    >>> p_values([0.9, 0.92, 0.91], [0.8, 0.84, 0.79])
    'p = 0.014, one-tailed 0.007'
    """
    if min(len(system), len(base)) < 2 or len({*system, *base}) < 2:
        return "p not defined"
    two_tailed, one_tailed = (
        stats.ttest_ind(system, base, equal_var=False, alternative=tails).pvalue for tails in ("two-sided", "greater")
    )
    return f"p = {two_tailed:.3f}, one-tailed {one_tailed:.3f}"


def systems_of(folder: Path, metrics: list[str]) -> dict[str, System]:
    references = read_lines(folder / "test.tgt")
    systems: defaultdict[str, System] = defaultdict(System)
    systems["do nothing"].add(read_lines(folder / "test.src"), references, metrics, folder / "test.src")
    for path in sorted([*folder.glob("*.out"), *folder.glob("*.txt")]):
        system = systems[path.stem.partition("_")[0]]
        system.add(read_generated(path) if path.suffix == ".out" else read_lines(path), references, metrics, path)
        system.add_teacher_forced(path.with_suffix(""))
    return systems


def run(args: argparse.Namespace) -> None:
    metrics = args.metrics.split(",")
    unknown = ", ".join({*metrics} - METRICS.keys())
    require(not unknown, f"--metrics must be some of {', '.join(METRICS)}, but has {unknown}")
    systems = systems_of(args.folder, metrics)
    columns = list(dict.fromkeys(column for system in systems.values() for column in system.columns))
    print(f"| {args.folder.name} | {' | '.join(columns)} | seeds |", "|---" * (len(columns) + 2) + "|", sep="\n")
    for name, system in systems.items():
        cells = [spread(system.columns[column]) for column in columns]
        print(f"| {GATES.get(name, name)} | {' | '.join(cells)} | {system.seeds} |")
    for name in (name for name in GATES if name in systems and "none" in systems and name != "none"):
        for metric in metrics:
            gates, base = systems[name].columns[metric], systems["none"].columns[metric]
            difference = statistics.mean(gates) - statistics.mean(base)
            print(f"{GATES[name]} against no gates, {metric}: {difference:+.4f}, {p_values(gates, base)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="OUT/NOISE of run.sh")
    parser.add_argument("--metrics", default="wrr,bleu", help=f"some of {', '.join(METRICS)} (default: wrr,bleu)")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
