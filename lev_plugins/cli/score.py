"""``lev-plugins score METRIC SYSTEM REFERENCE ...``: score text files, with confidence intervals."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lev_plugins.cli.log import lines_by_sentence, parse_line
from lev_plugins.cli.reporting import table
from lev_plugins.scoring import m2, resampling
from lev_plugins.scoring.evaluation import Array, Evaluation
from lev_plugins.scoring.metrics import GOLD, MAYBE_SOURCES, METRICS, REFERENCES, SOURCES, SOURCES_ALONE
from lev_plugins.text.lines import nonempty_lines, require_parallel
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import at_least, flag_name

RESAMPLES = 1000  # for --against without --bootstrap


@dataclass
class ScoredText:
    """A scored text and its title."""

    title: str
    file: Path
    evaluation: Evaluation
    resampled: Array | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(required=True, metavar="METRIC", dest="metric", title="metrics")
    for name, metric in METRICS.items():
        meaning = metric.meaning
        add = subparsers.add_parser(name, help=meaning, description=f"{meaning[0].upper()}{meaning[1:]}.").add_argument
        add("system", metavar="SYSTEM", type=Path, help="text to score, one sentence per line")
        if metric.files == GOLD:
            add("gold", metavar="GOLD", type=Path, help="sources and annotators' edits, in M2 format")
        elif metric.files != SOURCES_ALONE:
            add("references", metavar="REFERENCE", type=Path, nargs="+", help="reference text")
        if metric.files in (SOURCES, SOURCES_ALONE, MAYBE_SOURCES):
            required = metric.files != MAYBE_SOURCES
            add("--source", type=Path, metavar="FILE", required=required, help="the text before correction")
        for field, option in metric.options.items():
            value: dict[str, Any] = {"action": "store_true"}
            if option.default is not False:
                value = {"type": option.kind, "default": option.default, "choices": option.choices}
                value["required"] = option.required
                value["metavar"] = None if option.choices else "FILE" if option.kind is Path else "N"
            add(flag_name(field), help=option.help, **value)
        add("--draft", type=Path, metavar="FILE", help="text before editing; also print its score")
        add("--against", type=Path, metavar="FILE", help="other system to compare with, with a significance test")
        add("--bootstrap", type=int, metavar="N", help="95 %% intervals from N resamples (--against alone draws 1,000)")
        add("--seed", type=int, default=1, help="random seed of the resamples (default 1)")
        add("--per-sentence", action="store_true", help="also print the score of each sentence")
        add("--json", action="store_true", help="print JSON")
        generated = "SYSTEM and --against are output of fairseq-generate: score its D- lines, in data order"
        add("--generated", action="store_true", help=generated)


# ---- reading -------------------------------------------------------------------------------------------------------


def read_generated(path: Path) -> list[str]:
    """Returns the best hypothesis of each sentence, in the order of the data.

    fairseq-generate prints sentences by length, with their numbers, and the hypotheses of each one after the other, the
    best one first.
    """
    hypotheses: dict[int, str] = {}
    logged = filter(None, (parse_line(line.encode()) for line in nonempty_lines(path)))
    for sentence in lines_by_sentence(logged):
        if detokenised := [line.text.decode() for line in sentence if line.kind == "D"]:
            number, text = sentence[0].number, detokenised[0].partition("\t")[2]  # after its score
            several = f"--generated: {path} has two different outputs D-{number}: give the output of one system"
            require(hypotheses.setdefault(number, text) == text, several)
    require(
        bool(hypotheses), f"--generated: {path} has no D- lines: give the output of fairseq-generate without --quiet"
    )
    missing = next((number for number in range(len(hypotheses)) if number not in hypotheses), None)
    require(
        missing is None, f"--generated: {path} is incomplete: it has {len(hypotheses)} sentences, but no D-{missing}"
    )
    cut = sum("▁" in text or "@@ " in text for text in hypotheses.values())
    if 2 * cut > len(hypotheses):
        advice = "decode with its --bpe, or with --remove-bpe, to score words"
        sys.stderr.write(f"lev-plugins: --generated: the text of {path} is in pieces: {advice}\n")
    return [hypotheses[number] for number in range(len(hypotheses))]


def read_files(args: argparse.Namespace, lines: int) -> list[Any]:
    """Returns what the metric compares SYSTEM with: annotated sentences, or sources and references."""
    files = METRICS[args.metric].files
    if files == GOLD:
        gold = m2.read_m2(args.gold)
        require_parallel(args.system, lines, args.gold, len(gold), "sentences")
        return [gold]
    source = vars(args).get("source")
    columns = []
    for path in [*vars(args).get("references", []), *([] if source is None else [source])]:
        columns.append(nonempty_lines(path))
        require_parallel(args.system, lines, path, len(columns[-1]))
    sources = [] if files == REFERENCES else [None if source is None else columns.pop()]
    if files == SOURCES_ALONE:
        return sources
    return [*sources, [list(references) for references in zip(*columns, strict=True)]]


# ---- scoring and printing --------------------------------------------------------------------------------------------


def run(args: argparse.Namespace) -> int:
    at_least(args, 2, "bootstrap")
    read_output = read_generated if args.generated else nonempty_lines
    lines = read_output(args.system)
    metric, files = METRICS[args.metric], read_files(args, len(lines))
    options = {name: vars(args)[name] for name in metric.options}
    rows = []
    for title, path, reader in (
        ("system", args.system, lambda _: lines),
        ("do nothing", args.draft, nonempty_lines),
        ("against", args.against, read_output),
    ):
        if path is not None:
            texts = reader(path)
            require_parallel(args.system, len(lines), path, len(texts))
            rows.append(ScoredText(title, path, metric.evaluate(*files, texts, **options)))
    comparison = draw_resamples(args, rows)
    report = json_report if args.json else text_report
    sys.stdout.buffer.write(report(args, rows, comparison).encode("utf-8", "backslashreplace"))
    return 0


def draw_resamples(args: argparse.Namespace, rows: Sequence[ScoredText]) -> resampling.Comparison | None:
    if args.bootstrap is None and args.against is None:
        return None
    scores = resampling.resample([row.evaluation for row in rows], args.bootstrap or RESAMPLES, args.seed)
    if args.bootstrap is not None:
        for row, resampled in zip(rows, scores, strict=True):
            row.resampled = resampled
    if args.against is None:
        return None
    return resampling.compare(rows[0].evaluation, rows[-1].evaluation, scores[[0, -1]])


def text_report(args: argparse.Namespace, rows: Sequence[ScoredText], comparison: resampling.Comparison | None) -> str:
    lines = sentence_lines(rows) if args.per_sentence else []
    digits = rows[0].evaluation.digits
    for row in rows:
        line = f"{row.title:<10}  {row.evaluation.describe()}"
        if row.resampled is not None:
            low, high = resampling.interval(row.resampled)
            line += f", 95 % between {low:.{digits}f} and {high:.{digits}f}"
        lines.append(line)
    lines += table(detail_rows(rows)) if any(": " in name for name in rows[0].evaluation.details) else []
    if comparison is not None:
        lines += comparison_lines(comparison, digits)
    if rows[0].evaluation.signature:
        lines.append(f"settings    {rows[0].evaluation.signature}")
    return "".join(f"{line}\n" for line in lines)


def detail_rows(rows: Sequence[ScoredText]) -> list[list[str]]:
    """Returns a table of the details named ``ROW: COLUMN``; the first column, of the source, is shown once."""
    names = [name.rsplit(": ", 1) for name in rows[0].evaluation.details if ": " in name]
    titles, columns = dict.fromkeys(title for title, _ in names), [*dict.fromkeys(column for _, column in names)]
    cells = [(row, column) for row in rows for column in columns if row is rows[0] or column != columns[0]]
    header = [column if column == columns[0] else f"{column} ({row.title})" for row, column in cells]
    result = [["", *header, ""]]
    for title in titles:
        result.append([title, *(str(row.evaluation.details[f"{title}: {column}"]) for row, column in cells), ""])
    return result


def sentence_lines(rows: Sequence[ScoredText]) -> list[str]:
    lines = ["\t".join(["sentence", *(row.title for row in rows)])]
    digits = rows[0].evaluation.digits
    for number, scores in enumerate(zip(*(row.evaluation.sentences for row in rows), strict=True), 1):
        lines.append("\t".join([str(number), *(f"{score:.{digits}f}" for score in scores)]))
    return lines


def comparison_lines(comparison: resampling.Comparison, digits: int) -> list[str]:
    how, sign, low, high = "better by", 1, comparison.low, comparison.high
    if comparison.difference < 0:
        how, sign, low, high = "worse by", -1, -comparison.high, -comparison.low
    return [
        f"{how:<11} {sign * comparison.difference:.{digits}f}, 95 % between {low:.{digits}f} and {high:.{digits}f}",
        f"chance?     paired bootstrap p = {comparison.bootstrap_p:.4f}",
    ]


def json_report(args: argparse.Namespace, rows: Sequence[ScoredText], comparison: resampling.Comparison | None) -> str:
    system = rows[0].evaluation
    result: dict[str, Any] = {
        "metric": args.metric,
        "name": system.name,
        "higher_is_better": system.higher_is_better,
        "settings": system.signature,
        "sentences": len(system.sentences),
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
        result["bootstrap"] = {"resamples": args.bootstrap or RESAMPLES, "seed": args.seed}
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"
