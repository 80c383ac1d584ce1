"""Notebooks of Jupyter, whose cells of Markdown are prose."""

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lev_plugins.text.documents.document import Embedded, Paragraph
from lev_plugins.text.documents.markdown import read_markdown
from lev_plugins.text.documents.tree import parse
from lev_plugins.text.edited import Span

if TYPE_CHECKING:
    from tree_sitter import Node

SURROGATES = r"\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}"
PIECE = re.compile(rf'(?P<escape>{SURROGATES}|\\u[\da-fA-F]{{4}}|\\[bfnrt"\\/])|[^\\]+|\\')


def read_notebook(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of its cells."""
    root = parse(text, "tree_sitter_json")
    if root.has_error:
        return
    for notebook in root.named_children[:1]:
        cells = values(notebook).get(b'"cells"')
        for cell in map(values, cells.named_children if cells else []):
            kind, source = cell.get(b'"cell_type"'), cell.get(b'"source"')
            if kind and kind.text == b'"markdown"' and source:
                lines = source.named_children if source.type == "array" else [source]
                strings = (Span(line.start_byte, line.end_byte) for line in lines if line.type == "string")
                embedded = Embedded.of(text, [piece for span in strings for piece in pieces(text, span)])
                yield from map(embedded.in_file, read_markdown(embedded.text))


def values(node: "Node") -> "dict[bytes | None, Node]":
    """Returns the values of a JSON object by its keys, in quotation marks."""
    pairs = [(pair.child_by_field_name("key"), pair.child_by_field_name("value")) for pair in node.named_children]
    return {key.text: value for key, value in pairs if key and value}


def pieces(text: str, string: Span) -> Iterator[tuple[Span, str]]:
    """Yields what a JSON string says, piece by piece."""
    for match in PIECE.finditer(text, string.start + 1, string.end - 1):
        meaning = json.loads(f'"{match[0]}"') if match["escape"] else match[0]
        yield Span(*match.span()), "\ufffd" if "\ud800" <= meaning <= "\udfff" else meaning
