"""The grammars of tree-sitter, which say where each thing is in a text, also in one with errors.

They come as packages with compiled grammars, one for each language: nothing is downloaded when they run.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING

from lev_plugins.text.edited import Span
from lev_plugins.utils.errors import UserError

if TYPE_CHECKING:
    from tree_sitter import Language, Node, QueryCursor

MIN_SECONDS, SECONDS_PER_BYTE = 0.1, 2e-5  # to parse a text; 2e-7 are usual
CHUNK = 2**16  # bytes that a parser reads at once


def parse(data: bytes, package: str, function: str = "language") -> Node:
    """Returns the root of the tree of a text; raises ``UserError`` if that takes too long.

    The grammars take quadratic time for some texts with many errors.

    package: that of the grammar, such as tree_sitter_python
    function: that of the package which returns the grammar
    """
    from tree_sitter import Parser  # not at once: only documents need it

    end = thread_time() + MIN_SECONDS + SECONDS_PER_BYTE * len(data)
    try:
        return (
            Parser(language_of(package, function))
            .parse(
                lambda start, _: data[start : start + CHUNK],
                encoding="utf8",
                progress_callback=lambda *_: thread_time() > end,
            )
            .root_node
        )
    except ValueError as error:
        raise UserError("its syntax has too many errors to tell prose from code: --exclude it") from error


@cache
def language_of(package: str, function: str) -> Language:
    from tree_sitter import Language

    return Language(getattr(import_module(package), function)())


@cache
def query(pattern: str, package: str, function: str = "language") -> QueryCursor:
    """Returns what finds the nodes of a pattern, each kind by its name: faster than a walk over all nodes."""
    from tree_sitter import Query, QueryCursor

    return QueryCursor(Query(language_of(package, function), pattern))


def char_offsets(text: str) -> Callable[[int], int]:
    """Returns the function that turns a place in the UTF-8 bytes of a text into one in its characters."""
    ends, extra = (
        list[int](),
        [0],
    )  # of each character with several bytes: where it ends, and how many more they are so far
    for match in re.finditer(r"[^\x00-\x7f]", text):
        extra.append(extra[-1] + len(match[0].encode()) - 1)
        ends.append(match.end() + extra[-1])
    return lambda place: place - extra[bisect_right(ends, place)]


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
