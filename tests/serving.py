"""A server in this process with an editor that needs no model, and an HTTP client."""

import http.client
import json
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from lev_plugins.editor.calibration import Evidence
from lev_plugins.editor.editor import Editor, requests_of
from lev_plugins.editor.labeller import Labeller, Scored
from lev_plugins.editor.options import EditRequest
from lev_plugins.serving import running
from lev_plugins.serving.app import application
from lev_plugins.serving.context import Context, ServedModel
from lev_plugins.serving.limits import Limits
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.marks import parse_marks
from lev_plugins.text.protected import without_protected
from lev_plugins.text.sentences import sentences
from lev_plugins.utils.errors import UserError

SECONDS = 1.0  # that a request may take
DIALS = {"read": 0.3, "write": 0.85}
LIMITS = Limits(max_bytes=20_000, max_text=2_000, seconds=SECONDS)
NO_EVIDENCE = Evidence(*[0.0] * len(Evidence._fields))
CHANGES = [  # pattern, replacement, confidence
    (r"\bteh\b", "the", 0.9),
    (r"\btset\b", "test", 0.8),
    (r"\bgo\b", "goes", 0.7),
    (r"\bvery ", "", 0.6),
    (r"(?<=saw )(?=hat)", "a ", 0.4),
    (r" (?=\.)", "", 0.95),
    (r"(?<=hat)$", ".", 0.5),
]


def edits_of(text: str, changes: Sequence[Any] = CHANGES) -> list[Edit]:
    edits = []
    for pattern, replacement, confidence in changes:
        for place in re.finditer(pattern, text):
            alternatives = (Edit(*place.span(), "then", 0.05, evidence=NO_EVIDENCE),) if replacement == "the" else ()
            edits.append(Edit(*place.span(), replacement, confidence, alternatives=alternatives, evidence=NO_EVIDENCE))
    return sorted(edits)


class FakeEditor(Editor):
    """An editor that replaces patterns, and inserts "new" at the marks of a draft."""

    def __init__(self, drafts: bool = False, language: str | None = None, changes: Sequence[Any] = CHANGES):
        self.min_confidence, self.dials = 0.0, DIALS
        self.model, self.language, self.changes = SimpleNamespace(drafts=drafts), language, changes
        self.calls: list[list[str]] = []  # what was decoded together
        self.languages: list[str | None] = []  # of those of the last call
        self.free = threading.Event()  # cleared: the model is busy
        self.free.set()
        self.begun = threading.Event()

    def edit(
        self, texts: Sequence[str | EditRequest], drafts: Sequence[str | None] | None = None, first_line: int = 1
    ) -> list[Edited]:
        requests = requests_of(texts, drafts)
        self.calls.append([request.text for request in requests])
        self.languages = [request.language for request in requests]
        self.begun.set()
        assert self.free.wait(60)
        return [self.answer(request) for request in requests]

    def answer(self, request: EditRequest) -> Edited:
        draft, glossary = request.draft, request.glossary
        edited = self.one(request.text, request.language) if draft is None else self.marked(draft)
        own = (span for words in request.words for span in words.spans(edited.original))
        edited = without_protected(edited, [*own, *request.protected])
        edited = replace(edited, terms=tuple(glossary.terms_in(request.text)) if glossary else ())
        return edited.without_unsure(request.min_confidence or 0.0)

    lexicon = None

    def knows(self, word: str) -> bool:
        return word not in ("teh", "tset")

    def one(self, text: str, language: str | None = None) -> Edited:
        if "crash" in text:
            raise RuntimeError(f"no such thing: {text}")
        return Edited(text, tuple(edits_of(text, self.changes)), tuple(sentences(text, language)))

    def marked(self, draft: str) -> Edited:
        plain, marks = parse_marks(draft)
        insertions = [Edit(mark.start, mark.start, "new ", 1.0) for mark in marks if mark.kind == "+"]
        return Edited(plain, tuple(sorted([*self.one(plain).edits, *insertions])))


class FakeLabeller(Labeller):
    """A labeller whose score of "good" is the share of the words that are "good"."""

    def __init__(self) -> None:
        self.thresholds: dict[str, float] = {}
        self.kind, self.names = "classification", ["bad", "good"]

    def scored(self, texts: Any, interest: Any = (), first_line: int = 1) -> list[Scored]:
        results = []
        for text in texts:
            words = text.split() if isinstance(text, str) else list(text)
            if not words:
                raise UserError("line 1 has no words")
            good = words.count("good") / len(words)
            results.append(Scored(words, np.array([1 - good, good]), cut=len(words) > 5))
        return results


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> str:
        return str(self.json["error"])


class Client:
    def __init__(self, port: int):
        self.port = port

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Answer(
                response.status, {k.lower(): v for k, v in response.getheaders()}, response.read().decode("utf-8")
            )
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, content: Any = None, **headers: str) -> Answer:
        return self.ask("POST", path, json.dumps(content).encode(), Content_Type="application/json", **headers)

    def form(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        return self.ask(
            "POST", path, urlencode(fields).encode(), Content_Type="application/x-www-form-urlencoded", **headers
        )

    def edit(self, *texts: str, **fields: Any) -> Answer:
        return self.post("/v1/edit", {"texts": texts, **fields})

    def check(self, text: str, **fields: str) -> list[dict[str, Any]]:
        answer = self.form("/v2/check", {"language": "en-US", "text": text, **fields})
        assert answer.status == 200, answer.text
        return answer.json["matches"]

    def raw(self, content: bytes, ends: bool = False) -> bytes:
        """Returns all bytes until the server closes the connection; ``ends``: the client stops sending."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
            connection.sendall(content)
            if ends:
                connection.shutdown(socket.SHUT_WR)
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
        return b"".join(parts)


def models(*editors: Any, max_waiting: int = 256) -> list[ServedModel]:
    return [ServedModel.start(f"m{number}", model, max_waiting) for number, model in enumerate(editors, 1)]


@contextmanager
def serving(context: Context, seconds: float = SECONDS) -> Iterator[Client]:
    with running.bound("127.0.0.1", 0) as listener:
        listener.listen()
        server = running.server(application(context), seconds)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield Client(listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server has not stopped"
