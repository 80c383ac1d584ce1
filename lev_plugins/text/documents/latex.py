r"""The prose of LaTeX (.tex, .ltx).

>>> text = r"\begin{document}\section{A title} See \cite{a}, $x$ and \emph{this}.\begin{verbatim}x\end{verbatim}"
>>> for entry in read_latex(text):
...     print([text[part.start : part.end] for part in entry.parts])
['A title']
[' See ', '\\cite{a}', ', ', '$x$', ' and ', 'this', '.']
"""

from collections.abc import Iterator
from typing import NamedTuple

import regex

from lev_plugins.text.documents.document import Paragraph, Part, paragraph

HEADINGS = r"part|chapter|(?:sub)*section|(?:sub)?paragraph|(?:sub)?title|(?:sub)?caption|frame(?:sub)?title"
BREAKS = regex.compile(rf"{HEADINGS}|item|par|hline|toprule|midrule|bottomrule")
STYLES = r"emph|text(?:bf|it|sc|sl|rm|sf|up|md|normal)?|u(?:nder)?line|mbox|enquote"
DECLARATIONS = (
    "bf|it|em|sc|sl|rm|sf|(?:bf|md)series|(?:it|sc|sl|up)shape|(?:rm|sf)family|normal(?:font|size)|tiny|small|LARGE|"
    "(?:script|footnote)size|[lL]arge|[hH]uge|centering|raggedright|par|noindent|newline|hline|toprule|midrule|bottomrule"
)
# arguments of commands: t is text, T is text even before the document begins, - is not; None: no arguments
ARGUMENTS = {
    "T": regex.compile("title"),
    "t": regex.compile(rf"{HEADINGS}|{STYLES}|item|footnote(?:text)?|thanks|marginpar|abstract|keywords"),
    "-t": regex.compile("href|textcolor|parbox|captionof|colorbox"),
    "--t": regex.compile("multicolumn"),
    None: regex.compile(DECLARATIONS),
}
NOT_PROSE = regex.compile(
    r"(?i)verb|code|listing|mint|math|equation|eqn|align|gather|multline|picture|tikz|pgf|array|matrix|cases|comment"
    r"|filecontents|alltt|algorithm|bibliography|\b(?:asy|dot|split|dmath|python|shell|console|terminal|program|html|luacode)"
)
BLANK_LINE = r"\r?\n[ \t]*\r?\n"
ACCENT = (
    r"\\(?:['`^\"~=.](?:\{\\?\w?\}|\\?\w)|[uvHcdbkrt]\{\\?\w{1,2}\}"
    r"|(?:ss|ae|AE|oe|OE|o|O|aa|AA|l|L|i|j|dh|DH|th|TH)(?![A-Za-z])(?:\{\})?|[-_/])"
)
TEXT_IN_MATH = r"\\(?:text\w*|mbox|hbox)\{[^{}\r\n]*\}"
IN_DOLLARS = rf"(?:[^$\\\r\n]|{TEXT_IN_MATH}|\\[^\r\n]?+|(?!{BLANK_LINE})[\r\n])*+"
IN_PARENTHESES = rf"(?:[^\\\r\n]|\\(?!\))|(?!{BLANK_LINE})[\r\n])*+"
OPTIONS = r"\*?(?:\[[^\[\]\r\n]*\])?+"
ENVIRONMENT = regex.compile(r"\\(?P<side>begin|end)[ \t]*\{(?P<name>[^{}\\\r\n]*)\}")
TOKEN = regex.compile(
    rf"""
    (?P<gap>%[^\r\n]* | ~ | \\\[.*?(?:\\\]|\Z) | \\\\(?:\*?\[[^\[\]\r\n]*\])? | \\[\s,;:!>@])
    | (?P<aside>
        \$\${IN_DOLLARS}(?:\$\$?)?+ | \${IN_DOLLARS}\$?+ | \\\({IN_PARENTHESES}(?:\\\))?+
        | ``|'' | \\[%&$\#{{}}] | \#+\d?
        | \\(?:verb|Verb|lstinline|mintinline|mint){OPTIONS}(?:\{{\w*\}})?+
          (?:\{{[^{{}}\r\n]*\}}|(?P<sign>[^\w\s*{{])[^\r\n]{{0,1000}}?(?P=sign))
        | \\(?:url|path|nolinkurl|href){OPTIONS}\{{[^{{}}\r\n]*\}}
        | \\(?:input|include)\b[ ]+[^\s{{}}]+
        | \w*+(?:(?:\{{{ACCENT}\}}|{ACCENT}|(?<=\w)"[aousAOU](?=\w))\w*+)++
    )
    | (?P<environment>{ENVIRONMENT.pattern})
    | (?P<blank>{BLANK_LINE})
    | (?P<command>\\(?:[A-Za-z@]++\*?|.|\Z)
        (?:[ \t]*+=?[ \t]*+-?(?:\d++\.?\d*+|\.\d++)[ \t]*+(?:pt|cm|mm|in|em|ex|sp|bp|pc|dd|cc|mu|fil+)\b
        (?:[ \t]*+(?:plus|minus)[ \t]*+[\d.]++[ \t]*+[a-z]++)*+)?+)
    | (?P<bracket>[{{}}\[\]]) | (?P<cell>&) | (?P<white>\s) | (?P<text>\w++|.)
    """,
    regex.VERBOSE | regex.DOTALL,
)


