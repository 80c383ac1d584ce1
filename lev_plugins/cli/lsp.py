"""``lev-plugins lsp MODEL``: a language server on standard input and output, for an editor that starts it."""

import argparse

from lev_plugins.cli import edit
from lev_plugins.editor.own_words import WordList
from lev_plugins.serving.lsp import Checker
from lev_plugins.utils.compatibility import quiet
from lev_plugins.utils.model_folder import model_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "a model folder, or the name of an installed model"
    parser.add_argument("model", metavar="MODEL", type=model_path, help=what)
    edit.add_editor_arguments(parser)


def run(args: argparse.Namespace) -> int:
    editor = edit.editor_from_args(args, words=WordList(args.words))  # the first word that is added creates the file
    checker = Checker(editor)
    with quiet("pygls"):  # where fairseq has set up a log, it would have all texts in it
        checker.start_io()
    checker.worker.close(seconds=1)
    return 0
