"""The comments and docstrings of programs."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from lev_plugins.text.documents.document import Embedded, Paragraph
from lev_plugins.text.documents.lines import LINE
from lev_plugins.text.documents.notes import read_notes
from lev_plugins.text.documents.tree import parse
from lev_plugins.text.edited import Span

if TYPE_CHECKING:
    from tree_sitter import Node

SLASHES = r"//|/\*"
HASH = r"#"
DOCUMENTED = frozenset({"module", "function_definition", "class_definition"})  # of Python
COMMENT_TYPES = frozenset({"comment", "line_comment", "block_comment"})
# A docstring has no prefix but r or u, and no single quote, which an apostrophe would close.
DOCSTRING = re.compile(rb"[rRuU]?(?:\"|'''|\"\"\")\Z")
BEGIN = re.compile(r"/\*[*!]*|//[/!]*|#+:?|")
BEGIN_OF_LINE = re.compile(r"[ \t]*(?:\*(?!\S)|//[/!]*|#+:?)?")


class Language(NamedTuple):
    """A language of programs and its grammar."""

    name: str
    suffixes: tuple[str, ...]
    package: str
    candidates: str = SLASHES  # a pattern of what begins all comments and docstrings
    function: str = "language"


LANGUAGES = (
    Language("python", (".py", ".pyi", ".pyw"), "tree_sitter_python", r"#|\"\"\"|'''|(?::|\A)\s*[rRuU]?\""),
    Language("javascript", (".js", ".mjs", ".cjs", ".jsx"), "tree_sitter_javascript"),
    Language("typescript", (".ts", ".mts", ".cts"), "tree_sitter_typescript", function="language_typescript"),
    Language("tsx", (".tsx",), "tree_sitter_typescript", function="language_tsx"),
    Language("c", (".c",), "tree_sitter_c"),
    Language("cpp", (".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".cu"), "tree_sitter_cpp"),
    Language("java", (".java",), "tree_sitter_java"),
    Language("go", (".go",), "tree_sitter_go"),
    Language("rust", (".rs",), "tree_sitter_rust"),
    Language("shell", (".sh", ".bash"), "tree_sitter_bash", HASH),
)


def read_code(language: Language, text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of the comments and docstrings of a program."""
    length = len(text)
    if language.candidates == SLASHES and text.rfind("/*") > text.rfind("*/"):
        text += "*/"  # the grammars take time that is quadratic in the length of an open comment
    places = [match.end() - 1 for match in re.finditer(language.candidates, text)]
    if not places:
        return
    root = parse(text, language.package, language.function)
    comments, docstrings = list[Span](), list[Span]()
    waiting = [root]
    while waiting:  # a query would take time that is quadratic in the length of an error
        node = waiting.pop()
        if node.type in COMMENT_TYPES:
            start = node.start_byte
            comments.append(Span(start, min(length, start + len(text[start : node.end_byte].rstrip()))))
        elif bisect_left(places, node.start_byte) < bisect_left(places, node.end_byte):
            waiting += reversed(node.children)
            if node.type in DOCUMENTED and (string := first_string(node)):
                docstrings.append(Span(string.children[0].end_byte, string.children[-1].start_byte))
    texts = [[line for span in spans for line in lines_of(text, span)] for spans in joined(text, comments)]
    for lines in sorted([*texts, *([span] for span in docstrings)]):
        embedded = Embedded.of_lines(text, lines)
        yield from map(embedded.in_file, read_notes(embedded.text))


def first_string(node: "Node") -> "Node | None":
    """Returns the string that is the first statement of a module, class or function of Python, if it is a docstring."""
    body = node.child_by_field_name("body") or node
    statement = next((child for child in body.children if child.type != "comment"), None)
    if statement and statement.type == "expression_statement" and statement.child_count == 1:
        string = statement.children[0]
        if string.type == "string" and DOCSTRING.match(string.children[0].text or b""):
            return string
    return None


def joined(text: str, comments: Iterable[Span]) -> list[list[Span]]:
    """Returns the comments of one line each that stand below each other, together."""
    groups: list[list[Span]] = []
    last_column = 0
    for span in comments:
        column = 0 if text.startswith("/*", span.start) else span.start - text.rfind("\n", 0, span.start)
        between = text[groups[-1][-1].end : span.start] if groups else ""
        if column == last_column > 0 and between.count("\n") == 1 and not between.strip():
            groups[-1].append(span)
        else:
            groups.append([span])
        last_column = column
    return groups


def lines_of(text: str, comment: Span) -> Iterator[Span]:
    """Yields the lines of a comment without its signs."""
    content = text[slice(*comment)]
    end = comment.start + len(content.removesuffix("/").rstrip("*") if content.startswith("/*") else content)
    for match in LINE.finditer(text, comment.start, end):
        begin = (BEGIN if match.start() == comment.start else BEGIN_OF_LINE).match(text, match.start(), match.end(2))
        yield Span(begin.end() if begin else match.start(), match.end(2))
