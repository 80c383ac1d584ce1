"""The server with real models: the command, and a real client."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import language_tool_python
import pytest

from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions
from lev_plugins.serving.context import Context
from tests.commands import ENVIRONMENT, ROOT
from tests.helpers import mentions
from tests.serving import Client, FakeEditor, models, serving
from tests.unit.editor.test_editor import TYPOS


@pytest.fixture
def pbd_folder(golden_folder: Callable[[str], Path]) -> Path:
    return golden_folder("pbd")


def load_editor(pbd_folder: Path) -> Editor:
    return Editor.load(pbd_folder, EditOptions(beam=3))


class Process:
    """A server that is started by the command."""

    def __init__(self, pbd_folder: Path, *flags: object):
        serve = (sys.executable, "-m", "lev_plugins", "serve", pbd_folder, "--beam", 3, "--port", 0, *flags)
        command = [str(word) for word in serve]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=ROOT, env=ENVIRONMENT, text=True, **pipes)  # type: ignore[call-overload]
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:(\d+) ", self.line)
        assert address, (self.line, self.process.communicate()[1])
        self.client = Client(int(address[1]))


@contextmanager
def started(pbd_folder: Path, *flags: object) -> Iterator[Process]:
    process = Process(pbd_folder, *flags)
    try:
        yield process
    finally:
        process.process.kill()
        process.process.communicate()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_server_finishes_its_requests(pbd_folder: Path, tmp_path: Path, stop: signal.Signals) -> None:
    words = tmp_path / "words"
    words.write_text(f"{TYPOS[1].split()[0]}\n", "utf-8")
    with started(pbd_folder, "--words", words, "--min-confidence", 0.5, "--log-text") as server:
        client = server.client
        description = {"name": "pbd", "kind": "edit", "drafts": False, "min_confidence": 0.5, "dials": {}}
        assert client.get("/v1/models").json["models"] == [description]
        result = client.edit(TYPOS[0]).json["results"][0]
        assert result == load_editor(pbd_folder).edit([TYPOS[0]])[0].without_unsure(0.5).as_dict()
        with half_sent(client, {"texts": [TYPOS[1]]}) as rest:
            server.process.send_signal(stop)
            wait_until_refused(client)
            answer = rest()
        error = server.process.communicate(timeout=60)[1]
        assert server.process.returncode == 0 and b" 200 OK" in answer and b'"edits":[{' in answer
        assert f"text: ['{TYPOS[0]}']" in error and "Traceback" not in error


def test_flags_for_limits_reach_the_server(pbd_folder: Path) -> None:
    with started(pbd_folder, "--max-bytes", 300, "--max-text", 40) as server:
        assert server.client.edit("a" * 40).status == 200
        assert mentions(server.client.edit("a" * 41).text, "40 41")
        assert server.client.edit("a" * 400).status == 413 and "300" in server.client.edit("a" * 400).text


@contextmanager
def half_sent(client: Client, request: Any) -> Iterator[Callable[[], bytes]]:
    """Sends the head of a request, and yields a function that sends the rest and returns the answer."""
    body = json.dumps(request).encode()
    head = (
        f"POST /v1/edit HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
        connection.sendall(head.encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 100 ")

        def rest() -> bytes:
            connection.sendall(body)
            return b"".join(iter(lambda: connection.recv(1 << 16), b""))

        yield rest


def wait_until_refused(client: Client) -> None:
    with pytest.raises(ConnectionRefusedError):
        for _ in range(400):
            socket.create_connection(("127.0.0.1", client.port), timeout=20).close()
            time.sleep(0.05)


@pytest.mark.parametrize("kind", ["pbd", "fake"])
def test_language_tool_python_applies_the_edits(pbd_folder: Path, kind: str) -> None:
    """The lengths of language_tool_python are wrong if an edited span contains an emoji."""
    if kind == "pbd":
        editor, texts = (load_editor(pbd_folder), [*TYPOS[:8], "\n".join(TYPOS[:3]), f"e\u0301 {TYPOS[1]}"])
    else:
        editor, texts = FakeEditor(), ["😀 teh 👩‍👩‍👧 e\u0301 tset 😀", "I saw hat\n😀\nvery good teh"]
    url = "http://127.0.0.1:{}"
    with serving(Context(models(editor)), seconds=30) as client:
        for root in (url, f"{url}/"):
            remote = root.format(client.port)
            with language_tool_python.LanguageTool("en-US", remote_server=remote) as tool:
                for text in texts:
                    assert tool.correct(text) == editor.edit([text])[0].text
                    for match in tool.check(text):
                        assert match.rule_id.startswith("LEV_") and match.replacements
