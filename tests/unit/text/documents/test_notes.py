"""The prose of comments, docstrings and commit messages."""

import pytest

from lev_plugins.text.documents.notes import read_notes
from tests.helpers import growth

SNIPPETS = [
    ("See <code>no</code> or <pre>no no</pre> yes.", [["See ", " or ", " yes."]]),
    ("It @ref no, \\c no and @p no_no but @b yes.", [["It ", ", ", " and ", " but @b yes."]]),
    ("CHECKSTYLE:OFF no\nnoinspection no", []),
    ("One\ntext.\n\nOther.", [["One", "text."], ["Other."]]),
    ("- One\n  goes on\n- Other\n1. Third", [["One", "goes on"], ["Other"], ["Third"]]),
    ("See:\n\n>>> no\nno\n\nyes", [["See:"], ["yes"]]),
    ("See::\n\n    no at all\n\n  no\nyes", [["See::"], ["yes"]]),
    ("See\n\n    no at all\n\nyes", [["See"], ["yes"]]),
    ("```\nno\n\nno\n```\nyes", [["yes"]]),
    (".. code:: c\n\n    no\n\n.. note::\n\n    Yes.\n\n.. note:: Yes", [["Yes."], ["Yes"]]),
    ("The `a`s and b---c are code", [["The ", " and ", " are code"]]),
    ("Use `a b`, ``c\nd`` or :func:`e`.", [["Use ", ", ", " or ", "."]]),
    ("See https://a.b/c, then <b>go</b> &amp; [stay](c).", [["See ", ", then ", "go", " ", " ", "."]]),
    (":param int a: The one.\n:rtype: int\n@return it\n\\param[in] b other", [["The one."], ["it"], ["other"]]),
    ("TODO(bob): Fix it", [[" Fix it"]]),
    ("Copyright 2020 Bob Miller\nSPDX-License-Identifier: MIT\n\nLicensed to you", [["Licensed to you"]]),
    ("a = b[1]\nif (a) {\nreturn f(a);\n}\nfor x in y:\nfoo(a, b)\n----------\n| a | b |", []),
    (
        "if the text goes on, return it\nfor each of the items (or more);",
        [["if the text goes on, return it", "for each of the items (or more);"]],
    ),
    ("--- a heading ------", [[" a heading "]]),
]


@pytest.mark.parametrize("text, prose", SNIPPETS)
def test_prose_of_notes(text: str, prose: list[list[str]]) -> None:
    found = [[text[part.start : part.end] for part in found.parts if part.prose] for found in read_notes(text)]
    assert [parts for parts in found if parts] == prose


@pytest.mark.parametrize(
    "unit", ["`", "a:", ":", "<a ", "http:.", "a(", "=-", "{@a ", "@param ", "a; ", " (c)", "a\n\n", "\\"]
)
def test_time_of_odd_notes_is_linear(unit: str) -> None:
    assert growth(lambda size: list(read_notes(unit * size + ";")), 2_000) < 10
    assert growth(lambda size: list(read_notes("Text " + unit * size)), 4_000) < 10
