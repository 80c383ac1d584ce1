"""``lev-plugins plot``: the gates of gated-Trans, by token or on average, or what iterations do, as PNG, SVG or PDF."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lev_plugins.cli import plot_curves, plot_iterations, streams
from lev_plugins.cli.edit import device_of
from lev_plugins.cli.named import named_paths
from lev_plugins.errors import require
from lev_plugins.files import all_or_nothing
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.gates import Sentence, as_line, gates_of_lines, read_sentences
from lev_plugins.plots import drawing
from lev_plugins.plots.figures import check_figures
from lev_plugins.plots.gates import PROPERTIES, Group, by, correlation, names_of, noise_level
from lev_plugins.ranges import at_least, flag_name
from lev_plugins.text.lines import read_lines
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments, bpe_options

GATES = "draw the gates of a gated model, by token or on average"
WAYS = ["sentence", "noise", "length", "task"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    figures = parser.add_subparsers(required=True, metavar="FIGURE", title="figures")
    gates = figures.add_parser("gates", help=GATES, description=GATES)
    add_gates_arguments(gates)
    gates.set_defaults(figure=run_gates)
    iterations = figures.add_parser("iterations", help=plot_iterations.HELP, description=plot_iterations.HELP)
    plot_iterations.add_arguments(iterations)
    iterations.set_defaults(figure=plot_iterations.run)
    oracle = figures.add_parser("oracle", help=plot_curves.ORACLE, description=plot_curves.ORACLE)
    plot_curves.add_oracle_arguments(oracle)
    oracle.set_defaults(figure=plot_curves.run_oracle)
    exits = figures.add_parser("exits", help=plot_curves.EXITS, description=plot_curves.EXITS)
    plot_curves.add_exits_arguments(exits)
    exits.set_defaults(figure=plot_curves.run_exits)


DEFAULTS = {"first": 1, "bins": 5, "beam": 4, "max_tokens": 4000, "cpu": False}


def add_gates_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "data",
        metavar="DATA",
        nargs="?",
        type=Path,
        help="folder with the dictionaries of the model's training",
    )
    add(
        "text", metavar="TEXT", nargs="?", type=Path, help="noisy text, one sentence per line (default: standard input)"
    )
    add("--path", metavar="FILE", type=Path, help="checkpoint of the gated model")
    add("--output", metavar="FILE", type=Path, nargs="+", help="figures to write: .png, .svg or .pdf")
    add("--by", choices=WAYS, default="sentence", help="draw heat maps of sentences, or means over groups of sentences")
    add("--first", metavar="N", type=int, default=DEFAULTS["first"], help="heat maps: draw the first N sentences")
    add("--bins", metavar="N", type=int, default=DEFAULTS["bins"], help="--by noise and length: number of ranges")
    add("--reference", metavar="FILE", type=Path, help="--by noise: clean text, parallel to TEXT")
    add("--save", metavar="FILE", type=Path, help="save the gates: one line of JSON per sentence")
    add(
        "--saved",
        metavar="NAME=FILE",
        nargs="+",
        help="gates from --save, instead of DATA, TEXT and --path; --by task: one file per task",
    )
    add("--beam", metavar="N", type=int, default=DEFAULTS["beam"], help="beam size")
    add("--max-tokens", metavar="N", type=int, default=DEFAULTS["max_tokens"], help="tokens per batch")
    add("--cpu", action="store_true", help="run on the CPU")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    figure: Callable[[argparse.Namespace], int] = args.figure
    return figure(args)


def run_gates(args: argparse.Namespace) -> int:
    check_arguments(args)
    if args.saved:
        files = named_paths(args.saved, "files of --saved")
        sentences = {name: read_sentences(path) for name, path in files.items()}
    else:
        sentences = {"": measured(args)}
    if args.save:
        keep(args.save, sentences[""])
    if args.output:
        draw(args, sentences)
    written = ", ".join(str(path) for path in [*(args.output or []), *([args.save] if args.save else [])])
    number = sum(map(len, sentences.values()))
    if args.by == "sentence" and not args.save:
        number = min(number, args.first)
    sys.stdout.write(f"{written}: gates of {number:,} sentence{'s' if number > 1 else ''}\n")
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    require(bool(args.output or args.save), "no output is given: add --output FILE.png, --save FILE, or both")
    if args.output:
        check_figures("--output", args.output)
    at_least(args, 1, "first", "bins", "beam", "max_tokens")
    if args.by != "sentence":
        leave_out(args, f"--by {args.by} draws no heat maps", "first")
    if args.by not in ("noise", "length"):
        leave_out(args, f"--by {args.by} has no ranges", "bins")
    if args.saved:
        leave_out(args, "--saved replaces the model", "data", "path", "save", "beam", "max_tokens", "cpu")
        require(bpe_options(args) is None, "--saved replaces the model: leave out --bpe and its flags")
        require(
            args.reference is None,
            "--reference requires a model: --saved files already contain the noise level of each sentence",
        )
        return
    require(
        args.data is not None and args.path is not None,
        "no model is given: add DATA and --path, or use gates with --saved",
    )
    require(args.data.is_dir(), f"there is no folder {args.data}")
    require(
        args.by != "task", "--by task compares the saved gates of several tasks: add --saved NAME=FILE NAME=FILE ..."
    )
    require(args.by != "noise" or args.reference is not None, "--by noise needs the clean text: add --reference FILE")


def leave_out(args: argparse.Namespace, reason: str, *fields: str) -> None:
    """What has no effect must have its default."""
    given = [field for field in fields if getattr(args, field) != DEFAULTS.get(field)]
    flags = ["DATA" if field == "data" else flag_name(field) for field in given]
    require(not flags, f"{reason}: leave out {' and '.join(flags)}")


# ---- where the gates come from --------------------------------------------------------------------------------------


def measured(args: argparse.Namespace) -> list[Sentence]:
    lines = read_text(args.text)
    references = list(read_lines(args.reference)) if args.reference else []
    require(
        not args.reference or len(references) == len(lines),
        f"--reference must have as many lines as TEXT, but has {len(references):,} for {len(lines):,}",
    )
    if args.by == "sentence" and not args.save:
        lines, references = lines[: args.first], references[: args.first]
    model = CheckpointDecoder([args.path], {"data": str(args.data)}, {"beam": args.beam}, device_of(args))
    gated = gates_of_lines(model, lines, Tokeniser(bpe_options(args)), args.max_tokens)
    levels: list[float | None] = [None] * len(lines)
    if references:
        levels = [noise_level(clean, noisy) for clean, noisy in zip(references, lines, strict=True)]
    levelled = zip(gated, levels, strict=True)
    kept = [replace(sentence, noise=level) for sentence, level in levelled if sentence is not None]
    require(bool(kept), f"all {len(lines):,} lines of the text are too long for the model")
    if len(kept) < len(lines):
        left_out = len(lines) - len(kept)
        sys.stderr.write(f"lev-plugins: {left_out:,} of {len(lines):,} lines are too long for the model and left out\n")
    return kept


def read_text(path: Path | None) -> list[str]:
    if path is None:
        require(not sys.stdin.isatty(), "TEXT is missing: name a file, or pipe noisy text into plot gates")
        chunks = streams.arriving(sys.stdin.buffer)
        raw = (line for chunk in chunks for line in chunk)
        lines = [streams.decode(line, number, "standard input").rstrip("\r\n") for number, line in enumerate(raw, 1)]
    else:
        lines = list(read_lines(path))
    require(bool(lines), f"{path or 'standard input'} is empty: nothing to plot")
    return lines


def keep(path: Path, sentences: list[Sentence]) -> None:
    with all_or_nothing(path) as file:
        file.writelines(f"{as_line(sentence)}\n".encode() for sentence in sentences)


# ---- figures --------------------------------------------------------------------------------------------------------


def draw(args: argparse.Namespace, sentences: dict[str, list[Sentence]]) -> None:
    everything = [sentence for group in sentences.values() for sentence in group]
    if args.by == "sentence":
        drawing.heat_maps(everything[: args.first], args.output)
        return
    names, left_out = names_of(everything)
    require(bool(names), "these sentences have no gate in common: nothing to draw")
    if left_out:
        sys.stderr.write(f"lev-plugins: gate {' and '.join(left_out)} left out: not all sentences have it\n")
    if args.by == "task":
        drawing.bars([Group(name, part) for name, part in sentences.items()], names, "task", args.output)
    else:
        axis = {"noise": "words that are noise", "length": "length of the source in tokens"}[args.by]
        groups = by(args.by, everything, args.bins)
        values = [PROPERTIES[args.by](sentence) for sentence in everything]
        r = {name: correlation(values, everything, name) for name in names}
        drawing.lines(groups, names, axis, r, args.output)
