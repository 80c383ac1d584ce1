"""Markdown, also with MDX's expressions and the templates of site generators, by the grammars of tree-sitter."""

import re
from collections.abc import Iterator
from functools import partial

from lev_plugins.text.documents.document import Paragraph
from lev_plugins.text.documents.html import html_areas
from lev_plugins.text.documents.inline import ADDRESSES, Area, expressions, matches, paragraphs_of, within, without
from lev_plugins.text.documents.tree import parse, query
from lev_plugins.text.edited import Span
from lev_plugins.text.protected import Untouchable, merge_spans

PACKAGE = "tree_sitter_markdown"
BLOCKS = """
[(inline) (pipe_table_cell)] @prose
(html_block) @html
[(fenced_code_block) (minus_metadata) (plus_metadata) (link_reference_definition)] @code
(indented_code_block) @indented
[(pipe_table_cell) @item (list_item . (_) . (paragraph (inline) @item) .)]
(inline (block_continuation) @margin)
(html_block (block_continuation) @margin)
"""
INLINE = """
[(code_span) (latex_block) (uri_autolink) (email_autolink) (entity_reference) (numeric_character_reference)
 (backslash_escape) (shortcut_link) (collapsed_reference_link)] @code
(emphasis_delimiter) @sign
(inline_link ["[" "]" "(" ")" (link_destination) (link_title)] @sign)
(full_reference_link ["[" "]" (link_label)] @sign)
(image ["!" "[" "]" "(" ")" (link_destination) (link_title) (link_label)] @sign)
"""
WITH_INLINE = re.compile(r"[\\*_\[<&$~]|``")  # more than the code of this pattern:
SIMPLE_CODE = re.compile(r"`[^`]*`")
TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\{%[^{}]*%\}")
MAX_INLINE = 8_000  # characters: the inline grammar takes quadratic time
CODE = re.compile(
    rf"{ADDRESSES}|`[^`\n]*`|(?<=\])\([^()\n]*\)"  # the grammar knows the code and links outside of HTML
    r"|(?m:^[ \t>]*(?::{3,}|!!!|\?\?\?|/{3,}|--8<--|<<<|\{%|@\[).*$)"  # lines of extensions, such as :::note
    r"|(?m:^[ \t>]*\$\$[ \t]*\r?$)(?s:.*?)(?:(?m:^[ \t>]*\$\$)|\Z)"
    r"|\\begin\{([\w*]+)\}(?s:.*?)(?:\\end\{\1\}|\Z)|\\[A-Za-z]+"
    r"|:[\w+-]+:|(?<!\w)@[\w:/-]+|(?m:^\([\w-]+\)=|(?<=[ \t])#+[ \t]*\r?$)"  # :smile:, @name, (target)=, # heading #
)
MATH = re.compile(r"\\\(.*?(?:\\\)|$)|\\\[.*?(?:\\\]|$)", re.MULTILINE)
HARD_BREAK = re.compile(r"\\(?=\r?$)", re.MULTILINE)
MODULE_LINES = re.compile(r"^(?:import|export)\b.*(?:\r?\n.*\S.*)*", re.MULTILINE)  # of MDX


def read_markdown(text: str, mdx: bool = False) -> Iterator[Paragraph]:
    """Yields the paragraphs, headings, list items and table cells."""
    return paragraphs_of(text, areas(text, mdx))


read_mdx = partial(read_markdown, mdx=True)


def areas(text: str, mdx: bool) -> Iterator[Area]:
    """Yields the stretches with prose, in order."""
    blocks = query(BLOCKS, PACKAGE).captures(parse(text, PACKAGE))
    prose, html, code, indented, signs, items = (
        sorted(Span(node.start_byte, node.end_byte) for node in blocks.get(kind, ()))
        for kind in ("prose", "html", "code", "indented", "margin", "item")
    )
    code += (item for item in items if len(text[slice(*item)].split()) == 1)  # most likely a name
    source = TEMPLATE.sub(lambda match: "x" * len(match[0]), without(text, signs))  # [text]({{ address }}) is a link
    for start, end in prose:
        if not WITH_INLINE.search(text, start, end):
            code += matches(SIMPLE_CODE, text, start, end)
            continue
        if end - start > MAX_INLINE:
            code.append(Span(start, end))
            continue
        captures = query(INLINE, PACKAGE, "inline_language").captures(
            parse(source[start:end], PACKAGE, "inline_language")
        )
        for kind, result in ("code", code), ("sign", signs):
            result += [Span(start + n.start_byte, start + n.end_byte) for n in captures.get(kind, ())]
    rest = without(text, [*code, *signs, *([] if mdx else indented)])
    stretches = sorted(prose + html)
    embedded, tags = expressions(rest, [Span(0, len(text))] if mdx else stretches, text)
    code += [*embedded, *matches(CODE, rest), *matches(MATH, text), *(matches(MODULE_LINES, rest) if mdx else ())]
    inside_tag = Untouchable(tags)
    signs = [sign for sign in signs if not inside_tag.touched_by(sign)] + [*tags, *matches(HARD_BREAK, rest)]
    code, signs, blocks_of_html = merge_spans(code), sorted(signs), set(html)
    for start, end in stretches:
        holes = within(code, start, end), within(signs, start, end)
        if (start, end) in blocks_of_html:
            yield from html_areas(text, start, end, *holes)
        else:
            yield Area(start, end, *holes)
