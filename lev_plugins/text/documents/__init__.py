"""Files of many formats, read as prose and the rest: ``formats`` says which, ``document`` what a reader yields.

Readers must say where each thing is in the file, to the byte, also in a file with errors, in a time that is linear in
its size. Grammars of tree-sitter do so for Markdown, JSON and programs. Its grammars of reStructuredText and HTML take
quadratic time, and there are none for LaTeX and PO, so these have readers of their own; docutils, markdown-it-py,
html.parser and polib know lines at best, so they only check the readers (``scripts/check_documents.py``).
"""
