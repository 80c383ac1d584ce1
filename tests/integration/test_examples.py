"""The scripts of examples/ with tiny texts and models: what they leave, and that a second run does nothing."""

import importlib.util
import json
import random
import re
from pathlib import Path

import pytest

from tests import pretrained
from tests.commands import ROOT, Result, succeed

WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "woman", "runs", "sleeps", "sits", "eats"]
WORDS += ["here", "there", "today", "now"]
EDITORS = ["scratch", "zero_shot", "finetuned"]
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
    systems = [
        "beam",
        "greedy",
        "levt",
        "levt-history",
        "levt_1-1",
        "levt_dae",
        "levt_fast",
        "levt_oracle",
        "levt_plh-tok",
        "maskt",
    ]
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
    done = run("english/demo.sh", out, PACKAGES="", SENTENCES=300, UPDATES=10, PROMISE=200)
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
    done = run("grammar/run.sh", out, **learners(tmp_path), UPDATES=6, TUNE_UPDATES=6, TUNE_SYNTHETIC=8, PROMISE=200)
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


@pytest.mark.slow
def test_ocr_correction(tmp_path: Path) -> None:
    """Two folds, an ensemble, and new misreadings in every epoch."""
    draw = random.Random(1)
    for fold in ("fold0", "fold1"):
        (tmp_path / "data" / fold).mkdir(parents=True)
        for split, size in (("train", 200), ("dev", 20), ("test", 20)):
            words = [" ".join(draw.choices("abcde", k=draw.randint(3, 7))) for _ in range(size)]
            for side, lines in (("tgt", words), ("src", [word.replace("a", "o", 1) for word in words])):
                (tmp_path / "data" / fold / f"{split}.{side}").write_text(
                    "".join(f"{line}\n" for line in lines), "utf-8"
                )
    settings = {"DATA": tmp_path / "data", "FOLDS": "0,1", "ONLY": "pbd2,transformer2,levt2,pbd2+transformer2"}
    settings |= {"UPDATES": 6, "WARMUP": 2, "FFN": 16, "TOKENS": 300, "AVERAGE": 2, "BEAM": 2, "NOISE_SHARE": 0.5}
    done = run("ocr_correction/run.sh", tmp_path / "run", TRAIN_FLAGS="--num-workers 0", **settings)
    rows = re.findall(r"^\| (\S.*?) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) ± [\d.]+ \| 2 \|$", done.out, re.M)
    assert [title for title, *_ in rows] == ["do nothing", "pbd2", "transformer2", "levt2", "pbd2+transformer2"]
    assert all(0 <= float(number) <= 100 for _, *numbers in rows for number in numbers) and float(rows[0][2]) > 10
    assert (tmp_path / "run" / "fold1" / "levt2" / "average.pt").is_file()


