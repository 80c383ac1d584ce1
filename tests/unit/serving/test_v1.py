"""``/v1``: texts, drafts and labels as JSON, from a real server on a real socket."""

import json

import pytest

from lev_plugins.serving.context import Context
from tests.serving import Client, FakeEditor, FakeLabeller, models, serving


def test_an_edit_request_answers_the_json_of_edit(server: Client) -> None:
    answer = server.edit("teh 😀 tset\n", "", "fine")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    alternative = {"replacement": "then", "confidence": 0.05}
    the_edit = {
        "start": 0,
        "end": 3,
        "replacement": "the",
        "confidence": 0.9,
        "iteration": 1,
        "alternatives": [alternative],
    }
    test_edit = {"start": 6, "end": 10, "replacement": "test", "confidence": 0.8, "iteration": 1, "alternatives": []}
    assert answer.json == {
        "model": "m1",
        "results": [
            {"text": "the 😀 test\n", "edits": [the_edit, test_edit]},
            {"text": "", "edits": []},
            {"text": "fine", "edits": []},
        ],
    }
    assert server.edit().json["results"] == []


def test_fields_of_an_edit_request_are_used(server: Client) -> None:
    def texts(*lines: str, **fields: object) -> list[str]:
        return [result["text"] for result in server.edit(*lines, **fields).json["results"]]

    assert texts("teh tset", min_confidence=0.85) == ["the tset"]
    assert texts("teh tset", min_confidence=0) == texts("teh tset", min_confidence=0.0) == ["the test"]
    assert texts("teh tset Tset", words=["tset"]) == ["the tset Tset"]
    assert texts("x", drafts=["teh ⟦+⟧"], model="m2") == ["the new "]
    assert texts("teh", model="m2") == ["the"]


def test_an_edit_request_reports_the_terms_of_its_glossary(server: Client) -> None:
    answer = server.edit("teh hat", "no", drafts=["der Hut", "nein"], model="m2", glossary="hat\tHut\n\nteh\tDer\n")
    assert [result.get("terms") for result in answer.json["results"]] == [
        [{"source": "teh", "target": "Der", "used": False}, {"source": "hat", "target": "Hut", "used": True}],
        None,
    ]
    refused = server.edit("a", glossary="hat\tHut\nhat Mütze")
    assert refused.status == 400
    assert refused.error == "the glossary, line 2: must be a term, a TAB and its translation, but is 'hat Mütze'"


def test_label_requests_are_answered(server: Client) -> None:
    answer = server.post("/v1/label", {"texts": ["good film", ["good", "good", "bad"]], "scores": False})
    assert answer.json["model"] == "m3"
    assert [result["label"] for result in answer.json["results"]] == ["bad", "good"]
    scored = server.post("/v1/label", {"texts": ["good"], "scores": True}).json["results"]
    assert scored == [{"label": "good", "score": 1.0, "all_scores": {"bad": 0.0, "good": 1.0}}]
    assert server.post("/v1/label", {"texts": [""]}).error == "line 1 has no words"


def test_models_and_healthz_are_listed(server: Client) -> None:
    answer = server.get("/v1/models").json
    assert answer["models"][1:] == [
        {"name": "m2", "kind": "edit", "drafts": True, "min_confidence": 0.0},
        {"name": "m3", "kind": "label", "drafts": False},
    ]
    assert answer["max_text"] == 2000
    assert server.get("/healthz").json == {"status": "ok"}
    assert server.get("/healthz/").json == {"status": "ok"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "the request is not a JSON object"),
        ({}, "the request has no entry 'texts'"),
        ({"texts": ["a", 1]}, "the request: texts must be list[str], but is ['a', 1]"),
        ({"texts": ["a"], "min_confidence": 1.5}, "min_confidence must be between 0 and 1, but is 1.5"),
        ({"texts": ["a"], "model": "gpt"}, "no model called gpt can edit; these can: m1, m2"),
        ({"texts": ["a"], "drafts": ["b"]}, "drafts are for a levt, but m1 edits the text itself"),
        ({"texts": ["a"], "drafts": [], "model": "m2"}, "there are 0 drafts for 1 texts: send one for each"),
        ({"texts": ["a"], "drafts": ["⟦!b"], "model": "m2"}, "is not closed: add ⟧ where it ends"),
        ({"texts": ["\ud800"]}, "the request is not valid JSON ('utf-8' codec can't encode character '\\ud800'"),
    ],
)
def test_unusable_fields_are_named(server: Client, content: object, message: str) -> None:
    answer = server.post("/v1/edit", content)
    assert answer.status == 400 and message in answer.error


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "the request is not valid JSON (Expecting value"),
        (b'{"texts": ["a"], "min_confidence": NaN}', 400, "min_confidence must be finite float | None, but is nan"),
        (15_000 * b"[", 400, "the request is not valid JSON (maximum recursion depth exceeded"),
        (b'{"texts": [1' + 5_000 * b"0" + b"]}", 400, "the request is not valid JSON"),
        (b" " * 20_001, 413, "the request has more than 20,000 bytes: send a shorter text"),
        (json.dumps({"texts": ["a" * 2001]}).encode(), 413, "the text has 2,001 characters, but the limit is 2,000"),
        (json.dumps({"texts": [""] * 101}).encode(), 413, "each counted as at least 20, have 2,020 characters"),
    ],
)
def test_malformed_or_large_bodies_are_refused(server: Client, body: bytes, status: int, message: str) -> None:
    answer = server.ask("POST", "/v1/edit", body)
    assert answer.status == status and message in answer.error


def test_a_server_of_labellers_refuses_edits() -> None:
    with serving(Context(models(FakeLabeller()))) as client:
        assert "this server has no model that can edit: start it with one" in client.edit("a").error
        assert client.form("/v2/check", {"language": "en", "text": "a"}).status == 400


def test_too_many_words_are_refused() -> None:
    with serving(Context(models(FakeEditor()))) as client:
        answer = client.post("/v1/edit", {"texts": ["teh"], "words": ["b" * 100] * 1_001})
        assert answer.status == 400 and "the length of all words must be at most 100000, but is 100100" in answer.error
