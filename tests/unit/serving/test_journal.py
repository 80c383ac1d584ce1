"""The journal: what people have decided about edits, in a file that ``lev-plugins adapt`` reads."""

import logging
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.cli import adapt
from lev_plugins.serving.context import Context
from lev_plugins.serving.journal import append_pairs
from tests.helpers import Refusal, mentions
from tests.serving import LIMITS, Client, FakeEditor, models, serving


def edit(start: int, end: int, replacement: str, accepted: bool | None) -> dict[str, Any]:
    return {"start": start, "end": end, "replacement": replacement, "accepted": accepted}


DECIDED_TEXT = "I saw teh\tcat. It was tset.\nHe go 😀 home. No edits here. Half open teh tset."
EDITS = [
    edit(6, 9, "the", True),
    edit(22, 26, "test", False),
    edit(31, 33, "goes", True),
    edit(34, 35, "", True),
    edit(66, 69, "the", True),
    edit(70, 74, "test", None),
]
JOURNAL_LINES = ["I saw teh cat.\tI saw the cat.", "It was tset.\tIt was tset.", "He go 😀 home.\tHe goes home."]


def test_decided_sentences_become_pairs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "journal.tsv"
    caplog.set_level(logging.INFO)
    with serving(Context(models(FakeEditor()), limits=LIMITS, journal=path)) as client:
        assert client.get("/v1/models").json["journal"] is True
        assert client.post("/v1/journal", {"text": DECIDED_TEXT, "edits": EDITS}).json == {"pairs": 3}
        assert client.post("/v1/journal", {"text": DECIDED_TEXT, "edits": []}).json == {"pairs": 0}
        assert client.post("/v1/journal", {"text": "teh", "edits": [edit(0, 3, "the", True)]}).json == {"pairs": 1}
        assert client.edit("never written").status == 200
    assert path.read_text("utf-8").splitlines() == [*JOURNAL_LINES, "teh\tthe"]
    assert path.stat().st_mode & 0o077 == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["journal.tsv"]
    assert "POST /v1/journal: 200" in caplog.text and not any(word in caplog.text for word in ("teh", "tset", "goes"))


def test_sentences_of_a_journal_end_as_in_the_language_of_the_editor(tmp_path: Path) -> None:
    text, path = "Sie kam bzw. ging am 3. Juni nach Hsue.", tmp_path / "journal.tsv"
    with serving(Context(models(FakeEditor(language="de")), limits=LIMITS, journal=path)) as client:
        client.post("/v1/journal", {"text": text, "edits": [edit(34, 38, "Haus", True)]})
    assert path.read_text("utf-8") == f"{text}\t{text.replace('Hsue', 'Haus')}\n"


def test_adapt_reads_a_journal(tmp_path: Path) -> None:
    pairs = [(f"teh {number}", f"the {number}") for number in range(99)]
    append_pairs(tmp_path / "journal.tsv", pairs[:50])
    append_pairs(tmp_path / "journal.tsv", pairs[50:])
    assert adapt.read_pairs([tmp_path / "journal.tsv"]) == pairs


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": DECIDED_TEXT}, "'edits'"),
        ({"text": "teh", "edits": [edit(0, 4, "the", True)]}, "3 characters"),
        ({"text": "teh cat", "edits": [edit(4, 7, "dog", True), edit(0, 3, "the", True)]}, "edits sorted"),
        ({"text": "teh", "edits": [{"start": 0, "end": 3}]}, "edits[0] 'replacement'"),
        ({"text": "teh", "edits": [edit(0, 3, "the", 1)]}, "edits[0] accepted bool"),  # type: ignore[arg-type]
        ({"text": "teh", "edits": [{**edit(0, 3, "the", True), "user": "me"}]}, "edits[0] 'user'"),
        ({"text": "x" * 3000, "edits": []}, "3,000 2,000"),
    ],
)
def test_malformed_requests_write_no_journal(tmp_path: Path, body: object, message: str) -> None:
    path = tmp_path / "journal.tsv"
    with serving(Context(models(FakeEditor()), limits=LIMITS, journal=path)) as client:
        answer = client.post("/v1/journal", body)
    assert answer.status in (400, 413) and mentions(answer.error, message)
    assert not path.exists()


def test_without_the_flag_there_is_no_journal(server: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert server.get("/v1/models").json["journal"] is False
    answer = server.post("/v1/journal", {"text": DECIDED_TEXT, "edits": EDITS})
    assert answer.status == 400 and mentions(answer.error, "--journal FILE")
    assert not list(tmp_path.iterdir())


def test_a_journal_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "none" / "journal.tsv"
    assert mentions(refusal("serve", "model", "--journal", path), f"--journal {path}")