@pytest.mark.slow
def test_labelling(tmp_path: Path) -> None:
    """The task with all four models, one of them with one latent for all labels."""
    folder = tmp_path / "data" / "multilabel-goemotions"
    folder.mkdir(parents=True)
    (folder / "labels.txt").write_text("joy\nanger\n", encoding="utf-8")
    for name, times in (("train", 20), ("dev", 2)):
        rows = ["good film\t0", "bad film\t1", "so so\t", "good bad\t0,1"] * times
        (folder / f"{name}.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    out = tmp_path / "run"
    done = run("labelling/run.sh", out, DATA=tmp_path / "data", TASKS="emotions", VOCAB=16, UPDATES=4, VALID_EVERY=2)
    found = dict(re.findall(r"^==> \S+/(\w+)\.scores <==\n((?:.+\n)+)", done.out, re.M))
    assert found.keys() == {"plain", "one", "spelled", "baselines"}
    for text in found.values():
        assert all(0 <= float(score) <= 100 for score in re.findall(r"micro_f1 ([\d.]+)", text))
        assert "thresholds tuned: " in text and "few labels: rp_at_5" in text
    assert len((out / "emotions" / "text" / "valid.tsv").read_text("utf-8").splitlines()) == 4  # one of twenty
    checkpoint = out / "emotions" / "plain" / "checkpoint_best.pt"
    score = ["python", ROOT / "examples" / "labelling" / "score.py", checkpoint, "--cpu", "--labels-of-interest", "joy"]
    assert "asked for these alone: micro_f1" in succeed(*score).out


@pytest.mark.slow
@pytest.mark.parametrize("script", ["paper", "bert"])
def test_labelling_as_in_the_paper(script: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    if script == "paper":
        pretrained.t5(tmp_path / "model", tied=False)
    else:
        pretrained.bert(tmp_path / "model")
    folder = tmp_path / "data" / "mrpc"
    folder.mkdir(parents=True)
    for name, times in (("train", 10), ("valid", 2)):
        rows = ["The fish\tfish swim\t1", "The sea\tfish swim\t0"] * times
        (folder / f"{name}.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    settings = {"DATA": tmp_path / "data", "MODEL": tmp_path / "model", "TASKS": "mrpc", "BATCH": 8}
    done = run(f"labelling/{script}.sh", tmp_path / "run", FLAGS="--max-update 2", **settings)
    assert len(re.findall(r"EncT5: accuracy [\d.]+, .*\bf1 [\d.]+", done.out)) == 1
    if script == "paper":
        assert re.search(r'"f1": [\d.]+', done.out)
        written = tmp_path / "run" / "mrpc" / "t5_data" / "train.tgt"
        assert {*written.read_text("utf-8").splitlines()} == {"equivalent", "not_equivalent"}


@pytest.mark.slow
def test_denoising(tmp_path: Path) -> None:
    """Pairs that come with their noise: gated models, SymSpell if it is installed, and an editor beside them."""
    clean = ["the red dog runs here", "a small cat sleeps there", "old men sit", "young women eat now", "big dogs run"]
    noisy = ["the rde dog runs here", "a small cta sleeps there", "old nem sit", "young women aet now", "big dgos run"]
    text, out = tmp_path / "text", tmp_path / "run"
    text.mkdir()
    for name, times in (("part.train", 40), ("part.valid", 2)):
        for side, lines in (("src", noisy), ("tgt", clean)):
            (text / f"{name}.{side}").write_text("".join(f"{line}\n" for line in lines * times), encoding="utf-8")
    settings = {"TEXT": text, "TRAIN": "part.train", "TEST": "part.valid", "SEEDS": 1, "METRICS": "wrr,bleu,wrr-set"}
    small = {"VOCAB": 32, "TOKENS": 400, "WARMUP": 1, "UPDATES": 4, "VALID_EVERY": 4, "BEAM": 1}
    done = run("denoising/run.sh", out, SYSTEMS="none,MCG", **settings, **small)
    assert "| as-is | wrr | bleu | wrr-set | accuracy (validation) | forced wrr |" in done.out
    assert "mask, copy, generate against no gates, wrr: " in done.out
    if importlib.util.find_spec("symspellpy") is not None:
        (tmp_path / "more.txt").write_text("The red cat sleeps now\nThe xylophone sleeps\nred cat\n", encoding="utf-8")
        learned = {"LEVT_UPDATES": 10, "LEVT_WORDS": 300, "CLEAN": tmp_path / "more.txt"}
        done = run("denoising/levt.sh", out, **settings, **learned)
        assert (out / "as-is" / "editor_1" / "config.json").is_file()
        listed = (out / "as-is" / "words" / "list.tgt").read_text("utf-8").splitlines()
        assert "red cat" in listed and "The xylophone sleeps" not in listed
    rows = re.findall(r"^\| (do nothing|no gates|mask, copy, generate|levt|symspell) \| ([\d.]+) \|", done.out, re.M)
    assert len(rows) >= 3 and all(0 <= float(score) <= 1 for _, score in rows)
    if importlib.util.find_spec("matplotlib") is not None:
        figures = ["bash", ROOT / "examples" / "denoising" / "figures.sh"]
        succeed(*figures, OUT=str(out), NOISE="as-is", SYSTEM="MCG", BEAM="1")
        assert all((out / "as-is" / f"{name}.svg").is_file() for name in ("noise", "length", "sentences"))


@pytest.mark.slow
def test_denoising_as_in_the_paper(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    pretrained.t5(tmp_path / "model")
    backbone = pretrained.imported(tmp_path / "model", tmp_path / "t5")
    settings = {"TEXT": parallel(tmp_path / "text"), "BACKBONE": backbone, "TRAIN": "train", "SOURCE": "en"}
    settings |= {"TARGET": "en", "NOISES": "swap-both", "WORD_RATE": 0.3, "SYSTEMS": "MCG", "SEEDS": 1}
    settings |= {"SYMSPELL": "no", "SENTENCES": 40, "TRAIN_FLAGS": "--max-update 2", "BEAM": 1}
    done = run("denoising/paper.sh", tmp_path / "run", **settings)
    assert re.search(r"^\| mask, copy, generate \| [\d.]+ \| [\d.]+ \|", done.out, re.M)


@pytest.mark.slow
@pytest.mark.parametrize("weak", ["lstm", "words"])
def test_post_editing(weak: str, tmp_path: Path) -> None:
    """There are no drafts, so a weak system makes them; the LevTs learn what the autoregressive post-editor writes."""
    settings = {"TEXT": parallel(tmp_path / "text"), "VOCAB": 60, "TOKENS": 400, "WARMUP": 4, "UPDATES": 10, "BEAM": 2}
    settings |= {"FINETUNE_UPDATES": 10, "VALID_EVERY": 5, "WEAK_EPOCHS": 1, "MAX_ITER": 2, "GAMMAS": "0,1"}
    out = tmp_path / "run"
    distil = "yes" if weak == "words" else ""
    done = run("post_editing/run.sh", out, KEEP_BIASES="-1", WEAK=weak, DISTIL=distil, **settings)
    systems = ["autoregressive", "translator", "translator_delete", "translator_both", "finetuned_delete"]
    systems += ["finetuned_both", *(f"{name}{kind}" for name in EDITORS for kind in ("", "_unbiased"))]
    assert {path.stem for path in out.glob("*.out")} == {*systems}
    assert len(scores(done.out, "BLEU")) == len(scores(done.out, "TER")) == 1 + len(systems)
    assert all(0 <= score <= 100 for score in scores(done.out, "BLEU"))
    assert (out / "dials" / "translator.best").read_text("utf-8") in ("0,0\n", "1,0\n")
    for name in EDITORS:
        quality = json.loads((out / f"{name}.quality.json").read_text("utf-8"))
        assert 0 < quality["bad"] <= 1 and -1 <= quality["policy"]["matthews"] <= 1
    if weak == "words":  # its drafts have the right words, in the order of the source
        drafts = (out / "drafts" / "test.draft").read_text("utf-8").split()
        assert drafts and all(word.isupper() for word in drafts)
