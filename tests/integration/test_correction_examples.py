"""examples/ocr_correction and labelling as their READMEs call them, on invented text."""

import json
import random
import re
from pathlib import Path

import pytest

from tests.commands import ROOT, readme_command, succeed

SMALL = ["WIDTH=16", "FFN=16", "TOKENS=400", "WARMUP=1", "GPUS=0", "THREADS=1"]
WORDS = ["kissa", "koira", "talo", "puu", "tuoli", "silta", "kivi", "vene", "saari", "lintu", "kala", "susi"]


@pytest.fixture
def folds(tmp_path: Path) -> Path:
    draw = random.Random(1)
    (tmp_path / "data" / "fold0").mkdir(parents=True)
    for split, size in (("train", 60), ("dev", 8), ("test", 8)):
        words = [draw.choice(WORDS) for _ in range(size)]
        misread = [word.replace("s", "f") if draw.random() < 0.5 else word for word in words]
        for side, lines in (("src", misread), ("tgt", words)):
            text = "".join(f"{' '.join(word)}\n" for word in lines)
            (tmp_path / "data" / "fold0" / f"{split}.{side}").write_text(text, encoding="utf-8")
    return tmp_path / "data"


def test_words_are_learned_chosen_and_scored(folds: Path, tmp_path: Path) -> None:
    """Two seeds and their ensemble on one fold, with misreadings that are drawn anew; the rest is not yet run."""
    pytest.importorskip("symspellpy")
    out = tmp_path / "run"
    command = readme_command("ocr_correction", 1, DATA=folds, OUT=out, ONLY="pbd2x2")
    settings = ["UPDATES=6", "AVERAGE=2", "NOISE_SHARE=0.5", "BY_TYPE=yes", "BEAM=2"]
    done = succeed(*command, *SMALL, *settings, timeout=600).out
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    fold = found["systems"]["pbd2"]["fold0"]
    assert fold["took"] in ("best", "average") and fold["all"].keys() == {"best", "average"}
    assert 0 <= fold["test"] <= 100 and fold["minutes"] >= 0
    both, other = (found["systems"][name]["fold0"] for name in ("pbd2x2", "pbd2-seed2"))
    assert both["parameters"] == fold["parameters"] + other["parameters"] and 0 <= both["test"] <= 100
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page) and "| Transformer, 2 layers | not yet run |" in page
    assert found["symspell"]["fold0"]["test"] > found["do_nothing"]["fold0"]["test"]  # it has seen all words
    assert (out / "fold0" / "confusions" / "table.tsv").read_text(encoding="utf-8").strip()


def test_labels_are_learned_and_scored(tmp_path: Path) -> None:
    """The one task of the four with a third system, by one latent for all labels."""
    folder = tmp_path / "data" / "multilabel-goemotions"
    folder.mkdir(parents=True)
    (folder / "labels.txt").write_text("joy\nanger\n", encoding="utf-8")
    for name, times in (("train", 20), ("dev", 2)):
        rows = ["good film\t0", "bad film\t1", "so so\t", "good bad\t0,1"] * times
        (folder / f"{name}.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    out = tmp_path / "run"
    command = readme_command("labelling", 0, DATA=tmp_path / "data", OUT=out, TASKS="emotions")
    settings = ["VOCAB=16", "UPDATES=4", "VALID_EVERY=2"]
    done = succeed(*command, *SMALL, *settings, timeout=600).out
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page) and page.count("thresholds tuned") == 4  # of the linear model, too
    assert re.search(r"\| EncT5, spelling-aware words \| [\d.]+ \|", page)
    assert "GoEmotions" in page and "SST-2" not in page
    assert len((out / "texts_emotions" / "valid.tsv").read_text("utf-8").splitlines()) == 4  # one of twenty
    scores = tmp_path / "scores.json"
    words = [out / "train_emotions" / "checkpoint_best.pt", "--labels-of-interest", "joy", "--output", scores]
    succeed("python", ROOT / "examples" / "labelling" / "score.py", *words)
    found = json.loads(scores.read_text("utf-8"))
    assert list(found["scores"]) == ["asked for all labels", "asked for these alone"]
    assert all(0 <= way["micro_f1"] <= 100 for way in found["scores"].values()) and found["mean difference"] > 0
