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
from pygls.lsp.client import LanguageClient

from lev_plugins.cli.main import main
from lev_plugins.serving.lsp import ADD_WORD
from tests.commands import ENVIRONMENT, ROOT, succeed
from tests.systems import speller
from tests.unit.editor.test_without_torch import HEAVY, run

SECONDS = 60


class Client(LanguageClient):
    """Of an editor in which a few texts are open."""

    def __init__(self) -> None:
        super().__init__("test", "1")
        self.told: asyncio.Queue[Any] = asyncio.Queue()
        self.version = 0
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda given: self.told.put_nowait(given))
        self.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda given: None)
        # lsprotocol takes an action with a command for a command
        self.protocol.get_result_type = lambda method: None  # type: ignore[method-assign]

    def open(self, text: str, uri: str = "file:///a.txt") -> None:
        item = lsp.TextDocumentItem(uri, "plaintext", 0, text)
        self.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def write(self, text: str, uri: str = "file:///a.txt") -> None:
        self.version += 1
        changes = [lsp.TextDocumentContentChangeWholeDocument(text)]
        document = lsp.VersionedTextDocumentIdentifier(self.version, uri)
        self.text_document_did_change(lsp.DidChangeTextDocumentParams(document, changes))

    async def diagnostics(self) -> list[lsp.Diagnostic]:
        return (await asyncio.wait_for(self.told.get(), SECONDS)).diagnostics

    async def actions(self, line: int, character: int, uri: str = "file:///a.txt") -> list[Any]:
        """What the context says is wrong in Neovim 0.7, for one: here, it says nothing."""
        cursor, context = lsp.Position(line, character), lsp.CodeActionContext([])
        return await self.ask(lsp.CodeActionParams(lsp.TextDocumentIdentifier(uri), lsp.Range(cursor, cursor), context))

    async def add(self, *words: Any) -> Any:
        return await self.ask(lsp.ExecuteCommandParams(ADD_WORD, arguments=words), lsp.WORKSPACE_EXECUTE_COMMAND)

    async def ask(self, given: Any, method: str = lsp.TEXT_DOCUMENT_CODE_ACTION) -> Any:
        return await asyncio.wait_for(self.protocol.send_request_async(method, given), SECONDS)


@asynccontextmanager
async def connected(*command: object, encodings: Any = None) -> AsyncIterator[Client]:
    client = Client()
    await client.start_io(sys.executable, *map(str, command), cwd=ROOT, env=ENVIRONMENT)
    general = lsp.GeneralClientCapabilities(position_encodings=encodings)
    await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(general=general)))
    client.initialized(lsp.InitializedParams())
    yield client
    await client.shutdown_async(None)
    client.exit(None)
    await asyncio.wait_for(client.stop(), SECONDS)
    assert client._server is not None and client._server.returncode == 0


def place_of(edit: dict[str, Any]) -> tuple[int, int, int]:
    start, end = edit["range"]["start"], edit["range"]["end"]
    assert start["line"] == end["line"]
    return start["line"], start["character"], end["character"]


def applied(text: str, edits: list[dict[str, Any]]) -> str:
    """As a client applies them, by its own count: in UTF-16."""
    lines = [line.encode("utf-16-le") for line in re.split("(?<=\n)", text)]
    for edit in sorted(edits, key=place_of, reverse=True):
        number, start, end = place_of(edit)
        new = edit["newText"].encode("utf-16-le")
        lines[number] = lines[number][: 2 * start] + new + lines[number][2 * end :]
    return b"".join(lines).decode("utf-16-le")


# ---- the command and a model folder ----------------------------------------------------------------------------------


def test_quick_fixes_give_what_edit_gives(tmp_path: Path) -> None:
    system, folder = speller(tmp_path), tmp_path / "out"
    assert main(["export", str(system.checkpoint), str(folder), *system.flags]) == 0
    text = "😀 teh 😀 vlaue.\nthe vlaue of teh function.\n\nZürich\n"

    async def fixed() -> str:
        async with connected("-m", "lev_plugins", "lsp", folder) as client:
            client.open(text)
            found = await client.diagnostics()
            edits = {}
            for problem in found:
                place = problem.range.start.line, problem.range.start.character
                for action in await client.actions(*place):
                    if action.get("isPreferred"):
                        ((edit,),) = action["edit"]["changes"].values()
                        edits[place_of(edit)] = edit
            assert len(edits) == len(found)
            return applied(text, list(edits.values()))

    assert asyncio.run(fixed()) == succeed("lev-plugins", "edit", folder, stdin=text).out != text
    assert not HEAVY & run("lsp", str(folder))[0]  # neither torch nor fairseq is loaded


