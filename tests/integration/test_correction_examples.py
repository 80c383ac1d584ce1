"""examples/ocr_correction/run.sh and examples/grammar/run.sh as their READMEs call them, on invented text."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from tests.integration.commands import ROOT, readme, readme_command, readme_commands, succeed

SMALL = ["--width", "16", "--ffn", "16", "--heads", "2", "--tokens", "400", "--warmup", "1", "--beam", "2"]
ONE_CORE = ["--gpus", "0", "--threads", "1"]
WORDS = ["kissa", "koira", "talo", "puu", "tuoli", "silta", "kivi", "vene", "saari", "lintu", "kala", "susi"]
SENTENCES = ["He goes home .", "The cat sits here .", "We are in the house .", "She has a dog .", "They sleep now ."]


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


PRINTED = [words for example in ("ocr_correction", "grammar", "labelling") for words in readme_commands(example)]


@pytest.mark.parametrize("words", [words for words in PRINTED if words[1].endswith("/run.sh")], ids=" ".join)
def test_the_commands_of_the_readmes_can_be_listed(words: list[str]) -> None:
    assert " fairseq-train " in succeed(*words, "--dry-run").out


def test_words_are_learned_chosen_and_scored(folds: Path, tmp_path: Path) -> None:
    """One system of one fold, with misreadings that are drawn anew; what was not asked for is not yet run."""
    out = tmp_path / "run"
    command = readme_command("ocr_correction", 1, data=folds, out=out, only="pbd2")
    settings = ["--updates", "6", "--average", "2", "--noise-share", "0.5", "--by-type"]
    done = succeed(*command, *SMALL, *ONE_CORE, *settings, timeout=600).out
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))
    fold = found["systems"]["pbd2"]["fold0"]
    assert fold["took"] in ("best", "average") and fold["all"].keys() == {"best", "average"}
    assert 0 <= fold["test"] <= 100 and fold["minutes"] >= 0
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page) and "| Transformer, 2 layers | not yet run |" in page
    assert (out / "fold0_confusions" / "table.tsv").read_text(encoding="utf-8").strip()
    again = succeed(*command, *SMALL, *ONE_CORE, *settings, timeout=600).out
    assert again.count("already done") == 5


def test_the_printed_noise_command_makes_pairs(tmp_path: Path) -> None:
    (printed,) = re.findall(r"^lev-plugins noise .*?>noisy.txt$", readme("grammar"), re.M | re.S)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    clean = "".join(f"{line}\n" for line in SENTENCES * 40)
    (tmp_path / "clean.txt").write_text(clean, encoding="utf-8")
    succeed("bash", "-euo", "pipefail", "-c", printed, cwd=tmp_path)
    noisy = (tmp_path / "noisy.txt").read_text(encoding="utf-8")
    changed = sum(one != other for one, other in zip(noisy.splitlines(), clean.splitlines(), strict=True))
    assert 60 < changed < 160


def test_a_corrector_learns_from_clean_text_alone(tmp_path: Path) -> None:
    (tmp_path / "jfleg").mkdir()
    (tmp_path / "clean.txt").write_text("".join(f"{line}\n" for line in SENTENCES * 40), encoding="utf-8")
    for name, wrong in (("dev.src", True), ("dev.ref0", False), ("dev.ref1", False)):
        lines = [line.replace("the ", "").replace("goes", "go") if wrong else line for line in SENTENCES]
        (tmp_path / "jfleg" / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    out = tmp_path / "run"
    command = readme_command("grammar", 1, test=tmp_path / "jfleg", text=tmp_path / "clean.txt", out=out)
    settings = ["--vocab", "32", "--updates", "4", "--valid-every", "2", "--average", "2", "--keep-biases", "5,6"]
    done = succeed(*command, *SMALL, *ONE_CORE, *settings, timeout=600).out
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page)
    dial = re.search(r"--keep-bias [56] --min-edit-confidence [\d.]+(?= had the best F0.5)", page)
    assert dial and f"--cpu {dial[0]}" in succeed(*command, *settings, "--dry-run").out
    untouched = re.search(r"\| the source, untouched \| ([\d.]+)", page)
    assert untouched and 0.2 < float(untouched[1]) < 1
    corrected = json.loads((out / "test" / "plain.json").read_text(encoding="utf-8"))
    assert 0 <= corrected["system"]["score"] <= 1
