"""Text in another style than the model's is converted for the model and keeps its own style."""

from argparse import Namespace
from typing import Any

import pytest

from lev_plugins.editor.editor import Editor
from lev_plugins.text.edited import Edit
from lev_plugins.text.rewrites import rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.text.text_style import TextStyle, warn_once
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.utils.errors import UserError


class Replacing:
    """A model that replaces words and records its inputs."""

    lexicon = None
    task, drafts, longest, symbols = "text_editing", False, 100, ["abcdefghijklmnopqrstuvwxyz"]

    def __init__(self, words: dict[str, str]):
        self.words, self.inputs = (
            {f"▁{word}": f"▁{replacement}" for word, replacement in words.items()},
            list[str](),
        )

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        self.inputs += [segment.text for segment in segments]
        return [self.edits(segment) for segment in segments]

    def edits(self, segment: Segment) -> list[Edit]:
        output = [self.words.get(piece, piece) for piece in segment.pieces]
        origin = [None if piece in self.words else place for place, piece in enumerate(segment.pieces)]
        return [change.edit for change in rewrites(segment, output, origin)]


def edit_with_style(text: str, form: TextStyle, words: dict[str, str]) -> tuple[str, list[str]]:
    model = Replacing(words)
    editor = Editor(model, Tokeniser(Namespace(bpe="words")), form=form)
    return editor.edit([text])[0].text, model.inputs


STRAIGHT = TextStyle(straight_quotes=True, spaced_punctuation=False)


@pytest.mark.parametrize(
    ("form", "text", "words", "text_read", "result"),
    [
        (STRAIGHT, "It\u2019s  his, dont.", {"dont": "don't"}, "It's  his, dont.", "It\u2019s  his, don\u2019t."),
        (STRAIGHT, "It's his, dont.", {"dont": "don't"}, "It's his, dont.", "It's his, don't."),
        (STRAIGHT, "\u201cDont\u201d, he said.", {"he": "she"}, '"Dont", he said.', "\u201cDont\u201d, she said."),
        (TextStyle(), "It\u2019s dont.", {"dont": "don't"}, "It\u2019s dont.", "It\u2019s don't."),
        (TextStyle(), "Abuot TEH c.", {"Abuot": "about", "TEH": "the", "c": "dog"}, "Abuot TEH c.", "About THE dog."),
        (TextStyle(), "About It.", {"About": "about", "It": "in"}, "About It.", "about in."),
        (TextStyle(lowercase=True), "Teh CAT.", {"teh": "the", "cat": "dog"}, "teh cat.", "The DOG."),
    ],
)
def test_the_model_reads_its_style_and_the_text_keeps_its_own(
    form: TextStyle, text: str, words: dict[str, str], text_read: str, result: str
) -> None:
    assert edit_with_style(text, form, words) == (result, [text_read])


# ---- punctuation of the other form -----------------------------------------------------------------------------------


LINE, EDITED = "Return the vlaues !", "Return the values !"
PLAIN_TEXT = "Mr. Smith, come here."


def plain_editor() -> Editor:
    """Returns an editor trained on text without blanks before its punctuation."""
    return Editor(
        Replacing({"vlaues": "values"}), Tokeniser(Namespace(bpe="words")), form=TextStyle(spaced_punctuation=False)
    )


@pytest.mark.parametrize(
    "neighbours",
    [[], [PLAIN_TEXT] * 64, [LINE] * 64, ["Wow ! Nice , is n't it ?"] * 9],
    ids=["none", "plain", "same", "apart"],
)
@pytest.mark.parametrize("text", [LINE, "Is this the vlaues? Maybe ! yes", "the vlaues : ici ; ( a ) :)", PLAIN_TEXT])
def test_edits_do_not_depend_on_other_texts(text: str, neighbours: list[str]) -> None:
    edited = plain_editor().edit([*neighbours, text, *neighbours])[len(neighbours)]
    assert edited.text == text.replace("vlaues", "values")
    assert [len(result.edits) for result in plain_editor().edit([text])] == [len(edited.edits)]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("blanks", "text", "message"),
    [
        (True, "He came, he saw.", "no blanks before its punctuation"),
        (False, "He came , he saw .", "has blanks before its punctuation"),
    ],
)
def test_another_style_warns_once(blanks: bool, text: str, message: str, caplog: pytest.LogCaptureFixture) -> None:
    warn_once.cache_clear()

    def edit(form: TextStyle, *texts: str) -> None:
        editor = Editor(Replacing({}), Tokeniser(Namespace(bpe="words")), form=form)
        for line in texts:
            assert [edited.text for edited in editor.edit([line])] == [line]

    edit(TextStyle(spaced_punctuation=not blanks), text, text)
    edit(TextStyle(), text, text)
    edit(TextStyle(spaced_punctuation=blanks), "Mr. Smith came", "Mr. Smith came")  # says nothing either way
    edit(TextStyle(spaced_punctuation=False), LINE, PLAIN_TEXT, f"{LINE}\n{LINE}\n{PLAIN_TEXT}", LINE)
    assert not warnings_of(caplog)
    edit(TextStyle(spaced_punctuation=blanks), text, text)
    (warning,) = warnings_of(caplog)
    assert message in warning


# ---- what is no text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("He go",), r"texts must be a list, but is 'He go'"),
        ((b"He go",), r"texts must be a list, but is b'He go'"),
        ((None,), r"texts must be a list, but is None"),
        (([1],), r"the input, line 1: a text must be a string, but is 1$"),
        ((["a", None],), r"the input, line 2: a text must be a string, but is None$"),
        ((["a"], [1]), r"the input, line 1: a draft must be a string, but is 1$"),
        ((["a", "b"], "cd"), r"drafts must be a list, but is 'cd'"),
        ((["a"], ["a", "b"]), r"there are 1 texts, but 2 drafts"),
    ],
)
def test_wrong_types_of_texts_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plain_editor().edit(*arguments)
    assert [edited.text for edited in plain_editor().edit(text for text in (LINE, PLAIN_TEXT))] == [
        EDITED,
        PLAIN_TEXT,
    ]


# ---- dictionaries ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "form"),
    [
        (
            {"▁it": 9, "▁it's": 100, "▁it\u2019s": 1, ",": 5, "▁,": 1},
            TextStyle(straight_quotes=True, spaced_punctuation=False),
        ),
        ({"▁it's": 9, "▁it\u2019s": 9, "▁.": 3}, TextStyle(spaced_punctuation=True)),
        ({"Ġthe": 9, "Ġ,": 3, ",": 9}, TextStyle(spaced_punctuation=False)),
        ({"it,": 9, "saw.": 3, "the": 8}, TextStyle(spaced_punctuation=False)),
        ({"▁": 9, "a": 3, ".": 9}, TextStyle()),  # letters
        ({f"▁{a}{b}": 1 for a in "abcdefghijk" for b in "abcdefghijk"}, TextStyle(lowercase=True)),
        ({}, TextStyle()),
    ],
)
def test_style_of_a_dictionary(counts: dict[str, int], form: TextStyle) -> None:
    assert TextStyle.of(counts) == form
