r"""The message of a commit, a merge or a tag, as Git hands it to an editor.

>>> text = "fix(io): Read it\n\nIt was\nlost.\n\n    x = 1\n\nSigned-off-by: A <a@b.c>\n# On branch main\n"
>>> [[text[part.start : part.end] for part in found.parts if part.prose] for found in read_commit(text)]
[['Read it'], ['It was', 'lost.']]
"""

import re
from collections.abc import Iterator
from itertools import groupby

from lev_plugins.text.documents.document import Embedded, Paragraph
from lev_plugins.text.documents.lines import LINE
from lev_plugins.text.documents.notes import read_notes
from lev_plugins.text.edited import Span

FILE_NAMES = ("COMMIT_EDITMSG", "MERGE_MSG", "TAG_EDITMSG", "SQUASH_MSG", ".gitmessage")
END = re.compile(r"(?m)^(?:# -+ >8 -+|diff --git |@@ -\d|--- a/)")
SUBJECT_PREFIX = re.compile(r"(?:(?:fixup|squash|amend)! |\[[^\]]*\] ?|[\w./*+-]+(?:\([^()]*\))?!?: )*")
TRAILER = re.compile(r"[A-Za-z][\w-]*(?:: | #)|\(cherry picked|[ \t]")
OTHER_LINE = re.compile(
    r"#|>| {4}|\t|(?:Merge|Revert|commit|Squashed commit) |(?:Author|Date|Commit|Merge|[\w-]+-[Bb]y|Change-Id):"
)


def read_commit(text: str) -> Iterator[Paragraph]:
    """Yields the subject of a commit message, and the paragraphs of its body without trailers."""
    end = END.search(text)
    lines = [Span(match.start(), match.end(2)) for match in LINE.finditer(text, 0, end.start() if end else len(text))]
    prose = (line._replace(end=line.start) if OTHER_LINE.match(text, *line) else line for line in lines)
    shown = (line for line in prose if not text.startswith("#", line.start))
    groups = groupby(shown, lambda line: bool(text[slice(*line)].strip()))
    blocks = [list(block) for is_filled, block in groups if is_filled]
    if len(blocks) > 1 and all(TRAILER.match(text, *line) for line in blocks[-1]):
        blocks.pop()
    if not blocks:
        return
    subject, *lines = blocks[0]
    begin = SUBJECT_PREFIX.match(text, *subject).end()  # type: ignore[union-attr]  # it also matches nothing
    blank = Span(subject.end, subject.end)
    body = [*lines, *(line for block in blocks[1:] for line in (blank, *block))]
    for part in ([Span(begin, subject.end)], body):
        embedded = Embedded.of_lines(text, part)
        yield from map(embedded.in_file, read_notes(embedded.text))
