"""Requests that wait for a model."""

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lev_plugins.editor.options import EditRequest
from lev_plugins.serving.context import MIN_TEXT_SIZE, Context, TextToLabel, label_texts, size_of
from tests.helpers import mentions
from tests.serving import LIMITS, FakeEditor, FakeLabeller, models, serving


def test_a_busy_model_batches_its_queue_and_refuses_what_exceeds_it() -> None:
    """One waiting client leaves and another one comes; one request too many is refused; the others share a batch."""
    editor = FakeEditor()
    served = models(editor, max_waiting=2)
    worker = served[0].worker
    with serving(Context(served), seconds=20) as client, ThreadPoolExecutor(8) as pool:
        editor.free.clear()
        running_request = pool.submit(client.edit, "teh")
        assert editor.begun.wait(5)
        waiting_request = pool.submit(client.edit, "go")
        until(lambda: len(worker.waiting) == 1)
        with socket.create_connection(("127.0.0.1", client.port)) as leaving:
            body = b'{"texts": ["left"]}'
            head = b"POST /v1/edit HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
            leaving.sendall(head + body)
            until(lambda: len(worker.waiting) == 2)
            full = client.edit("tset")
            assert full.status == 503 and full.headers["retry-after"] == "1"
            assert "too many requests" in full.error
        until(lambda: worker.waiting[1].answers.cancelled())
        late_request = pool.submit(client.edit, "tset")
        until(lambda: not any(job.answers.cancelled() for job in worker.waiting))
        editor.free.set()
        texts = [
            request.result().json["results"][0]["text"] for request in (running_request, waiting_request, late_request)
        ]
        assert texts == ["the", "goes", "test"] and editor.calls == [["teh"], ["go", "tset"]]


def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("nothing happened for five seconds")


def test_an_answer_after_the_time_limit_gets_status_503() -> None:
    editor = FakeEditor()
    with serving(Context(models(editor), limits=LIMITS)) as client:
        editor.free.clear()
        late = client.edit("teh")
        editor.free.set()
        assert late.status == 503 and late.headers["retry-after"] == "1"
        assert mentions(late.error, "1 seconds")
        assert client.edit("teh").json["results"][0]["text"] == "the"


def test_the_server_stops_while_a_model_is_busy() -> None:
    editor = FakeEditor()
    with serving(Context(models(editor), limits=LIMITS)) as client:  # fails if the server has not stopped at the end
        editor.free.clear()
        assert client.edit("teh").status == 503
    editor.free.set()


def test_drafts_and_texts_share_a_batch() -> None:
    editor = FakeEditor(drafts=True)
    texts = [EditRequest("teh"), EditRequest("source", "a ⟦+⟧ tset"), EditRequest("go", min_confidence=0.8)]
    (model,) = models(editor)
    assert [edited.text for edited in asyncio.run(model.worker.answers(texts))] == ["the", "a new test", "go"]
    assert editor.calls == [["teh", "source", "go"]]


def test_the_size_of_a_text_is_at_least_a_minimum() -> None:
    assert size_of(EditRequest("a" * 20, "de")) == 22
    assert size_of(TextToLabel(("a" * 20, "c"))) == size_of(EditRequest("a" * 21)) == 21
    short = EditRequest("abc", "de"), TextToLabel(("ab", "c")), EditRequest("")
    assert [*map(size_of, short)] == [MIN_TEXT_SIZE] * 3
    assert size_of(TextToLabel(("",) * 3_000)) == 3_000


def test_scores_are_returned_to_requests_that_want_them() -> None:
    plain, scored = label_texts(FakeLabeller(), [TextToLabel("good good bad"), TextToLabel("good bad", scores=True)])
    assert plain == {"label": "good", "score": 0.6667}
    assert scored["all_scores"] == {"bad": 0.5, "good": 0.5}
