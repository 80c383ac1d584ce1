"""The words that an editor knows, which can be read from a model folder without its graphs."""

from collections.abc import Collection
from pathlib import Path

from lev_plugins.editor.folder import lexicon_of
from lev_plugins.editor.segments import dictionaries_of, symbols_of
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.text_style import TextStyle
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils import model_folder
from lev_plugins.utils.json_schema import from_entries
from lev_plugins.utils.model_folder import ModelConfig


class KnownWords:
    """Says whether a word is a single piece of a dictionary, or a word of the lexicon."""

    def __init__(
        self, tokeniser: Tokeniser, form: TextStyle, symbols: Collection[str], lexicon: Lexicon | None = None
    ) -> None:
        """
        tokeniser: cuts text into pieces
        form: how the model's text is written
        symbols: the pieces of the dictionaries
        lexicon: more words, in small letters
        """
        self.tokeniser, self.form, self.symbols, self.lexicon = tokeniser, form, symbols, lexicon

    @classmethod
    def load(cls, folder: Path) -> "KnownWords":
        config = model_folder.read_kind(folder, model_folder.EDITOR)
        dictionaries, _ = dictionaries_of(folder, config)
        tokeniser, style = Tokeniser(config.bpe(folder)), style_of(folder, config)
        return cls(tokeniser, style, symbols_of(dictionaries), lexicon_of(folder, config))

    def __call__(self, word: str) -> bool:
        text = self.form.read(word)
        pieces = self.tokeniser.pieces(text)
        is_piece = len(pieces) == 1 and pieces[0] in self.symbols
        return is_piece or (self.lexicon is not None and self.lexicon.knows(text.lower()))


def style_of(folder: Path, config: ModelConfig) -> TextStyle:
    return from_entries(TextStyle, config.text_style, f"{folder}: text_style")
