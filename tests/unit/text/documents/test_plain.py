"""Plain text: hard-wrapped paragraphs are one, what does not look like sentences is not prose."""

import pytest

from lev_plugins.text.documents.plain import read_plain
from tests.unit.text.documents.prose import prose

LONG = "This is a paragraph of text that somebody has wrapped"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"{LONG}\nat some width or other and it goes on here",
            [f"{LONG}|at some width or other and it goes on here"],
        ),
        ("One short line here\nand another line here", ["One short line here", "and another line here"]),
        (f"* {LONG}\n  and it goes on\n* Another item here", [f"{LONG}|and it goes on", "Another item here"]),
        (
            "A heading here\n==============\n\nnumpy>=1.2\nfoo = bar baz\n\n    indented words are code\n",
            ["A heading here"],
        ),
        ("name     value of it\n+----+\n| a b c |\n", []),
        ("Look at `x` in http://a.b/c for it", ["Look at|<`x`>|in|<http://a.b/c>|for it"]),
        (
            f"\ufeff{LONG} é\r\nof a hundred words or something like that\r\n",
            [f"{LONG} é|of a hundred words or something like that"],
        ),
    ],
)
def test_prose_of_plain_text(text: str, expected: list[str]) -> None:
    assert prose(read_plain, text) == expected
