"""The gates of a gated model, by token or on average: Figures 2 to 4 of the gated-Trans paper.

    python examples/denoising/gates.py DATA TEXT --path CHECKPOINT --output FILE
    python examples/denoising/gates.py --saved NAME=FILE ... --by noise|length|task --output FILE

The model decodes freely, then reads its own output again to record the gates. --save keeps them, as one line of JSON
per sentence. The figures need no colour: grey cells with numbers, lines with markers, bars with hatching. They need
matplotlib (pip install '.[plot]') and end in .png, .svg or .pdf; several may be given.

Shapes: B batch, S source length, T target length.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.canvas import canvas, check_figures, save_figure
from examples.shared import arriving_lines, finish
from lev_plugins.cli.named import named_paths
from lev_plugins.correction.gated import GATES, GatedModel
from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.scoring.wrr import recognition
from lev_plugins.text.control import visible
from lev_plugins.text.lines import read_lines
from lev_plugins.text.tokenise import Tokeniser, add_bpe_arguments, bpe_options
from lev_plugins.training.tokenise import row_of
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.files import all_or_nothing
from lev_plugins.utils.json_schema import from_entries, parse_object
from lev_plugins.utils.ranges import at_least

AXES = {"noise": "words that are noise", "length": "length of the source in tokens", "task": "task"}
COLUMNS = 16  # cells in a row; longer sentences continue below
LONGEST = 14  # characters shown of a token
DARK = 0.55  # above this, numbers are white
MARKERS, DASHES = "osD^", ["-", "--", "-.", ":"]
HATCHES, GREYS = ["", "//", "..", "xx"], ["0.35", "1.0", "0.8", "0.95"]


@dataclass(frozen=True)
class GatedSentence:
    """``gates["mask"]`` has one probability per source token, the other gates one per output token."""

    source: list[str]
    output: list[str]
    gates: dict[str, list[float]]
    noise: float | None = None  # share of the clean text's words that the noisy text lacks

    def __post_init__(self) -> None:
        for name, values in self.gates.items():
            tokens = self.source if name == "mask" else self.output
            require(
                name in GATES and len(values) == len(tokens),
                f"gate {name} has {len(values)} probabilities for {len(tokens)} tokens",
            )


def run(args: argparse.Namespace) -> None:
    check(args)
    if args.output:
        check_figures("--output", args.output)
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


def check(args: argparse.Namespace) -> None:
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
        "no model is given: add DATA and --path, or --saved",
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
    device = "cpu" if args.cpu or not torch.cuda.is_available() else "cuda"
    model = CheckpointDecoder([args.path], {"data": str(args.data)}, {"beam": args.beam}, device)
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
        sys.stderr.write(f"{left_out:,} of {len(lines):,} lines are too long for the model and left out\n")
    return kept


def read_text(path: Path | None) -> list[str]:
    if path is None:
        require(not sys.stdin.isatty(), "TEXT is missing: name a file, or pipe noisy text into this command")
        texts = list(arriving_lines(sys.stdin.buffer))
    else:
        texts = list(read_lines(path))
    require(bool(texts), f"{path or 'standard input'} is empty: nothing to plot")
    return texts


def draw_gates(args: argparse.Namespace, sentences: dict[str, list[GatedSentence]]) -> None:
    everything = [sentence for group in sentences.values() for sentence in group]
    if args.by == "sentence":
        heat_maps(everything[: args.first], args.output)
        return
    names, left_out = gates_of_all(everything)
    require(bool(names), "these sentences have no gate in common: nothing to draw")
    if left_out:
        sys.stderr.write(f"gate {' and '.join(left_out)} left out: not all sentences have it\n")
    labels = {name: name for name in names}
    if args.by == "task":
        groups = [Group(name, part) for name, part in sentences.items()]
    else:
        groups = grouped_by(args.by, everything, args.bins)
        for name in names:
            r = correlation(args.by, everything, name)
            labels[name] = name if r is None else f"{name} (r = {r:+.2f})"
    draw_means(groups, labels, AXES[args.by], args.by == "task", args.output)


# ---- the gates of a model --------------------------------------------------------------------------------------------


def gates_of_lines(
    model: CheckpointDecoder, lines: list[str], encode: Callable[[str], str], max_tokens: int
) -> list[GatedSentence | None]:
    """The gates of each line; None if the line is too long for the model."""
    require(
        isinstance(model.models[0], GatedModel),
        "--path is not a gated model: train one with --arch gated_trans, gated_t5, gated_bart or gated_bert",
    )
    words = model.task.source_dictionary
    tokens = [torch.tensor(row_of(encode(line).split(), words)) for line in lines]
    dataset = model.task.build_dataset_for_inference(tokens, [len(line) for line in tokens])
    sentences: dict[int, GatedSentence] = {}
    for sample in model.samples(dataset, range(len(lines)), max_tokens):
        hypotheses = model.task.inference_step(model.generator, model.models, sample)
        written = [best[0]["tokens"] for best in hypotheses]
        sentences.update(zip(sample["id"].tolist(), gates_of(model, sample, written), strict=True))
    return [sentences.get(index) for index in range(len(lines))]


@torch.no_grad()
def gates_of(model: CheckpointDecoder, sample: dict[str, Any], written: list[Tensor]) -> Iterator[GatedSentence]:
    source_words, target_words = model.task.source_dictionary, model.task.target_dictionary
    pad, eos = target_words.pad(), target_words.eos()
    longest = max(len(row) for row in written)
    read = torch.full((len(written), longest), pad, device=model.device)  # (B, T)
    for place, row in enumerate(written):  # </s> a b </s>: each token is read one step after it was written
        read[place, : len(row)] = torch.cat([row.new_tensor([eos]), row[:-1]])
    _, extra = model.models[0](**{**sample["net_input"], "prev_output_tokens": read})
    gates = extra["gates"]
    require(
        any(getattr(gates, name) is not None for name in GATES),
        "the model of --path has no gates: it was trained with --gates ''",
    )
    for place, row in enumerate(written):
        real = gates.source[place].ne(source_words.pad())  # (S,)
        values = {name: getattr(gates, name) for name in GATES}
        kept = {
            name: (value[place, real] if name == "mask" else value[place, : len(row)]).tolist()
            for name, value in values.items()
            if value is not None
        }
        yield GatedSentence(
            [source_words[token] for token in gates.source[place, real].tolist()],
            [target_words[token] for token in row.tolist()],
            {name: [round(number, 4) for number in numbers] for name, numbers in kept.items()},
        )


# ---- files -----------------------------------------------------------------------------------------------------------


def as_line(sentence: GatedSentence) -> str:
    """
    >>> as_line(GatedSentence(["a"], ["b"], {"mask": [0.25]}))
    '{"source": ["a"], "output": ["b"], "gates": {"mask": [0.25]}, "noise": null}'
    """
    return json.dumps(asdict(sentence), ensure_ascii=False)


def read_sentences(path: Path) -> list[GatedSentence]:
    sentences = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            sentences.append(from_entries(GatedSentence, parse_object(line, where), where))
        except UserError as error:
            raise UserError(f"{where} has no gates: give --saved a file written by --save ({error})") from error
    require(bool(sentences), f"{path} is empty: give --saved a file written by --save")
    return sentences


# ---- heat maps (Figures 3 and 4) -----------------------------------------------------------------------------------


def heat_maps(sentences: Sequence[GatedSentence], paths: Sequence[Path]) -> None:
    """The mask gate below the tokens of the source, the others below those of the output."""
    blocks = []
    for sentence in sentences:
        mask = {name: values for name, values in sentence.gates.items() if name == "mask"}
        rest = {name: values for name, values in sentence.gates.items() if name != "mask"}
        for side, tokens, gates in (("source", sentence.source, mask), ("output", sentence.output, rest)):
            for start in range(0, len(tokens) if gates else 0, COLUMNS):
                part = slice(start, start + COLUMNS)
                blocks.append((side, tokens[part], {name: row[part] for name, row in gates.items()}))
    heights = [len(gates) for _, _, gates in blocks]
    with canvas(0.62 * COLUMNS + 2, 0.34 * sum(heights) + 0.9 * len(blocks) + 0.5) as figure:
        rows = figure.subplots(len(blocks), squeeze=False, height_ratios=heights)[:, 0]
        for axes, (side, tokens, gates) in zip(rows, blocks, strict=True):
            cells = np.full((len(gates), COLUMNS), np.nan)
            cells[:, : len(tokens)] = list(gates.values())
            image = axes.imshow(cells, cmap="Greys", vmin=0, vmax=1, aspect="auto")
            axes.xaxis.tick_top()
            axes.set_xticks(range(len(tokens)), [short(token) for token in tokens], rotation=35, ha="left", fontsize=8)
            axes.set_yticks(range(len(gates)), list(gates), fontsize=8)
            axes.set_ylabel(side, style="italic", fontsize=8)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            for row, values in enumerate(gates.values()):
                for column, value in enumerate(values):
                    ink = "white" if value > DARK else "black"
                    axes.text(column, row, f"{value:.2f}", color=ink, ha="center", va="center", fontsize=8)
        figure.colorbar(image, ax=list(rows), fraction=0.03)
        save_figure(figure, paths)


def short(token: str) -> str:
    """
    >>> short("representational"), short("a b"), short("a\\x01b")
    ('representatio…', 'a b', 'a\\\\u0001b')
    """
    token = visible(token)
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"


# ---- means (Figure 2) ----------------------------------------------------------------------------------------------


class Group(NamedTuple):
    """Sentences that share a property."""

    title: str
    sentences: list[GatedSentence]

    def mean(self, gate: str) -> float:
        """The mean over all tokens."""
        return float(np.mean([value for sentence in self.sentences for value in sentence.gates[gate]]))


def gates_of_all(sentences: Sequence[GatedSentence]) -> tuple[list[str], list[str]]:
    """The gates that all sentences have, and those that only some have, in the order of the paper.

    >>> both = GatedSentence(["a"], ["b"], {"copy": [0.5], "mask": [0.5]})
    >>> gates_of_all([both, GatedSentence(["a"], ["b"], {"mask": [0.5]})])
    (['mask'], ['copy'])
    """
    present = [name for name in GATES if any(name in sentence.gates for sentence in sentences)]
    common = [name for name in present if all(name in sentence.gates for sentence in sentences)]
    return common, [name for name in present if name not in common]


def property_of(sentence: GatedSentence, name: str) -> float:
    """The noise in per cent, or the length of the source in tokens."""
    if name == "length":
        return len(sentence.source)
    if sentence.noise is None:
        raise UserError(
            "the noise level of a sentence needs its clean text: give --reference FILE, with --save as well"
        )
    return 100 * sentence.noise


def grouped_by(name: str, sentences: Sequence[GatedSentence], bins: int) -> list[Group]:
    """``bins`` ranges of equal width, without empty ones, called after the lowest and the highest value in each.

    >>> some = [GatedSentence([""] * n, [], {}) for n in (1, 2, 2, 11)]
    >>> [(group.title, len(group.sentences)) for group in grouped_by("length", some, 5)]
    [('1-2', 3), ('11', 1)]
    """
    values = np.array([property_of(sentence, name) for sentence in sentences])
    edges = np.linspace(values.min(), values.max(), bins + 1)
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    groups = []
    for number in np.unique(place):
        inside = place == number
        ends = [f"{end:.3g}" for end in (values[inside].min(), values[inside].max())]
        title = "-".join(dict.fromkeys(ends)) + (" %" if name == "noise" else "")
        groups.append(Group(title, [sentences[at] for at in inside.nonzero()[0]]))
    return groups


def correlation(name: str, sentences: Sequence[GatedSentence], gate: str) -> float | None:
    """Pearson's r of a property and the mean gate of a sentence; None if either is constant."""
    values = [property_of(sentence, name) for sentence in sentences]
    means = [float(np.mean(sentence.gates[gate])) for sentence in sentences]
    if np.ptp(values) == 0 or np.ptp(means) == 0:
        return None
    return float(np.corrcoef(values, means)[0, 1])


