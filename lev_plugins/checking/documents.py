"""Texts that a server gets from its clients: of those that have a format, only the prose is edited."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lev_plugins.checking.prose import Prose, knows_of, words_of_project
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditRequest
from lev_plugins.text.documents.formats import FORMATS, Format, format_of
from lev_plugins.text.documents.ignore import ignored_spans
from lev_plugins.text.edited import Edited, require_text
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.utils.errors import UserError, explain

PLAIN_TEXT = "plain"  # the format of which all is edited, as of a text without a format
LANGUAGE_IDS = {  # of VS Code and Vim: the names of formats, where they differ
    "restructuredtext": "rst",
    **dict.fromkeys(("tex", "plaintex"), "latex"),
    **{"javascriptreact": "javascript", "typescriptreact": "tsx"},
    **dict.fromkeys(("shellscript", "sh", "bash"), "shell"),
    **dict.fromkeys(("git-commit", "gitcommit"), "commit"),
}


class MissingGrammar(UserError):
    """The extra that reads the format of a text is not installed."""


@dataclass(frozen=True)
class DocumentRequest(EditRequest):
    """A text to edit, perhaps in a format."""

    format: Format | None = None


def document_format(name: str | None, language_id: str | None = None) -> Format | None:
    """Returns the format of a text; None: all of it is edited.

    name: of the file
    language_id: what an editor calls the language of the text, which goes before the name
    >>> document_format("a.md").name, document_format("a.txt", "shellscript").name, document_format("a.txt")
    ('markdown', 'shell', None)
    """
    by_name = {format.name: format for format in FORMATS}
    format = by_name.get(LANGUAGE_IDS.get(language_id or "", language_id or "")) or format_of(name or "")
    return None if format is None or format.name == PLAIN_TEXT else format


def edit_documents(editor: Editor, requests: Sequence[EditRequest]) -> list[Edited]:
    """Edits texts. In a text with a format, unknown words that recur, or that its code has, stay as they are."""
    proses = [prose_of(editor, request) for request in requests]
    rows, lexicon = zip(requests, proses, strict=True), editor.lexicon
    edited = editor.edit([prose_request(request, prose, lexicon) if prose else request for request, prose in rows])
    return [
        replace(result, original=prose.text, edits=tuple(prose.edits(result.edits))) if prose else result
        for prose, result in zip(proses, edited, strict=True)
    ]


def prose_of(editor: Editor, request: EditRequest) -> Prose | None:
    if not isinstance(request, DocumentRequest) or request.format is None:
        return None
    require_text(request.text)
    try:
        paragraphs = [*request.format.reader(request.text)]
    except ModuleNotFoundError as error:
        raise MissingGrammar(f"{request.format.name}: {explain(error)}") from error
    language = request.language or editor.language
    ignored = ignored_spans(request.text)
    return Prose(request.text, paragraphs, knows_of(editor.knows), ignored, language, request.format.has_code)


def prose_request(request: EditRequest, prose: Prose, lexicon: Lexicon | None) -> EditRequest:
    """Returns a request about the prose of a text."""
    view = prose.request(words_of_project([prose.words], lexicon), whole=True)
    return replace(request, text=view.text, protected=view.protected)
