"""Text of another form than the model's: read as the model's, and written back as it was; or refused."""

from argparse import Namespace

import pytest

from lev_plugins.errors import UserError
from lev_plugins.inference.editor import Editor
from lev_plugins.text.edited import Edit, Segment, rewrites
from lev_plugins.text.form import Form
from lev_plugins.text.tokenise import Tokeniser


class Replacing:
    """A model that replaces words by others, and remembers what it read."""

    task, drafts, longest, symbols = "text_editing", False, 100, ["abcdefghijklmnopqrstuvwxyz"]

    def __init__(self, words: dict[str, str]):
        self.words, self.read = {f"▁{word}": f"▁{new}" for word, new in words.items()}, list[str]()

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.read += [segment.text for segment in segments]
        return [self.edits(segment) for segment in segments]

    def edits(self, segment: Segment) -> list[Edit]:
        written = [self.words.get(piece, piece) for piece in segment.pieces]
        origin = [None if piece in self.words else place for place, piece in enumerate(segment.pieces)]
        return [change.edit for change in rewrites(segment, written, origin)]


def edited(text: str, form: Form, words: dict[str, str]) -> tuple[str, list[str]]:
    model = Replacing(words)
    editor = Editor(model, Tokeniser(Namespace(bpe="words")), form=form)
    return editor.edit([text])[0].text, model.read


STRAIGHT = Form(straight=True, apart=False)


@pytest.mark.parametrize(
    ("form", "text", "words", "read", "result"),
    [
        (STRAIGHT, "It\u2019s  his, dont.", {"dont": "don't"}, "It's  his, dont.", "It\u2019s  his, don\u2019t."),
        (STRAIGHT, "It's his, dont.", {"dont": "don't"}, "It's his, dont.", "It's his, don't."),
        (STRAIGHT, "\u201cDont\u201d, he said.", {"he": "she"}, '"Dont", he said.', "\u201cDont\u201d, she said."),
        (Form(), "It\u2019s dont.", {"dont": "don't"}, "It\u2019s dont.", "It\u2019s don't."),
        (Form(), "Abuot TEH cat.", {"Abuot": "about", "TEH": "the", "cat": "dog"}, "Abuot TEH cat.", "About THE dog."),
        (Form(), "About It.", {"About": "about", "It": "in"}, "About It.", "about in."),
        (Form(lower=True), "Teh CAT.", {"teh": "the", "cat": "dog"}, "teh cat.", "The DOG."),
    ],
)
def test_the_model_reads_its_form_and_the_text_keeps_its_own(
    form: Form, text: str, words: dict[str, str], read: str, result: str
) -> None:
    assert edited(text, form, words) == (result, [read])


@pytest.mark.parametrize(
    ("apart", "text", "message"),
    [
        (True, "He came, he saw.", "no blanks before its punctuation, but this model was trained on tokenised text"),
        (False, "He came , he saw .", "has blanks before its punctuation, but this model was trained on text without"),
    ],
)
def test_punctuation_of_the_other_form_is_refused(apart: bool, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        edited(text, Form(apart=apart), {})
    for form in (Form(apart=not apart), Form()):
        assert edited(text, form, {})[0] == text
    assert edited("Mr. Smith came", Form(apart=apart), {})[0] == "Mr. Smith came"  # says nothing either way


@pytest.mark.parametrize(
    ("counts", "form"),
    [
        ({"▁it": 9, "▁it's": 100, "▁it\u2019s": 1, ",": 5, "▁,": 1}, Form(straight=True, apart=False)),
        ({"▁it's": 9, "▁it\u2019s": 9, "▁.": 3}, Form(apart=True)),
        ({"Ġthe": 9, "Ġ,": 3, ",": 9}, Form(apart=False)),
        ({"it,": 9, "saw.": 3, "the": 8}, Form(apart=False)),
        ({"▁": 9, "a": 3, ".": 9}, Form()),  # letters
        ({f"▁{a}{b}": 1 for a in "abcdefghijk" for b in "abcdefghijk"}, Form(lower=True)),
        ({}, Form()),
    ],
)
def test_a_dictionary_shows_how_its_text_was_written(counts: dict[str, int], form: Form) -> None:
    assert Form.of(counts) == form
