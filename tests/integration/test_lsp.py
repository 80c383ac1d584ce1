"""The language server as an editor uses it: a process, with which pygls's client speaks over its standard streams."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.client import LanguageClient

from lev_plugins.cli.main import main
from lev_plugins.serving.lsp import ADD_WORD
from tests.commands import ENVIRONMENT, ROOT, succeed
from tests.systems import speller
from tests.unit.editor.test_without_torch import HEAVY, loaded_modules

LSP_TIMEOUT = 60


class EditorClient(LanguageClient):
    """A text editor that has a few documents open."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.published: asyncio.Queue[Any] = asyncio.Queue()
        self.version = 0
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda message: self.published.put_nowait(message))
        self.messages: list[str] = []
        self.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda shown: self.messages.append(shown.message))
        # lsprotocol takes an action with a command for a command
        self.protocol.get_result_type = lambda method: None  # type: ignore[method-assign]

    def open(self, text: str, uri: str = "file:///a.txt", language: str = "plaintext") -> None:
        item = lsp.TextDocumentItem(uri, language, 0, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def write(self, text: str, uri: str = "file:///a.txt") -> None:
        self.version += 1
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        document = lsp.VersionedTextDocumentIdentifier(self.version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, changes))

    async def diagnostics(self) -> list[lsp.Diagnostic]:
        return (await asyncio.wait_for(self.published.get(), LSP_TIMEOUT)).diagnostics

    async def actions(self, line: int, character: int, uri: str = "file:///a.txt") -> list[Any]:
        """Returns the actions at a position; the context is empty because that of Neovim 0.7 is wrong."""
        cursor, context = lsp.Position(line, character), lsp.CodeActionContext([])
        return await self.ask(lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), lsp.Range(cursor, cursor), context))

    async def add(self, *words: Any) -> Any:
        return await self.ask(lsp.ExecuteCommandParams(ADD_WORD, arguments=words), lsp.WORKSPACE_EXECUTE_COMMAND)

    async def ask(self, message: Any, method: str = lsp.TEXT_DOCUMENT_CODE_ACTION) -> Any:
        return await asyncio.wait_for(self.protocol.send_request_async(method, message), LSP_TIMEOUT)


@asynccontextmanager
async def connected(*server_command: object, encodings: Any = None) -> AsyncIterator[EditorClient]:
    client = EditorClient()
    await client.start_io(sys.executable, *map(str, server_command), cwd=ROOT, env=ENVIRONMENT)
    general = lsp.GeneralClientCapabilities(position_encodings=encodings)
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(general=general)))
    client.initialized(lsp.InitializedParams())
    yield client
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(client.stop(), LSP_TIMEOUT)
    assert client._server is not None and client._server.returncode == 0


def place_of(edit: dict[str, Any]) -> tuple[int, int, int]:
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def apply_text_edits(text: str, edits: list[dict[str, Any]]) -> str:
    """Applies edits whose positions count UTF-16 units, as a client does."""
    lines = [line.encode("utf-16-le") for line in re.split("(?<=\n)", text)]
    for edit in sorted(edits, key=place_of, reverse=True):
        number, start, end = place_of(edit)
        replacement = edit["newText"].encode("utf-16-le")
        lines[number] = lines[number][: 2 * start] + replacement + lines[number][2 * end :]
    return b"".join(lines).decode("utf-16-le")


# ---- the command and a model folder ----------------------------------------------------------------------------------


def test_quick_fixes_equal_the_output_of_edit(tmp_path: Path) -> None:
    system, folder = speller(tmp_path), tmp_path / "out"
    assert main(["export", str(system.checkpoint), str(folder), *system.flags]) == 0
    text = "😀 teh 😀 vlaue.\nthe vlaue of teh function.\n\nZürich\n"

    async def fixed() -> str:
        async with connected("-m", "lev_plugins", "lsp", folder) as client:
            client.open(text)
            diagnostics = await client.diagnostics()
            edits = {}
            for problem in diagnostics:
                place = problem.range.start.line, problem.range.start.character
                for action in await client.actions(*place):
                    if action.get("isPreferred"):
                        ((edit,),) = action["edit"]["changes"].values()
                        edits[place_of(edit)] = edit
            assert len(edits) == len(diagnostics)
            return apply_text_edits(text, list(edits.values()))

    assert asyncio.run(fixed()) == succeed("lev-plugins", "edit", folder, stdin=text).out != text
    assert not HEAVY & loaded_modules("lsp", str(folder))


# ---- an editor that needs no model -----------------------------------------------------------------------------------


@pytest.fixture
def server_command(tmp_path: Path) -> list[object]:
    return ["-m", "tests.language_server", tmp_path / "log", tmp_path / "words"]


