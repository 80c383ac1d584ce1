"""``lev-plugins plot``: the gates of gated-Trans, by token or on average, or what iterations do, as PNG, SVG or PDF."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from fairseq.data.data_utils import post_process
from sacrebleu import metrics

from lev_plugins.cli.edit import device_of
from lev_plugins.cli.named import named_paths
from lev_plugins.errors import UserError, require
from lev_plugins.files import all_or_nothing
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.gates import GatedSentence, as_line, gates_of_lines, read_sentences
from lev_plugins.plots import gates
from lev_plugins.plots.curves import (
    IterationCount,
    Timed,
    draw_curves,
    draw_iterations,
    draw_points,
    scores_by_iteration,
)
from lev_plugins.plots.figures import check_figures
from lev_plugins.ranges import at_least
from lev_plugins.scoring.wrr import recognition
from lev_plugins.text.lines import read_lines
from lev_plugins.text.tokenise import JOINED, Tokeniser, add_bpe_arguments, bpe_options
from lev_plugins.traces.log import STEPS, decoding_seconds, parse_line, read_log, to_pieces

FIGURES = {
    "gates": "draw the gates of a gated model, by token or on average",
    "iterations": "draw the number of iterations by the length of the output",
    "oracle": "draw scores after each iteration, one curve for each log, such as with and without --oracle",
    "exits": "draw BLEU against the time of a sentence, one point for each log, such as of several early exits",
}
AXES = {"noise": "words that are noise", "length": "length of the source in tokens", "task": "task"}
METRICS = ["bleu", "ter"]
BLEU = re.compile(r"^Generate .*: BLEU4? = ([\d.]+)", re.MULTILINE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    figures = parser.add_subparsers(required=True, metavar="FIGURE", title="figures")
    runs = {"gates": run_gates, "iterations": run_iterations, "oracle": run_oracle, "exits": run_exits}
    for name, meaning in FIGURES.items():
        figure = figures.add_parser(name, help=meaning, description=meaning)
        figure.set_defaults(figure=runs[name])
        add = figure.add_argument
        if name == "gates":
            add_gates_arguments(figure)
        elif name == "iterations":
            add("log", metavar="LOG", type=Path, help="output of fairseq-generate --print-step, decoded by a levt")
            add("--bins", metavar="N", type=int, default=10, help="at most N points, of nearly as many sentences each")
        else:
            flags = " --retain-iter-history --print-step" if name == "oracle" else ", with 2>&1"
            what = f"output of fairseq-generate{flags}, and what the figure calls it"
            add("logs", metavar="NAME=LOG", nargs="+", help=what)
        if name == "oracle":
            add("--metric", choices=METRICS, default="bleu", help="score of all sentences (default: bleu)")
            add("--reference", metavar="FILE", type=Path, help="references, one per line (default: those of the log)")
            add("--post-process", choices=JOINED, help="how to join pieces into words")
        written = "figures to write: .png, .svg or .pdf"
        add("--output", metavar="FILE", type=Path, nargs="+", required=name != "gates", help=written)


def add_gates_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", metavar="DATA", nargs="?", type=Path, help="folder with the dictionaries of the model's training")
    text = "noisy text, one sentence per line (default: standard input)"
    add("text", metavar="TEXT", nargs="?", type=Path, help=text)
    add("--path", metavar="FILE", type=Path, help="checkpoint of the gated model")
    ways = "draw heat maps of sentences, or means over groups of sentences"
    add("--by", choices=["sentence", *AXES], default="sentence", help=ways)
    add("--first", metavar="N", type=int, default=1, help="heat maps: draw the first N sentences")
    add("--bins", metavar="N", type=int, default=5, help="--by noise and length: number of ranges")
    add("--reference", metavar="FILE", type=Path, help="--by noise: clean text, parallel to TEXT")
    add("--save", metavar="FILE", type=Path, help="save the gates: one line of JSON per sentence")
    saved = "gates from --save, instead of DATA, TEXT and --path; --by task: one file per task"
    add("--saved", metavar="NAME=FILE", nargs="+", help=saved)
    add("--beam", metavar="N", type=int, default=4, help="beam size")
    add("--max-tokens", metavar="N", type=int, default=4000, help="tokens per batch")
    add("--cpu", action="store_true", help="run on the CPU")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.output:
        check_figures("--output", args.output)
    figure: Callable[[argparse.Namespace], int] = args.figure
    return figure(args)


# ---- gates -----------------------------------------------------------------------------------------------------------


def run_gates(args: argparse.Namespace) -> int:
    check_gates_arguments(args)
    if args.saved:
        files = named_paths(args.saved, "files of --saved")
        sentences = {name: read_sentences(path) for name, path in files.items()}
    else:
        sentences = {"": measured(args)}
    if args.save:
        with all_or_nothing(args.save) as file:
            file.writelines(f"{as_line(sentence)}\n".encode() for sentence in sentences[""])
    if args.output:
        draw_gates(args, sentences)
    written = ", ".join(str(path) for path in [*(args.output or []), *([args.save] if args.save else [])])
    number = sum(map(len, sentences.values()))
    if args.by == "sentence" and not args.save:
        number = min(number, args.first)
    sys.stdout.write(f"{written}: gates of {number:,} sentence{'s' if number > 1 else ''}\n")
    return 0


def check_gates_arguments(args: argparse.Namespace) -> None:
    require(bool(args.output or args.save), "no output is given: add --output FILE.png, --save FILE, or both")
    at_least(args, 1, "first", "bins", "beam", "max_tokens")
    if args.saved:
        require(
            not (args.data or args.path or args.save or args.reference),
            "--saved replaces the model and its text: leave out DATA, TEXT, --path, --save and --reference",
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


def measured(args: argparse.Namespace) -> list[GatedSentence]:
    lines = read_text(args.text)
    references = list(read_lines(args.reference)) if args.reference else []
    require(
        not args.reference or len(references) == len(lines),
        f"--reference must have as many lines as TEXT, but has {len(references):,} for {len(lines):,}",
    )
    if args.by == "sentence" and not args.save:
        lines, references = lines[: args.first], references[: args.first]
    model = CheckpointDecoder([args.path], {"data": str(args.data)}, {"beam": args.beam}, device_of(args))
    kept = []
    for place, sentence in enumerate(gates_of_lines(model, lines, Tokeniser(bpe_options(args)), args.max_tokens)):
        if sentence is not None:
            level = None
            if references:  # 1 - WRR, as in Table 1 of the paper
                recognised, words = recognition(references[place], lines[place])
                level = 1 - recognised / words if words else 0.0
            kept.append(replace(sentence, noise=level))
    require(bool(kept), f"all {len(lines):,} lines of the text are too long for the model")
    if len(kept) < len(lines):
        left_out = len(lines) - len(kept)
        sys.stderr.write(f"lev-plugins: {left_out:,} of {len(lines):,} lines are too long for the model and left out\n")
    return kept


def read_text(path: Path | None) -> list[str]:
    if path is None:
        require(not sys.stdin.isatty(), "TEXT is missing: name a file, or pipe noisy text into plot gates")
        piped = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n")
        texts = [line.removesuffix("\r") for line in piped.split("\n")] if piped else []
    else:
        texts = list(read_lines(path))
    require(bool(texts), f"{path or 'standard input'} is empty: nothing to plot")
    return texts


def draw_gates(args: argparse.Namespace, sentences: dict[str, list[GatedSentence]]) -> None:
    everything = [sentence for group in sentences.values() for sentence in group]
    if args.by == "sentence":
        gates.heat_maps(everything[: args.first], args.output)
        return
    names, left_out = gates.gates_of_all(everything)
    require(bool(names), "these sentences have no gate in common: nothing to draw")
    if left_out:
        sys.stderr.write(f"lev-plugins: gate {' and '.join(left_out)} left out: not all sentences have it\n")
    labels = {name: name for name in names}
    if args.by == "task":
        groups = [gates.Group(name, part) for name, part in sentences.items()]
    else:
        groups = gates.grouped_by(args.by, everything, args.bins)
        for name in names:
            r = gates.correlation(args.by, everything, name)
            labels[name] = name if r is None else f"{name} (r = {r:+.2f})"
    gates.draw_means(groups, labels, AXES[args.by], args.by == "task", args.output)


# ---- iterations, of logs ---------------------------------------------------------------------------------------------


def run_iterations(args: argparse.Namespace) -> int:
    at_least(args, 1, "bins")
    with args.log.open("rb") as file:
        decoded = list(decoded_in(file).values())
    require(
        bool(decoded),
        f"{args.log} does not say how many iterations a sentence took: run fairseq-generate with --print-step",
    )
    draw_iterations(decoded, args.bins, args.output)
    mean = sum(sentence.iterations for sentence in decoded) / len(decoded)
    plural = "s" if len(decoded) > 1 else ""
    written = ", ".join(map(str, args.output))
    sys.stdout.write(f"{written}: {len(decoded):,} sentence{plural}, {mean:.2f} iterations on average\n")
    return 0


def decoded_in(log: Iterable[bytes]) -> dict[int, IterationCount]:
    """The best hypothesis of each sentence; the last iteration, which changes nothing, does not count.

    ``P-`` has a score for each piece and for </s>, also where ``H-`` has words, because of --remove-bpe.

    >>> decoded_in([b"H-3\\t-0.5\\tab\\n", b"P-3\\t-1 -2 -3\\n", b"I-3\\t2\\n", b"H-3\\t-0.9\\ta\\n", b"I-3\\t1\\n"])
    {3: IterationCount(length=2, iterations=2)}
    """
    lengths: dict[int, int] = {}
    decoded: dict[int, IterationCount] = {}
    for line in filter(None, map(parse_line, log)):
        text = line.text.decode("utf-8", errors="replace")
        if line.kind == "H" and line.number not in lengths:
            lengths[line.number] = len(to_pieces(text.partition("\t")[2]))
        elif line.number in lengths and line.number not in decoded:
            if line.kind == "P":
                lengths[line.number] = len(text.split()) - 1
            elif line.kind == "I" and text.isdecimal():
                decoded[line.number] = IterationCount(lengths[line.number], int(text))
    return decoded


def run_oracle(args: argparse.Namespace) -> int:
    given = None if args.reference is None else list(read_lines(args.reference))
    ter = args.metric == "ter"
    metric = metrics.TER(case_sensitive=True) if ter else metrics.BLEU(tokenize="none", force=True)
    curves = {}
    for name, path in named_paths(args.logs, "logs").items():
        sentences = read_log(path)
        references = given
        if references is None:
            references = [sentence.reference for sentence in sentences if sentence.reference is not None]
        require(
            len(references) == len(sentences),
            f"{args.reference or 'the log'} has {len(references):,} references, but {path} has {len(sentences):,} "
            "sentences: add --reference FILE, with one for each",
        )
        histories = [
            [post_process(" ".join(state), args.post_process) for state in sentence.hypotheses[0].states]
            for sentence in sentences
        ]
        curves[name] = scores_by_iteration(histories, references, STEPS, metric)
    draw_curves(curves, args.metric.upper(), args.output)
    report(args.output, {name: " ".join(f"{score:.2f}" for score in scores) for name, scores in curves.items()})
    return 0


def run_exits(args: argparse.Namespace) -> int:
    points = []
    for name, path in named_paths(args.logs, "logs").items():
        text = path.read_text(encoding="utf-8", errors="replace")
        scores, (sentences, seconds) = BLEU.findall(text), decoding_seconds(text.splitlines())
        if not scores or not sentences:
            missing = "score ('Generate ... BLEU4 = ...')" if sentences else "time ('Translated ... sentences/s')"
            raise UserError(f"{path} has no {missing}: use the whole output of fairseq-generate, with 2>&1")
        points.append(Timed(name, 1000 * seconds / sentences, float(scores[-1])))
    draw_points(points, "BLEU", args.output)
    report(args.output, {point.name: f"{point.score:.2f} BLEU, {point.milliseconds:.1f} ms" for point in points})
    return 0


def report(paths: list[Path], lines: dict[str, str]) -> None:
    for name, line in lines.items():
        sys.stdout.write(f"{name}: {line}\n")
    sys.stdout.write(f"{', '.join(map(str, paths))}: {len(lines)} {'log' if len(lines) == 1 else 'logs'}\n")
