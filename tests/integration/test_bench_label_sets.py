"""``bench/label_sets.py`` runs and says what it promises. Never its speeds."""

import json
from pathlib import Path

import pytest

from bench import label_sets


def test_every_way_is_measured_at_every_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    label_sets.main(["--quick", "--out", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text("utf-8"))
    ways = {(line["labels"], line["way"]) for line in found["lines"]}
    everywhere = [name for name, (*_, asked) in label_sets.WAYS.items() if not asked]
    assert ways == {(size, name) for size in (1, 3, 10, 30) for name in everywhere} | {
        (30, "... 10 labels of interest")
    }
    assert all(line["milliseconds"]["median"] > 0 for line in found["lines"])
    shown = capsys.readouterr().err
    assert "| milliseconds | 1 | 3 | 10 | 30 |" in shown and "| ... 10 labels of interest |  |  |  | " in shown


def test_labels_are_asked_for_with_their_latents() -> None:
    alone, each = (
        label_sets.batches_of(label_sets.labelling.QUICK, asked=3, a_latent_each=each)[0] for each in (False, True)
    )
    assert alone["net_input"]["latents"].shape[1] == 1 and each["net_input"]["latents"][0].tolist() == [0, 1, 2]
    assert each["net_input"]["asked"].tolist() == [0, 1, 2]
