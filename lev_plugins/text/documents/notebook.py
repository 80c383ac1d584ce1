"""Notebooks of Jupyter, whose cells of Markdown are prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lev_plugins.text.documents.document import Embedded, Paragraph, Reader
from lev_plugins.text.documents.markdown import read_markdown
from lev_plugins.text.documents.tree import char_offsets, nodes, parse, span_of
from lev_plugins.text.edited import Span

if TYPE_CHECKING:
    from tree_sitter import Node

READERS: dict[str, Reader] = {"markdown": read_markdown}  # by the type of a cell
SURROGATES = r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
PIECE = re.compile(rf'(?P<escape>{SURROGATES}|\\u[\da-fA-F]{{4}}|\\[bfnrt"\\/])|[^\\]+|\\')


def read_notebook(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of its cells."""
    data, offset = text.encode(), char_offsets(text)
    root = parse(data, "tree_sitter_json")
    if root.has_error:
        return
    for notebook in nodes(root, ["object"])[:1]:
        cells = values(notebook).get(b'"cells"')
        for cell in map(values, nodes(cells, ["object"]) if cells else []):
            kind, source = cell.get(b'"cell_type"'), cell.get(b'"source"')
            reader = READERS.get(data[kind.start_byte + 1 : kind.end_byte - 1].decode()) if kind else None
            if source and reader:
                strings = [span_of(node, offset) for node in nodes(source, ["string"])]
                embedded = Embedded.of(text, [piece for span in strings for piece in pieces(text, span)])
                yield from map(embedded.in_file, reader(embedded.text))


def values(node: Node) -> dict[bytes | None, Node]:
    """Returns the values of a JSON object by its keys, in quotation marks."""
    pairs = [(pair.child_by_field_name("key"), pair.child_by_field_name("value")) for pair in node.named_children]
    return {key.text: value for key, value in pairs if key and value}


def pieces(text: str, string: Span) -> Iterator[tuple[Span, str]]:
    """Yields what a JSON string says, piece by piece."""
    for match in PIECE.finditer(text, string.start + 1, string.end - 1):
        meaning = json.loads(f'"{match[0]}"') if match["escape"] else match[0]
        yield Span(*match.span()), "\ufffd" if "\ud800" <= meaning <= "\udfff" else meaning
