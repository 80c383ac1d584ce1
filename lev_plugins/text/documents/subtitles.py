r"""The texts of subtitles: SubRip (.srt) and WebVTT (.vtt).

>>> text = "WEBVTT\n\nNOTE A remark\n\n1\n00:01.000 --> 00:02.000 align:start\n<i>Hello</i>\nyou.\n"
>>> [[text[part.start : part.end] for part in found.parts if part.prose] for found in read_subtitles(text)]
[['Hello', 'you.']]
"""

import re
from collections.abc import Iterator

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import area_of, paragraphs_of
from lev_plugins.text.edited import Span

TIMING = r"[ \t]*[\d:.,]+[ \t]*-->"
# what a line with a timing says, up to a blank line or the next cue, with or without a number
CUE = re.compile(rf"(?m)^{TIMING}.*\n((?:(?!(?:\d+\s*\n)?{TIMING}).*\S.*(?:\n|\Z))+)")
MARK = re.compile(r"(?P<sign></?[^<>\r\n]*>|\{[^{}\r\n]*\})|&#?\w+;|\\[Nnh]")


def read_subtitles(text: str) -> Iterator[Paragraph]:
    """Yields the text of each cue."""
    return paragraphs_of(text, (area_of(text, Span(*cue.span(1)), MARK) for cue in CUE.finditer(text)))
