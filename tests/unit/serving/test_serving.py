"""``/v1`` and what keeps the server safe: a real server on a real socket, with an editor that needs no model."""

import asyncio
import json
import logging
import random
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lev_plugins.cli.named import named_paths
from lev_plugins.cli.serve import load_models
from lev_plugins.errors import UserError
from lev_plugins.serving.app import Guard
from lev_plugins.serving.context import LEAST, Context, Passage, edited, labelled
from lev_plugins.serving.limits import Access, Limits
from lev_plugins.serving.queue import Full, Worker
from lev_plugins.text.own_words import WordList
from lev_plugins.text.protected import OwnWords
from tests.serving import SECONDS, Client, FakeEditor, FakeLabeller, models, serving

TOKEN = "correct-horse-battery"
LIMITS = Limits(most_bytes=20_000, most_text=2_000, seconds=SECONDS)


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    """Two editors, of which the second knows drafts, and a labeller."""
    given = models(FakeEditor(), FakeEditor(drafts=True), FakeLabeller())
    with serving(Context(given, limits=LIMITS)) as client:
        yield client


def test_texts_become_what_edit_prints(server: Client) -> None:
    answer = server.edit("teh 😀 tset\n", "", "fine")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    other = {"replacement": "then", "confidence": 0.05}
    first = {"start": 0, "end": 3, "replacement": "the", "confidence": 0.9, "iteration": 1, "others": [other]}
    second = {"start": 6, "end": 10, "replacement": "test", "confidence": 0.8, "iteration": 1, "others": []}
    assert answer.json == {
        "model": "m1",
        "results": [
            {"text": "the 😀 test\n", "edits": [first, second]},
            {"text": "", "edits": []},
            {"text": "fine", "edits": []},
        ],
    }
    assert server.edit().json["results"] == []


def test_confidence_drafts_models_and_words(server: Client) -> None:
    def texts(*given: str, **fields: object) -> list[str]:
        return [result["text"] for result in server.edit(*given, **fields).json["results"]]

    assert texts("teh tset", min_confidence=0.85) == ["the tset"]
    assert texts("teh tset", min_confidence=0) == texts("teh tset", min_confidence=0.0) == ["the test"]
    assert texts("teh tset Tset", words=["tset"]) == ["the tset Tset"]
    assert texts("x", drafts=["teh ⟦+⟧"], model="m2") == ["the new "]
    assert texts("teh", model="m2") == ["the"]


def test_labels(server: Client) -> None:
    answer = server.post("/v1/label", {"texts": ["good film", ["good", "good", "bad"]], "scores": False})
    assert answer.json["model"] == "m3"
    assert [each["label"] for each in answer.json["results"]] == ["bad", "good"]
    scored = server.post("/v1/label", {"texts": ["good"], "scores": True}).json["results"]
    assert scored == [{"label": "good", "score": 1.0, "all_scores": {"bad": 0.0, "good": 1.0}}]
    assert server.post("/v1/label", {"texts": [""]}).error == "line 1 has no words"


