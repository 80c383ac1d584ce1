"""The scripts of examples/ with tiny texts and models: what they leave, and that a second run does nothing."""

import json
import random
import re
from pathlib import Path

import pytest

from tests.commands import ROOT, Result, succeed

WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "woman", "runs", "sleeps", "sits", "eats"]
WORDS += ["here", "there", "today", "now"]
TINY = {"THREADS": 1, "LAYERS": 1, "WIDTH": 16, "FFN": 32, "HEADS": 2}


def run(script: str, out: Path, **settings: object) -> Result:
    """Runs a script with these settings, and again, when it must find everything complete."""
    variables = {name: str(value) for name, value in {**TINY, "OUT": out, **settings}.items()}
    first, second = (succeed("bash", ROOT / "examples" / script, timeout=900, **variables) for _ in range(2))
    assert re.search(r"^.+ \.\.\.$", first.err, re.M) and not re.search(r"^.+ \.\.\.$", second.err, re.M)
    assert first.out.splitlines()[-1] == second.out.splitlines()[-1]  # of the scores
    return second


def parallel(folder: Path) -> Path:
    """Writes sentences, and as their translation the same words, turned round and in capitals."""
    draw = random.Random(1)
    folder.mkdir()
    for split, size in (("train", 250), ("valid", 8), ("test", 6)):
        text = [" ".join(draw.choices(WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in text), "utf-8")
        turned = (" ".join(reversed(line.upper().split())) for line in text)
        (folder / f"{split}.de").write_text("".join(f"{line}\n" for line in turned), "utf-8")
    return folder


def sentences(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"The {' '.join(draw.choices(WORDS, k=draw.randint(3, 7)))}." for _ in range(count)]


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def scores(printed: str, name: str) -> list[float]:
    return [float(score) for score in re.findall(rf"{name} = ([\d.]+)", printed)]


@pytest.mark.slow
def test_translation(tmp_path: Path) -> None:
    """All kinds of models, but fewer of each than by default."""
    out, small = tmp_path / "run", "--num-workers 0 --max-tokens 400"
    settings = {"TEXT": parallel(tmp_path / "text"), "VOCAB": 70, "BEAM": 2, "VALID_EVERY": 4, "MAX_ITER": 3}
    settings |= {"TEACHER_UPDATES": 30, "TEACHER_TRAINING": f"--lr 0.005 {small}", "AVERAGE": f"{out}/teacher --last 2"}
    settings |= {"LEVT_UPDATES": 8, "LEVT_TRAINING": f"--lr 0.002 {small}", "FAST_EXITS": "1,1,1", "SEARCH": 2}
    done = run("translation/ablations.sh", out, ABLATIONS="oracle,plh-tok,dae,fast,1-1,maskt,search", **settings)
    systems = ["beam", "greedy", "levt", "levt_1-1", "levt_dae", "levt_fast", "levt_oracle", "levt_plh-tok", "maskt"]
    systems += ["noisy", "reranked", "sampled"]
    assert {*re.findall(r"(\S+)\.out: [\d.]+ iterations", done.out)} == {f"{out}/{name}" for name in systems}
    found = scores(done.out, "BLEU")
    assert len(found) == 2 * len(systems) and all(0 <= score <= 100 for score in found)  # run.sh's and its own
    assert (out / "levt_plh-tok" / "checkpoint_best.pt").is_file()


@pytest.mark.slow
def test_english(tmp_path: Path) -> None:
    pytest.importorskip("symspellpy")
    settings = {name: write(tmp_path / name, sentences(1000, seed)) for seed, name in enumerate(("TEXT", "OTHER"))}
    settings["LIST"] = write(tmp_path / "LIST", [f"{word} 9" for word in WORDS])
    clean = sentences(20, 3)
    write(tmp_path / "test" / "own.clean", clean)
    write(tmp_path / "test" / "own.typos", [line.replace("woman", "womann") for line in clean])
    settings["TEST"] = tmp_path / "test"
    done = run("english/run.sh", tmp_path / "out", **settings, UPDATES=20, TOKENS=400, PROMISE=200)
    rows = re.findall(r"^\| own \| (.+) \| ([\d.]+) \| ([\d.]+) \|$", done.out, re.M)
    assert {"SymSpell", "this editor"} <= {name for name, *_ in rows}
    assert all(0 <= float(broken) <= 1000 and 0 <= float(repaired) <= 100 for _, broken, repaired in rows)
    config = json.loads((tmp_path / "out" / "editor" / "config.json").read_text("utf-8"))
    assert 0 <= config["decoding"]["min_confidence"] <= 1


@pytest.mark.slow
def test_demo(tmp_path: Path) -> None:
    """The typos of the held-out sentences are not among those of the training."""
    pytest.importorskip("symspellpy")
    out = tmp_path / "out"
    done = run("english/demo.sh", out, PACKAGES="", SENTENCES=300, UPDATES=10)
    rows = re.findall(r"^\| (.+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", done.out, re.M)
    assert [name for name, *_ in rows] == ["SymSpell", "do nothing", "this editor"]
    assert 78 < float(rows[1][1]) < 90 and rows[1][2:] == ("0.0", "0.0") and float(rows[0][2]) > 50
    flags = "--kind insert,delete,substitute,swap,keyboard --word-rate 0.2 --char-rate 0.16 --min-letters 3 --varied"
    layout = ["--layout", ROOT / "examples" / "english" / "letters.txt"]
    train = (out / "text" / "train.clean").read_text("utf-8")
    epochs = re.findall(r"begin training epoch (\d+)", (out / "train.log").read_text("utf-8"))
    seen = set()
    for epoch in epochs:
        noisy = succeed("lev-plugins", "noise", *flags.split(), *layout, "--epoch", epoch, stdin=train).out
        seen |= {(word, typo) for word, typo in zip(train.split(), noisy.split(), strict=True) if word != typo}
    clean, wrong = ((out / "text" / f"test.{side}").read_text("utf-8").split() for side in ("clean", "noisy"))
    typos = {(word, typo) for word, typo in zip(clean, wrong, strict=True) if word != typo}
    assert len(epochs) > 1 and len(seen) > 500 and typos and not typos & seen


def learners(folder: Path) -> dict[str, object]:
    """Writes clean text, a set like JFLEG and an M2 file; returns the settings that name them."""
    clean = ["He goes home.", "The cat sits here.", "We are in the house.", "She has a dog.", "They sleep now."]
    tokens = [line.replace(".", " .") for line in clean]
    write(folder / "jfleg" / "dev.src", [line.replace("the ", "").replace("goes", "go") for line in tokens])
    for number in (0, 1):
        write(folder / "jfleg" / f"dev.ref{number}", tokens)
    mistake = "S He go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\nS She sleeps .\n"
    gold = write(folder / "learners.m2", [mistake] * 100)
    return {"TEXT": write(folder / "text", clean * 200), "TEST": folder / "jfleg", "TUNE": gold, "TEST_M2": gold}


@pytest.mark.slow
def test_grammar(tmp_path: Path) -> None:
    pytest.importorskip("symspellpy")
    out = tmp_path / "out"
    done = run("grammar/run.sh", out, **learners(tmp_path), UPDATES=6, TUNE_UPDATES=6, TUNE_SYNTHETIC=8)
    found = scores(done.out, "GLEU")
    assert len(found) >= 6 and all(0 <= score <= 1 for score in found)  # with SymSpell, and do nothing beside each
    assert len(scores(done.out, "F0.5")) == len(found) / 2 and "VERB:SVA" in done.out
    assert "goes\tgo\t" in (out / "pairs" / "confusions.tsv").read_text("utf-8")
    assert json.loads((out / "editor" / "config.json").read_text("utf-8"))["decoding"]["min_confidence"] is not None


@pytest.mark.slow
def test_grammar_of_the_paper(tmp_path: Path) -> None:
    out = tmp_path / "out"
    settings = {"VOCAB": 32, "TOKENS": 400, "WARMUP": 1, "UPDATES": 4, "VALID_EVERY": 2, "AVERAGE": 2, "BEAM": 2}
    settings |= {"TUNE_UPDATES": 2, "BOOST": 20, "BOOST_UPDATES": 2}
    done = run("grammar/pbd.sh", out, **learners(tmp_path), **settings)
    assert len(scores(done.out, "GLEU")) == 4 and len(scores(done.out, "F0.5")) == 2
    assert all((out / name / "average.pt").is_file() for name in ("backwards", "synthetic", "real"))
