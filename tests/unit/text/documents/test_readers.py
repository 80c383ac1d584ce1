"""What all readers of formats have in common."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text.documents.document import reading_view
from lev_plugins.text.documents.formats import FORMATS, Format

FRAGMENTS = re.findall(
    r"\S+",
    '# // /* */ """ \' " ` ``` ( ) { } [ ] < > = ; : \\ \\begin{a} \\end{a} \\begin{document} \\emph $ % & ~ \\verb| '
    "@param msgid msgstr --> 00:01 >>> .. :: - >8 Ä 🎉 word \ufeff \x00 a\u2028",
)
TEXTS = st.lists(st.sampled_from([*FRAGMENTS, " ", "    ", "\n", "\r\n", "\r", "\n\n"]) | st.text(max_size=5)).map(
    "".join
)


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
@given(text=TEXTS)
def test_parts_are_in_order_and_inside_the_lines_of_any_text(entry: Format, text: str) -> None:
    paragraphs = list(entry.reader(text))
    parts = [part for found in paragraphs for part in found.parts]
    assert all(0 <= part.start < part.end <= len(text) for part in parts)
    assert all(part.end <= following.start for part, following in pairwise(parts))
    assert not any(set("\r\n") & set(text[part.start : part.end]) for part in parts)
    assert len(reading_view(text, paragraphs).text) == len(text)
