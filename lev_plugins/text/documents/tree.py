"""The grammars of tree-sitter, which say where each thing is in a text, also in one with errors.

They come as packages with compiled grammars, one for each language: nothing is downloaded when they run.
"""

import re
from functools import cache
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING

from lev_plugins.utils.errors import UserError

if TYPE_CHECKING:
    from tree_sitter import Language, Node, QueryCursor

MIN_SECONDS, SECONDS_PER_BYTE = 0.1, 2e-5  # to parse a text; 2e-7 are usual
NOT_ASCII = re.compile(r"[^\x00-\x7f]|\r(?!\n)")
CHUNK = 2**16  # bytes that a parser reads at once


def parse(text: str, package: str, function: str = "language") -> "Node":
    """Returns the root of the tree of a text, whose bytes are the characters of the text.

    Raises ``UserError`` if that takes too long: the grammars take quadratic time for some texts with many errors.

    package: that of the grammar, such as tree_sitter_python
    function: that of the package which returns the grammar
    """
    from tree_sitter import Parser  # not at once: only documents need it

    data = NOT_ASCII.sub(ascii_of, text).encode()
    end = thread_time() + MIN_SECONDS + SECONDS_PER_BYTE * len(data)
    parser = Parser(language_of(package, function))
    try:
        return parser.parse(
            lambda start, _: data[start : start + CHUNK],
            encoding="utf8",
            progress_callback=lambda *_: thread_time() > end,
        ).root_node
    except ValueError as error:
        raise UserError("its syntax has too many errors to tell prose from code: --exclude it") from error


def ascii_of(sign: re.Match[str]) -> str:
    r"""Returns a letter, blank or line feed instead of a sign that is not ASCII, or of a lone carriage return.

    At some of the former, the grammar of Bash crashes; the latter ends lines in Python and Java, but in no grammar.

    >>> NOT_ASCII.sub(ascii_of, "# \u201cÄ\u00a0\u2028\ufeff") == "# xx \n "
    True
    """
    return "\n" if sign[0] in "\r\u2028\u2029" else " " if sign[0].isspace() or sign[0] == "\ufeff" else "x"


@cache
def language_of(package: str, function: str) -> "Language":
    from tree_sitter import Language

    return Language(getattr(import_module(package), function)())


@cache
def query(pattern: str, package: str, function: str = "language") -> "QueryCursor":
    """Returns what finds the nodes of a pattern, each kind by its name: faster than a walk over all nodes."""
    from tree_sitter import Query, QueryCursor

    return QueryCursor(Query(language_of(package, function), pattern))
