"""Markdown: sentences are prose, code, addresses, front matter and templates are not."""

import pytest

from lev_plugins.text.documents.markdown import read_markdown, read_mdx
from tests.unit.text.documents.prose import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Head\n\nOne\ntwo.\n", ["Head", "One|two."]),
        ("Set\n===\n\n# Closed #\n", ["Set", "Closed|<#>"]),
        ("---\ntitle: x\n---\n\nText\n", ["Text"]),
        ("+++\ntitle = 'x'\n+++\n\nText\n", ["Text"]),
        ("```py\ncode\n```\n\n    code\n\n~~~\ncode\n~~~\nText", ["Text"]),
        ("A `code` b.", ["A|<`code`>|b."]),
        ("A ``co`de`` b *c*.", ["A|<``co`de``>|b|c|."]),
        ("The `list`s", ["The|<`list`s>"]),
        ("foo*bar* _a_ **b**", ["<foo*bar>|a|b"]),
        (
            'A [link](a.html "x"), ![image](b.png) and [text][ref].\n\n[ref]: http://a',
            ["A|link|,|image|and|text|."],
        ),
        ("[text]({{ url }}/a) b", ["text|b"]),
        ("A [name] and [^1]\n\n[name]: http://a", ["A|<[name]>|and|<[^1]>"]),
        ("See <http://a.b>, http://a.b/c. or a@b.org!", ["See|<<http://a.b>>|,|<http://a.b/c>|. or|<a@b.org>|!"]),
        ("A $x + y$ b \\(z\\) c", ["A|<$x + y$>|b|<\\(z\\)>|c"]),
        ("A\n\n$$\nx\n\ny\n$$\n\nb", ["A", "b"]),
        ("A\r\n\r\n$$\r\nx\r\n\r\ny\r\n$$\r\n\r\nb", ["A", "b"]),
        ("A <b>bold</b> word<!-- no --> &amp; <kbd>Ctrl</kbd>", ["A|bold|word|<&amp;>|<<kbd>Ctrl</kbd>>"]),
        (
            "> One\n> two `a\n> b`\n\n- item\n  more\n  1. deep `x`\n  - name",
            ["One|two|<`a>|<> b`>", "item|more", "deep|<`x`>"],
        ),
        ("- item\n\n  second\n\n      code\n", ["item", "second"]),
        ("| a | `b` c |\n|---|---|\n| d \\| e | f |", ["<`b`>|c", "d|<\\|>|e"]),
        ("<details>\n<summary>A `b`</summary>\n\nInner\n\n</details>\n", ["A|<`b`>", "Inner"]),
        ("<div>\n<pre>\na\n\nb</pre>\n</div>\n\nText", ["Text"]),
        (
            "{% highlight py %}\nx\n\ny\n{% endhighlight %}\n\nText {{ x }} {: .c}",
            ["Text|<{{ x }}>|<{: .c}>"],
        ),
        (":::note Title\nText\n:::\n", ["<:::note Title>|Text|<:::>"]),
        ("> <p>One\n> two</p>\n", ["One|two"]),
        ("A  \nb\\\nc", ["A|b|c"]),
        ("\ufeffText", ["Text"]),
        ("\ufeff---\r\nt: x\r\n---\r\n\r\nÜber `é`\r\n\U0001f600 b\r\n", ["Über|<`é`>|\U0001f600 b"]),
    ],
)
def test_prose_of_markdown(text: str, expected: list[str]) -> None:
    assert prose(read_markdown, text) == expected


def test_module_lines_and_expressions_of_mdx_are_not_prose() -> None:
    text = (
        'import A from "a"\n\nexport const x = {\n\n  a: "text here"\n\n}\n\n# Head {/* id */}\n\n'
        "<A b={() => 1 > 2}>\n  Inside `c` {e}.\n</A>\n\n<A\n  b={x}\n>\n\nText.\n\n</A>\n\n```js\n{\n```\nLast.\n"
    )
    assert prose(read_mdx, text) == ["Head|<{/* id */}>", "Inside|<`c`>|<{e}>|.", "Text.", "Last."]


def test_signs_inside_a_tag_do_not_end_it() -> None:
    assert prose(read_mdx, "<Foo a={`*x*\n\nteh word`} b='2' />\n\nText") == ["Text"]
