"""``lev-plugins export MODEL OUT``: make a folder of a trained model that needs nothing else."""

import argparse
import sys
from pathlib import Path

from lev_plugins.cli.edit import add_decoding_arguments, decoding_of
from lev_plugins.cli.flags import add_held_out_arguments
from lev_plugins.cli.reporting import table
from lev_plugins.editor.held_out import Tuning
from lev_plugins.editor.labeller import read_thresholds
from lev_plugins.export.card import LICENSE
from lev_plugins.export.exporting import Extras, export
from lev_plugins.text.tokenise import add_bpe_arguments, bpe_options
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import read_object
from lev_plugins.utils.model_folder import COMMANDS, DIALS, PROMISED, READ, SAMPLE
from lev_plugins.utils.ranges import bounded

PROMISES = "read=17,write=0.3"  # an example of --promise-broken


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", type=Path, help="checkpoint from fairseq-train, or a model folder with weights")
    add("output", metavar="OUT", type=Path, help="folder to create")
    moved = "checkpoint: its folder {}, if it has moved since training"
    add("--data", metavar="DIR", help=moved.format("of binarised data, with the dictionaries"))
    add("--backbone", metavar="DIR", help=moved.format("from import-pretrained"))
    add_decoding_arguments(add)
    add("--thresholds", metavar="FILE", type=Path, help="multilabel: thresholds from tune-thresholds")
    add("--words", metavar="FILE", type=Path, help="editor: words that it leaves alone, one per line, for the folder")
    scores = "for the model card: NAME=VALUE, or a file from lev-plugins score --json"
    add("--scores", metavar="SCORE", nargs="+", default=[], help=scores)
    add("--license", metavar="NAME", help="for the model card, such as mit or cc-by-sa-4.0")
    add_held_out_arguments(add, "--calibrate", "held-out text and its correction, to calibrate confidences on")
    promise = "choose the least --min-confidence that breaks at most N of 1,000 words of text like --clean (95 %% sure)"
    add("--promise-broken", metavar="N", help=f"{promise}; for several dials: {PROMISES}")
    sample = "lines of the training text for the folder, for lev-plugins adapt, as well as those of each --clean"
    add("--sample", metavar="FILE", type=Path, help=sample)
    graphs = parser.add_mutually_exclusive_group().add_argument
    smaller = "write the weights alone, to be trained further or exported again: nothing edits without graphs"
    graphs("--no-graphs", action="store_true", help=smaller)
    larger = "levt --spelling: also write weights and graphs in 32 bits, for lev-plugins adapt and GPUs"
    graphs("--trainable", action="store_true", help=larger)
    half = "weights in 16 bits, enough to train further; with --trainable, no graphs in 32 bits"
    add("--half", action="store_true", help=half)
    add("--overwrite", action="store_true", help="replace OUT if it is a model folder, without other files")
    add_bpe_arguments(parser)


def run(args: argparse.Namespace) -> int:
    require(
        args.license is None or LICENSE.fullmatch(args.license) is not None,
        f"--license must be a name as on the Hugging Face hub, such as mit or cc-by-sa-4.0, but is {args.license!r}",
    )
    extras = Extras(
        decoding=decoding_of(args),
        bpe=bpe_options(args),
        words=args.words,
        thresholds=None if args.thresholds is None else read_thresholds(args.thresholds),
        scores=dict(map(score, args.scores)),
        license=args.license,
        tuning=Tuning(args.calibrate, args.clean, parse_promises(args.promise_broken)),
        own_text={SAMPLE: [args.sample], **({PROMISED: args.clean} if args.clean else {})} if args.sample else {},
    )
    moved = {name: vars(args)[name] for name in ("data", "backbone") if vars(args)[name] is not None}
    keep = {"graphs": not args.no_graphs, "trainable": args.trainable, "half": args.half}
    config = export(args.model, args.output, moved, extras, args.overwrite, **keep)
    if extras.tuning:
        rows = [["min-confidence", f"{config.decoding.min_confidence or 0}"]]
        rows += [[f"dial {name}", f"{value:g}"] for name, value in config.dials.items()]
        rows += [[name, f"{value:g}"] for name, value in config.scores.items()]
        sys.stdout.write("".join(f"{line}\n" for line in table(rows)))
    use = f"; try: lev-plugins {COMMANDS[config.kind]} {args.output}" if not args.no_graphs else ""
    sys.stdout.write(f"{args.output} is complete{use}\n")
    return 0


def parse_promises(text: str | None) -> dict[str, float]:
    """Returns how many of 1,000 words each dial may break; a number alone is for people who look at each edit.

    >>> parse_promises("17"), parse_promises("read=17,write=0.3")
    ({'read': 17.0}, {'read': 17.0, 'write': 0.3})
    """
    parts = [] if text is None else text.split(",") if "=" in text else [f"{READ}={text}"]
    try:
        promises = {name: float(number) for name, _, number in (part.partition("=") for part in parts)}
    except ValueError as error:
        raise UserError(f"--promise-broken must be a number, or such as {PROMISES}, but is {text}") from error
    for name, number in promises.items():
        require(name in DIALS, f"--promise-broken is for the dials {' and '.join(DIALS)}, but one is {name!r}")
        bounded("--promise-broken", number, above=0)
    return promises


def score(text: str) -> tuple[str, float]:
    """Returns the name and the value of a score for the model card.

    >>> score("GLEU=38.2")
    ('GLEU', 38.2)
    """
    name, equals, value = text.rpartition("=")
    path = Path(text)
    if not equals or path.is_file():
        require(path.is_file(), f"--scores: {path} is neither NAME=VALUE nor a file")
        entries = read_object(path)
        system = entries.get("system")
        name, value = str(entries.get("name")), str(system.get("score") if isinstance(system, dict) else None)
    try:
        number = float(value)
    except ValueError as error:
        says = "give NAME=VALUE, or a file from lev-plugins score --json"
        raise UserError(f"--scores {text}: {value!r} is not a number: {says}") from error
    bounded(f"--scores {text}", number)
    return name, number
