"""``lev-plugins COMMAND ...``: imports the module of the command, and nothing of the others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from lev_plugins import compatibility
from lev_plugins.errors import explained

# what each command does; its module is lev_plugins.cli.NAME, with an underscore for each dash
COMMANDS = {
    "path": "print the folder for fairseq's --user-dir",
    "prepare": "binarise texts: a file of sources, one of targets and one of drafts for every split",
    "prepare-labels": "binarise labelled text: TSV with the labels in the last column, or CoNLL-U",
    "encode": "cut text into the pieces of a folder that import-pretrained made, or join pieces again",
    "distill": "replace the targets of a data folder by what a teacher writes; stopped and started again, it goes on",
    "average": "average the weights of checkpoints: the last N or best N of a folder, or the files given",
    "import-levt": "turn fairseq's levenshtein_transformer into a levt, or its transformer into a levt to train",
    "import-pretrained": "turn a Hugging Face model (T5, mT5, ByT5, BART, BERT) into dictionary, tokenizer and weights",
    "trace": "show the deletions and insertions of every iteration, from a log of fairseq-generate",
    "plot": "draw the gates of a gated model: over the tokens of a sentence, or on average",
    "score": "score text files: m2, gleu, wrr, wrr-set, exact, ter, rouge, bleu",
    "sweep": "precision and recall of a corrector's edits by --min-edit-confidence and --keep-bias, to choose these",
    "label": "label the lines of standard input with a trained enct5: JSON, with scores",
    "tune-thresholds": "find the threshold of each label that makes its F1 on the validation set largest, for label",
    "noise": "put noise into plain text, standard input to standard output, one line out for each line in",
    "confusions": "learn from noisy lines and the clean ones that belong to them what is taken for what, and how often",
}
LIGHT = {"path", "trace", "score", "noise", "confusions"}  # these need neither torch nor fairseq


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else list(argv)
    command = command_parser().parse_args(words[:1]).command  # --help and unknown commands end here
    missing = None if command in LIGHT else compatibility.problem()
    if missing is not None:
        return fail(missing)
    try:
        args = build_parser(command).parse_args(words[1:])
        return args.run(args)
    except Exception as error:
        _, hint = explained(error)
        if hint is None:  # a fault of ours, not of the user's: let the traceback be seen
            raise
        return fail(hint)


def fail(message: str) -> int:
    sys.stderr.write(f"lev-plugins: error: {message}\n")
    return 2


def command_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="lev-plugins",
        usage="%(prog)s COMMAND ...",
        description="What fairseq's commands do not do.",
        epilog="\n".join(["commands:", *(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="COMMAND --help shows its flags")
    return parser


def build_parser(command: str) -> argparse.ArgumentParser:
    """Of a command, whose module has ``add_arguments(parser)`` and ``run(args)``, which returns the exit status."""
    module = import_module(f"lev_plugins.cli.{command.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"lev-plugins {command}", description=COMMANDS[command])
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser
