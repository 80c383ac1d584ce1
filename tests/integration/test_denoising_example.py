"""examples/denoising: its scripts and its pipeline on tiny text."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, readme, readme_command, run, succeed

EXAMPLE = ROOT / "examples" / "denoising"
SMALL = ["VOCAB=32", "LAYERS=1", "WIDTH=16", "FFN=16", "TOKENS=400", "WARMUP=1", "UPDATES=4", "VALID_EVERY=4", "BEAM=1"]
SMALL += ["GPUS=0", "THREADS=1"]
CLEAN = ["the red dog runs here", "a small cat sleeps there", "old men sit", "young women eat now", "big dogs run"]
NOISY = ["the rde dog runs here", "a small cta sleeps there", "old nem sit", "young women aet now", "big dgos run"]


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    for name, times in (("part.train", 40), ("part.valid", 2)):
        (folder / f"{name}.src").write_text("".join(f"{line}\n" for line in NOISY * times))
        (folder / f"{name}.tgt").write_text("".join(f"{line}\n" for line in CLEAN * times))
    return folder


def test_pairs_of_ones_own_are_trained_and_scored(pairs: Path, tmp_path: Path) -> None:
    """Three systems and one seed, beside doing nothing and SymSpell."""
    pytest.importorskip("symspellpy")
    out = tmp_path / "run"
    command = readme_command("denoising", 1, TEXT=pairs, OUT=out, TRAIN="part.train", TEST="part.valid")
    more = tmp_path / "more.txt"
    more.write_text("The red cat sleeps now\nThe xylophone sleeps\nred cat\nred cat\n", encoding="utf-8")
    command += ["SEEDS=1", "SYSTEMS=none,all,levt", "LEVT_UPDATES=10", "LEVT_WORDS=300", f"CLEAN={more}"]
    done = succeed(*command, *SMALL, timeout=900).out
    stages = ["texts", "data_as-is", "symspell_as-is"]
    stages += [f"{step}_as-is_{name}_1" for name in ("none", "all") for step in ("train", "test", "forced")]
    stages += ["words_as-is", "train_as-is_levt_1", "test_as-is_levt_1"]
    assert re.findall(r"^(\S+): done in", done, re.M) == stages
    listed = (out / "words_as-is" / "text" / "list.tgt").read_text(encoding="utf-8").splitlines()
    assert listed[-2:] == ["The red cat sleeps now", "red cat"]  # xylophone is not among the words
    found = json.loads((out / "report.json").read_text(encoding="utf-8"))["as-is"]
    assert found["systems"]["do nothing"]["scores"]["wrr"] == [pytest.approx(15 / 20)]
    for name in ("none", "all", "levt"):
        assert found["systems"][name]["seeds"] == [1] and len(found["systems"][name]["scores"]["bleu"]) == 1
    for name, count in (("none", 1), ("all", 1), ("levt", 0)):
        forced = found["systems"][name]["teacher_forced"]
        assert len(forced) == count and all(0 <= each["wrr"] <= 1 and each["sentence_bleu"] >= 0 for each in forced)
    assert {entry["metric"] for entry in found["comparisons"]} == {"WRR", "BLEU"}
    page = (out / "report.md").read_text(encoding="utf-8")
    assert done.endswith(page) and re.search(r"\| SymSpell \| [\d.]+ \| [\d.]+ \|", page)
    assert len((out / "texts" / "valid.src").read_text().splitlines()) == 10  # a twentieth of 200
    succeed(*command, *SMALL, "figures", timeout=300)
    drawn = out / "gates_as-is_all_1"
    assert sorted(path.name for path in drawn.glob("*.svg")) == ["length.svg", "noise.svg", "sentences.svg"]
    assert len((drawn / "gates.jsonl").read_text(encoding="utf-8").splitlines()) == len(NOISY) * 2
    assert not (out / "gates_as-is_none_1").exists()
    # the printed command, with one file of gates for all its tasks
    (printed,) = re.findall(r"^python examples/denoising/gates.py .*?tasks.svg$", readme("denoising"), re.M | re.S)
    command = re.sub(r"=runs/\S+", f"={drawn}/gates.jsonl", printed).replace("runs/tasks.svg", f"{tmp_path}/tasks.svg")
    succeed("bash", "-euo", "pipefail", "-c", command)
    assert "denoising" in (tmp_path / "tasks.svg").read_text(encoding="utf-8")


def test_symspell_knows_the_words_of_the_training(pairs: Path) -> None:
    pytest.importorskip("symspellpy")
    command = [sys.executable, EXAMPLE / "symspell.py", "--words", pairs / "part.train.tgt"]
    assert succeed(*command, stdin="Yuong wmoen eat, nwo!\nzzzzzz\n").out == "Young women eat, now!\nzzzzzz\n"


def test_splits(tmp_path: Path) -> None:
    text = tmp_path / "all.txt"
    text.write_text("".join(f"{number}\n" for number in range(100)) + "\n")
    succeed(sys.executable, EXAMPLE / "texts.py", "--train", text, "--copies", 2, "--output", tmp_path / "out")
    sources, targets = (
        [(tmp_path / "out" / f"{split}.{side}").read_text().splitlines() for split in ("train", "valid", "test")]
        for side in ("src", "tgt")
    )
    assert sources == targets and [len(part) for part in sources] == [160, 10, 10]
    assert sorted(map(int, {line for part in sources for line in part})) == list(range(100))
    (tmp_path / "short.src").write_text("a\n")
    (tmp_path / "short.tgt").write_text("a\nb\n")
    short = [sys.executable, EXAMPLE / "texts.py", "--train", tmp_path / "short", "--source", "src", "--target", "tgt"]
    assert "short.src has 1 lines and" in run(*short, "--output", tmp_path / "no").err
