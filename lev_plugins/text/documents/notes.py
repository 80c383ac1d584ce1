r"""The prose of a comment, a docstring or a commit message: a text with code and marks of many styles in it.

>>> text = "Sum `a` and b:\n\n    a+b\n\nArgs:\n    a: The first.\n:return: it\nx = f(1);\n- An item\n  goes on."
>>> for found in read_notes(text):
...     print([text[part.start : part.end] for part in found.parts if part.prose])
['Sum ', ' and b:']
['Args:']
['The first.']
['it']
['An item', 'goes on.']
"""

import re
from collections.abc import Iterator
from itertools import groupby

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.inline import ADDRESSES, area_of, paragraphs_of
from lev_plugins.text.documents.lines import lines_of
from lev_plugins.text.edited import Span

END_OF_EXAMPLE = re.compile(r"\Z")
# what begins code, and what ends it
FENCES = [
    (re.compile(begin), re.compile(end))
    for begin, end in [
        (r"`{3,}", r"`{3,}"),
        (r"~{3,}", r"~{3,}"),
        (r"[@\\](?:code|verbatim|dot|msc|startuml|f[\[{])", r"[@\\](?:end|f[\]}])"),
        (r"[@\\]example|>>> ?|\.\.\. |\$ |In \[\d+\]:", END_OF_EXAMPLE.pattern),
        (r"(?i)[^<]*<pre\b(?!.*</pre>)", r"(?i).*</pre>"),
        (r"\{@code\b[^}]*\Z", r".*\}"),
    ]
]
DIRECTIVE = re.compile(r"\.\. (?:[\w:.+-]+::|\[|_|\||\w)")
PROSE_DIRECTIVE = re.compile(
    r"\.\. (?:note|warning|deprecated|version\w+|seealso|tip|hint|important|attention|caution|danger|error|todo)::"
    r"(?:[ \t]*[\d.]+)?"
)
EXAMPLE = re.compile(r"(?:.*::|.*\b(?:[Ee]xamples?|[Uu]sage|[Cc]ode|e\.g\.)\s*:)\s*\Z")
SECTION = re.compile(
    r"(?:Args|Arguments|(?:Other |Keyword )?(?:Parameters|Params|Arguments|Args)|Returns?|Yields?|Raises|Warns"
    r"|Attributes|Methods|Fields|Notes?|Warnings?|See Also|Todo):\s*\Z"
)
PARAMETER = re.compile(r"\*{0,2}[\w.,*`]+(?: ?[(\[][^()\n]*[)\]])?:(?:[ \t]+|\Z)")
PREFIX = re.compile(
    r"[@\\](?:param|arg|argument|tparam|prop|property|throws?|exception|raises|retval)\b(?:\[[\w, ]*\])?[ \t]*"
    r"(?:\{[^{}]*\}[ \t]*)?(?:\[[^\[\]]*\]|[^\s\[{]\S*)?(?:[ \t]+-)?"
    r"|[@\\](?:returns?|brief|note|details|deprecated|summary|desc\w*|warning|remarks?|todo|short|result|pre|post|bug)\b"
    r"(?:[ \t]*\{[^{}]*\})?"
    r"|:(?:param|parameter|arg|argument|key|keyword|raises?|except|exception|var|ivar|cvar|returns?|yields?)\b[^:]*:"
    r"|[\w*]+ \([^()]*\):(?=\s|\Z)|[\w*]+(?:, ?[\w*]+)*[ \t]+--(?=[ \t])"
    r"|(?:[-+*\u2022]|\(?(?:\d{1,3}|[A-Za-z])[.)]|#\.)(?=[ \t])"
)
PRAGMA = re.compile(
    r"!|-\*-|[@\\](?!(?:ref|link|[pcaeb]|em)\b)[A-Za-z]|:\w+:(?=\s|\Z)|:(?:type|rtype|vartype)\b|[\w*]+(?:, [\w*]+)* : "
    r"|(?i:noqa|type:|(?:pylint|pyright|mypy|ruff|flake8|isort|fmt|yapf|pragma|coverage|lint|nolint|line|cython|distutils)\b\s*:"
    r"|pragma\b|no-?sec\b|NOLINT|[ejt]slint|jshint|jslint|globals? \w|prettier-|istanbul|c8 |webpack|sourceMapping"
    r"|clang-|go:|\+build|export \w+\Z|cgo|#cgo|shellcheck|vim?:|ex:|Local Variables|spdx|%%"
    r"|(?:.*\W)?copyright\b|.*\(c\) ?\w|.*\u00a9"
    r"|authors?:|end:\Z|@ts-|CHECKSTYLE:|noinspection\b)"
)
NAME = r"[\w.\[\]>*&$'\"-]+"
CODE = re.compile(
    r"(?:\S+\s+){0,3}\S+;\Z|(?=.*;\Z).*(?:\w\(|[=_\[])|.*(?:=>|->|\|\||&&|[{}\\=(\[])\Z"
    rf"|(?:[\w.*&<>:]+\s+)?{NAME}\s*(?:[-+*/|&^:%]?=)[^=]|[\w.:>-]+\(.*\)[;:,]?\s*\Z"
    r"|(?:import \w|from [\w.]+ import|def \w+\(|class \w.*:\Z"
    r"|(?:return|assert|raise|del|yield|print|await|throw|new)\b.*[()\[\]{}=_]"
    r"|(?:if|elif|while|switch)\b.*[()=<>_\[].*|(?:if|elif|while) (?:not )?[\w.]+:\Z|else\b.*:?\Z"
    r"|(?:try|finally):\Z|for\b(?=.*:\Z).* in |for\s*\(|for\b.*=|with\b(?=.*:\Z).* as |except\b.*:\Z"
    r"|#\s*(?:include|define|undef|if|ifdef|ifndef|elif|else|endif|pragma|error)\b"
    r"|(?:var|let|const|public|private|protected|static|extern|struct|enum|fn|func|function|typedef|template)\b"
    r".*[({=<]|\$\s*\S|</?(?!(?:p|li|[abiu]|br|em|strong|code|tt|summary|para|remarks|returns|param|dt|dd|sub|sup)\b)\w|@\w)"
)
SIGNS = re.compile(r"[\[\]{}<>=+*/\\|&^%$#@~_]")
INLINE = re.compile(
    rf"(?<![\w:+.-]):[\w:+.-]+:`[^`]*`|`[^`'\s]+'(?!\w)|(?<!`)`+[^`]+`+|\{{@\w[^{{}}]*\}}"
    rf"|<(?:code|tt|pre)\b[^<>]*>[^<]*</\w+>|(?P<sign></?\w[^<>]*>)|{ADDRESSES}"
    r"|[@\\](?:ref|link|[apc])[ \t]+[\w:.()~*&]+"
    r"|\\\w+(?:\{[^{}]*\})?|\\\S?|%\(\w+\)\w|&#?\w+;"
    r"|\b(?:TODO|FIXME|XXX|HACK)\b(?:\([^()\n]*\))?:?|#[ \t]*(?:noqa|type:|pylint:|pragma:|nosec)[^\r\n]*"
    r"|\[[^\[\]\n]*\]\([^()\s]*\)|(?P<rule>[-=*#~_])(?P=rule){2,}",
    re.DOTALL,
)


