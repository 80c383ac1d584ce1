"""Texts of a format that a server edits, with an editor that needs no model."""

import pytest

from lev_plugins.checking.documents import DocumentRequest, MissingGrammar, document_format, edit_documents
from lev_plugins.checking.prose import Prose
from lev_plugins.editor.options import EditRequest
from lev_plugins.text.documents.document import Paragraph, Part
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.utils.errors import UserError
from tests.serving import FakeEditor

MARKDOWN = document_format("a.md")


def edit(text: str, name: str, **fields: object) -> Edited:
    request = DocumentRequest(text, format=document_format(name), **fields)  # type: ignore[arg-type]
    return edit_documents(FakeEditor(), [request])[0]


def test_only_the_prose_of_a_document_changes() -> None:
    text = "---\nteh: tset\n---\n\n# Is teh end\n\n```\nteh 1\n```\nA [cat](teh.html).\n"
    edited = edit(text, "docs/a.md")
    assert edited.original == text and edited.text == text
    edited = edit(text.replace("teh: ", "a: ").replace("\nteh 1", "\n1").replace("teh.h", "h"), "docs/a.md")
    assert edited.text == edited.original.replace("teh end", "the end")
    code = "def teh():\n    # saw tset code\n    return 'tset'\n"
    assert edit(code, "a.py").text == code  # the code has the word
    assert edit(code.replace("'tset'", "1"), "a.py").text == code.replace("tset code", "test code").replace(
        "'tset'", "1"
    )


def test_words_that_recur_and_ignored_words_stay() -> None:
    assert edit("A teh. A teh. A tset.\n", "a.md").text == "A teh. A teh. A test.\n"
    assert edit("A teh. <!-- codespell:ignore -->\n\nA tset.\n", "a.md").text.endswith("\n\nA test.\n")
    assert "A teh." in edit("A teh. <!-- codespell:ignore -->\n\nA tset.\n", "a.md").text


def test_the_sources_of_translations_are_no_code() -> None:
    text = 'msgid "A teh"\nmsgstr "A teh."\n'
    assert edit(text, "a.po").text == text.replace("teh.", "the.")


def test_no_replacement_has_a_sign_that_could_mean_something() -> None:
    prose = Prose("A teh.", [Paragraph((Part(0, 6),))], str.isupper)
    alternatives = (Edit(2, 5, "then", 0.2), Edit(2, 5, "t*h", 0.1))
    (edit,) = prose.edits([Edit(0, 1, "`a"), Edit(2, 5, "the", alternatives=alternatives)])
    assert (edit.replacement, edit.alternatives) == ("the", alternatives[:1])


def test_an_editor_is_asked_for_each_spelling_once() -> None:
    editor, words = FakeEditor(), list[str]()
    editor.knows = lambda word: words.append(word) or False  # type: ignore[assignment, func-returns-value]
    for _ in range(2):
        edit_documents(editor, [DocumentRequest("A cat. A cat.", format=MARKDOWN)])
    assert words == ["cat"]


def test_other_texts_are_edited_as_a_whole() -> None:
    text = "```\nteh teh\n```\n"
    requests = [EditRequest(text), DocumentRequest(text), DocumentRequest(text, format=document_format("a.txt"))]
    assert [edited.text for edited in edit_documents(FakeEditor(), requests)] == [text.replace("teh", "the")] * 3
    assert document_format("a.xyz") is document_format(None) is None


@pytest.mark.parametrize(
    ("name", "language_id", "expected"),
    [
        ("a.md", "markdown", "markdown"),
        ("a", "restructuredtext", "rst"),
        ("a", "tex", "latex"),
        ("a", "typescriptreact", "tsx"),
        ("COMMIT_EDITMSG", "git-commit", "commit"),
        ("a.py", "unknown", "python"),
        ("a.md", "plaintext", "markdown"),
    ],
)
def test_the_language_of_an_editor_goes_before_the_name(name: str, language_id: str, expected: str) -> None:
    format = document_format(name, language_id)
    assert format and format.name == expected


def test_a_document_whose_grammar_is_missing_and_half_a_character_are_refused() -> None:
    with pytest.raises(UserError, match="half of a character"):
        edit("\ud83d", "a.md")
    error = ModuleNotFoundError("No module named 'tree_sitter'", name="tree_sitter")
    assert MARKDOWN is not None

    def read(text: str) -> list[object]:
        raise error

    with pytest.raises(MissingGrammar, match=r"lev-plugins\[check\]"):
        edit_documents(FakeEditor(), [DocumentRequest("a", format=MARKDOWN._replace(reader=read))])  # type: ignore[arg-type]
