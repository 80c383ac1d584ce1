"""Text of another form than the model's: read as the model's, and written back as it was."""

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


def edited(text: str, form: TextStyle, words: dict[str, str]) -> tuple[str, list[str]]:
    model = Replacing(words)
    editor = Editor(model, Tokeniser(Namespace(bpe="words")), form=form)
    return editor.edit([text])[0].text, model.read


STRAIGHT = TextStyle(straight_quotes=True, spaced_punctuation=False)


@pytest.mark.parametrize(
    ("form", "text", "words", "read", "result"),
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
def test_the_model_reads_its_form_and_the_text_keeps_its_own(
    form: TextStyle, text: str, words: dict[str, str], read: str, result: str
) -> None:
    assert edited(text, form, words) == (result, [read])


# ---- punctuation of the other form -----------------------------------------------------------------------------------


LINE, EDITED = "Return the vlaues !", "Return the values !"
PLAIN = "Mr. Smith, come here."


def plain_editor() -> Editor:
    """Trained on text without blanks before its punctuation."""
    return Editor(
        Replacing({"vlaues": "values"}), Tokeniser(Namespace(bpe="words")), form=TextStyle(spaced_punctuation=False)
    )


@pytest.mark.parametrize(
    "others", [[], [PLAIN] * 64, [LINE] * 64, ["Wow ! Nice , is n't it ?"] * 9], ids=["none", "plain", "same", "apart"]
)
@pytest.mark.parametrize("text", [LINE, "Is this the vlaues? Maybe ! yes", "the vlaues : ici ; ( a ) :)", PLAIN])
def test_a_text_is_edited_alike_whatever_its_neighbours(text: str, others: list[str]) -> None:
    edited = plain_editor().edit([*others, text, *others])[len(others)]
    assert edited.text == text.replace("vlaues", "values")
    assert [len(each.edits) for each in plain_editor().edit([text])] == [len(edited.edits)]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("apart", "text", "message"),
    [
        (True, "He came, he saw.", "no blanks before its punctuation, but this model was trained on tokenised text"),
        (False, "He came , he saw .", "has blanks before its punctuation, but this model was trained on text without"),
    ],
)
def test_a_file_of_the_other_form_is_warned_of_once(
    apart: bool, text: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()

    def edit(form: TextStyle, *texts: str) -> None:
        editor = Editor(Replacing({}), Tokeniser(Namespace(bpe="words")), form=form)
        for each in texts:
            assert [edited.text for edited in editor.edit([each])] == [each]

    edit(TextStyle(spaced_punctuation=not apart), text, text)
    edit(TextStyle(), text, text)
    edit(TextStyle(spaced_punctuation=apart), "Mr. Smith came", "Mr. Smith came")  # says nothing either way
    edit(TextStyle(spaced_punctuation=False), LINE, PLAIN, f"{LINE}\n{LINE}\n{PLAIN}", LINE)
    assert not warnings_of(caplog)
    edit(TextStyle(spaced_punctuation=apart), text, text)
    (said,) = warnings_of(caplog)
    assert message in said


# ---- what is no text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("He go",), r"texts must be a list, but is 'He go': put a single text in brackets, \[text\]"),
        ((b"He go",), r"texts must be a list, but is b'He go'"),
        ((None,), r"texts must be a list, but is None"),
        (([1],), r"the input, line 1: a text must be a string, but is 1$"),
        ((["a", None],), r"the input, line 2: a text must be a string, but is None$"),
        ((["a", "b"], "cd"), r"drafts must be a list, but is 'cd'"),
        ((["a", "b"], None, "de"), r"languages must be a list, but is 'de'"),
        ((["a"], ["a", "b"]), r"there are 1 texts, but 2 drafts"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plain_editor().edit(*given)
    assert [edited.text for edited in plain_editor().edit(text for text in (LINE, PLAIN))] == [EDITED, PLAIN]


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
def test_a_dictionary_shows_how_its_text_was_written(counts: dict[str, int], form: TextStyle) -> None:
    assert TextStyle.of(counts) == form