class Group(NamedTuple):
    """What is inside braces or brackets."""

    closing: str
    is_prose: bool
    arguments: str | None  # of the command, behind it
    is_block: bool = False  # a heading


def read_latex(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of a document, or of a file that a document includes."""
    begin = regex.search(r"(?m)^[^%\r\n]*?\\begin\{document\}", text)
    end = regex.search(r"(?m)^[^%\r\n]*?\\end\{document\}", text, pos=begin.end() if begin else 0)
    start = begin.end() if begin else 0
    regions = [(0, start, False), (start, end.end() if end else len(text), True)]
    paragraphs = (paragraph for region in regions for paragraph in read_region(text, *region))
    yield from (paragraph for paragraph in paragraphs if any(part.prose for part in paragraph.parts))


def read_region(text: str, start: int, end: int, is_body: bool) -> Iterator[Paragraph]:
    """Yields the paragraphs of the body of a document, or of what precedes it, where only a title is prose."""
    parts: list[Part] = []
    groups: list[Group] = []
    arguments: str | None = None  # what those of the command before are; None: no command is directly before
    is_block = False  # whether that command begins a paragraph
    while match := TOKEN.match(text, start, end):
        kind, token, name = match.lastgroup, match[0], match[0].strip("\\*")
        place, start = start, match.end()
        is_text = groups[-1].is_prose if groups else is_body
        in_option = bool(groups) and groups[-1].closing == "]"
        prose: bool | None = None  # None: the token is layout
        ends_block = token == "}" and bool(groups) and groups[-1].is_block
        if kind in ("blank", "cell", "environment") or (kind == "command" and BREAKS.fullmatch(name)) or ends_block:
            yield paragraph(text, parts)
            parts = []
        if kind == "blank":
            while groups and groups[-1].closing == "]":  # no option has a blank line
                groups.pop()
        elif kind == "environment" and NOT_PROSE.search(token):
            start, arguments = end_of(text, match, end), None
        elif kind == "environment":
            arguments = ""
            if groups and groups[-1].closing == match["side"]:
                groups.pop()
        elif name in ("tt", "ttfamily"):  # code to the end of the group or environment
            groups.append(groups.pop()._replace(is_prose=False) if groups else Group("end", False, None))
        elif kind == "command":
            arguments = next((kind for kind, names in ARGUMENTS.items() if names.fullmatch(name)), "")
            prose, is_block = False if arguments == "" else None, bool(BREAKS.fullmatch(name))
        elif token == "{":
            argument = (arguments or "")[:1]
            is_text = (argument == "T" and not groups) or (is_text and (arguments is None or argument in ("t", "T")))
            behind = None if arguments is None or argument in ("t", "T") else arguments[1:]
            groups.append(Group("}", is_text, behind, arguments is not None and is_block))
            arguments, prose = None, None if is_text else False
        elif token == "[" and (arguments is not None or in_option):
            groups.append(Group("]", False, arguments))
            arguments, prose = None, False
        elif token == "}" or (token == "]" and in_option):
            arguments, prose = None, None if is_text else False
            while groups:
                closing, _, arguments, _ = groups.pop()
                if closing == token:
                    break
        else:
            if kind not in ("gap", "cell"):
                prose = is_text and kind != "aside"
            if token[0] not in "%#" and not token.isspace():
                arguments = "t" if token.startswith("\\href") else None
        if prose or (prose is False and is_body):
            if parts and parts[-1][1:] == (place, prose):
                place = parts.pop().start
            parts.append(Part(place, start, prose))
    yield paragraph(text, parts)


def end_of(text: str, begin: regex.Match[str], end: int) -> int:
    """Returns where an environment ends."""
    depth = 0
    for match in ENVIRONMENT.finditer(text, begin.start(), end):
        if match["name"] == begin["name"]:
            depth += 1 if match["side"] == "begin" else -1
        if depth <= 0:
            return match.end()
    return end