def test_models_and_health(server: Client) -> None:
    answer = server.get("/v1/models").json
    assert answer["models"][1:] == [
        {"name": "m2", "kind": "edit", "drafts": True, "min_confidence": 0.0},
        {"name": "m3", "kind": "label", "drafts": False},
    ]
    assert answer["max_text"] == 2000
    assert server.get("/healthz").json == {"status": "ok"}
    assert server.get("/healthz/").json == {"status": "ok"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "the request is not a JSON object"),
        ({}, "the request has no entry 'texts'"),
        ({"texts": "a"}, "the request: texts must be a list of text, but is 'a'"),
        ({"texts": ["a", 1]}, "the request: texts must be a list of text, but is ['a', 1]"),
        ({"texts": ["a"], "text": "a"}, "the request has an unknown entry 'text'"),
        ({"texts": ["a"], "min_confidence": True}, "min_confidence must be a finite number or null, but is True"),
        ({"texts": ["a"], "min_confidence": 1.5}, "min_confidence must be between 0 and 1, but is 1.5"),
        ({"texts": ["a"], "words": None}, "words must be a list of text, but is None"),
        ({"texts": ["a"], "model": "gpt"}, "no model called gpt can edit; these can: m1, m2"),
        ({"texts": ["a"], "drafts": ["b"]}, "drafts are for a levt, but m1 edits the text itself"),
        ({"texts": ["a"], "drafts": [], "model": "m2"}, "there are 0 drafts for 1 texts: send one for each"),
        ({"texts": ["a"], "drafts": ["⟦!b"], "model": "m2"}, "is not closed: add ⟧ where it ends"),
        ({"texts": ["\ud800"]}, "the request is not valid JSON ('utf-8' codec can't encode character '\\ud800'"),
    ],
)
def test_wrong_fields_are_named(server: Client, given: object, message: str) -> None:
    answer = server.post("/v1/edit", given)
    assert answer.status == 400 and message in answer.error


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "the request is not valid JSON (Expecting value"),
        (b'{"texts": ["a"]', 400, "the request is not valid JSON (Expecting ',' delimiter"),
        (b'{"texts": ["a"], "min_confidence": NaN}', 400, "min_confidence must be a finite number or null, but is nan"),
        (b'{"texts": ["\xff"]}', 400, "can't decode byte 0xff in position 12"),
        (15_000 * b"[", 400, "the request is not valid JSON (maximum recursion depth exceeded"),
        (b'{"texts": [1' + 5_000 * b"0" + b"]}", 400, "the request is not valid JSON"),
        (b" " * 20_001, 413, "the request has more than 20,000 bytes: send a shorter text"),
        (json.dumps({"texts": ["a" * 2001]}).encode(), 413, "the text has 2,001 characters, but the limit is 2,000"),
        (json.dumps({"texts": [""] * 101}).encode(), 413, "each counted as at least 20, have 2,020 characters"),
    ],
)
def test_wrong_bodies_are_refused(server: Client, body: bytes, status: int, message: str) -> None:
    answer = server.ask("POST", "/v1/edit", body)
    assert answer.status == status and message in answer.error


def test_wrong_paths_and_methods(server: Client) -> None:
    answer = server.get("/v1/elephants")
    assert answer.status == 404 and "the paths are /, /healthz, /v1/models, /v1/edit" in answer.error
    answer = server.get("/v1/edit")
    assert answer.status == 405 and answer.headers["allow"] == "POST"
    assert answer.error == "GET is not possible here: use POST"


def test_a_server_of_one_kind_says_what_it_lacks() -> None:
    with serving(Context(models(FakeLabeller()))) as client:
        assert "this server has no model that can edit: start it with one" in client.edit("a").error
        assert client.form("/v2/check", {"language": "en", "text": "a"}).status == 400


# ---- size, time, order -----------------------------------------------------------------------------------------------


def chunked(*parts: bytes) -> bytes:
    head = b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def test_a_body_without_a_length_is_counted(server: Client) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(chunked(15_000 * b" ", 15_000 * b" "))
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(chunked(b'{"texts"', b': ["teh"]}', b""))
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_a_slow_request_is_given_up(server: Client) -> None:
    start = time.monotonic()
    got = server.raw(b'POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"te')
    head, body = got.split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ") and f"content-length: {len(body)}".encode() in head.lower()
    assert "the request did not arrive" in json.loads(body)["error"]
    assert SECONDS - 0.1 < time.monotonic() - start < SECONDS + 2


