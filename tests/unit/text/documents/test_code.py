"""Comments and docstrings are prose; identifiers and strings of programs never are."""

import ast
import io
import re
import tokenize

import pytest

from lev_plugins.text.documents.formats import format_of
from lev_plugins.utils.errors import UserError
from tests.helpers import growth
from tests.unit.text.documents.prose import prose_of

SNIPPETS = [
    ("a.py", "# One\n# text.\nx = 1  # other\n", ["One", "text.", "other"]),
    ("a.py", '"""Module."""\n"""No."""\nclass A:\n    """Class."""\n', ["Module.", "Class."]),
    ("a.py", 'def f():\n    # Here\n    r"""Raw \\d."""\n    """No"""', ["Here", "Raw ", "."]),
    ("a.py", "def f():\n    'an apostrophe would end it'", []),
    ("a.py", 'def f():\n    f"""No"""\ndef g():\n    b"""No"""\ndef h():\n    "a" "b"\ndef i():\n    "a",', []),
    ("a.py", 'x = """no"""\nif x:\n    """no"""\nf("# no")', []),
    ("a.py", '"""A b\\nword is lost."""', ["A ", " is lost."]),
    (
        "a.py",
        '"""Sum.\n\n    Args:\n        a (int): The one\n            more.\n    """',
        ["Sum.", "Args:", "The one", "more."],
    ),
    (
        "a.py",
        '"""Sum.\n\n    Parameters\n    ----------\n    a : int\n        The one.\n    """',
        ["Sum.", "Parameters", "The one."],
    ),
    (
        "a.py",
        "# -*- coding: utf-8 -*-\n# x = 1\n# type: ignore\n# import os\n# So it is.  # noqa: E501",
        ["So it is.  "],
    ),
    ("a.js", "// See\n// it\nlet a = '// no'; /* yes */ let b = `/* no */`, c = /\\/\\/no/;", ["See", "it", "yes"]),
    ("a.jsx", "const a = <p>no // no {/* yes */}</p>;", ["yes"]),
    ("a.ts", "/**\n * Adds.\n * @param a the one\n * @see b\n */\nlet a: number;", ["Adds.", "the one"]),
    ("a.tsx", "const a = <p>no</p>; // yes", ["yes"]),
    ("a.c", '/* A\n * text */\nchar *s = "/* no */"; // yes', ["A", "text", "yes"]),
    ("a.c", "// One\n   // other\n/* third */", ["One", "other", "third"]),
    ("a.hpp", 'auto s = R"(// no)"; /// Yes', ["Yes"]),
    (
        "A.java",
        "/** Returns {@code x} of {@link A#b}.\n * <pre>\n * no\n * </pre>\n */\nclass A {}",
        ["Returns ", " of ", "."],
    ),
    ("a.c", "int a; /* Größe", ["Größe"]),
    ("a.js", 'let a = "/*";\n// The end', ["The end"]),
    ("a.go", "//go:build linux\n\n// Package a does.\npackage a\n", ["Package a does."]),
    ("a.rs", '/// Adds.\n///\n/// ```\n/// let no = 1;\n/// ```\nfn a() { let s = r"// no"; }', ["Adds."]),
    ("a.sh", '#!/bin/sh\n# Run it.\ncat <<A\n# no\nA\necho "# no" ${x#no} # now', ["Run it.", "now"]),
    ("a.py", '# One\rx = """no\rno"""\r# two', ["One", "two"]),
    ("a.py", "\ufeff# Größe 🎉 ist\r\n# neu.\r\n", ["Größe 🎉 ist", "neu."]),
]


@pytest.mark.parametrize("name, text, prose", SNIPPETS)
def test_prose_of_programs(name: str, text: str, prose: list[str]) -> None:
    assert prose_of(name, text) == prose


def test_nothing_but_comments_and_docstrings_of_this_file_changes() -> None:
    with open(__file__, newline="", encoding="utf-8") as file:
        text = file.read()
    format_of_file = format_of(__file__)
    assert format_of_file
    parts = [part for found in format_of_file.reader(text) for part in found.parts if part.prose]
    changed, end = "", 0
    for part in parts:
        changed += text[end : part.start] + re.sub(r"[^\W\d_]+", "it's", text[part.start : part.end])
        end = part.end
    changed += text[end:]
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring and ast.get_docstring(ast.parse(changed)) != docstring
    assert [token for token in tokens_of(changed) if token[0] != tokenize.COMMENT][1:] == [
        token for token in tokens_of(text) if token[0] != tokenize.COMMENT
    ][1:]


def tokens_of(text: str) -> list[tuple[int, str]]:
    return [(token.type, token.string) for token in tokenize.generate_tokens(io.StringIO(text).readline)]


@pytest.mark.parametrize(
    "name, unit",
    [
        ("a.py", "("),
        ("a.py", '"""\n'),
        ("a.py", "# an item\n"),
        ("a.c", "{"),
        ("a.c", "/* a"),
        ("a.c", "/**/"),
        ("a.js", "`${"),
        ("a.sh", "$("),
    ],
)
def test_time_of_broken_programs_is_linear(name: str, unit: str) -> None:
    assert growth(lambda size: prose_of(name, unit * size), 1_000) < 10


def test_signs_that_the_grammar_of_bash_crashes_at() -> None:
    assert prose_of("a.sh", "# Oné thing\n~{\U0010de62 \u1f51&(\n" * 100) == ["Oné thing"] * 100


def test_a_program_of_errors_is_refused() -> None:
    with pytest.raises(UserError, match="too many errors"):
        prose_of("a.go", "// A comment\n" + "<!--" * 5_000)
    assert prose_of("a.go", "// A comment\n") == ["A comment"]
