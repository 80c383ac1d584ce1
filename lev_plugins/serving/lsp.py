"""A language server: edits are diagnostics with quick fixes; a command adds to the user's own words."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec, TextDocument

from lev_plugins.checking.documents import DocumentRequest, MissingGrammar, document_format, edit_documents
from lev_plugins.editor.editor import Editor
from lev_plugins.serving.annotated import Annotated, Part
from lev_plugins.serving.matches import matches
from lev_plugins.serving.queue import Worker
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.segments import Segment, SegmentModel
from lev_plugins.utils.errors import UserError
from lev_plugins.utils.version import __version__

SERVER_NAME = "lev-plugins"
ADD_WORD = f"{SERVER_NAME}.addWord"
MAX_CACHED_SENTENCES = 50_000  # sentences
PAUSE = 0.2  # seconds without typing before a text is edited
LINE_END = re.compile("\r\n|\r|\n")  # as the protocol defines lines


class CachedModel:
    """A model with a cache of edits by sentence, so that a sentence is not decoded again when others change."""

    def __init__(self, model: SegmentModel) -> None:
        self.task, self.drafts, self.longest, self.symbols = model.task, model.drafts, model.longest, model.symbols
        self.lexicon = model.lexicon
        self.model, self.cache = model, dict[tuple[object, ...], list[Edit]]()

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        if len(self.cache) > MAX_CACHED_SENTENCES:
            self.cache.clear()
        keys = [(segment.text, *(segment.requests or ())) for segment in segments]
        missing = {key: segment for key, segment in zip(keys, segments, strict=True) if key not in self.cache}
        if missing:
            self.cache.update(zip(missing, self.model.decode([*missing.values()]), strict=True))
        return [self.cache[key] for key in keys]


class Checker(LanguageServer):
    """The language server. Of each open text, it edits the newest version when the user pauses."""

    def __init__(self, editor: Editor) -> None:
        # full synchronisation: in incremental changes, pygls would count lines by str.splitlines, unlike clients
        super().__init__(SERVER_NAME, __version__, lsp.TextDocumentSyncKind.Full)
        editor = editor.with_model(CachedModel(editor.model))
        self.words = editor.words
        run, size = partial(edit_documents, editor), lambda request: len(request.text)
        self.worker = Worker(run, size, max_waiting=1_000_000, batch_size=1)
        self.warns = True  # of a missing extra, once
        self.tasks: dict[str, asyncio.Task[None]] = {}  # by URI
        self.diagnostics: dict[str, list[lsp.Diagnostic]] = {}  # by URI, of texts that have not changed since
        for change in (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.TEXT_DOCUMENT_DID_CLOSE):
            self.feature(change)(lambda params: self.changed(params.text_document.uri))
        self.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)(lambda params: [*self.quick_fixes(params)])
        self.command(ADD_WORD)(partial(self.add))  # pygls reads the arguments' names and types

    def changed(self, uri: str) -> None:
        """Edit the text after a pause; a batch that the model is decoding is completed for the cache."""
        self.diagnostics.pop(uri, None)
        if uri in self.tasks:
            self.tasks[uri].cancel()
        self.tasks[uri] = asyncio.create_task(self.check(uri))

    async def check(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        document = self.workspace.text_documents.get(uri)  # None: closed
        try:
            self.words.read()  # another server may have added words
            (edited,) = await self.worker.answers([request_of(document)])
            self.diagnostics[uri] = list(diagnostics_of(edited, self.workspace.position_codec))
        except MissingGrammar as error:
            self.diagnostics[uri] = []
            if self.warns:
                self.warns = False
                self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, str(error)))
        except UserError as error:
            start = lsp.Position(0, 0)
            self.diagnostics[uri] = [lsp.Diagnostic(lsp.Range(start, start), str(error), source=SERVER_NAME)]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, self.diagnostics[uri]))

    def quick_fixes(self, params: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
        kind, uri, selection = lsp.CodeActionKind.QuickFix, params.text_document.uri, params.range
        for problem in self.diagnostics.get(uri, ()):
            if not problem.data or selection.end < problem.range.start or problem.range.end < selection.start:
                continue
            original, *replacements = problem.data
            for replacement in replacements:
                edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(problem.range, replacement)]})
                title = f"Change “{original}” to “{replacement}”"
                preferred = replacement == replacements[0]
                yield lsp.CodeAction(title, kind, [problem], is_preferred=preferred, edit=edit)
            if re.fullmatch(r"\w\S*", original):
                command = lsp.Command(f"Add “{original}” to my words", ADD_WORD, arguments=[original])
                yield lsp.CodeAction(command.title, kind, [problem], command=command)

    def add(self, word: str) -> None:
        try:
            self.words.add(word)
        except UserError as error:  # of a word with a line end
            raise JsonRpcInvalidParams(str(error)) from error
        for uri in self.workspace.text_documents:
            self.changed(uri)


def request_of(document: TextDocument | None) -> DocumentRequest:
    """Returns what the editor is asked about a text; None: it is closed."""
    if document is None:
        return DocumentRequest("")
    return DocumentRequest(document.source, format=document_format(document.filename, document.language_id))


def diagnostics_of(edited: Edited, codec: PositionCodec) -> Iterator[lsp.Diagnostic]:
    """Yield a diagnostic for each match; its data are the original and its replacements."""
    text = edited.original
    starts = [0, *(line_end.end() for line_end in LINE_END.finditer(text))]

    def position(place: int) -> lsp.Position:
        line = bisect_right(starts, place) - 1
        return lsp.Position(line, codec.client_num_units(text[starts[line] : place]))

    for match in matches(Annotated([Part(text, text)]), edited):
        edit = match.edit
        place = lsp.Range(position(edit.start), position(edit.end))
        original, replacements = text[edit.start : edit.end], [way.replacement for way in (edit, *edit.alternatives)]
        message, severity = f"{match.message}: {replacements[0]}", lsp.DiagnosticSeverity.Information
        data = [original, *replacements]
        yield lsp.Diagnostic(place, message, severity, match.rule.id, source=SERVER_NAME, data=data)
