"""The helpers of examples/labelling, its recipes, and the commands of run.sh."""

from __future__ import annotations

import doctest
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "labelling"
SCRIPTS = ["texts", "baselines", "report", "recipes/text_to_text"]


def load(name: str) -> ModuleType:
    """Under a name of its own: other examples have files of the same names."""
    spec = importlib.util.spec_from_file_location(f"labelling_{Path(name).name}", EXAMPLE / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCRIPTS)
def test_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    found = doctest.testmod(load(name))
    assert found.attempted and not found.failed


def write(folder: Path, kind: str) -> None:
    rows = {
        "classification": ["good film\t1", "bad film\t0", "so good\t1", "so bad\t0"] * 10,
        "multilabel": ["good film\tjoy", "bad film\tanger", "so so\t", "good bad\tanger,joy"] * 10,
        "tagging": ["a cat sleeps\tD N V", "the cats sleep\tD N V"] * 10,
    }[kind]
    for part in ("train", "valid", "test"):
        (folder / f"{part}.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")


@pytest.mark.parametrize(
    ("kind", "score"), [("classification", "accuracy"), ("multilabel", "micro_f1"), ("tagging", "tag_accuracy")]
)
def test_baselines(tmp_path: Path, kind: str, score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, kind)
    words = ["baselines.py", str(tmp_path), "--label-kind", kind, "--output", str(tmp_path / "scores.json")]
    monkeypatch.setattr(sys, "argv", [*words, "--numbered-labels"])
    assert load("baselines").main() == 0
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert found["linear"]["scores"][""][score] == 100.0
    assert found["majority"]["scores"][""][score] < 70


def test_the_report_of_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_pos").mkdir()
    scored = {"scores": {"": {"tag_accuracy": 91.25, "macro_f1": 80.0}}, "examples": 100, "seconds": 0.5}
    (tmp_path / "test_pos" / "scores.json").write_text(json.dumps(scored))
    monkeypatch.setattr(sys, "argv", ["report.py", str(tmp_path)])
    monkeypatch.syspath_prepend(str(ROOT))
    assert load("report").main() == 0
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "| EncT5 | 91.2 | 80.0 | | 200 |" in page
    assert "| EncT5, one latent | not yet run |" in page


def test_run_lists_its_commands(tmp_path: Path) -> None:
    command = ["bash", EXAMPLE / "run.sh", "--data", "DATA", "--out", tmp_path, "--dry-run", "--gpus", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for stage in ("data_sst2", "train_mrpc", "train_emotions_one", "test_pos", "baselines_pos", "report"):
        assert f"# {stage}\n" in done.stdout
    assert done.stdout.count("fairseq-train") == 5
    done = subprocess.run([*command, "--sets", "x"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--sets takes sst2, mrpc, emotions and pos" in done.stderr


@pytest.mark.parametrize("recipe", ["glue", "eurlex57k", "udpos", "paper"])
def test_recipes_say_what_they_are(recipe: str) -> None:
    path = EXAMPLE / "recipes" / f"{recipe}.sh"
    assert "NOT RUN at full scale" in path.read_text("utf-8")
    assert subprocess.run(["bash", "-n", path], timeout=60).returncode == 0


def test_a_recipe_wants_its_flags() -> None:
    done = subprocess.run(["bash", EXAMPLE / "recipes" / "glue.sh"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "use --text DIR --model FOLDER --out DIR" in done.stderr
