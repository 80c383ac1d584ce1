"""The grammars of tree-sitter, which say where each thing is in a text, also in one with errors.

They come as packages with compiled grammars, one for each language: nothing is downloaded when they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lev_plugins.text.edited import Span

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def parser(package: str, function: str = "language") -> Parser:
    """Returns the parser of a grammar.

    package: such as tree_sitter_python
    function: that of the package which returns the grammar
    """
    from tree_sitter import Language, Parser  # not at once: only documents need it

    return Parser(Language(getattr(import_module(package), function)()))


def char_offsets(text: str) -> Callable[[int], int]:
    """Returns the function that turns a place in the UTF-8 bytes of a text into one in its characters."""
    if text.isascii():
        return lambda place: place
    places = [0] * (len(text.encode()) + 1)
    at = 0
    for i, char in enumerate(text):
        size = len(char.encode())
        places[at : at + size] = [i] * size
        at += size
    places[at] = len(text)
    return places.__getitem__


def nodes(root: Node, types: Iterable[str]) -> list[Node]:
    """Returns the topmost nodes of these types, in order; the tree may be too deep for a recursion."""
    wanted, result, waiting = frozenset(types), list["Node"](), [root]
    while waiting:
        node = waiting.pop()
        if node.type in wanted:
            result.append(node)
        else:
            waiting.extend(reversed(node.children))
    return result


def span_of(node: Node, offset: Callable[[int], int]) -> Span:
    return Span(offset(node.start_byte), offset(node.end_byte))
