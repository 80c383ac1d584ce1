"""A language server: edits as diagnostics, their replacements as quick fixes, and what adds to the user's own words."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from lev_plugins.errors import UserError
from lev_plugins.inference.editor import Editor
from lev_plugins.serving.annotated import Annotated, Part
from lev_plugins.serving.matches import matches
from lev_plugins.serving.queue import Worker
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.segments import Segment, SegmentModel
from lev_plugins.version import __version__

NAME = "lev-plugins"
ADD_WORD = f"{NAME}.addWord"
MOST_KNOWN = 50_000  # sentences
PAUSE = 0.2  # seconds in which nobody types, before a text is edited
LINE_END = re.compile("\r\n|\r|\n")  # as the protocol has them


class Remembering:
    """A model that reads each sentence once, however often the text around it changes."""

    def __init__(self, model: SegmentModel) -> None:
        self.task, self.drafts, self.longest, self.symbols = model.task, model.drafts, model.longest, model.symbols
        self.model, self.known = model, dict[tuple[object, ...], list[Edit]]()

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        keys = [(segment.text, *(segment.requests or ())) for segment in segments]
        new = {key: segment for key, segment in zip(keys, segments, strict=True) if key not in self.known}
        self.known.update(zip(new, self.model.decode([*new.values()]) if new else [], strict=True))
        return [self.known[key] for key in keys]


class Checker(LanguageServer):
    """Of each text, only the newest version is edited, when its user pauses."""

    def __init__(self, editor: Editor) -> None:
        # whole texts: of changes, pygls would count the lines as str.splitlines does, not as the client does
        super().__init__(NAME, __version__, lsp.TextDocumentSyncKind.Full)
        editor.model = Remembering(editor.model)
        self.words, self.worker = editor.words, Worker(editor.edit, len, most=1_000_000, batch_size=1)
        self.tasks: dict[str, asyncio.Task[None]] = {}  # of each URI
        self.found: dict[str, list[lsp.Diagnostic]] = {}  # unless the text has changed since
        for change in (lsp.TEXT_DOCUMENT_DID_OPEN, lsp.TEXT_DOCUMENT_DID_CHANGE, lsp.TEXT_DOCUMENT_DID_CLOSE):
            self.feature(change)(lambda given: self.changed(given.text_document.uri))
        self.feature(lsp.TEXT_DOCUMENT_CODE_ACTION)(lambda asked: [*self.quick_fixes(asked)])
        self.command(ADD_WORD)(partial(self.add))  # pygls sees what arguments it has

    def changed(self, uri: str) -> None:
        """What the model is reading it reads to the end, and remembers."""
        self.found.pop(uri, None)
        if uri in self.tasks:
            self.tasks[uri].cancel()
        self.tasks[uri] = asyncio.create_task(self.check(uri))

    async def check(self, uri: str) -> None:
        await asyncio.sleep(PAUSE)
        document = self.workspace.text_documents.get(uri)  # None: it has been closed
        try:
            self.words.read()  # another server may have added some
            (edited,) = await self.worker.answers([document.source if document else ""])
            self.found[uri] = list(diagnostics(edited, self.workspace.position_codec))
        except UserError as error:
            start = lsp.Position(0, 0)
            self.found[uri] = [lsp.Diagnostic(lsp.Range(start, start), str(error), source=NAME)]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, self.found[uri]))

    def quick_fixes(self, asked: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
        kind, uri, near = lsp.CodeActionKind.QuickFix, asked.text_document.uri, asked.range
        for problem in self.found.get(uri, ()):
            if not problem.data or near.end < problem.range.start or problem.range.end < near.start:
                continue
            old, *ways = problem.data
            for way in ways:
                edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(problem.range, way)]})
                title = f"Change “{old}” to “{way}”"
                yield lsp.CodeAction(title, kind, [problem], is_preferred=way == ways[0], edit=edit)
            if re.fullmatch(r"\w\S*", old):
                command = lsp.Command(f"Add “{old}” to my words", ADD_WORD, arguments=[old])
                yield lsp.CodeAction(command.title, kind, [problem], command=command)

    def add(self, word: str) -> None:
        self.words.add(word)
        for uri in self.workspace.text_documents:
            self.changed(uri)


def diagnostics(edited: Edited, codec: PositionCodec) -> Iterator[lsp.Diagnostic]:
    """Each has what is underlined and what may replace it in its data."""
    text = edited.original
    starts = [0, *(found.end() for found in LINE_END.finditer(text))]

    def position(place: int) -> lsp.Position:
        line = bisect_right(starts, place) - 1
        return lsp.Position(line, codec.client_num_units(text[starts[line] : place]))

    for match in matches(Annotated([Part(text, text)]), edited):
        edit = match.edit
        place = lsp.Range(position(edit.start), position(edit.end))
        old, ways = text[edit.start : edit.end], [way.replacement for way in (edit, *edit.others)]
        told, kind = f"{match.message}: {ways[0]}", lsp.DiagnosticSeverity.Information
        yield lsp.Diagnostic(place, told, kind, match.rule.id, source=NAME, data=[old, *ways])
