"""``bench/serve.py`` runs and says what it promises. Never its speeds."""

import json
from pathlib import Path

import pytest

from bench import serve
from lev_plugins.errors import UserError
from tests.unit.test_editor import GOLDEN, LEVT, NOISES, NOISY, SOURCES

SPREAD = {"median", "lower_quartile", "upper_quartile", "measurements"}
PBD = [str(GOLDEN / "pbd" / "checkpoint.pt"), "--data", str(NOISY), "--bpe", "chars"]


@pytest.mark.slow
def test_a_server_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = tmp_path / "texts"
    texts.write_text("".join(f"{text}\n\n" for text in NOISES), "utf-8")
    out = tmp_path / "found.json"
    serve.main([*PBD, "--beam", "2", "--texts", str(texts), "--quick", "--out", str(out)])
    found = json.loads(out.read_text("utf-8"))
    assert {"machine", "versions", "clock", "goal", "texts"} <= set(found) and found["texts"]["sentences"] == 16
    assert 0 < found["latency_seconds"]["p50"] <= found["latency_seconds"]["p99"]
    for name in ("one_client_sentences_per_second", "64_clients_sentences_per_second", "ratio", "start_seconds"):
        assert set(found[name]) == SPREAD
    shown = capsys.readouterr().err
    assert "| 64 clients |" in shown and "| ratio (goal: 3) |" in shown


@pytest.mark.slow
def test_loading_is_measured() -> None:
    found = serve.load_seconds(str(GOLDEN / "levt" / "checkpoint.pt"), str(LEVT), SOURCES[0], 1)
    assert found is not None and found["median"] > 0
    assert serve.load_seconds("none", "", "text", 1) is None


def test_a_server_that_does_not_start_and_texts_without_any(tmp_path: Path) -> None:
    (tmp_path / "texts").write_text("a\n")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(UserError, match=r"the server does not start: try .* -m lev_plugins serve none --cpu --port 0"):
        serve.main(["none", "--texts", str(tmp_path / "texts"), "--quick"])
    with pytest.raises(UserError, match="empty is empty: name a file with sentences, one per line"):
        serve.main(["none", "--texts", str(tmp_path / "empty")])
