"""examples/ocr_correction, grammar and labelling as their READMEs call them, on invented text."""

import json
import random
import re
from pathlib import Path

import pytest

from tests import pretrained
from tests.commands import ROOT, readme, readme_command, succeed

SMALL = ["WIDTH=16", "FFN=16", "TOKENS=400", "WARMUP=1", "GPUS=0", "THREADS=1"]
WORDS = ["kissa", "koira", "talo", "puu", "tuoli", "silta", "kivi", "vene", "saari", "lintu", "kala", "susi"]
SENTENCES = ["He goes home.", "The cat sits here.", "We are in the house.", "She has a dog.", "They sleep now."]


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


def test_the_printed_noise_command_makes_pairs(tmp_path: Path) -> None:
    (printed,) = re.findall(r"^lev-plugins noise .*?>noisy.txt$", readme("grammar"), re.M | re.S)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    clean = "".join(f"{line}\n" for line in SENTENCES * 40)
    (tmp_path / "clean.txt").write_text(clean, encoding="utf-8")
    succeed("bash", "-euo", "pipefail", "-c", printed, cwd=tmp_path)
    noisy = (tmp_path / "noisy.txt").read_text(encoding="utf-8")
    changed = sum(one != other for one, other in zip(noisy.splitlines(), clean.splitlines(), strict=True))
    assert 60 < changed < 160


def learners(tmp_path: Path, number: int, copies: int = 40) -> list[object]:
    """A command of the grammar page, on sentences of learners and clean text."""
    (tmp_path / "jfleg").mkdir()
    (tmp_path / "clean.txt").write_text("".join(f"{line}\n" for line in SENTENCES * copies), encoding="utf-8")
    for name, wrong in (("dev.src", True), ("dev.ref0", False), ("dev.ref1", False)):
        tokens = [line.replace(".", " .") for line in SENTENCES]
        lines = [line.replace("the ", "").replace("goes", "go") if wrong else line for line in tokens]
        (tmp_path / "jfleg" / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    folders = {"TEST": tmp_path / "jfleg", "TEXT": tmp_path / "clean.txt", "OUT": tmp_path / "run"}
    return [*readme_command("grammar", number, **folders), *SMALL]


@pytest.mark.parametrize("backbone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_editor_learns_from_clean_text_a_list_of_words_and_mistakes(tmp_path: Path, backbone: bool) -> None:
    pytest.importorskip("symspellpy")
    pytest.importorskip("harper")
    gold = tmp_path / "learners.m2"
    mistake = "S He go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\n"
    gold.write_text(f"{mistake}S She sleeps .\n\n" * 100, encoding="utf-8")
    settings = ["LEVT_UPDATES=6", "TUNE_UPDATES=3", "LEVT_TOKENS=400", "WORDS=300", f"TUNE={gold}", f"TEST_M2={gold}"]
    command = learners(tmp_path, 2 if backbone else 1, copies=200)
    if backbone:
        pytest.importorskip("transformers")
        pretrained.bert(tmp_path / "model")
        settings.append(f"BACKBONE={pretrained.imported(tmp_path / 'model', tmp_path / 'bert')}")
    done = succeed(*command, *settings, "TUNE_SYNTHETIC=8", timeout=600).out
    assert (tmp_path / "run" / "editor" / "folder" / "backbone").is_dir() == backbone
    found = {
        name: json.loads((tmp_path / "run" / "test" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("plain", "careful", "SymSpell", "Harper")
    }
    assert found["careful"]["against"]["score"] == found["SymSpell"]["system"]["score"]
    for name, title in (("SymSpell", "SymSpell"), ("Harper", "Harper, first suggestion")):
        assert f"| {title} | {found[name]['system']['score']:.4f} |" in done
    assert "by paired bootstrap" in done
    assert "| learners, m2 | precision | recall | F0.5 |" in done and "| VERB:SVA | 100 |" in done
    words = (tmp_path / "run" / "words" / "dict.txt").read_text(encoding="utf-8")
    assert "▁has " in words and "▁which " in words  # of the text, of the list
    learned = (tmp_path / "run" / "pairs" / "confusions.tsv").read_text(encoding="utf-8")
    assert "goes\tgo\t" in learned
    log = (tmp_path / "run" / "tune" / "log").read_text(encoding="utf-8")
    assert re.search(r"loaded 8 examples from: \S+/train1\.", log), log


def annotated(folder: Path) -> Path:
    """Mistakes and their corrections, as M2."""
    edits = "S He go home .\nA 1 2|||R:VERB|||goes|||REQUIRED|||-NONE-|||0\n\nS They sleep now .\n\n"
    (folder / "real.m2").write_text(edits * 20, encoding="utf-8")
    return folder / "real.m2"


def test_a_tagger_learns_what_becomes_of_words(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pretrained.bert(tmp_path / "model")
    gold, backbone = annotated(tmp_path), pretrained.imported(tmp_path / "model", tmp_path / "bert")
    settings = [f"TUNE={gold}", f"TEST_M2={gold}", f"BACKBONE={backbone}", f"OUT={tmp_path / 'run'}", "VALID_EVERY=2"]
    make = ["make", "-f", "examples/grammar/Makefile", "tagger", *settings, "TAGGER_UPDATES=2", "LEAST=0,0.9", *SMALL]
    assert len(re.findall(r"least-0(?:\.9)?\.m2\.txt:system +F0.5 = [\d.]+", succeed(*make, timeout=600).out)) == 2
    row = "START He go home .\tKEEP KEEP REPLACE_goes KEEP KEEP\n"
    assert (tmp_path / "run/tags/text/train.tsv").read_text("utf-8").startswith(row)


def test_a_corrector_learns_from_clean_text_and_from_mistakes_put_into_it(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = learners(tmp_path, 3)
    settings = ["VOCAB=32", "UPDATES=4", "VALID_EVERY=2", "AVERAGE=2", "KEEP_BIASES=5,6", "BEAM=2"]
    settings += [f"TUNE={annotated(tmp_path)}", "TUNE_UPDATES=2", "BOOST=20", "BOOST_UPDATES=2"]
    done = succeed(*command, *settings, timeout=600).out
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page)
    dial = re.search(r"--keep-bias [56] --min-edit-confidence [\d.]+(?= had the best GLEU)", page)
    assert dial and f"'keep_bias': {dial[0].split()[1]}.0" in (out / "test" / "log").read_text(encoding="utf-8")
    untouched = re.search(r"\| the source, untouched \| ([\d.]+)", page)
    assert untouched and 0.2 < float(untouched[1]) < 1
    made = re.search(r"^20 sentences, (\d+) changed, (\d+) less", (out / "boost" / "log").read_text("utf-8"), re.M)
    assert made and int(made[2]) == len((out / "boost" / "pairs.noisy").read_text("utf-8").splitlines())
    corrected = json.loads((out / "test" / "plain.json").read_text(encoding="utf-8"))
    assert 0 <= corrected["system"]["score"] <= 1


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
