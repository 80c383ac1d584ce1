"""A trace as one self-contained HTML page: no scripts, fonts or other files.

The log is untrusted input. All its text is escaped; a content security policy allows only this style sheet, by its
hash; and each text has its own ``<bdi>``, with its own direction.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape

from lev_plugins.text.control import visible
from lev_plugins.traces.rows import Run, TraceBlock, TraceRow
from lev_plugins.traces.script import EditKind

# edits differ without colour, too: struck through, underlined, boxed
STYLE = """
:root { color-scheme: light dark; --gone: #b00020; --come: #00662b; --new: #d9f2e0; --quiet: #5c5c5c; --line: #ccc; }
@media (prefers-color-scheme: dark) {
  :root { --gone: #ff8a80; --come: #8fe3ad; --new: #123d24; --quiet: #a5a5a5; --line: #555; }
}
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 2rem 0 .3rem; break-after: avoid; }
section { content-visibility: auto; contain-intrinsic-size: auto 15rem; }
table { border-collapse: collapse; width: 100%; }
tr { border-top: 1px solid var(--line); break-inside: avoid; }
th { width: 6rem; padding: .1rem 1rem .1rem 0; text-align: left; vertical-align: top; }
th, i { font-weight: normal; color: var(--quiet); }
td { padding: .1rem 0; }
td bdi { display: block; white-space: pre-wrap; overflow-wrap: anywhere; }
del { color: var(--gone); text-decoration: line-through 2px; }
ins { color: var(--come); background: var(--new); font-weight: bold; text-decoration: underline 2px; }
.placeholder { border: 1px dashed; border-radius: .2rem; padding: 0 .1rem; }
@media print { body { max-width: none; margin: 0; } ins { print-color-adjust: exact; } }
"""
MARKUP = {
    EditKind.KEPT: ("", ""),
    EditKind.DELETED: ("<del>", "</del>"),
    EditKind.INSERTED: ("<ins>", "</ins>"),
    EditKind.PLACEHOLDER: ('<span class="placeholder">\u25a1', "</span>"),
}


def page(title: str, summary: str, blocks: Iterable[TraceBlock]) -> Iterator[str]:
    """The page in parts; neither ``title`` nor the blocks are trusted."""
    title = escape(visible(title))
    legend = [Run(EditKind.DELETED, "deleted"), Run(EditKind.INSERTED, "inserted"), Run(EditKind.PLACEHOLDER, "")]
    deleted, inserted, placeholder = map(marked_up, legend)
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>Edits in <bdi>{title}</bdi></h1>\n"
        f"<p>{escape(summary)}. What was {deleted}, what was {inserted}, and {placeholder}, a placeholder.</p>\n"
    )
    for block in blocks:
        yield f"<section>\n<h2>{escape(block.heading)}</h2>\n<table>\n"
        yield from (table_row(row) for row in block.rows)
        yield "</table>\n</section>\n"
    yield "</body>\n</html>\n"


def table_row(row: TraceRow) -> str:
    """
    >>> print(table_row(TraceRow("delete 1", [Run(EditKind.DELETED, "<b>"), Run(EditKind.KEPT, " & so")])), end="")
    <tr><th scope="row">delete 1</th><td><bdi dir="auto" lang=""><del>&lt;b&gt;</del> &amp; so</bdi></td></tr>
    >>> print(table_row(TraceRow("start", [], "nothing")), end="")
    <tr><th scope="row">start</th><td><i>(nothing)</i></td></tr>
    """
    text = "".join(map(marked_up, row.runs))
    cell = f"<i>({escape(row.note)})</i>" if row.note else f'<bdi dir="auto" lang="">{text}</bdi>'
    return f'<tr><th scope="row">{escape(row.label)}</th><td>{cell}</td></tr>\n'


def marked_up(run: Run) -> str:
    before, after = MARKUP[run.kind]
    return f"{before}{escape(run.text)}{after}"