def test_a_client_that_does_not_read_is_given_up() -> None:
    """Its answers fill the socket, and the server would wait for ever to write more."""
    late = threading.Event()

    async def endless(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            late.set()
            raise

    async def keep(message: Message) -> None:
        assert message["type"].startswith("http.response")

    guarded(endless, Context([], limits=Limits(seconds=0.05)), keep)
    assert late.is_set()


def guarded(app: ASGIApp, context: Context, send: Send) -> None:
    """A request to what the guard stands in front of."""
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")], "query_string": b""}
    asyncio.run(Guard(app, context)(scope, lambda: None, send))  # type: ignore[arg-type]


def test_what_a_client_sends_does_not_reach_the_terminal(server: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert server.get("/v1/models", Origin="\x1b[2J").status == 403
    assert "\x1b" not in caplog.text and r"\u001b[2J" in caplog.text


def test_a_client_that_leaves_before_its_request_is_complete(server: Client, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
        time.sleep(0.1)
    assert server.edit("teh").status == 200 and not [r for r in caplog.records if r.levelname == "ERROR"]


def test_an_answer_that_has_begun_is_not_begun_again() -> None:
    sent = []

    async def breaking(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("halfway")

    async def keep(message: Message) -> None:
        sent.append(message["type"])

    with pytest.raises(RuntimeError, match="halfway"):
        guarded(breaking, Context(models()), keep)
    assert sent == ["http.response.start"]


def test_a_busy_model() -> None:
    """Of those who wait, one leaves and one more comes; one too many is sent away; the others share a batch."""
    editor = FakeEditor()
    given = models(editor, most=2)
    worker = given[0].worker
    with serving(Context(given), seconds=20) as client, ThreadPoolExecutor(8) as pool:
        editor.free.clear()
        first = pool.submit(client.edit, "teh")
        assert editor.begun.wait(5)
        second = pool.submit(client.edit, "go")
        until(lambda: len(worker.waiting) == 1)
        with socket.create_connection(("127.0.0.1", client.port)) as leaving:
            body = b'{"texts": ["left"]}'
            head = b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            leaving.sendall(head + body)
            until(lambda: len(worker.waiting) == 2)
            full = client.edit("tset")
            assert full.status == 503 and full.headers["retry-after"] == "1"
            assert "too many requests are waiting: try again in a second" in full.error
        until(lambda: worker.waiting[1].answers.cancelled())
        late = pool.submit(client.edit, "tset")
        until(lambda: not any(job.answers.cancelled() for job in worker.waiting))
        editor.free.set()
        found = [each.result().json["results"][0]["text"] for each in (first, second, late)]
        assert found == ["the", "goes", "test"] and editor.calls == [["teh"], ["go", "tset"]]


def until(good: Callable[[], bool]) -> None:
    for _ in range(500):
        if good():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened for five seconds")


def test_an_answer_that_takes_too_long() -> None:
    editor = FakeEditor()
    with serving(Context(models(editor), limits=LIMITS)) as client:
        editor.free.clear()
        late = client.edit("teh")
        editor.free.set()
        assert late.status == 503 and late.headers["retry-after"] == "1"
        assert "there was no answer within 1 seconds: try again, or send a shorter text" in late.error
        assert client.edit("teh").json["results"][0]["text"] == "the"


def test_a_busy_model_does_not_keep_the_server_from_stopping() -> None:
    editor = FakeEditor()
    with serving(Context(models(editor), limits=LIMITS)) as client:
        editor.free.clear()
        assert client.edit("teh").status == 503
        start = time.monotonic()
    assert time.monotonic() - start < SECONDS + 3
    editor.free.set()


def test_a_model_that_has_stopped_is_told() -> None:
    given = models(FakeEditor())
    with serving(Context(given)) as client:
        given[0].worker.close()
        answer = client.get("/healthz")
        assert answer.status == 503 and "restart the server" in answer.json["status"]


# ---- who may ask -----------------------------------------------------------------------------------------------------


def test_other_hosts_are_refused() -> None:
    hosts = ("localhost", "127.0.0.1", "[::1]", "Text.example", "port.example:8443")
    own = ("localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8081", "[::1]", "text.example", "port.example:8443")
    with serving(Context(models(FakeEditor()), Access(hosts=hosts))) as client:
        for host in own:
            assert client.get("/healthz", Host=host).status == 200
        for host in ("evil.example", "localhost.evil.example", "text.example.", "127.0.0.2", "", "a@localhost"):
            answer = client.get("/healthz", Host=host)
            assert answer.status == 403 and answer.error.startswith(f"this server does not answer to the name '{host}'")
        assert b" 403 " in client.raw(b"GET /healthz HTTP/1.0\r\n\r\n")


def test_so_many_words_are_refused() -> None:
    with serving(Context(models(FakeEditor()))) as client:
        answer = client.post("/v1/edit", {"texts": ["teh"], "words": ["b" * 100] * 1_001})
        assert answer.status == 400 and "the length of all words must be at most 100000, but is 100100" in answer.error


def test_pages_of_other_origins_are_refused_unless_allowed() -> None:
    access = Access(origins=("https://mail.example", "moz-extension://42", "https://Other.example:443"))
    with serving(Context(models(FakeEditor()), access)) as client:
        assert client.get("/v1/models", Origin="https://other.example").status == 200
        for origin in access.origins:
            answer = client.post("/v1/edit", {"texts": ["teh"]}, Origin=origin)
            assert answer.status == 200 and answer.headers["access-control-allow-origin"] == origin
            assert answer.headers["vary"] == "Origin"
            asked = client.ask("OPTIONS", "/v2/check", Origin=origin, Access_Control_Request_Method="POST")
            assert asked.status == 204 and "POST" in asked.headers["access-control-allow-methods"]
            assert asked.headers["access-control-allow-origin"] == origin
        for origin in ("https://evil.example", "null", "https://mail.example.evil.example", "http://mail.example"):
            answer = client.form("/v2/words/add", {"word": "x"}, Origin=origin)
            assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
            assert f"start it with --allow-origin {origin}" in answer.text
            assert client.ask("OPTIONS", "/v2/check", Origin=origin).status == 403
        for own in (f"http://127.0.0.1:{client.port}", f"https://127.0.0.1:{client.port}"):
            assert client.post("/v1/edit", {"texts": []}, Origin=own).status == 200
            assert "access-control-allow-origin" not in client.get("/healthz", Origin=own).headers


def test_a_token() -> None:
    with serving(Context(models(FakeEditor()), Access(token=TOKEN))) as client:
        assert client.get("/healthz").status == client.get("/").status == 200
        for path in ("/v1/models", "/v2/languages", "/v2/maxtextlength", "/v2/info", "/v2/words"):
            missing = client.get(path)
            assert missing.status == 401 and missing.headers["www-authenticate"] == "Bearer"
            assert "this server needs a token: send the header 'Authorization: Bearer TOKEN'" in missing.text
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


# ---- what is told and what is not ------------------------------------------------------------------------------------


def test_no_traceback_and_no_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving(Context(models(FakeEditor()))) as client:
        answer = client.edit("crash: a secret")
        assert answer.status == 500
        assert answer.json == {"error": "the server has failed to answer: its log names the place in the code"}
        client.edit("another secret"), client.get("/secret?secret"), client.form("/v2/check", {"text": "secret"})
        assert client.edit("teh").status == 200
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("RuntimeError at ") and ", line " in line for line in lines)
    assert any(line.startswith("POST /v1/edit: 200, ") for line in lines)
    assert any(line.startswith("GET another path: 404, ") for line in lines)
    assert "secret" not in caplog.text and "Traceback" not in caplog.text


def test_the_log_has_text_where_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), serving(Context(models(FakeEditor()), log_text=True)) as client:
        client.edit("teh", "a\nb"), client.get("/healthz")
    assert [line for line in caplog.messages if line.startswith("text: ")] == ["text: ['teh', 'a\\nb']"]


def test_every_answer_has_headers_that_keep_browsers_careful(server: Client) -> None:
    for answer in (server.get("/healthz"), server.get("/nothing"), server.edit("a"), server.get("/")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "server" not in answer.headers
    policy = server.get("/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; connect-src 'self'; style-src 'sha256-")
    assert "unsafe" not in policy and policy.endswith("frame-ancestors 'none'")


def test_three_hundred_malformed_requests_leave_it_serving(server: Client) -> None:
    draw = random.Random(1)
    pieces = [b'{"texts": [', b'"teh"', b"]}", b"<script>alert(1)</script>", b"[" * 30, b'"\\ud800"', b"=" * 50]
    pieces += [b"\r\n\r\n", *b'\xff\xfe \x00 { } " 1e999 null true &text= % %zz language=en'.split()]
    paths = ["/v1/edit", "/v1/label", "/v2/check", "/v2/words/add", "/v2/words/delete", "/v1/models", "/%00", "/../.."]
    found = set()
    for number in range(300):
        body = b"".join(draw.choices(pieces, k=draw.randrange(12)))
        head = b"%s %s HTTP/1.1\r\n" % (draw.choice([b"POST", b"GET", b"PUT", b"\x00"]), draw.choice(paths).encode())
        fields = [b"Host: localhost", b"Connection: close", b"Content-Type: x/y", b"Content-Length: %d" % len(body)]
        if number % 7 == 0:
            fields[draw.randrange(4)] = draw.choice([b"Content-Length: -1", b"x" * 70_000, b"Transfer-Encoding: gzip"])
        cut = draw.choice([None, None, None, 20])
        content = (head + b"\r\n".join(fields) + b"\r\n\r\n" + body)[:cut]
        found.add(status_of(server, content, patient=number % 50 == 0))
    assert {b"400", b"404", b"405"} < found and b"500" not in found
    assert server.edit("teh").json["results"][0]["text"] == "the"


def status_of(server: Client, content: bytes, patient: bool) -> bytes:
    """Without patience, the client says that no more will come."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        try:
            connection.sendall(content)
            if not patient:
                connection.shutdown(socket.SHUT_WR)
            got = connection.recv(100)
        except OSError:
            return b"closed"
    assert b"Traceback" not in got
    return got[9:12]


# ---- names, words ----------------------------------------------------------------------------------------------------


def test_names_of_models(tmp_path: Path) -> None:
    assert named_paths(["a/typos-1.0/", "b/last.pt", "x=a=b"], "models") == {
        "typos-1.0": Path("a/typos-1.0"),
        "last": Path("b/last.pt"),
        "x": Path("a=b"),
    }
    odd = tmp_path / "a=b"
    odd.mkdir()
    assert named_paths([f"{odd}", f"y={odd}"], "models") == {"a=b": odd, "y": odd}
    with pytest.raises(UserError, match="two models are called a: name one, as in NAME=b/a"):
        named_paths(["a", "b/a"], "models")
    with pytest.raises(UserError, match="'a b': name the model with letters and digits, as in typos=b"):
        load_models(SimpleNamespace(models=["a b=b"], cpu=True, cpu_int8=False))


def test_the_list_of_words_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("teh\n\n New York \n", "utf-8")
    words = WordList(path)
    assert list(words.words) == ["teh", "New York"]
    assert words.add("Zürich") and not words.add("Zürich")
    assert words.delete("teh") and not words.delete("teh")
    assert path.read_text("utf-8") == "New York\nZürich\n"
    text = "Zürich, New York, new york"
    assert [text[a:b] for a, b in words.protected.spans(text)] == ["Zürich", "New York"]
    with pytest.raises(UserError, match="word must not contain blanks: add one at a time"):
        words.add("a b")
    with pytest.raises(UserError, match="word must have 1 to 200 characters, but has 0"):
        words.add("")
    assert WordList().protected.spans(text) == [] and WordList(tmp_path / "none").words == {}


def test_a_list_of_words_stays_private_and_linked(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "words.txt"
    real.touch(0o600)
    link.symlink_to(real)
    assert WordList(link).add("teh")
    assert link.is_symlink() and real.read_text("utf-8") == "teh\n" and real.stat().st_mode & 0o777 == 0o600


def test_many_words_with_one_beginning_take_no_longer() -> None:
    words = OwnWords(f"a {i}" for i in range(20_000))
    start = time.process_time()
    assert len(words.spans("a " * 20_000 + "7")) == 1
    assert time.process_time() - start < 2


def test_a_full_list_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lev_plugins.text.own_words.MOST_WORDS", 1)
    words = WordList()
    assert words.add("a")
    with pytest.raises(UserError, match="the list has 1 words and is full: delete some"):
        words.add("b")


def test_words_may_change_from_many_threads(tmp_path: Path) -> None:
    """Each reads the file, adds a word and writes it."""
    words = WordList(tmp_path / "words")
    threads = [threading.Thread(target=words.add, args=(f"w{number}",)) for number in range(20)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len((tmp_path / "words").read_text(encoding="utf-8").split()) == len(words.words) == 20


# ---- requests that wait are answered together, each as if it were alone ----------------------------------------------


LONG = 5.0  # seconds that no test waits


class Doubling:
    """``run`` of a worker that answers only when it may."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.begun, self.free = threading.Event(), threading.Event()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.begun.set()
        assert self.free.wait(LONG)
        if 13 in items:
            raise ValueError("13")
        return [2 * item for item in items]


def worker(run: Doubling, most: int = 10, batch_size: int = 100) -> Worker[int, int]:
    return Worker(run, lambda item: 1, most, batch_size)


async def begin(doing: Worker[int, int], run: Doubling, *requests: list[int]) -> list[asyncio.Task]:
    """The first is running, the others wait."""
    tasks = []
    for items in requests:
        tasks.append(asyncio.create_task(doing.answers(items, LONG)))
        await asyncio.sleep(0)
        await asyncio.to_thread(run.begun.wait, LONG)
    return tasks


def played(scene: Callable[[Doubling], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """As a test."""
    return lambda: asyncio.run(scene(Doubling()))


@played
async def test_what_waits_is_one_batch_and_everyone_gets_their_own(run: Doubling) -> None:
    doing = worker(run)
    tasks = await begin(doing, run, [1], [2, 3], [4])
    run.free.set()
    assert await asyncio.gather(*tasks) == [[2], [4, 6], [8]]
    assert run.batches == [[1], [2, 3, 4]]
    doing.close()


@played
async def test_a_batch_has_a_size_and_one_request_always_fits(run: Doubling) -> None:
    doing = worker(run, batch_size=3)
    tasks = await begin(doing, run, [0], [1, 2], [3, 4], [5, 6, 7, 8])
    run.free.set()
    await asyncio.gather(*tasks)
    assert run.batches == [[0], [1, 2], [3, 4], [5, 6, 7, 8]]
    doing.close()


@played
async def test_a_request_that_fails_fails_alone(run: Doubling) -> None:
    doing = worker(run)
    tasks = await begin(doing, run, [1], [13], [2])
    run.free.set()
    first, failed, last = await asyncio.gather(*tasks, return_exceptions=True)
    assert (first, last) == ([2], [4]) and isinstance(failed, ValueError)
    assert run.batches == [[1], [13, 2], [13], [2]]
    doing.close()


@played
async def test_closing_answers_what_waits_and_takes_no_more(run: Doubling) -> None:
    doing = worker(run)
    tasks = await begin(doing, run, [1], [2])
    run.free.set()
    await asyncio.to_thread(doing.close)
    assert await asyncio.gather(*tasks) == [[2], [4]]
    with pytest.raises(Full):
        await doing.answers([3], LONG)
    assert not doing.thread.is_alive()


# ---- texts -----------------------------------------------------------------------------------------------------------


def test_drafts_and_texts_wait_for_the_same_model() -> None:
    editor = FakeEditor(drafts=True)
    passages = [Passage("teh"), Passage("source", "a ⟦+⟧ tset"), Passage("go", least=0.8)]
    assert [one.text for one in edited(editor, passages)] == ["the", "a new test", "go"]
    assert editor.calls == [["teh", "source", "go"]]


def test_how_much_a_text_counts() -> None:
    assert Passage("a" * 20, "de").size() == 22 and Passage(("a" * 20, "c")).size() == Passage("a" * 21).size() == 21
    assert Passage("abc", "de").size() == Passage(("ab", "c")).size() == Passage("").size() == LEAST
    assert Passage(("",) * 3_000).size() == 3_000


def test_each_label_is_answered_as_its_request_says() -> None:
    plain, scored = labelled(FakeLabeller(), [Passage("good good bad"), Passage("good bad", scores=True)])
    assert plain == {"label": "good", "score": 0.6667}
    assert scored["all_scores"] == {"bad": 0.5, "good": 0.5}
