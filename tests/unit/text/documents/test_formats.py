"""Every reader yields sorted parts inside the text, whatever the text is, in time linear in its length."""

from collections.abc import Callable, Iterable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.documents.document import reading_view
from lev_plugins.text.documents.formats import FORMATS, Format, format_of
from tests.helpers import growth, thorough

SIGNS = [
    *(
        "# ",
        "- ",
        "* ",
        "1. ",
        "> ",
        "`",
        "``",
        "```\n",
        "~~~\n",
        "*",
        "**",
        "_",
        "[",
        "](a)",
        "![",
        "]",
        "(",
        ")",
        "|",
    ),
    *(
        "<b>",
        "</b>",
        "<pre>",
        "</pre>",
        "<code>",
        "<!--",
        "-->",
        "<a x='",
        "{",
        "}",
        "{{",
        "}}",
        "{%",
        "%}",
        "$",
        "$$\n",
    ),
    *("\\", "\\\\", "&amp;", ":", "::\n\n", ".. note:: ", ".. code::\n", ":ref:`", ":a: ", "`_", "---\n", "===\n"),
    *("|a|b|\n|-|-|\n", "<target>", "</target>", "<x/>", "import a\n", "http://a.b", '"', "'", ",", " ", "    ", "\t"),
    *("// ", "/* ", " */", '"""', "=", ";", "\\begin{a}", "\\end{a}", "\\begin{document}", "\\emph", "%", "&", "~"),
    *("\\verb|", "@param ", "msgid ", "msgstr ", "00:01 --> ", ">>> ", ".. ", "# -- >8 --", "a\u2028"),
    *("\n", "\r\n", "\r", "\n\n", "word", "Zwei", "é", "\U0001f600", "\ufeff", "\x00", "\x85", "\u2028"),
]
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(SIGNS), max_size=40).map("".join))
NAMES = [entry.name for entry in FORMATS]
UNITS = [
    *(
        "[",
        "]",
        "{",
        "}{",
        "<",
        "<a ",
        "<a '",
        "<div>",
        "<pre>a\n\n",
        "<kbd>a",
        "<!--",
        "*a ",
        "**a_b",
        "`a",
        "`a <",
        "[a](",
    ),
    *(
        "$a ",
        "> ",
        "- ",
        "a ",
        "a\n",
        "\t",
        " ",
        "\n",
        ":a",
        "|a",
        "\\(",
        "{{ a",
        "{% raw %}",
        ".. note:: ",
        "$$\n",
        "&lt;a",
    ),
    *("a.", "www.", "--a,", "<target>", "<target><ph>", "\\begin{a}"),
]


def repeated(unit: str, length: int) -> str:
    return unit * (length // len(unit))


HOSTILE: dict[str, Callable[[int], str]] = {
    **{unit: partial(repeated, unit) for unit in UNITS},
    "nested list": lambda n: "".join(" " * i + "* a\n\n" for i in range(int((2 * n) ** 0.5))),
    "closed elements": lambda n: "<div>" * (n // 10) + "</p></div>" * (n // 10),
}


@pytest.mark.parametrize("entry", FORMATS, ids=NAMES)
@thorough
@given(text=TEXTS)
def test_parts_are_sorted_and_in_one_line(entry: Format, text: str) -> None:
    paragraphs, last = list(entry.reader(text)), 0
    for parts, *_ in paragraphs:
        assert any(part.prose for part in parts)
        for start, end, _ in parts:
            assert last <= start < end <= len(text)
            assert not {"\r", "\n"} & set(text[start:end])
            last = end
    assert len(reading_view(text, paragraphs).text) == len(text)


def read(entry: Format, hostile: Callable[[int], str], length: int) -> None:
    list(entry.reader(hostile(length)))


@pytest.mark.parametrize("entry", FORMATS, ids=NAMES)
def test_time_is_linear(entry: Format) -> None:
    def slow(units: Iterable[str]) -> list[str]:
        return [unit for unit in units if growth(partial(read, entry, HOSTILE[unit]), 1_500) > 10]

    assert slow(slow(HOSTILE)) == []  # again, as other work on the machine disturbs short times


def test_the_name_of_a_file_says_its_format() -> None:
    names = {
        "a/README.md": "markdown",
        "b.MDX": "mdx",
        "c.rst": "rst",
        "d.HTML": "html",
        "README": "plain",
        "e.xlf": "xliff",
    }
    assert {name: entry.name for name in names if (entry := format_of(name))} == names
    assert format_of("a.xml") is None