def read_notes(text: str) -> Iterator[Paragraph]:
    """Yields the paragraphs of the text of a comment, without its signs."""
    groups = ([*filter(None, group)] for _, group in groupby(prose_lines(text), bool))
    spans = (Span(lines[0].start, lines[-1].end) for lines in groups if lines)
    return paragraphs_of(text, (area_of(text, span, INLINE) for span in spans))


def prose_lines(text: str) -> Iterator[Span | None]:
    """Yields the prose of each line that has any, and None where a paragraph ends."""
    lines = [*lines_of(text)]
    # the first line of a docstring has no indentation
    base = min((indent for i, (start, end, indent) in enumerate(lines) if start < end and (i or indent)), default=0)
    never = len(text) + 1
    literal = never  # lines indented by this or more are code
    section = never  # lines indented by this or more may begin with a parameter's name and a colon, as below Args:
    fence: re.Pattern[str] | None = None  # what ends the code
    after_blank = True
    for start, end, indent in lines:
        line = text[start:end]
        if not line:
            fence = None if fence == END_OF_EXAMPLE else fence
            after_blank = True
            yield None
            continue
        if fence:
            fence = None if fence.match(line) else fence
            continue
        level = max(indent, base)
        literal, section = (limit if level >= limit else never for limit in (literal, section))
        if after_blank and base + 4 <= level < section:
            literal = min(literal, base + 4)
        after_blank = False
        fence = next((end for begin, end in FENCES if begin.match(line)), None)
        prose_directive = PROSE_DIRECTIVE.match(line)
        prefix = prose_directive or PREFIX.match(line) or (PARAMETER.match(line) if level >= section else None)
        directive = not prefix and DIRECTIVE.match(line)
        place = prefix.end() if prefix else 0
        pragma = not prefix and PRAGMA.match(line)
        is_prose = not (fence or level >= literal or directive or pragma or is_code(line[place:]))
        if prose_directive or SECTION.match(line):
            section = level + 1
        elif directive or EXAMPLE.match(line):
            literal = min(literal, level + 1)
        if prefix or not is_prose:
            yield None
        if is_prose:
            yield Span(end - len(line[place:].lstrip()), end)
        if level + 1 in (literal, section):  # the paragraph ends where a section or a literal block begins
            yield None


def is_code(line: str) -> bool:
    """Returns whether a line looks like code, or has no word.

    >>> [is_code(line) for line in ["x = 5", "call(x)", "return a[i] or b", "-----", "It ends; then `a[i] = x` holds."]]
    [True, True, True, True, False]
    """
    words = INLINE.sub("", line).strip() if SIGNS.search(line) or "`" in line else line
    has_word = re.search(r"[^\W\d_]", words)
    return not has_word or bool(CODE.match(line)) or 7 * len(SIGNS.findall(words)) > len(words)
