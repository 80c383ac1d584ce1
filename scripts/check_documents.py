"""Shows that the readers of documents keep their hands off all that is not prose.

Usage: ``python scripts/check_documents.py [--limit 300] FOLDER...``. In files of each format below the folders every
word of prose is misspelt; then the parser of the format must find all but the prose as it was. Prints a line for each
file where it does not, and a table. Needs the extra [check], docutils and markdown-it-py; msgfmt is used if it exists.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import docutils.core
from markdown_it import MarkdownIt

from lev_plugins.text.documents.code import COMMENT_TYPES, LANGUAGES
from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.formats import Format, format_of
from lev_plugins.text.documents.tree import parse
from lev_plugins.utils.errors import UserError

WORD = re.compile(r"[^\W\d_]{2,}")
MAX_BYTES = 300_000


class Result(NamedTuple):
    """What the check of a file shows."""

    words: int  # of prose
    parsed: bool  # the parser of the format understood the file
    problem: str | None = None
    moved: bool = False  # the misspelt file is read in other parts, as some words such as Args: mean something


def check(entry: Format, text: str) -> Result:
    """Misspells all prose of a text and compares the rest."""
    paragraphs = list(entry.reader(text))
    changed, words = misspelt(text, paragraphs)
    before, after = shape_of(entry, text), shape_of(entry, changed)
    problem = None
    if before is not None and before != after:
        pairs = zip(before, after or (), strict=False)
        problem = str(next((pair for pair in pairs if pair[0] != pair[1]), "another length"))[:300]
    return Result(words, before is not None, problem, rest(changed, entry.reader(changed)) != rest(text, paragraphs))


def misspelt(text: str, paragraphs: Iterable[Paragraph]) -> tuple[str, int]:
    """Returns a text with the second letter of each word of prose twice, and the number of these words."""
    pieces, end, words = list[str](), 0, 0
    for start, stop in ((part.start, part.end) for found in paragraphs for part in found.parts if part.prose):
        assert end <= start < stop <= len(text), "the parts are not in order"
        changed, count = WORD.subn(lambda match: match[0][:2] + match[0][1:], text[start:stop])
        pieces += [text[end:start], changed]
        end, words = stop, words + count
    return "".join([*pieces, text[end:]]), words


def rest(text: str, paragraphs: Iterable[Paragraph]) -> str:
    """Returns what is not prose, with a sign for each part of prose."""
    pieces, end = list[str](), 0
    for part in (part for found in paragraphs for part in found.parts if part.prose):
        pieces.append(text[end : part.start])
        end = part.end
    return "\0".join([*pieces, text[end:]])


def shape_of(entry: Format, text: str) -> list[Any] | None:
    """Returns what a parser finds in a text beside prose; None: it does not understand the text."""
    try:
        return SHAPES.get(entry.name, shape_of_code)(entry, text)
    except (ValueError, SyntaxError, ElementTree.ParseError, RecursionError, docutils.utils.SystemMessage):
        return None


def shape_of_code(entry: Format, text: str) -> list[Any]:
    language = next(language for language in LANGUAGES if language.name == entry.name)
    leaves = list[Any]()
    waiting = [parse(text, language.package, language.function)]
    while waiting:
        node = waiting.pop()
        if node.type not in COMMENT_TYPES:
            waiting += reversed(node.children)
            leaves += [] if node.children else [(node.type, text[node.start_byte : node.end_byte])]
    return leaves


def shape_of_python(entry: Format, text: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(text, "text", "exec", dont_inherit=True)
        tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body[0].value.value = ""
    return [ast.dump(statement) for statement in tree.body]


def shape_of_po(entry: Format, text: str) -> list[Any]:
    valid = True
    if shutil.which("msgfmt"):
        command = ["msgfmt", "-c", "-o", os.devnull, "-"]
        valid = subprocess.run(command, input=text.encode(), capture_output=True, check=False).returncode == 0
    return [valid, *re.findall(r"(?ms)^(?:#[^\n]*|msgid .*?(?=^msgstr))", text)]


def shape_of_rst(entry: Format, text: str) -> list[Any]:
    settings = {"report_level": 5, "halt_level": 5, "file_insertion_enabled": False, "raw_enabled": False}
    nodes = docutils.core.publish_doctree(text, settings_overrides=settings).findall()
    code = ("literal", "literal_block", "doctest_block", "comment", "math", "math_block", "target", "reference")
    attributes = ("refuri", "format", "uri")
    return [
        # a reference to a name that several titles have is problematic, until one is spelt otherwise
        (
            node.tagname.replace("problematic", "reference"),
            [node.get(name) for name in attributes],
            node.astext() if node.tagname in code[:6] else None,
        )
        for node in nodes
        if not isinstance(node, docutils.nodes.Text)
        and "system_message" not in (node.tagname, getattr(node.parent, "tagname", None))
    ]


class Events(HTMLParser):
    """Records tags, and the text of code."""

    def __init__(self) -> None:
        super().__init__()
        self.found = list[Any]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.found.append(tag)

    def handle_comment(self, data: str) -> None:
        self.found.append(data)

    def handle_data(self, data: str) -> None:
        if self.found and isinstance(self.found[-1], tuple) and self.found[-1][0] in ("script", "style", "pre", "code"):
            self.found.append(data)


def shape_of_html(entry: Format, text: str) -> list[Any]:
    events = Events()
    events.feed(text)
    events.close()
    return events.found


def shape_of_markdown(entry: Format, text: str) -> list[Any]:
    text = re.sub(r"\A---\n.*?\n---\n", lambda match: f"```\n{match[0]}```\n", text, flags=re.DOTALL)  # front matter
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    flat = (token for block in tokens for token in (block, *(block.children or ())))
    code = ("fence", "code_block", "code_inline", "html_inline")
    return [
        (token.type, token.attrs, token.content if token.type in code else None)
        for token in flat
        if token.type not in ("text", "inline")
    ] + shape_of_html(entry, "".join(token.content for token in tokens if token.type == "html_block"))


def shape_of_notebook(entry: Format, text: str) -> list[Any]:
    notebook = json.loads(text)
    cells = [cell for cell in notebook.get("cells", []) if "source" in cell]
    sources = [cell.pop("source") for cell in cells if cell["cell_type"] == "markdown"]
    texts = "\n\n".join("".join(source) for source in sources)
    return [
        notebook,
        [isinstance(source, list) and len(source) for source in sources],
        *shape_of_markdown(entry, texts),
    ]


def shape_of_xliff(entry: Format, text: str) -> list[Any]:
    elements = ElementTree.fromstring(text).iter()
    return [(element.tag, element.attrib, "source" in element.tag and element.text) for element in elements]


def by(pattern: str) -> Callable[[Format, str], list[Any]]:
    return lambda entry, text: re.findall(pattern, text)


URL = r"\b(?:https?|ftp)://\w[^\s<>\"'`]+|[\w.+-]+@[\w-]+\.\w+"
SHAPES: dict[str, Callable[[Format, str], list[Any]]] = {
    "python": shape_of_python,
    "po": shape_of_po,
    "rst": shape_of_rst,
    "html": shape_of_html,
    "markdown": shape_of_markdown,
    "mdx": by(rf"[{{}}<>`|*_]+|</?\w+|(?m:^(?:import|export) .*)|{URL}"),
    "notebook": shape_of_notebook,
    "xliff": shape_of_xliff,
    "latex": by(r"\\[A-Za-z]+|\\[^A-Za-z]|[{}\[\]$&%#~^_]|\$[^$\n]*\$|(?m:(?<!\\)%.*)"),
    "subtitles": by(r"(?m)^.*-->.*|<[^<>\n]*>|^\d+\r?$"),
    "plain": by(rf"{URL}|(?m:^[^\w\n]*$)"),
    "commit": by(rf"{URL}|(?m:^(?:#.*|[A-Z][\w-]*-by: .*))"),
}


def files_of(folders: Iterable[str]) -> Iterator[tuple[Format, Path]]:
    """Yields the files of known formats below folders, in a random order that is the same each time."""
    paths = sorted(Path(top, name) for folder in folders for top, _, names in os.walk(folder) for name in names)
    random.Random(1).shuffle(paths)
    yield from ((entry, path) for path in paths if (entry := format_of(path.name)) and path.is_file())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--limit", type=int, default=300, help="files of each format at most (default: %(default)s)")
    options = parser.parse_args()
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for entry, path in files_of(options.folders):
        count = counts[entry.name]
        if count["files"] >= options.limit or path.stat().st_size > MAX_BYTES:
            continue
        try:
            text = path.read_bytes().decode()
            result = check(entry, text)
        except UnicodeDecodeError:
            continue
        except UserError as error:
            result = Result(0, True, str(error))
        if result.problem:
            print(f"{path}: {entry.name}: {result.problem}")
        count.update(
            files=1,
            parsed=result.parsed,
            fail=result.problem is not None,
            moved=result.moved,
            words=result.words,
            without=not result.words,
        )
    columns = ("files", "parsed", "fail", "moved", "words", "without")
    print("| format | files | parsed | fail | read in other parts | words of prose | files without prose |")
    print("|---" + "|---:" * len(columns) + "|")
    for name, count in sorted(counts.items()):
        print(f"| {name} | {' | '.join(f'{count[column]:,}' for column in columns)} |")
    return int(any(count["fail"] for count in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
