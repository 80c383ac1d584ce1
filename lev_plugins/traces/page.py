"""A trace as one self-contained HTML page: no scripts, fonts or other files.

The log is untrusted input. All its text is escaped; a content security policy allows only this style sheet, by its
hash; and each text has its own ``<bdi>``, with its own direction.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape

from lev_plugins.text.control import visible
from lev_plugins.traces.rows import TraceBlock
from lev_plugins.traces.script import EditKind
from lev_plugins.traces.terminal import Style, trace_lines

# edits differ without colour, too: struck through, underlined, boxed
SHEET = """
:root { color-scheme: light dark; --gone: #b00020; --come: #00662b; --new: #d9f2e0; --quiet: #5c5c5c; }
@media (prefers-color-scheme: dark) { :root { --gone: #ff8a80; --come: #8fe3ad; --new: #123d24; --quiet: #a5a5a5; } }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
i { font-style: normal; color: var(--quiet); }
del { color: var(--gone); text-decoration: line-through 2px; }
ins { color: var(--come); background: var(--new); font-weight: bold; text-decoration: underline 2px; }
span { border: 1px dashed; border-radius: .2rem; padding: 0 .1rem; }
@media print { ins { print-color-adjust: exact; } }
"""
TAGS = Style(
    {
        EditKind.KEPT: ("", ""),
        EditKind.DELETED: ("<del>", "</del>"),
        EditKind.INSERTED: ("<ins>", "</ins>"),
        EditKind.PLACEHOLDER: ("<span>\u25a1", "</span>"),
    },
    heading=("<b>", "</b>"),
    aside=("<i>", "</i>"),
    row=('<bdi dir="auto" lang="">', "</bdi>"),
    escape=escape,
)


def page(title: str, summary: str, blocks: Iterable[TraceBlock]) -> Iterator[str]:
    """The page in parts; neither ``title`` nor the blocks are trusted."""
    title = escape(visible(title))
    digest = base64.b64encode(hashlib.sha256(SHEET.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{SHEET}</style>\n</head>\n<body>\n<h1>Edits in <bdi>{title}</bdi></h1>\n"
        f"<p>{escape(summary)}. What was <del>deleted</del>, what was <ins>inserted</ins>, and <span>\u25a1</span>, a "
        "placeholder.</p>\n<pre>\n"
    )
    yield from (f"{line}\n" for line in trace_lines(blocks, TAGS))
    yield "</pre>\n</body>\n</html>\n"
