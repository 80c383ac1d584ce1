"""The helpers of examples/labelling, its recipes, and the commands of run.sh."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import load_script

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "labelling"
SCRIPTS = ["texts", "baselines", "report", "recipes/text_to_text"]


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
    assert load_script("labelling/baselines").main() == 0
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert found["linear"]["scores"][""][score] == 100.0
    assert found["majority"]["scores"][""][score] < 70


def test_the_report_of_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "test_pos").mkdir()
    scored = {"scores": {"": {"tag_accuracy": 91.25, "macro_f1": 80.0}}, "examples": 100, "seconds": 0.5}
    (tmp_path / "test_pos" / "scores.json").write_text(json.dumps(scored))
    monkeypatch.setattr(sys, "argv", ["report.py", str(tmp_path)])
    monkeypatch.syspath_prepend(str(ROOT))
    assert load_script("labelling/report").main() == 0
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
    for flags in ([], ["--text"], ["--flag", "x"]):
        command = ["bash", EXAMPLE / "recipes" / "glue.sh", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "use --text DIR --model FOLDER --out DIR" in done.stderr


STUB = """#!/usr/bin/env bash
echo "$(basename "$0") $*" >>"$COMMANDS"
while (($#)); do [[ $1 == --output ]] && touch "$2.scores.json"; [[ $1 == --save-dir ]] && mkdir -p "$2"; shift; done
"""


def commands_of(folder: Path, recipe: str, *flags: str) -> list[str]:
    """What a recipe would run: the commands are there in name only."""
    for name in ("python", "fairseq-train", "fairseq-validate", "fairseq-preprocess", "fairseq-generate"):
        path = folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(STUB, "utf-8")
        path.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "COMMANDS": str(folder / "commands")}
    command = ["bash", EXAMPLE / "recipes" / f"{recipe}.sh", "--text", "TEXT", "--model", "T5", "--out", "OUT", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "commands").read_text("utf-8").splitlines()


def test_the_glue_recipe(tmp_path: Path) -> None:
    flags = ["--only", "mnli,stsb", "--flags", "--max-update 2", "--enct5-flags", "--decoder-layers 12"]
    found = commands_of(tmp_path, "glue", *flags)
    trainings = [line for line in found if line.startswith("fairseq-train")]
    assert len(trainings) == 4 and all(line.count("--bf16") == 1 and "--max-update 2" in line for line in trainings)
    enct5, t5 = trainings[:2]
    assert "--arch enct5 --backbone OUT/backbone" in enct5 and enct5.endswith("--decoder-layers 12")
    assert "--pack --pack-length 512" in enct5 and "--optimizer adafactor --scale-parameter --lr 0.001" in enct5
    assert "--arch gated_t5 --gates  --backbone OUT/backbone" in t5 and "--decoder-layers" not in t5
    scored = [line.partition("--valid-subset ")[2] for line in found if line.startswith("fairseq-validate")]
    assert scored == ["valid", "test", "valid"]  # mnli: matched and mismatched
    generated = [line.partition("--gen-subset ")[2].split()[0] for line in found if line.startswith("fairseq-generate")]
    assert generated == scored
    assert any(
        "TEXT/mnli/mismatched.tsv" in line and "--generated OUT/mnli/t5/test.generated" in line for line in found
    )


def test_the_other_recipes(tmp_path: Path) -> None:
    eurlex = tmp_path / "eurlex"
    eurlex.mkdir()
    (enct5,) = (line for line in commands_of(eurlex, "eurlex57k") if "--arch enct5" in line)
    assert "--pack" not in enct5 and "--max-tokens 8192 --update-freq 8" in enct5
    tests = tmp_path / "TEXT" / "udpos" / "tests"
    tests.mkdir(parents=True)
    for language in ("de", "fr"):
        (tests / f"{language}.conllu").write_text("", "utf-8")
    found = commands_of(tmp_path, "udpos", "--flags", "--cpu")
    both = "TEXT/udpos/tests/de.conllu TEXT/udpos/tests/fr.conllu"
    assert any(
        f"--train TEXT/udpos/train.conllu --valid TEXT/udpos/valid.conllu --test {both}" in line for line in found
    )
    assert any("--testpref OUT/udpos/t5/pieces/test,OUT/udpos/t5/pieces/test1" in line for line in found)
    assert not any("--bf16" in line for line in found)  # on a CPU fairseq knows none


def test_what_t5_wrote_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_script("labelling/recipes/text_to_text")

    def scores(kind: str, rows: list[str], said: list[str]) -> dict[str, float]:
        (tmp_path / "gold.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
        lines = [f"D-{number}\t-0.1\t{text}\n" for number, text in reversed(list(enumerate(said)))]
        (tmp_path / "generated").write_text("S-0\tx\n" + "".join(lines), "utf-8")
        words = ["x", tmp_path / "gold.tsv", "--label-kind", kind, "--output", tmp_path / "o"]
        monkeypatch.setattr(sys, "argv", [str(word) for word in [*words, "--generated", tmp_path / "generated"]])
        assert module.main() == (0 if len(rows) == len(said) else 2)
        return json.loads((tmp_path / "o.scores.json").read_text("utf-8"))

    assert scores("classification", ["a\tno", "b\tyes", "c\tyes"], ["no", "maybe", "yes"])["f1"] == pytest.approx(
        200 / 3
    )
    found = scores("regression", ["a\t1", "b\t2", "c\t3"], ["1.0", "2.2", "three"])
    assert found["mse"] == pytest.approx((0.04 + 16) / 3)
    found = scores("multilabel", ["a\tx,y", "b\t", "c\tz"], ["y, x", "unheard of", ""])
    assert found == {"micro_f1": pytest.approx(100 * 2 * 2 / (3 + 3))}
    found = scores("tagging", ["a b\tN V", "c\tN"], ["<0> N <1> N", "<1> N"])
    assert found == {"tag_accuracy": pytest.approx(100 / 3)}
    scores("tagging", ["a b\tN V", "c\tN"], ["<0> N"])  # refused
