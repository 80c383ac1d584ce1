"""``bench/translation.py`` runs and says what it promises, with a stand-in for its peer. Never its speeds."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from bench import peer as bench_peer
from bench import translation, weights
from bench.systems import Size, ours
from lev_plugins.errors import UserError
from tests.integration.commands import LEVT
from tests.integration.stand_in import StandIn

SIZE = Size(dim=16, ffn_dim=32, heads=2, layers=2, words=60)


def test_every_system_is_measured(peer: StandIn, tmp_path: Path, capsys: Any) -> None:
    translation.main(["--quick", "--out", str(tmp_path / "found.json")])
    assert peer.converted == [("float32", None), ("int8", "int8"), ("int8", "int8")]
    assert {search["beam_size"] for search in peer.searches} == {1, 4}
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    lines = found["translation"]
    names = [f"{name}, {precision}" for name in ("levt", "levt_fast") for precision in ("fp32", "int8")]
    names += ["CTranslate2, float32, beam 1", "CTranslate2, int8, beam 1", "CTranslate2, int8, beam 4"]
    names += ["CTranslate2 as levt_fast, int8, beam 1"]
    assert [(line["batch"], line["system"]) for line in lines] == [
        (batch, name) for batch in (1, 100) for name in names
    ]
    for line in lines:
        assert line["sentences_per_second"] > 0 and line["bleu"] is None
        assert (line["iterations_mean"] is None) == line["system"].startswith("CTranslate2")
        assert line["ratio"]["median"] == 1 or line["system"] != translation.THEIRS
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("|")]
    assert shown[0].startswith("| batch | system |") and len(shown) == 2 + len(lines)


def test_a_model_grows_to_any_depth_and_says_the_same() -> None:
    """The added blocks add nothing."""
    torch.manual_seed(1)
    small = weights.train_narrow(SIZE, updates=2, batch=4, rate=1e-3)
    grown = weights.grow(small, 2, (5, 3), SIZE.words)
    row = weights.sentences(1, SIZE.words, seed=3)[0][None]
    logits = []
    for each in (small, grown):
        model = ours(each).model.eval()
        states = model.decoder.states("deletion", row, model.encode(row))
        logits.append(model.decoder.deletion_logits(states))
    assert (len(model.encoder.layers), len(model.decoder.stack("shared"))) == (5, 3)
    assert torch.allclose(*logits, atol=1e-5)


def test_scores_are_of_sentences_in_their_order() -> None:
    outputs = [["▁b"], ["▁a", "▁long", "er", "▁line", "▁of", "▁words"]]
    assert translation.bleu(outputs, [1, 0], ["a longer line of words", "b"]) == pytest.approx(100)
    assert translation.bleu(outputs, [0, 1], ["a longer line of words", "b"]) < 50


def test_models_of_the_example_are_scored(peer: StandIn, toy: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    for name in ("average", "binarise", "pieces", "levt"):
        (run / name).mkdir(parents=True)
    (run / "binarise" / "data").symlink_to(toy)
    (run / "average" / "teacher.pt").write_bytes(b"")
    (run / "levt" / "checkpoint_best.pt").symlink_to(LEVT)
    (run / "pieces" / "test.reference").write_text("v1 v2\n" * 8, encoding="utf-8")
    peer.checks = False  # there is no real teacher, and outputs end where they end
    translation.main(["--run", str(run), "--sentences", "5", "--out", str(tmp_path / "found.json")])
    lines = json.loads((tmp_path / "found.json").read_text("utf-8"))["translation"]
    assert [(line["batch"], line["sentences"]) for line in lines] == [(1, 5)] * 5 + [(100, 5)] * 5
    assert all(line["bleu"] is not None for line in lines)
    assert [line["iterations_mean"] is not None for line in lines] == [True, True, False, False, False] * 2


def test_what_it_refuses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench_peer, "find_spec", lambda _: None)
    with pytest.raises(UserError, match="ctranslate2 is not installed: pip install ctranslate2"):
        translation.main(["--quick"])
    monkeypatch.setattr(bench_peer, "find_spec", lambda _: object())
    with pytest.raises(UserError, match=r"has no average/teacher.pt: give the folder OUT of examples/translation"):
        translation.main(["--run", str(tmp_path)])
