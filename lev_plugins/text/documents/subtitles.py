r"""The texts of subtitles: SubRip (.srt) and WebVTT (.vtt).

>>> text = "WEBVTT\n\nNOTE A remark\n\n1\n00:01.000 --> 00:02.000 align:start\n<i>Hello</i>\nyou.\n"
>>> [[text[part.start : part.end] for part in found.parts if part.prose] for found in read_subtitles(text)]
[['Hello', 'you.']]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lev_plugins.text.documents.document import Paragraph, divided, paragraph
from lev_plugins.text.documents.notes import LINE
from lev_plugins.text.edited import Span

TIMING = re.compile(r"\s*[\d:.,]+\s*-->")
MARK = re.compile(r"</?[^<>\r\n]*>|\{[^{}\r\n]*\}|&#?\w+;|\\[Nnh]")


def read_subtitles(text: str) -> Iterator[Paragraph]:
    """Yields the text of each cue: the lines from its timing to a blank line."""
    cue: list[Span] | None = None
    lines = [(Span(*match.span(1)), match[1]) for match in LINE.finditer(text)]
    for span, line in [*lines, (Span(0, 0), "")]:
        timing = TIMING.match(line)
        if cue and timing and text[slice(*cue[-1])].strip().isdecimal():
            cue.pop()  # the number of the next cue, without a blank line before it
        if cue and (timing or not line.strip()):
            yield paragraph(text, divided(text, Span(cue[0].start, cue[-1].end), MARK))
        if timing:
            cue = []
        elif not line.strip():
            cue = None
        elif cue is not None:
            cue.append(span)
