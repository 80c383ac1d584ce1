"""The words that an editor knows, which can be read from a model folder without its graphs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from lev_plugins.editor.segments import dictionaries_of, symbols_of
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils import model_folder
from lev_plugins.utils.json_schema import from_entries
from lev_plugins.utils.model_folder import ModelConfig


class KnownWords:
    """Says whether a word is a single piece of a dictionary."""

    def __init__(self, tokeniser: Tokeniser, form: TextStyle, symbols: Collection[str]) -> None:
        """
        tokeniser: cuts text into pieces
        form: how the model's text is written
        symbols: the pieces of the dictionaries
        """
        self.tokeniser, self.form, self.symbols = tokeniser, form, symbols

    @classmethod
    def load(cls, folder: Path) -> KnownWords:
        config = model_folder.read_kind(folder, model_folder.EDITOR)
        dictionaries, _ = dictionaries_of(folder, config)
        return cls(Tokeniser(config.bpe(folder)), style_of(folder, config), symbols_of(dictionaries))

    def __call__(self, word: str) -> bool:
        pieces = self.tokeniser.pieces(self.form.read(word))
        return len(pieces) == 1 and pieces[0] in self.symbols


def style_of(folder: Path, config: ModelConfig) -> TextStyle:
    return from_entries(TextStyle, config.text_style, f"{folder}: text_style")
