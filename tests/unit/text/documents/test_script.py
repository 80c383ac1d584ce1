"""``scripts/check_documents.py``: with all prose misspelt, the parser of each format finds the rest as it was."""

import json

import pytest

from lev_plugins.text.documents.formats import FORMATS, format_of

pytest.importorskip("docutils")
pytest.importorskip("markdown_it")
from scripts.check_documents import check

COMMENTS = {
    "c": "/* A comment. */\nint a = 'b'; // Another comment\n",
    "go": 'package a\n\n// It says so.\nvar b = "say so"\n',
    "python": '"""A docstring with `code`."""\n\n\ndef a(b):\n    """It says so."""\n    return "say so"  # or not\n',
    "rust": '/// It says `so`.\nfn a() { let b = "say so"; }\n',
    "shell": "#!/bin/sh\n# It says so.\necho 'say so'\n",
}
SLASHES = "/** It says so. */\nclass A { /* really */ }\n"
MARKDOWN = (
    "# A title\n\nSome *text* with `code` and [a link](b.md).\n\n```\na b\n```\n\n| Some text |\n|---|\n| a cell |\n"
)
TEXTS = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "cpp", "java"), SLASHES),
    **COMMENTS,
    "commit": "Mend the reader\n\nIt was broken.\n\nSigned-off-by: A <a@b.c>\n# On branch main\n",
    "html": "<p>Some <code>code &lt;= b</code></p>\n<p lang=en>and text &gt; code.</p><pre>a b</pre>\n",
    "latex": "\\begin{document}\nSome \\emph{text} with $a b$.\n\\begin{verbatim}a b\\end{verbatim}\n\\end{document}\n",
    "markdown": MARKDOWN,
    "mdx": f"import A from 'bb'\n\n{MARKDOWN}\n<A bb={{cc}}>\n",
    "notebook": json.dumps({"cells": [{"cell_type": "markdown", "source": [MARKDOWN], "metadata": {}}]}),
    "plain": "It says so at https://a.b/cc and nowhere else.\n",
    "po": 'msgid ""\nmsgstr "Language: de\\n"\n\n#, c-format\nmsgid "It has %d files"\nmsgstr "Es hat %d Dateien"\n',
    "rst": "A title\n=======\n\nSome *text* with ``code`` and :ref:`role`.\n\n.. note:: One\n\n.. code::\n\n   a b\n",
    "subtitles": "1\n00:01.000 --> 00:02.000\n<i>Hello</i> to you.\n",
    "xliff": "<xliff><trans-unit id='a b'><source>Good day</source><target>Guten Tag</target></trans-unit></xliff>",
}


@pytest.mark.parametrize("entry", FORMATS, ids=lambda entry: entry.name)
def test_the_parser_of_a_format_finds_all_but_prose_as_it_was(entry):
    assert format_of(f"a{entry.suffixes[0]}" if entry.suffixes else entry.file_names[0]) == entry
    result = check(entry, TEXTS[entry.name])
    assert result.words > 1
    assert result[1:] == (True, None, False)
