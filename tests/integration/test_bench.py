"""Each benchmark runs, compares what it says it compares, and writes its report. Times are never asserted."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import decode, edit, label, levt, serve, train
from tests.helpers import needs_libnat
from tests.systems import speller


@pytest.fixture
def measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(script: Any, *words: str) -> tuple[dict[str, Any], list[str]]:
        script.main([*words, "--quick", "--out", str(tmp_path / "results.json")])
        rows = [line for line in capsys.readouterr().err.splitlines() if line.startswith("|")]
        return json.loads((tmp_path / "results.json").read_text("utf-8")), rows

    return run


@pytest.mark.slow
def test_decoding_and_training_beside_fairseq(measured: Any, tmp_path: Path) -> None:
    results, rows = measured(decode, "--weights", str(tmp_path / "weights.pt"))
    peers = ["LevT", "Transformer, beam 1", "Transformer, beam 4"]
    assert [(line["batch"], line["peer"]) for line in results["decoding"]] == [(n, p) for n in (1, 100) for p in peers]
    assert len(rows) == 2 + 6 and all(line["ratio"]["median"] > 0 for line in results["decoding"])
    assert all(line["iterations"] >= 2 for line in results["decoding"] if line["peer"] == "LevT")
    again, _ = measured(decode, "--weights", str(tmp_path / "weights.pt"))  # read, not trained
    assert [line.get("iterations") for line in again["decoding"]] == [
        line.get("iterations") for line in results["decoding"]
    ]
    results, rows = measured(train)
    assert results["training"]["ratio"]["measurements"] == 2 and len(rows) == 3


def test_decoders_that_differ_are_not_compared() -> None:
    same = {"steps": 1, "tokens": torch.tensor([0, 5, 2])}, {"steps": 1, "tokens": torch.tensor([5, 2])}
    assert decode.mean_iterations([([[same[0]]], [[same[1]]])]) == 2
    with pytest.raises(AssertionError, match=r"fairseq's gives \[5, 2\] in 1 and ours \[6, 2\] in 1"):
        decode.mean_iterations([([[same[0]]], [[{**same[1], "tokens": torch.tensor([6, 2])}]])])


@needs_libnat
def test_a_model_grows_to_any_size_and_writes_the_same() -> None:
    size = levt.Size(16, 32, 2, 2, 60, updates=2, sentences=4)
    weights = levt.train(size)
    grown = levt.grow(weights, levt.Size(16, 32, 2, 2, 60, widening=2, grown_layers=5, grown_words=70))
    row, scores = levt.sentences(1, size.words, seed=3)[0][None], []
    for each in (weights, grown):
        model: Any = levt.our_system(each).model.eval()
        states = model.decoder.states("deletion", row, model.encode(row))
        scores.append(model.decoder.deletion_logits(states))
    assert len(model.encoder.layers) == 5 and len(grown.dictionary) == 70
    assert torch.allclose(*scores, atol=1e-5)


def test_labels(measured: Any) -> None:
    results, rows = measured(label)
    assert [line["batches"] for line in results["labelling"]] == ["any length", "equal length", "packed, 64"] * 6
    padded, _, packed = (line["not_padding"] for line in results["labelling"][:3])
    assert 0 < padded < packed <= 1 and len(rows) == 2 + 18


@pytest.mark.slow
def test_an_editor_and_its_server(measured: Any, tmp_path: Path) -> None:
    from lev_plugins.cli import main as cli

    system = speller(tmp_path)
    cli.main(["export", str(system.checkpoint), str(tmp_path / "out"), *system.flags])
    (tmp_path / "texts").write_text("\n".join([*system.texts, ""]), "utf-8")
    results, rows = measured(edit, str(tmp_path / "out"), str(tmp_path / "texts"))
    assert list(results["editing"]) == list(edit.ENGINES) and len(rows) == 2 + 3
    assert results["editing"]["graphs"]["lines_edited_otherwise"] == 0
    results, rows = measured(serve, str(tmp_path / "out"), "--texts", str(tmp_path / "texts"))
    assert 0 < results["serving"]["p50_milliseconds"] <= results["serving"]["p99_milliseconds"] and len(rows) == 2 + 5
