"""``lev-plugins score METRIC SYSTEM REFERENCE ...``: score text files, with confidence intervals."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU

from lev_plugins.cli import streams
from lev_plugins.errors import require
from lev_plugins.ranges import MOST, at_least, at_most
from lev_plugins.scoring import bleu, errant, exact_match, gleu, m2, resampling, rouge, sentence_bleu, ter, wrr, wrr_set
from lev_plugins.scoring.evaluation import Array, Evaluation
from lev_plugins.text import lines as texts
from lev_plugins.traces.log import parse_line

RESAMPLES = 1000  # for --against without --bootstrap
SEED = 1

Score = Callable[[list[str]], Evaluation]
Prepare = Callable[[argparse.Namespace, int], Score]  # the flags, and the number of lines of SYSTEM


@dataclass
class ScoredText:
    """A scored text and its title."""

    title: str
    file: Path
    evaluation: Evaluation
    resampled: Array | None = field(default=None, repr=False)


# ---- metrics: flags and references -------------------------------------------------------------


def score_m2(args: argparse.Namespace, lines: int) -> Score:
    gold = m2.parse("\n".join(read_lines(args.gold)), str(args.gold))
    check_counts(args.system, lines, args.gold, len(gold), "sentences")
    if args.errant:
        require(
            args.max_unchanged_words is None,
            "--max-unchanged-words applies to MaxMatch, not to ERRANT: leave it out with --errant",
        )
        annotator = errant.load_annotator()
        return lambda texts: errant.evaluate(gold, texts, args.beta, annotator)
    unchanged = m2.MAX_UNCHANGED_WORDS if args.max_unchanged_words is None else args.max_unchanged_words
    return lambda texts: m2.evaluate(gold, texts, args.beta, unchanged)


def score_gleu(args: argparse.Namespace, lines: int) -> Score:
    sources, references = read_lines(args.source), read_references(args, lines)
    check_counts(args.system, lines, args.source, len(sources))
    return lambda texts: gleu.evaluate(sources, references, texts)


def plain(evaluate: Callable[..., Evaluation], *options: str) -> Prepare:
    """For a metric that only needs references; its options have the same names as on the command line."""

    def prepare(args: argparse.Namespace, lines: int) -> Score:
        return partial(evaluate, read_references(args, lines), **{name: vars(args)[name] for name in options})

    return prepare


def score_rouge(args: argparse.Namespace, lines: int) -> Score:
    references = read_references(args, lines)
    lost = sum(bool(first.strip()) and not re.search("[a-zA-Z0-9]", first) for first, *_ in references)
    if lost and args.tokenize == "english":
        sys.stderr.write(
            f"lev-plugins: warning: {lost:,} of {lines:,} lines of {args.references[0]} have no ASCII "
            "letter or digit and score 0: use --tokenize space to split at spaces only\n"
        )
    return partial(rouge.evaluate, references, kind=args.kind, stem=args.stem, tokenize=args.tokenize)


METRICS: dict[str, tuple[str, Prepare]] = {
    "m2": ("MaxMatch F0.5 of edits, as in the official M2 scorer", score_m2),
    "gleu": ("GLEU for grammatical error correction, as in the authors' script", score_gleu),
    "wrr": ("share of reference words recognised, by word alignment", plain(wrr.evaluate)),
    "wrr-set": ("overlap of word sets, as in the released code of the gated Transformer", plain(wrr_set.evaluate)),
    "exact": ("share of lines that equal their reference", plain(exact_match.evaluate)),
    "ter": (
        "translation edit rate by sacrebleu, case-sensitive; lower is better",
        plain(ter.evaluate, "normalized", "no_punct", "asian_support"),
    ),
    "rouge": ("ROUGE F1 by rouge-score", score_rouge),
    "bleu": ("BLEU by sacrebleu", plain(bleu.evaluate, "tokenize", "lowercase")),
    "sentence-bleu": ("mean of unsmoothed sentence BLEUs, as in nltk", plain(sentence_bleu.evaluate)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    metrics = parser.add_subparsers(required=True, metavar="METRIC", dest="metric", title="metrics")
    for name, (meaning, _) in METRICS.items():
        metric = metrics.add_parser(name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.")
        metric.add_argument("system", metavar="SYSTEM", type=Path, help="text to score, one sentence per line")
        if name == "m2":
            metric.add_argument("gold", metavar="GOLD", type=Path, help="sources and annotators' edits, in M2 format")
        else:
            metric.add_argument("references", metavar="REFERENCE", type=Path, nargs="+", help="reference text")
        add_own_flags(name, metric)
        add_common_flags(metric)


def add_own_flags(name: str, metric: argparse.ArgumentParser) -> None:
    if name == "m2":
        metric.add_argument("--beta", type=float, default=m2.BETA, help="weight of recall (default 0.5)")
        metric.add_argument(
            "--max-unchanged-words", type=int, metavar="N", help="an edit may span up to N unchanged words (default 2)"
        )
        metric.add_argument("--errant", action="store_true", help="use the edits that ERRANT finds (English only)")
    elif name == "gleu":
        metric.add_argument("--source", type=Path, metavar="FILE", required=True, help="the text before correction")
    elif name == "ter":
        metric.add_argument("--normalized", action="store_true", help="separate punctuation from words")
        metric.add_argument("--no-punct", action="store_true", help="remove punctuation")
        metric.add_argument(
            "--asian-support", action="store_true", help="with these two: also for Chinese and Japanese"
        )
    elif name == "rouge":
        metric.add_argument("--kind", choices=list(rouge.KINDS), default="rougeL", help="variant to report")
        metric.add_argument("--no-stemming", action="store_false", dest="stem", help="match words, not their stems")
        metric.add_argument(
            "--tokenize", choices=rouge.TOKENIZERS, default="english", help="english, or space for other languages"
        )
    elif name == "bleu":
        metric.add_argument("--tokenize", choices=list(BLEU.TOKENIZERS), default="13a", help="sacrebleu's tokenizer")
        metric.add_argument("--lowercase", action="store_true", help="ignore case")


def add_common_flags(metric: argparse.ArgumentParser) -> None:
    add = metric.add_argument
    add("--draft", type=Path, metavar="FILE", help="text before editing; also print its score")
    add("--against", type=Path, metavar="FILE", help="other system to compare with, with a significance test")
    add("--bootstrap", type=int, metavar="N", help="95 %% intervals from N resamples (--against alone draws 1,000)")
    add("--seed", type=int, default=SEED, help="random seed of the resamples (default 1)")
    add("--per-sentence", action="store_true", help="also print the score of each sentence")
    add("--json", action="store_true", help="print JSON")
    add(
        "--generated",
        action="store_true",
        help="SYSTEM and --against are output of fairseq-generate: score its D- lines, in data order",
    )


# ---- reading -------------------------------------------------------------------------------------------------------


def read_lines(path: Path) -> list[str]:
    lines = list(texts.read_lines(path))
    require(bool(lines), f"{path} is empty: nothing to score")
    return lines


def read_generated(path: Path) -> list[str]:
    """The first ``D-`` line of each sentence; fairseq-generate prints sentences by length, with their numbers."""
    hypotheses: dict[int, str] = {}
    for line in read_lines(path):
        found = parse_line(line.encode())
        if found is not None and found.kind == "D":
            _, _, text = found.text.decode().partition("\t")  # after its score
            hypotheses.setdefault(found.number, text)
    require(
        bool(hypotheses), f"--generated: {path} has no D- lines: give the output of fairseq-generate without --quiet"
    )
    require(
        ends_a_line(path),
        f"--generated: the last line of {path} is cut off, as by a stop of fairseq-generate: run that again",
    )
    missing = next((number for number in range(len(hypotheses)) if number not in hypotheses), None)
    require(
        missing is None, f"--generated: {path} is incomplete: it has {len(hypotheses)} sentences, but no D-{missing}"
    )
    return [hypotheses[number] for number in range(len(hypotheses))]


def ends_a_line(path: Path) -> bool:
    if not path.is_file():  # a pipe
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def read_references(args: argparse.Namespace, lines: int) -> list[list[str]]:
    """The references of each sentence."""
    files = [read_lines(path) for path in args.references]
    for path, references in zip(args.references, files, strict=True):
        check_counts(args.system, lines, path, len(references))
    return [list(entry) for entry in zip(*files, strict=True)]


def check_counts(path: Path, count: int, other: Path, other_count: int, what: str = "lines") -> None:
    require(
        count == other_count,
        f"both files must be parallel, but {path} has {count} lines and {other} has {other_count} {what}",
    )


# ---- scoring and printing --------------------------------------------------------------------------------------------


def check_flags(args: argparse.Namespace) -> None:
    at_least(args, 2, "bootstrap")
    at_most(args, MOST, "bootstrap")
    require(
        args.metric != "ter" or not args.asian_support or args.normalized or args.no_punct,
        "--asian-support has no effect alone: add --normalized, --no-punct or both",
    )
    require(
        args.metric != "rouge" or args.stem or args.tokenize != "space",
        "--no-stemming has no effect with --tokenize space, which never stems: leave it out",
    )


def run(args: argparse.Namespace) -> int:
    check_flags(args)
    read = read_generated if args.generated else read_lines
    lines = read(args.system)
    score = METRICS[args.metric][1](args, len(lines))
    rows = [ScoredText("system", args.system, score(lines))]
    for title, path, reader in (("do nothing", args.draft, read_lines), ("against", args.against, read)):
        if path is not None:
            other = reader(path)
            check_counts(args.system, len(lines), path, len(other))
            rows.append(ScoredText(title, path, score(other)))
    comparison = sample(args, rows)
    report = as_json if args.json else as_text
    return streams.write([report(args, rows, comparison).encode("utf-8", "backslashreplace")])


def sample(args: argparse.Namespace, rows: Sequence[ScoredText]) -> resampling.Comparison | None:
    if args.bootstrap is None and args.against is None:
        return None
    scores = resampling.resample([row.evaluation for row in rows], resamples_of(args), args.seed)
    if args.bootstrap is not None:
        for row, resampled in zip(rows, scores, strict=True):
            row.resampled = resampled
    if args.against is None:
        return None
    return resampling.compare(rows[0].evaluation, rows[-1].evaluation, scores[[0, -1]])


def resamples_of(args: argparse.Namespace) -> int:
    return RESAMPLES if args.bootstrap is None else args.bootstrap


def as_text(args: argparse.Namespace, rows: Sequence[ScoredText], comparison: resampling.Comparison | None) -> str:
    lines = sentence_lines(rows) if args.per_sentence else []
    digits = rows[0].evaluation.digits
    for row in rows:
        line = f"{row.title:<10}  {row.evaluation.describe()}"
        if row.resampled is not None:
            low, high = resampling.interval(row.resampled)
            line += f", 95 % between {low:.{digits}f} and {high:.{digits}f}"
        lines.append(line)
    if comparison is not None:
        lines += comparison_lines(comparison, digits)
    if rows[0].evaluation.signature:
        lines.append(f"settings    {rows[0].evaluation.signature}")
    return "".join(f"{line}\n" for line in lines)


def sentence_lines(rows: Sequence[ScoredText]) -> list[str]:
    lines = ["\t".join(["sentence", *(row.title for row in rows)])]
    digits = rows[0].evaluation.digits
    for number, scores in enumerate(zip(*(row.evaluation.sentences for row in rows), strict=True), 1):
        lines.append("\t".join([str(number), *(f"{score:.{digits}f}" for score in scores)]))
    return lines


def comparison_lines(comparison: resampling.Comparison, digits: int) -> list[str]:
    welch = "undefined, all sentences score alike"
    if comparison.welch_p is not None:
        welch = f"p = {comparison.welch_p:.4f} (t = {comparison.welch_t:.2f})"
    how, sign, low, high = "better by", 1, comparison.low, comparison.high
    if comparison.difference < 0:
        how, sign, low, high = "worse by", -1, -comparison.high, -comparison.low
    return [
        f"{how:<11} {sign * comparison.difference:.{digits}f}, 95 % between {low:.{digits}f} and {high:.{digits}f}",
        f"chance?     paired bootstrap p = {comparison.bootstrap_p:.4f}; Welch's t-test over sentence scores {welch}",
    ]


def as_json(args: argparse.Namespace, rows: Sequence[ScoredText], comparison: resampling.Comparison | None) -> str:
    first = rows[0].evaluation
    result: dict[str, Any] = {
        "metric": args.metric,
        "name": first.name,
        "higher_is_better": first.higher_is_better,
        "settings": first.signature,
        "sentences": len(first.sentences),
    }
    for row in rows:
        entry: dict[str, Any] = {"file": str(row.file), "score": row.evaluation.score, **row.evaluation.details}
        if row.resampled is not None:
            entry["interval"] = resampling.interval(row.resampled)
        if args.per_sentence:
            entry["sentence_scores"] = row.evaluation.sentences.tolist()
        result[row.title.replace(" ", "_")] = entry
    if comparison is not None:
        result["comparison"] = asdict(comparison)
    if comparison is not None or args.bootstrap is not None:
        result["bootstrap"] = {"resamples": resamples_of(args), "seed": args.seed}
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"
