"""``lev-plugins plot gates``: what the gates of gated-Trans say, token by token or on average, as PNG or SVG."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import torch

from lev_plugins.cli import streams
from lev_plugins.errors import require
from lev_plugins.files import all_or_nothing
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.gates import Sentence, as_line, ask, read
from lev_plugins.plots import drawing
from lev_plugins.plots.figures import check_figures
from lev_plugins.plots.gates import PROPERTIES, Group, by, correlation, names_of, noise_level
from lev_plugins.ranges import at_least
from lev_plugins.text.cutting import Cutter, add_bpe_arguments, bpe_options
from lev_plugins.text.lines import read_lines

GATES = "draw the gates of a gated model: over the tokens of a sentence, or on average"
WAYS = ["sentence", "noise", "length", "task"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    figures = parser.add_subparsers(required=True, metavar="FIGURE", title="figures")
    add_gates_arguments(figures.add_parser("gates", help=GATES, description=GATES))


def add_gates_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "data",
        metavar="DATA",
        nargs="?",
        type=Path,
        help="folder with the dictionaries that the model was trained with",
    )
    add("text", metavar="TEXT", nargs="?", type=Path, help="noisy text, a sentence a line (default: standard input)")
    add("--path", metavar="FILE", type=Path, help="checkpoint of the gated model")
    add("--output", metavar="FILE", type=Path, nargs="+", help="figures to write: .png, .svg or .pdf, or one of each")
    add("--by", choices=WAYS, default="sentence", help="heat maps of sentences, or means over groups of sentences")
    add("--first", metavar="N", type=int, default=1, help="of heat maps: the first N sentences")
    add("--bins", metavar="N", type=int, default=5, help="of noise and length: into how many ranges they are cut")
    add("--reference", metavar="FILE", type=Path, help="clean text, line for line: what --by noise compares with")
    add("--save", metavar="FILE", type=Path, help="keep the gates: a line of JSON for each sentence")
    add(
        "--saved",
        metavar="NAME=FILE",
        nargs="+",
        help="gates that --save kept, instead of DATA, TEXT and --path; for --by task one of each task",
    )
    add("--beam", metavar="N", type=int, default=4, help="beam of the decoding")
    add("--max-tokens", metavar="N", type=int, default=4000, help="tokens in a batch")
    add("--cpu", action="store_true", help="use no GPU")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    check_arguments(args)
    found = saved(args) if args.saved else {"": measured(args)}
    if args.save:
        keep(args.save, found[""])
    if args.output:
        draw(args, found)
    told = ", ".join(str(path) for path in [*(args.output or []), *([args.save] if args.save else [])])
    number = sum(map(len, found.values()))
    sys.stdout.write(f"{told}: gates of {number:,} sentence{'s' if number > 1 else ''}\n")
    return 0


def check_arguments(args: argparse.Namespace) -> None:
    require(bool(args.output or args.save), "nothing is to be written: --output FILE.png, or --save FILE, or both")
    if args.output:
        check_figures("--output", args.output)
    at_least(args, 1, "first", "bins", "beam", "max_tokens")
    if args.saved:
        given = [flag for flag, value in (("DATA", args.data), ("--path", args.path), ("--save", args.save)) if value]
        require(not given, f"--saved takes the place of a model: leave out {' and '.join(given)}")
        require(args.reference is None, "--reference goes with a model: --save keeps the noise level of each sentence")
        return
    require(args.data is not None and args.path is not None, "a model is needed: DATA and --path, or gates by --saved")
    require(args.data.is_dir(), f"there is no folder {args.data}")
    require(args.by != "task", "--by task compares what --save kept of several tasks: --saved NAME=FILE NAME=FILE ...")
    require(args.by != "noise" or args.reference is not None, "--by noise needs the clean text: --reference FILE")


# ---- from where the gates come --------------------------------------------------------------------------------------


def saved(args: argparse.Namespace) -> dict[str, list[Sentence]]:
    found = {}
    for part in args.saved:
        name, equals, path = part.rpartition("=")
        name = name if equals else Path(path).stem
        require(name not in found, f"--saved has two files called {name}: name them, as in NAME={path}")
        found[name] = read(Path(path))
    return found


def measured(args: argparse.Namespace) -> list[Sentence]:
    lines = read_text(args.text)
    references = list(read_lines(args.reference)) if args.reference else []
    require(
        not args.reference or len(references) == len(lines),
        f"--reference needs a line for each line of the text, but has {len(references):,} for {len(lines):,}",
    )
    if args.by == "sentence" and not args.save:
        lines, references = lines[: args.first], references[: args.first]
    device = "cuda" if torch.cuda.is_available() and not args.cpu else "cpu"
    model = CheckpointDecoder([args.path], {"data": str(args.data)}, {"beam": args.beam}, device)
    found = ask(model, lines, Cutter(bpe_options(args)), args.max_tokens)
    levels: list[float | None] = [None] * len(lines)
    if references:
        levels = [noise_level(clean, noisy) for clean, noisy in zip(references, lines, strict=True)]
    levelled = zip(found, levels, strict=True)
    kept = [replace(sentence, noise=level) for sentence, level in levelled if sentence is not None]
    require(bool(kept), f"the model takes none of the {len(lines):,} lines of the text: all are too long")
    if len(kept) < len(lines):
        left_out = len(lines) - len(kept)
        sys.stderr.write(f"lev-plugins: {left_out:,} of {len(lines):,} lines are too long for the model: left out\n")
    return kept


def read_text(path: Path | None) -> list[str]:
    if path is None:
        require(not sys.stdin.isatty(), "TEXT is missing: name a file, or pipe noisy text into plot gates")
        chunks = streams.arriving(sys.stdin.buffer)
        raw = (line for chunk in chunks for line in chunk)
        lines = [streams.decode(line, number, "standard input").rstrip("\r\n") for number, line in enumerate(raw, 1)]
    else:
        lines = list(read_lines(path))
    require(bool(lines), f"{path or 'standard input'} is empty: there is nothing to plot")
    return lines


def keep(path: Path, sentences: list[Sentence]) -> None:
    with all_or_nothing(path) as file:
        file.writelines(f"{as_line(sentence)}\n".encode() for sentence in sentences)


# ---- figures --------------------------------------------------------------------------------------------------------


def draw(args: argparse.Namespace, found: dict[str, list[Sentence]]) -> None:
    everything = [sentence for sentences in found.values() for sentence in sentences]
    if args.by == "sentence":
        drawing.heat_maps(everything[: args.first], args.output)
        return
    names, left_out = names_of(everything)
    require(bool(names), "these sentences have no gate in common, so there is nothing to draw")
    if left_out:
        sys.stderr.write(f"lev-plugins: left out, for not all sentences have it: gate {' and '.join(left_out)}\n")
    if args.by == "task":
        drawing.bars([Group(name, part) for name, part in found.items()], names, "task", args.output)
    else:
        axis = {"noise": "words that are noise", "length": "length of the source in tokens"}[args.by]
        groups = by(args.by, everything, args.bins)
        values = [PROPERTIES[args.by](sentence) for sentence in everything]
        r = {name: correlation(values, everything, name) for name in names}
        drawing.lines(groups, names, axis, r, args.output)
