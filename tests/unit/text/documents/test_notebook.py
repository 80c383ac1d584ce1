"""Notebooks: cells of Markdown are prose, at their places in the JSON."""

import json

from lev_plugins.text.documents.notebook import read_notebook
from tests.helpers import growth
from tests.unit.text.documents.prose import prose


def notebook(*sources: str | list[str], kind: str = "markdown") -> str:
    return json.dumps(
        {"cells": [{"cell_type": kind, "metadata": {"source": "no"}, "source": each} for each in sources]}
    )


def test_cells_of_markdown_are_prose() -> None:
    text = notebook(["# Head\n", "One `x`\n", "two.\n", "```\n", "code\n", "```"], "Text")
    assert prose(read_notebook, text) == ["Head", "One|<`x`>|two.", "Text"]
    assert prose(read_notebook, "\ufeff" + text) == ["Head", "One|<`x`>|two.", "Text"]
    assert prose(read_notebook, notebook("Text", kind="code")) == []


def test_words_with_escapes_are_not_prose() -> None:
    text = notebook('A "quote", caf\u00e9 don\u2019t \U0001f600 \ud800 b')
    assert prose(read_notebook, text) == ["A|quote|,|<caf>|<don>|<t>|b"]


def test_time_of_a_long_word_with_escapes_is_linear() -> None:
    assert growth(lambda size: [*read_notebook(notebook("a\u0301" * size))], 1_000) < 10


def test_what_is_no_notebook_has_no_prose() -> None:
    for text in (
        "",
        "[]",
        "{",
        '{"cells": 1}',
        '{"cells": [{"cell_type": "markdown"}]}',
        '{"cells": [1, {"source": "a"}]}',
    ):
        assert prose(read_notebook, text) == []
