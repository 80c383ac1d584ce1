"""Errors, the log, headers, and clients that misbehave."""

import asyncio
import logging
import random
import socket
import time
from contextlib import suppress

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lev_plugins.serving.app import Guard
from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import Limits
from tests.helpers import mentions
from tests.serving import Client, FakeEditor, models, serving


def test_unknown_paths_and_methods_are_refused(server: Client) -> None:
    answer = server.get("/v1/elephants")
    assert answer.status == 404 and mentions(answer.error, "/healthz, /v1/models, /v1/edit")
    answer = server.get("/v1/edit")
    assert answer.status == 405 and answer.headers["allow"] == "POST"
    assert mentions(answer.error, "GET POST")


def guarded(app: ASGIApp, context: Context, sent: list[Message]) -> None:
    """Sends a request to an application behind the guard, and collects the messages of its answer in ``sent``."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "query_string": b""}
    asyncio.run(Guard(app, context)(scope, receive, send))


def test_a_request_that_exceeds_its_time_gets_status_500() -> None:
    """The answers for a client that does not read fill the socket, and the server would wait forever to write."""
    sent: list[Message] = []

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(60)

    guarded(endless, Context([], limits=Limits(seconds=0.05)), sent)
    assert sent[0]["status"] == 500


def test_the_log_escapes_control_characters(server: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert server.get("/v1/models", Origin="\x1b[2J").status == 403
    assert "\x1b" not in caplog.text and r"\u001b[2J" in caplog.text


def test_an_incomplete_request_logs_no_error(server: Client, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        time.sleep(0.1)
    assert server.edit("teh").status == 200 and not [r for r in caplog.records if r.levelname == "ERROR"]


def test_an_error_in_the_middle_starts_no_second_answer() -> None:
    sent: list[Message] = []

    async def breaking(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        guarded(breaking, Context([]), sent)
    assert [message["type"] for message in sent] == ["http.response.start"]


def test_healthz_reports_a_stopped_model() -> None:
    served = models(FakeEditor())
    with serving(Context(served)) as client:
        served[0].worker.close()
        answer = client.get("/healthz")
        assert answer.status == 503 and "restart the server" in answer.json["status"]


def test_an_error_puts_no_text_and_no_traceback_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving(Context(models(FakeEditor()))) as client:
        answer = client.edit("crash: a secret")
        assert answer.status == 500
        assert "log" in answer.error and "secret" not in answer.text
        client.edit("another secret"), client.get("/secret?secret"), client.form("/v2/check", {"text": "secret"})
        assert client.edit("teh").status == 200
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("RuntimeError at ") and ", line " in line for line in lines)
    assert any(line.startswith("POST /v1/edit: 200, ") for line in lines)
    assert any(line.startswith("GET another path: 404, ") for line in lines)
    assert "secret" not in caplog.text and "Traceback" not in caplog.text


def test_log_text_puts_the_texts_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving(Context(models(FakeEditor()), log_text=True)) as client:
        client.edit("teh", "a\nb"), client.get("/healthz")
    assert [line for line in caplog.messages if line.startswith("text: ")] == ["text: ['teh', 'a\\nb']"]


def test_every_answer_has_security_headers(server: Client) -> None:
    for answer in (server.get("/healthz"), server.get("/nothing"), server.edit("a"), server.get("/")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers
    policy = server.get("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; connect-src 'self'; style-src 'sha256-")
    assert "unsafe" not in policy and policy.endswith("frame-ancestors 'none'")


def test_malformed_requests_leave_the_server_running(server: Client) -> None:
    draw = random.Random(1)
    pieces = [b'{"texts": [', b'"teh"', b"]}", b"<script>alert(1)</script>", b"[" * 30, b'"\\ud800"', b"=" * 50]
    pieces += [b"\r\n\r\n", *b'\xff\xfe \x00 { } " 1e999 null true &text= % %zz language=en'.split()]
    paths = ["/v1/edit", "/v1/label", "/v2/check", "/v2/words/add", "/v2/words/delete", "/v1/models", "/%00", "/../.."]
    statuses = set()
    for number in range(300):
        body = b"".join(draw.choices(pieces, k=draw.randrange(12)))
        head = b"%s %s HTTP/1.1\r\n" % (draw.choice([b"POST", b"GET", b"PUT", b"\x00"]), draw.choice(paths).encode())
        fields = [b"Host: localhost", b"Connection: close", b"Content-Type: x/y", b"Content-Length: %d" % len(body)]
        if number % 7 == 0:
            fields[draw.randrange(4)] = draw.choice([b"Content-Length: -1", b"x" * 70_000, b"Transfer-Encoding: gzip"])
        cut = draw.choice([None, None, None, 20])
        content = (head + b"\r\n".join(fields) + b"\r\n\r\n" + body)[:cut]
        with suppress(OSError):  # the server may close the connection at once
            response = server.raw(content, ends=number % 50 > 0)
            assert b"Traceback" not in response
            statuses.add(response[9:12])
    assert {b"400", b"404", b"405"} < statuses and b"500" not in statuses
    assert server.edit("teh").json["results"][0]["text"] == "the"
