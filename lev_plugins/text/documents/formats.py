"""The formats of files that ``lev-plugins check`` reads, by the names of files."""

from functools import partial
from pathlib import PurePath
from typing import NamedTuple

from lev_plugins.text.documents.code import LANGUAGES, read_code
from lev_plugins.text.documents.commit import FILE_NAMES, read_commit
from lev_plugins.text.documents.document import Reader
from lev_plugins.text.documents.html import read_html
from lev_plugins.text.documents.latex import read_latex
from lev_plugins.text.documents.markdown import read_markdown, read_mdx
from lev_plugins.text.documents.notebook import read_notebook
from lev_plugins.text.documents.plain import read_plain
from lev_plugins.text.documents.po import read_sources, read_translations
from lev_plugins.text.documents.restructured import read_rst
from lev_plugins.text.documents.subtitles import read_subtitles
from lev_plugins.text.documents.xml import read_xliff


class Format(NamedTuple):
    """A format of files."""

    name: str  # as in the setting formats
    reader: Reader
    suffixes: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    source_reader: Reader | None = None  # of the texts that a file of translations translates
    has_code: bool = True  # what is not prose is code; False: most of it is text as well


FORMATS: tuple[Format, ...] = (
    Format("html", read_html, (".html", ".htm", ".xhtml")),
    Format("markdown", read_markdown, (".md", ".markdown", ".qmd", ".rmd")),
    Format("mdx", read_mdx, (".mdx",)),
    Format("notebook", read_notebook, (".ipynb",)),
    Format("plain", read_plain, (".txt",), ("README", "CHANGELOG", "CHANGES", "NEWS", "TODO")),
    Format("rst", read_rst, (".rst", ".rest")),
    Format("xliff", read_xliff, (".xlf", ".xliff"), has_code=False),
    *(Format(language.name, partial(read_code, language), language.suffixes) for language in LANGUAGES),
    Format("latex", read_latex, (".tex", ".ltx")),
    Format("po", read_translations, (".po", ".pot"), source_reader=read_sources, has_code=False),
    Format("subtitles", read_subtitles, (".srt", ".vtt")),
    Format("commit", read_commit, file_names=FILE_NAMES),
)


def format_of(name: str) -> Format | None:
    """Returns the format of a file of this name, which may have folders before it; None: no format is known."""
    path = PurePath(name)
    by_name = [entry for entry in FORMATS if path.name in entry.file_names]
    return next(iter(by_name or [entry for entry in FORMATS if path.suffix.lower() in entry.suffixes]), None)
