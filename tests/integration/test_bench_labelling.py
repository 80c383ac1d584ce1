"""``bench/labelling.py`` runs and says what it promises. Never its speeds."""

import json
from pathlib import Path

import pytest

from bench import labelling


def test_every_way_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labelling.main(["--quick", "--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    assert [line["rows"] for line in found["lines"]] == ["as they come", "by length", "packed, 64"] * 6
    assert all(0 < line["real_tokens"] <= 1 for line in found["lines"])
    packed, padded = (line["real_tokens"] for line in (found["lines"][2], found["lines"][0]))
    assert packed > padded
    assert "| tagging | labelling | packed, 64 |" in capsys.readouterr().err
