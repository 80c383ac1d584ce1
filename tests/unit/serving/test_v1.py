"""``/v1``: texts, drafts and labels as JSON, from a real server on a real socket."""

import json

import pytest

from lev_plugins.serving.context import Context
from tests.helpers import mentions
from tests.serving import DIALS, Client, FakeEditor, FakeLabeller, models, serving


def test_an_edit_request_answers_the_json_of_edit(server: Client) -> None:
    answer = server.edit("teh 😀 tset\n", "", "fine")
    assert answer.status == 200 and answer.headers["content-type"] == "application/json"
    option = {"replacement": "then", "confidence": 0.05}
    the = {"start": 0, "end": 3, "replacement": "the", "confidence": 0.9, "iteration": 1, "alternatives": [option]}
    test = {"start": 6, "end": 10, "replacement": "test", "confidence": 0.8, "iteration": 1, "alternatives": []}
    assert answer.json == {
        "model": "m1",
        "results": [
            {"text": "the 😀 test\n", "edits": [the, test]},
            {"text": "", "edits": []},
            {"text": "fine", "edits": []},
        ],
    }
    assert server.edit().json["results"] == []


def test_fields_of_an_edit_request_are_used(server: Client) -> None:
    def texts(*lines: str, **fields: object) -> list[str]:
        return [result["text"] for result in server.edit(*lines, **fields).json["results"]]

    assert texts("teh tset", min_confidence=0.85) == ["the tset"]
    assert texts("teh tset", min_confidence="write") == texts("teh tset", min_confidence=0.85)
    assert texts("teh tset", min_confidence=0) == texts("teh tset", min_confidence=0.0) == ["the test"]
    assert texts("teh tset Tset", words=["tset"]) == ["the tset Tset"]
    assert texts("x", drafts=["teh ⟦+⟧"], model="m2") == ["the new "]
    assert texts("teh", model="m2") == ["the"]


def test_of_a_text_with_a_file_name_only_the_prose_is_edited(server: Client) -> None:
    text = "Here is teh end.\n\n    tset\n"
    answer = server.edit(text, filename="a.md").json
    assert answer["results"][0]["text"] == "Here is the end.\n\n    tset\n"
    assert server.edit(text, filename="a.xyz").json == server.edit(text).json


def test_an_edit_request_reports_the_terms_of_its_glossary(server: Client) -> None:
    answer = server.edit("teh hat", "no", drafts=["der Hut", "nein"], model="m2", glossary="hat\tHut\n\nteh\tDer\n")
    assert [result.get("terms") for result in answer.json["results"]] == [
        [{"source": "teh", "target": "Der", "used": False}, {"source": "hat", "target": "Hut", "used": True}],
        None,
    ]
    refused = server.edit("a", glossary="hat\tHut\nhat Mütze")
    assert refused.status == 400
    assert mentions(refused.error, "glossary line 2 TAB 'hat Mütze'")


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
        {"name": "m2", "kind": "edit", "drafts": True, "min_confidence": 0.0, "dials": DIALS},
        {"name": "m3", "kind": "label", "drafts": False},
    ]
    assert answer["max_text"] == 2000
    assert server.get("/healthz").json == {"status": "ok"}
    assert server.get("/healthz/").json == {"status": "ok"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "JSON object"),
        ({}, "'texts'"),
        ({"texts": ["a", 1]}, "texts list[str] ['a', 1]"),
        ({"texts": ["a"], "min_confidence": 1.5}, "min_confidence 1.5"),
        ({"texts": ["a"], "min_confidence": "hook"}, "min_confidence 'hook' read write"),
        ({"texts": ["a"], "model": "gpt"}, "gpt m1 m2"),
        ({"texts": ["a"], "drafts": ["b"]}, "drafts levt m1"),
        ({"texts": ["a"], "drafts": [], "model": "m2"}, "0 drafts 1 texts"),
        ({"texts": ["a"], "drafts": ["⟦!b"], "model": "m2"}, "closed ⟧"),
        ({"texts": ["a"], "drafts": ["b"], "model": "m2", "filename": "a.md"}, "filename drafts"),
        ({"texts": ["\ud800"]}, "JSON '\\ud800'"),
    ],
)
def test_unusable_fields_are_named(server: Client, content: object, message: str) -> None:
    answer = server.post("/v1/edit", content)
    assert answer.status == 400 and mentions(answer.error, message)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "JSON"),
        (b'{"texts": ["a"], "min_confidence": NaN}', 400, "min_confidence finite nan"),
        (15_000 * b"[", 400, "JSON recursion"),
        (b'{"texts": [1' + 5_000 * b"0" + b"]}", 400, "JSON"),
        (b" " * 20_001, 413, "20,000 bytes"),
        (json.dumps({"texts": ["a" * 2001]}).encode(), 413, "2,001 2,000"),
        (json.dumps({"texts": [""] * 101}).encode(), 413, "20 2,020"),
    ],
)
def test_malformed_or_large_bodies_are_refused(server: Client, body: bytes, status: int, message: str) -> None:
    answer = server.ask("POST", "/v1/edit", body)
    assert answer.status == status and mentions(answer.error, message)


def test_a_server_of_labellers_refuses_edits() -> None:
    with serving(Context(models(FakeLabeller()))) as client:
        assert "no model that can edit" in client.edit("a").error
        assert client.form("/v2/check", {"language": "en", "text": "a"}).status == 400


def test_too_many_words_are_refused() -> None:
    with serving(Context(models(FakeEditor()))) as client:
        answer = client.post("/v1/edit", {"texts": ["teh"], "words": ["b" * 100] * 1_001})
        assert answer.status == 400 and mentions(answer.error, "words 100000 100100")