# ---- an editor that needs no model -----------------------------------------------------------------------------------


@pytest.fixture
def command(tmp_path: Path) -> list[object]:
    return ["-m", "tests.language_server", tmp_path / "log", tmp_path / "words"]


def read(command: list[object]) -> list[list[str]]:
    log = Path(str(command[2]))
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def test_a_diagnostic_says_what_and_how_sure(command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*command) as client:
            client.open("I saw teh cat.\nI saw hat")
            found = await client.diagnostics()
            assert [(d.message, d.code, d.source, d.severity) for d in found] == [
                ("Possible spelling mistake (confidence 90%): the", "LEV_SPELLING", "lev-plugins", 3),
                ("Possible mistake (confidence 40%): saw a ", "LEV_GRAMMAR", "lev-plugins", 3),
                ("Punctuation, capitals or blanks (confidence 50%): hat.", "LEV_TYPOGRAPHY", "lev-plugins", 3),
            ]
            titles = [each["title"] for place in ((0, 7), (1, 3), (1, 8)) for each in await client.actions(*place)]
            assert not await client.actions(0, 2) and titles == [
                *("Change “teh” to “the”", "Change “teh” to “then”", "Add “teh” to my words"),
                *("Change “saw ” to “saw a ”", "Change “hat” to “hat.”", "Add “hat” to my words"),
            ]
            client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier("file:///a.txt")))
            assert not await client.diagnostics()

    asyncio.run(talk())


@pytest.mark.parametrize(("encoding", "width"), [(None, 2), ("utf-16", 2), ("utf-8", 4), ("utf-32", 1)])
def test_places_are_counted_as_the_client_counts(command: list[object], encoding: str | None, width: int) -> None:
    text = "teh\r\n\r😀😀 teh 😀 teh\n\x0c\u2028teh"

    async def talk() -> list[Any]:
        async with connected(*command, encodings=encoding and [encoding]) as client:
            client.open(text)
            return [(d.range.start.line, d.range.start.character) for d in await client.diagnostics()]

    expected = [(0, 0), (2, 2 * width + 1), (2, 3 * width + 6), (3, 4 if encoding == "utf-8" else 2)]
    assert asyncio.run(talk()) == expected


def test_own_words_are_left_alone_in_every_text(command: list[object]) -> None:
    words = Path(str(command[3]))

    async def talk() -> None:
        async with connected(*command) as client:
            for uri in ("file:///a.txt", "file:///b.txt"):
                client.open("teh tset", uri)
                assert len(await client.diagnostics()) == 2
            *_, add = await client.actions(0, 0)
            await client.add(*add["command"]["arguments"])
            assert [len(await client.diagnostics()) for _ in range(2)] == [1, 1] and words.read_text() == "teh\n"
            words.write_text("teh\ntset\n")  # another server
            client.write("teh tset ")
            assert not await client.diagnostics()
            with pytest.raises(Exception, match="word must not contain blanks: add one at a time"):
                await client.add("two words")

    asyncio.run(talk())


def test_only_the_newest_text_is_read_and_of_it_only_what_is_new(command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*command) as client:
            client.open("I saw teh cat.\nI saw it.")
            await client.diagnostics()
            for end in ("", "a", "a h", "a ha", "a hat."):
                client.write(f"I saw teh cat.\nI saw it. I saw {end}")
            assert len(await client.diagnostics()) == 1
            client.write("I saw it.\nI saw teh cat.")
            assert [d.range.start.line for d in await client.diagnostics()] == [1]
            assert client.told.empty()

    asyncio.run(talk())
    assert read(command) == [["I saw teh cat.", "I saw it."], ["I saw a hat."]]


def test_nothing_stops_it(command: list[object]) -> None:
    async def talk() -> None:
        async with connected(*command) as client:
            send = client.protocol.writer.write  # type: ignore[union-attr]
            for body in (b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0", "id": 1, "method": "textDocument/codeAction"}'):
                send(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            for words in ([], ["a", "b"], ["a b"], [{"a": 1}]):
                with pytest.raises(Exception, match=r"Expected 1 arguments|word must not contain blanks"):
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
