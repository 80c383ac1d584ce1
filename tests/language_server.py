"""Runs the language server with an editor that needs no model: python -m tests.language_server LOG WORDS"""

import json
import sys
from collections.abc import Collection
from pathlib import Path

from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions
from lev_plugins.editor.own_words import WordList
from lev_plugins.serving.lsp import Checker
from lev_plugins.text.edited import Edit
from lev_plugins.text.segments import Segment
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from tests.serving import edits_of


class Model:
    """Applies fixed patterns instead of a neural model, and logs its inputs."""

    task, drafts, longest, lexicon = "text_editing", True, 100, None
    symbols: Collection[str] = {"I", "saw", "the", "hat"}

    def __init__(self, log: str):
        self.log = Path(log)

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        texts = [segment.text for segment in segments]
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(texts) + "\n")
        if "crash" in texts:
            raise RuntimeError
        return [edits_of(text) for text in texts]


if __name__ == "__main__":
    options = EditOptions(words=WordList(Path(sys.argv[2])))
    editor = Editor(Model(sys.argv[1]), Tokeniser(None), options, TextStyle(spaced_punctuation=False))
    Checker(editor).start_io()
