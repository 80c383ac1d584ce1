"""HTML: text of elements is prose, code, scripts and templates are not."""

import pytest

from lev_plugins.text.documents.html import read_html
from tests.unit.text.documents.prose import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>One <b>two</b>\n  three.<p>Four", ["One|two|three.", "Four"]),
        ("<title>T</title><style>a</style><script>b < c</script><pre>d <b>e</b></pre>f", ["T", "f"]),
        ("A <code>b</code> c<br>d &amp; e", ["A|<<code>b</code>>|c", "d|<&amp;>|e"]),
        ("f<b>oo</b> caf&eacute;s x", ["<f<b>oo>|<caf&eacute;s>|x"]),
        ("<a title='x > y' href=\"b\">c</a> <!-- d --> 5 < 6", ["c|5 < 6"]),
        ("A {{ b }} {% if c %} d {% end %}", ["A|<{{ b }}>|<{% if c %}>|d|<{% end %}>"]),
        (
            '<p translate="no">a</p><p class="notranslate">b</p><p>c <i translate=no>d</i>',
            ["c|<<i translate=no>d</i>>"],
        ),
        ("&lt;a href=&quot;b&quot;&gt; text", ["<&lt;a href=&quot;b&quot;&gt;>|text"]),
        ("<div><pre>never closed", []),
        ("A <b unclosed", ["A"]),
        ("\ufeff<p>é</p>\r\n<p>a\r\nb", ["é", "a|b"]),
    ],
)
def test_prose_of_html(text: str, expected: list[str]) -> None:
    assert [part.lstrip("\ufeff") for part in prose(read_html, text)] == expected


def test_language_is_of_the_nearest_element() -> None:
    text = '<html lang="de"><p>Ein <i lang="fr">mot</i>.<p lang=\'en-GB\'>Colour<p>Wort'
    assert [entry.language for entry in read_html(text)] == ["de", "en-GB", "de"]
    assert prose(read_html, text)[0] == 'Ein|<<i lang="fr">mot</i>>|.'
