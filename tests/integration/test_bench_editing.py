"""``bench/editing.py`` runs and says what it promises, with a stand-in for its peer. Never its speeds."""

import json
from pathlib import Path

import pytest

from bench import editing
from bench import peer as bench_peer
from lev_plugins.errors import UserError
from tests.integration.stand_in import StandIn


@pytest.fixture(scope="module")
def weights_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Does not exist yet: the first benchmark trains for it."""
    return tmp_path_factory.mktemp("bench_editing") / "weights.pt"


@pytest.mark.slow
def test_every_text_and_precision_is_measured(
    peer: StandIn, weights_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "found.json"
    editing.main(["--quick", "--out", str(out), "--weights", str(weights_file), "--wrong", "0,20"])
    assert peer.converted == [("int8", "int8")] and {search["beam_size"] for search in peer.searches} == {1}
    found = json.loads(out.read_text("utf-8"))
    lines = found["editing"]
    kinds = [(line["batch"], line["wrong"], line["precision"]) for line in lines]
    assert kinds == [(batch, wrong, how) for batch in (1, 100) for wrong in (0.0, 0.2) for how in ("fp32", "int8")]
    assert found["format"] == 1 and {"machine", "versions", "clock", "model"} <= found.keys()
    assert all(line["ratio"]["median"] > 0 and line["iterations_mean"] >= 1 for line in lines)
    assert all(0 <= line["sentences_right"] <= 1 for line in lines)
    shown = [line for line in capsys.readouterr().err.splitlines() if line.startswith("|")]
    assert shown[0].startswith("| words wrong | batch |") and len(shown) == 2 + len(lines)
    assert len({line.count("|") for line in shown}) == 1


@pytest.mark.slow
def test_early_exits_make_the_same_edits(peer: StandIn, weights_file: Path, tmp_path: Path) -> None:
    found = []
    for flags in ([], ["--early-exits"]):
        out = tmp_path / f"found{len(flags)}.json"
        editing.main(["--quick", *flags, "--out", str(out), "--weights", str(weights_file), "--wrong", "20"])
        found.append(json.loads(out.read_text("utf-8")))
    assert [each["model"]["early_exit"] for each in found] == ["2,2,2", "1,1,2"]
    late, early = ([(line["iterations_mean"], line["sentences_right"]) for line in each["editing"]] for each in found)
    assert early == late and all(iterations > 1 for iterations, _ in late)  # 1: nothing was edited


def test_wrong_words_are_other_words() -> None:
    from bench import weights

    vocabulary = weights.dictionary(60)
    rows = weights.sentences(50, 60, seed=1)
    text = editing.text_of(rows, 0.2, vocabulary)
    assert all(draft[0] == row[0] and draft[-1] == row[-1] for row, draft in zip(rows, text.drafts, strict=True))
    changed = sum(int(draft.ne(row).sum()) for row, draft in zip(rows, text.drafts, strict=True))
    assert 0.15 < changed / sum(len(row) - 2 for row in rows) < 0.25
    assert editing.text_of(rows, 0.0, vocabulary).drafts[3].equal(rows[3])


def test_what_it_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_peer, "find_spec", lambda _: None)
    with pytest.raises(UserError, match="ctranslate2 is not installed: pip install ctranslate2"):
        editing.main(["--quick"])
    monkeypatch.setattr(bench_peer, "find_spec", lambda _: object())
    with pytest.raises(UserError, match="--wrong must be whole numbers up to 100"):
        editing.main(["--quick", "--wrong", "5,x"])