def draw_means(
    groups: Sequence[Group], labels: Mapping[str, str], axis: str, bars: bool, paths: Sequence[Path]
) -> None:
    """``labels``: those of the gates in the legend; a line with a point for each group, or a bar in each."""
    with canvas(max(5.0, 1.2 * len(groups) + 3), 4) as figure:
        axes = figure.add_subplot()
        places, width = np.arange(len(groups)), 0.8 / len(labels)
        for number, (gate, label) in enumerate(labels.items()):
            means = [group.mean(gate) for group in groups]
            if bars:
                look = {"facecolor": GREYS[number], "hatch": HATCHES[number], "edgecolor": "black"}
                drawn = axes.bar(places - 0.4 + (number + 0.5) * width, means, width, label=label, **look)
                axes.bar_label(drawn, fmt="%.2f", fontsize=7)
                continue
            axes.plot(places, means, marker=MARKERS[number], linestyle=DASHES[number], color="black", label=label)
        axes.grid(axis="y", alpha=0.3)
        axes.set_xticks(places, [f"{group.title}\n({len(group.sentences)})" for group in groups], fontsize=8)
        axes.set(xlabel=f"{axis} (number of sentences)", ylabel="mean gate probability", ylim=(0, 1))
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
        save_figure(figure, paths)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
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
    add("--output", metavar="FILE", type=Path, nargs="+", help="figures to write")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
