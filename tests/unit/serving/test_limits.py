"""Who may send a request, and how large and slow it may be."""

import json
import time

import pytest

from lev_plugins.serving.context import Context
from lev_plugins.serving.limits import Access
from tests.helpers import mentions
from tests.serving import SECONDS, Client, FakeEditor, models, serving

TOKEN = "correct-horse-battery"


def chunked(*parts: bytes) -> bytes:
    head = b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def test_a_chunked_body_counts_towards_the_limit(server: Client) -> None:
    assert server.raw(chunked(15_000 * b" ", 15_000 * b" ")).startswith(b"HTTP/1.1 413 ")
    assert server.raw(chunked(b'{"texts"', b': ["teh"]}', b"")).startswith(b"HTTP/1.1 200 ")


def test_a_large_content_length_is_refused_before_the_body(server: Client) -> None:
    response = server.raw(
        b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 20001\r\n\r\n"
    )
    assert response.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
def test_a_client_that_sends_all_before_it_reads_gets_the_refusal(server: Client, host: str) -> None:
    """With "Connection: close", as urllib sends it, a closed connection would reset what the client has not read."""
    for _ in range(5):
        answer = server.ask("POST", "/v1/edit", b" " * 5_000_000, Connection="close", Host=host)
        assert answer.status == {"localhost": 413, "evil.example": 403}[host]


def test_a_slow_request_gets_status_408(server: Client) -> None:
    start = time.monotonic()
    response = server.raw(b'POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"te')
    head, body = response.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ") and f"content-length: {len(body)}".encode() in head.lower()
    assert "the request did not arrive" in json.loads(body)["error"]
    assert time.monotonic() - start > SECONDS - 0.1  # it has waited for the rest


def test_unknown_hosts_are_refused() -> None:
    hosts = ("localhost", "127.0.0.1", "[::1]", "Text.example", "port.example:8443")
    allowed = ("localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8081", "[::1]", "text.example", "port.example:8443")
    with serving(Context(models(FakeEditor()), Access(hosts=hosts))) as client:
        for host in allowed:
            assert client.get("/healthz", Host=host).status == 200
        for host in ("evil.example", "localhost.evil.example", "text.example.", "127.0.0.2", "", "a@localhost"):
            answer = client.get("/healthz", Host=host)
            assert answer.status == 403 and f"'{host}'" in answer.error
        assert b" 403 " in client.raw(b"GET /healthz HTTP/1.0\r\n\r\n")


def test_origins_are_refused_unless_allowed() -> None:
    access = Access(origins=("https://mail.example", "moz-extension://42", "https://Other.example:443"))
    with serving(Context(models(FakeEditor()), access)) as client:
        for origin in ("https://mail.example", "moz-extension://42", "https://other.example"):  # as browsers send them
            answer = client.post("/v1/edit", {"texts": ["teh"]}, Origin=origin)
            assert answer.status == 200 and answer.headers["access-control-allow-origin"] == origin
            assert answer.headers["vary"] == "Origin"
            preflight = client.ask("OPTIONS", "/v2/check", Origin=origin, Access_Control_Request_Method="POST")
            assert preflight.status == 200 and "POST" in preflight.headers["access-control-allow-methods"]
            assert preflight.headers["access-control-allow-origin"] == origin
        for origin in ("https://evil.example", "null", "https://mail.example.evil.example", "http://mail.example"):
            answer = client.form("/v2/words/add", {"word": "x"}, Origin=origin)
            assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
            assert mentions(answer.text, f"--allow-origin {origin}")
            assert client.ask("OPTIONS", "/v2/check", Origin=origin).status == 403
        for origin in (f"http://127.0.0.1:{client.port}", f"https://127.0.0.1:{client.port}"):
            assert client.post("/v1/edit", {"texts": []}, Origin=origin).status == 200
            assert "access-control-allow-origin" not in client.get("/healthz", Origin=origin).headers


def test_preflight_requests_need_no_token_but_an_allowed_origin(caplog: pytest.LogCaptureFixture) -> None:
    """The log names a refused origin; pages of an allowed origin can read why their requests are refused."""
    page, evil, ask = "https://mail.example", "https://evil.example", {"Access_Control_Request_Method": "POST"}
    with (
        caplog.at_level("INFO"),
        serving(Context(models(FakeEditor()), Access(token=TOKEN, origins=(page,)))) as client,
    ):
        assert client.ask("OPTIONS", "/v1/edit", Origin=page, **ask).status == 200
        refusal = client.post("/v1/edit", {"texts": ["teh"]}, Origin=page)
        assert (refusal.status, refusal.headers["access-control-allow-origin"]) == (401, page)
        assert client.ask("OPTIONS", "/v1/edit", Origin=evil, **ask).status == 400
    assert mentions(caplog.text, f"--allow-origin {evil}")


def test_requests_need_the_token() -> None:
    with serving(Context(models(FakeEditor()), Access(token=TOKEN))) as client:
        assert client.get("/healthz").status == client.get("/").status == 200
        for path in ("/v1/models", "/v2/languages", "/v2/maxtextlength", "/v2/info", "/v2/words"):
            missing = client.get(path)
            assert missing.status == 401 and missing.headers["www-authenticate"] == "Bearer"
            assert "Authorization: Bearer TOKEN" in missing.text
            for wrong in ("Bearer wrong", f"Bearer {TOKEN}x", "Bearer \xe9", f"Bearer {TOKEN[:-1]}"):
                assert "the token is wrong" in client.get(path, Authorization=wrong).text
            assert client.get(path, Authorization=f"Basic {TOKEN}").status == 401
            assert client.get(path, Authorization=f"bearer {TOKEN}").status == 200
        assert client.edit("teh").status == 401
        form = {"language": "en", "text": "teh", "username": "me"}
        assert client.form("/v2/check", form).status == 401
        assert client.form("/v2/check", {**form, "apiKey": "wrong"}).status == 401
        assert client.form("/v2/check", {**form, "apiKey": TOKEN}).status == 200
        assert client.get(f"/v2/words?apiKey={TOKEN}").status == 200
        assert TOKEN not in repr(Access(token=TOKEN))
