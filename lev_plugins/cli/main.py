"""``lev-plugins COMMAND ...``: imports only the module of the command that runs."""

import argparse
import atexit
import errno
import gc
import os
import sys
import threading
from collections.abc import Sequence
from importlib import import_module

from lev_plugins.cli.signals import exit_at_signals
from lev_plugins.text.control import visible
from lev_plugins.utils import compatibility
from lev_plugins.utils.errors import explained, require
from lev_plugins.utils.version import __version__

# what each command does; its module is lev_plugins.cli.NAME, with underscores for dashes
COMMANDS = {
    "path": "print the folder to use as fairseq's --user-dir",
    "prepare": "binarise parallel text: sources, targets and optional drafts",
    "prepare-labels": "binarise labelled text: TSV with labels in the last column, or CoNLL-U",
    "encode": "cut text into the pieces of an imported model, or join pieces into text",
    "distill": "replace the targets of a data folder by a teacher's outputs; resumes where it was stopped",
    "average": "average the weights of checkpoints: the last N of a folder, or given files",
    "adapt": "train the editor of a model folder further on your own pairs, into a new folder",
    "import-levt": "convert fairseq's levenshtein_transformer into a levt, or its transformer into a levt to train",
    "import-pretrained": "convert a Hugging Face model (an encoder such as BERT, a T5, a BART) into data and weights",
    "trace": "show the edits of each iteration, from a log of fairseq-generate",
    "score": "score text files: m2, gleu, bleu, chrf, ter, rouge, wrr, exact, harm, terms",
    "sweep": "measure what an editor breaks and repairs for each value of --min-confidence",
    "edit": "correct standard input line by line, or edit drafts; all text outside an edit stays as it is",
    "check": "find the typos in the prose of files, such as Markdown and comments in code; --write corrects them",
    "serve": "answer editors, programs and people: a server with LanguageTool's protocol, JSON, and a page",
    "lsp": "show edits while you write, in VS Code, Neovim and other editors: a language server",
    "export": "make a model folder of a checkpoint, which needs nothing outside it",
    "info": "show what a model folder is",
    "label": "label standard input line by line; prints JSON with scores",
    "tune-thresholds": "find the threshold per label with the best F1 on the validation set, for use with label",
    "noise": "add noise to text, line by line from standard input to standard output",
    "confusions": "learn typical confusions and their frequencies from noisy and clean text",
}
# exit statuses that a shell reports for a program that is ended by Ctrl-C, and by SIGPIPE
INTERRUPTED, BROKEN_PIPE = 130, 141
LIBRARY_SETTINGS = {  # variables of the environment that are read when torch is loaded
    # oneDNN, and torch's use of it, remember what they made for each shape; 1024 by default, which takes hundreds of
    # megabytes where every batch has a shape of its own
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32",
    "LRU_CACHE_CAPACITY": "32",
}
# these need neither torch nor fairseq
LIGHT = {"path", "trace", "score", "noise", "confusions", "info", "edit", "label", "serve", "lsp", "sweep", "check"}


def main(argv: Sequence[str] | None = None) -> int:
    if sys.stderr is None:  # closed by a shell
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  for as long as the process
    if threading.current_thread() is threading.main_thread():
        exit_at_signals()
    atexit.register(gc.freeze)  # or Python searches all objects for cycles when it exits, for longer than an edit takes
    try:
        try:
            return run(sys.argv[1:] if argv is None else list(argv))
        finally:
            flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # a reader that closes the pipe has read enough
        return BROKEN_PIPE
    except Exception as error:
        _, hint = explained(error)
        if hint is None:  # our fault, not the user's: show the traceback
            raise
        sys.stderr.write(f"lev-plugins: error: {visible(hint)}\n")
        return 2


def flush() -> None:
    """Writes what is left of standard output: when Python exits, an error would not be explained."""
    if sys.stdout is None or sys.stdout.closed:  # by a shell; by a language server that has ended
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush when Python exits
        if error.errno == errno.EINVAL:  # what Windows reports of a pipe that is closed
            raise BrokenPipeError from error
        raise


def run(words: list[str]) -> int:
    for name, stream, sign in (("input", sys.stdin, "<"), ("output", sys.stdout, ">")):
        require(stream is not None, f"standard {name} is closed: redirect it, for example with {sign}{os.devnull}")
    if hasattr(sys.stdout, "reconfigure"):  # a character that the encoding lacks is escaped, not an error
        sys.stdout.reconfigure(errors="backslashreplace", newline="\n")
        if sys.platform == "win32":  # where a pipe has the encoding of an old code page
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    command = command_parser().parse_args(words[:1]).command  # exits on --help and on unknown commands
    for name, value in LIBRARY_SETTINGS.items():
        os.environ.setdefault(name, value)
    if command not in LIGHT:
        compatibility.require_training()
    args = build_parser(command).parse_args(words[1:])
    with compatibility.quiet("fairseq"):
        return args.run(args)


def command_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    parser = argparse.ArgumentParser(
        prog="lev-plugins",
        usage="%(prog)s COMMAND ...",
        description="Commands that complement those of fairseq.",
        epilog="\n".join(["commands:", *(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="see COMMAND --help for its flags")
    return parser


def build_parser(command: str) -> argparse.ArgumentParser:
    """The parser of one command; ``run`` of its result is the function to call."""
    module = import_module(f"lev_plugins.cli.{command.replace('-', '_')}")
    parser = argparse.ArgumentParser(prog=f"lev-plugins {command}", description=COMMANDS[command])
    module.add_arguments(parser)
    parser.set_defaults(run=module.run)
    return parser