def read_calls(server_command: list[object]) -> list[list[str]]:
    log = Path(str(server_command[2]))
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def test_a_diagnostic_has_its_kind_and_confidence(server_command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*server_command) as client:
            client.open("I saw teh cat.\nI saw hat")
            diagnostics = await client.diagnostics()
            assert [(d.message, d.code, d.source, d.severity) for d in diagnostics] == [
                ("Possible spelling mistake (confidence 90%): the", "LEV_SPELLING", "lev-plugins", 3),
                ("Possible mistake (confidence 40%): saw a ", "LEV_GRAMMAR", "lev-plugins", 3),
                ("Punctuation, capitals or blanks (confidence 50%): hat.", "LEV_TYPOGRAPHY", "lev-plugins", 3),
            ]
            titles = [action["title"] for place in ((0, 7), (1, 3), (1, 8)) for action in await client.actions(*place)]
            assert not await client.actions(0, 2) and titles == [
                *("Change “teh” to “the”", "Change “teh” to “then”", "Add “teh” to my words"),
                *("Change “saw ” to “saw a ”", "Change “hat” to “hat.”", "Add “hat” to my words"),
            ]
            client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier("file:///a.txt")))
            assert not await client.diagnostics()

    asyncio.run(talk())


@pytest.mark.parametrize(("encoding", "width"), [(None, 2), ("utf-16", 2), ("utf-8", 4), ("utf-32", 1)])
def test_positions_follow_the_encoding(server_command: list[object], encoding: str | None, width: int) -> None:
    text = "teh\r\n\r😀😀 teh 😀 teh\n\x0c\u2028teh"

    async def talk() -> list[Any]:
        async with connected(*server_command, encodings=encoding and [encoding]) as client:
            client.open(text)
            return [(d.range.start.line, d.range.start.character) for d in await client.diagnostics()]

    expected = [(0, 0), (2, 2 * width + 1), (2, 3 * width + 6), (3, 4 if encoding == "utf-8" else 2)]
    assert asyncio.run(talk()) == expected


def test_added_words_are_ignored_in_all_texts(server_command: list[object]) -> None:
    words = Path(str(server_command[3]))

    async def talk() -> None:
        async with connected(*server_command) as client:
            for uri in ("file:///a.txt", "file:///b.txt"):
                client.open("teh tset", uri)
                assert len(await client.diagnostics()) == 2
            *_, add = await client.actions(0, 0)
            await client.add(*add["command"]["arguments"])
            assert [len(await client.diagnostics()) for _ in range(2)] == [1, 1] and words.read_text() == "teh\n"
            words.write_text("teh\ntset\n")  # another server
            client.write("teh tset ")
            assert not await client.diagnostics()
            with pytest.raises(JsonRpcInvalidParams, match=r"word .*blanks"):
                await client.add("two words")

    asyncio.run(talk())


def test_only_new_sentences_of_the_latest_text_are_edited(server_command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*server_command) as client:
            client.open("I saw teh cat.\nI saw it.")
            await client.diagnostics()
            for end in ("", "a", "a h", "a ha", "a hat."):
                client.write(f"I saw teh cat.\nI saw it. I saw {end}")
            assert len(await client.diagnostics()) == 1
            client.write("I saw it.\nI saw teh cat.")
            assert [d.range.start.line for d in await client.diagnostics()] == [1]
            assert client.published.empty()

    asyncio.run(talk())
    assert read_calls(server_command) == [["I saw teh cat.", "I saw it."], ["I saw a hat."]]


def test_of_a_document_only_the_prose_has_diagnostics(server_command: list[object]) -> None:
    text = "I saw teh.\n\n\n    tset\n"

    async def talk() -> None:
        async with connected(*server_command) as client:
            for uri, language in (("file:///docs/a.md", "plaintext"), ("untitled:Untitled-1", "markdown")):
                client.open(text, uri, language)
                assert [(d.range.start.line, d.data[0]) for d in await client.diagnostics()] == [(0, "teh")]
                assert len(await client.actions(0, 7, uri)) == 3
            client.open(text, "file:///b.txt", "plaintext")
            assert [d.range.start.line for d in await client.diagnostics()] == [0, 3]

    asyncio.run(talk())


def test_without_grammars_only_plain_text_has_diagnostics(server_command: list[object]) -> None:
    hidden = "import runpy, sys; sys.modules['tree_sitter'] = None; runpy.run_module(sys.argv.pop(1), None, '__main__')"

    async def talk() -> None:
        async with connected("-c", hidden, *server_command[1:]) as client:
            for uri in ("file:///a.md", "file:///b.md"):
                client.open("I saw teh.", uri)
                assert not await client.diagnostics()
            client.open("I saw teh.")
            assert len(await client.diagnostics()) == 1
            assert len(client.messages) == 1 and "pip install 'lev-plugins[check]'" in client.messages[0]

    asyncio.run(talk())


def test_malformed_requests_and_errors_leave_the_server_running(server_command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*server_command) as client:
            send = client.protocol.writer.write  # type: ignore[union-attr]
            for body in (b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/codeAction"}'):
                send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            for words in ([], ["a", "b"], ["a b"], [{"a": 1}]):
                with pytest.raises(Exception, match=r"Expected 1 arguments|word .*blanks"):
                    await client.add(*words)
            assert not await client.actions(7, 0, "file:///none.txt")
            client.write("never opened", "file:///b.txt")
            client.open("crash")
            await asyncio.sleep(1)
            client.write("half a \ud83d character")
            (problem,) = await client.diagnostics()
            assert "half of a character" in problem.message and not await client.actions(0, 0)
            client.write("teh")
            assert [d.data for d in await client.diagnostics()] == [["teh", "the", "then"]]

    asyncio.run(talk())
