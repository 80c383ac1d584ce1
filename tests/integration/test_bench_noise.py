"""``bench/noise.py`` runs and says what it promises, with a peer and without. Never its speeds."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench import noise

SPREAD = {"median", "lower_quartile", "upper_quartile", "measurements"}


def run(folder: Path) -> dict[str, Any]:
    noise.main(["--quick", "--out", str(folder / "found.json")])
    return json.loads((folder / "found.json").read_text("utf-8"))


def test_every_kind_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "nlpaug", None)  # as if it were not installed
    found = run(tmp_path)
    assert [line["kind"] for line in found["ours"]] == noise.KINDS_MEASURED
    assert all(set(line["words_per_second"]) == SPREAD for line in found["ours"])
    assert found["format"] == 1 and found["text"]["lines"] == 50 and found["text"]["words"] > 250
    assert {"machine", "versions", "clock", "goal"} <= set(found)
    assert found["nlpaug"] == []
    shown = capsys.readouterr().err
    assert "| kind | word rate 0.2 |" in shown and "nlpaug is not installed" in shown


def test_nlpaug_takes_turns_with_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    seen: list[str] = []

    class Augmenter:
        def __init__(self, *_: Any, **__: Any):
            pass

        def augment(self, line: str) -> list[str]:
            seen.append(line)
            return [line]

    for name in ("nlpaug", "nlpaug.augmenter"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for part, names in (("char", ("RandomCharAug", "KeyboardAug", "OcrAug")), ("word", ("RandomWordAug", "SplitAug"))):
        module = ModuleType(f"nlpaug.augmenter.{part}")
        for name in names:
            setattr(module, name, Augmenter)
        monkeypatch.setattr(sys.modules["nlpaug.augmenter"], part, module, raising=False)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    found = run(tmp_path)
    assert {line["kind"] for line in found["nlpaug"]} == set(noise.KINDS_MEASURED) - {"random", "run-on", "shift"}
    for line in found["nlpaug"]:
        for name in ("nlpaug_words_per_second", "ours_words_per_second", "ratio"):
            assert set(line[name]) == SPREAD
        assert line["nlpaug_white_space_kept"] == 1.0
        assert line["ours_white_space_kept"] == 1.0 or line["kind"] == "split"
    assert len(seen) == len(found["nlpaug"]) * 5 * 4  # lines, and turns: one before, two timed ones, one for the result
    assert "| kind | nlpaug, words/s |" in capsys.readouterr().err
