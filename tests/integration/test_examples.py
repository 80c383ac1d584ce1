"""The scripts of examples/ with tiny texts and models: their output, and a second run does nothing."""

import json
import random
import re
from pathlib import Path

import pytest

from examples.post_editing.recurring import Reviser
from lev_plugins.text.lexicon import LEXICON, Lexicon
from lev_plugins.training import checkpoints
from tests.commands import ROOT, Result, Running, succeed
from tests.helpers import write_lines
from tests.pretrained import TOKENIZER_LINES, made_and_imported, make

SIMPLE_WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "woman", "runs", "sleeps", "sits"]
SIMPLE_WORDS += ["eats", "here", "there", "today", "now"]
SHAPE = {"LAYERS": 1, "WIDTH": 16, "FFN": 32, "HEADS": 2}
ENCODER = "--encoder-layers 1 --encoder-embed-dim 16 --encoder-ffn-embed-dim 32 --encoder-attention-heads 2"
DIMS = f"{ENCODER} {ENCODER.replace('encoder', 'decoder')}"  # flags of fairseq-train


def run_twice(script: str, out: Path, **settings: object) -> Result:
    """Runs a script twice; the second run must find everything complete."""
    variables = {name: str(value) for name, value in {"THREADS": 1, "OUT": out, **settings}.items()}
    initial, repeated = (succeed("bash", ROOT / "examples" / script, **variables) for _ in range(2))
    assert re.search(r"^.+ \.\.\.$", initial.err, re.M) and not re.search(r"^.+ \.\.\.$", repeated.err, re.M)
    assert initial.out.splitlines()[-1] == repeated.out.splitlines()[-1]  # of the scores
    return repeated


def save(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_lines(path, lines)


def write_texts(folder: Path, texts: dict[str, list[str]], times: dict[str, int]) -> None:
    """Writes the lines of each suffix to the files of the splits, repeated as often as ``times`` says."""
    for split, number in times.items():
        for suffix, lines in texts.items():
            save(folder / f"{split}.{suffix}", lines * number)


def parallel(folder: Path) -> Path:
    """Writes sentences; their translations are the same words in reverse order and in capitals."""
    draw = random.Random(1)
    for split, size in (("train", 250), ("valid", 8), ("test", 6)):
        text = [" ".join(draw.choices(SIMPLE_WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        save(folder / f"{split}.en", text)
        save(folder / f"{split}.de", [" ".join(reversed(line.upper().split())) for line in text])
    return folder


def toy_lines(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [f"The {' '.join(draw.choices(SIMPLE_WORDS, k=draw.randint(3, 7)))}." for _ in range(count)]


def figures(printed: str, name: str) -> list[float]:
    return [float(score) for score in re.findall(rf"{name} = ([\d.]+)", printed)]


@pytest.mark.slow
def test_translation_runs_all_systems(tmp_path: Path) -> None:
    """The systems of run.sh and those of ablations.sh, of which each decodes."""
    out, small = tmp_path / "run", "--num-workers 0 --max-tokens 400"
    settings = {"TEXT": parallel(tmp_path / "text"), "VOCAB": 70, "BEAM": 2, "VALID_EVERY": 4, "MAX_ITER": 3}
    settings |= {
        "SIZES": "1 16 32 2",
        "TEACHER_UPDATES": 30,
        "TEACHER_TRAINING": f"--lr 0.005 {small}",
        "AVERAGE": f"{out}/teacher --last 2",
    }
    settings |= {"LEVT_UPDATES": 8, "LEVT_TRAINING": f"--lr 0.002 {small}", "FAST_EXITS": "1,1,1", "SEARCH": 2}
    ablations = "oracle,plh-tok,dae,oracle-dae,fast,1-1,maskt,search"
    done = run_twice("translation/ablations.sh", out, ABLATIONS=ablations, **settings)
    systems = re.findall(r"(\S+)\.out: [\d.]+ iterations", done.out)
    names = {Path(name).name for name in systems}
    assert {"beam", "levt", "levt-history", "levt_dae", "levt_oracle-dae", "maskt", "reranked"} <= names
    bleu = figures(done.out, "BLEU")
    assert len(bleu) == 2 * len(set(systems)) and all(0 <= score <= 100 for score in bleu)  # run.sh's and its own


@pytest.mark.slow
def test_post_editing_continues_with_the_levt_of_translation(tmp_path: Path) -> None:
    """With the settings of the paper: learned positions, a score other than BLEU, text that has to be segmented."""
    text = parallel(tmp_path / "text")
    for path in list(text.glob("*.de")):
        save(path.with_suffix(".mt"), [line.replace("DOG", "CAT") for line in path.read_text("utf-8").splitlines()])
    tiny = {"TEXT": text, "VALID_EVERY": 4, "BLEU_TOKENIZE": "char", "TOKENS": 400, "MAX_ITER": 2}
    settings = {"VOCAB": 70, "BEAM": 2, "SIZES": "1 16 32 2", "TEACHER_UPDATES": 4, "LEVT_UPDATES": 8}
    more = "--eval-metrics rouge2 --best-checkpoint-metric rouge2"
    done = run_twice("translation/paper.sh", tmp_path / "levt", METRIC="rouge", MORE_FLAGS=more, **settings, **tiny)
    assert "ROUGE-2" in done.out
    best = checkpoints.load(tmp_path / "levt" / "levt" / "checkpoint_best.pt")
    assert checkpoints.config_of(best, "checkpoint", "best_checkpoint_metric") == "rouge2"

    settings = {"UPDATES": 4, "FINETUNE_UPDATES": 4, "WARMUP": 2, "GAMMAS": "0", "KEEP_BIASES": "", **SHAPE}
    settings |= {"TRANSLATION": tmp_path / "levt", "DRAFT": "mt"}
    done = run_twice("post_editing/paper.sh", tmp_path / "run", **settings, **tiny)
    finetuned = checkpoints.load(tmp_path / "run" / "finetuned" / "checkpoint_best.pt")
    for state in (best, finetuned):
        assert checkpoints.config_of(state, "model", "encoder_learned_pos")
        assert checkpoints.config_of(state, "task", "eval_bleu_tokenize") == "char"
    assert "tok:char" in done.out and "tok:none" not in done.out


@pytest.mark.slow
def test_english_compares_the_editor_with_symspell(tmp_path: Path) -> None:
    pytest.importorskip("symspellpy")
    settings = {name: save(tmp_path / name, toy_lines(1000, seed)) for seed, name in enumerate(("TEXT", "OTHER"))}
    settings["LIST"] = save(tmp_path / "LIST", [f"{word} 9" for word in SIMPLE_WORDS])
    clean = toy_lines(20, 3)
    save(tmp_path / "test" / "own.clean", clean)
    save(tmp_path / "test" / "own.typos", [line.replace("woman", "womann") for line in clean])
    settings["TEST"] = tmp_path / "test"
    settings["WORDS"] = save(tmp_path / "words", ["etcd", "Zurich"])
    settings["MISSPELLINGS"] = save(tmp_path / "misspellings", ["womann,woman", "teh,the"])
    settings |= {"UPDATES": 20, "PROMISE": 200, "TRAIN_FLAGS": "--max-tokens 400"}
    done = run_twice("english/run.sh", tmp_path / "out", **settings)
    rows = re.findall(r"^\| own \| (.+) \| ([\d.]+) \| ([\d.]+) \|$", done.out, re.M)
    assert {"SymSpell", "this editor"} <= {name for name, *_ in rows}
    config = json.loads((tmp_path / "out" / "editor" / "config.json").read_text("utf-8"))
    assert 0 <= config["dials"]["read"] <= 1
    assert Lexicon.read(tmp_path / "out" / "editor" / LEXICON).corrections("womann") == ["woman"]


@pytest.mark.slow
def test_the_demo_prints_its_table(tmp_path: Path) -> None:
    pytest.importorskip("symspellpy")
    done = run_twice("english/demo.sh", tmp_path / "out", PACKAGES="", SENTENCES=300, UPDATES=10, PROMISE=200)
    rows = re.findall(r"^\| (.+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", done.out, re.M)
    assert [name for name, *_ in rows] == ["SymSpell", "do nothing", "this editor"]
    assert 78 < float(rows[1][1]) < 90 and rows[1][2:] == ("0.0", "0.0") and float(rows[0][2]) > 50


@pytest.mark.slow
def test_grammar_scores_all_systems(tmp_path: Path) -> None:
    pytest.importorskip("symspellpy")
    out = tmp_path / "out"
    clean = ["He goes home.", "The cat sits here.", "We are in the house.", "She has a dog.", "They sleep now."]
    tokens = [line.replace(".", " .") for line in clean]
    save(tmp_path / "jfleg" / "dev.src", [line.replace("the ", "").replace("goes", "go") for line in tokens])
    for number in (0, 1):
        save(tmp_path / "jfleg" / f"dev.ref{number}", tokens)
    mistake = "S He go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\nS She sleeps .\n"
    gold = save(tmp_path / "learners.m2", [mistake] * 100)
    texts = {"TEXT": save(tmp_path / "text", clean * 200), "TEST": tmp_path / "jfleg", "TUNE": gold, "TEST_M2": gold}
    # the promise of one line of held-out text
    done = run_twice("grammar/run.sh", out, **texts, UPDATES=6, TUNE_UPDATES=6, TUNE_SYNTHETIC=8, PROMISE=100_000)
    gleu = figures(done.out, "GLEU")
    assert len(gleu) >= 6 and all(0 <= score <= 1 for score in gleu)  # with SymSpell, and do nothing beside each
    assert len(figures(done.out, "F0.5")) == len(gleu) / 2 and "VERB:SVA" in done.out
    assert len((out / "words" / "dict.txt").read_text("utf-8").splitlines()) > 65_000  # as README.md says
    assert "read" in json.loads((out / "editor" / "config.json").read_text("utf-8"))["dials"]


@pytest.mark.slow
def test_grammar_trains_a_pbd_on_boosted_text(tmp_path: Path) -> None:
    """Each step reads what the one before wrote: pairs, a model of mistakes, its text, two trainings, an editor."""
    clean = ["He goes home .", "The cat sits here .", "We are in the house .", "She has a dog .", "They sleep now ."]
    save(tmp_path / "jfleg" / "dev.src", [line.replace("goes", "go") for line in clean])
    save(tmp_path / "jfleg" / "dev.ref0", clean)
    mistake = "S He go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\nS She sleeps .\n"
    gold = save(tmp_path / "learners.m2", [mistake] * 100)
    texts = {"TEXT": save(tmp_path / "text", [line.replace(" .", ".") for line in clean * 200])}
    texts |= {"TEST": tmp_path / "jfleg", "TUNE": gold, "TEST_M2": gold, "BOOST": 40}
    settings = {"LAYERS": 1, "WIDTH": 16, "FFN": 16, "HEADS": 2, "VOCAB": 30, "TOKENS": 400, "WARMUP": 1, "BEAM": 1}
    settings |= {"UPDATES": 4, "TUNE_UPDATES": 4, "BOOST_UPDATES": 4, "VALID_EVERY": 2, "AVERAGE": 2}
    done = run_twice("grammar/pbd.sh", tmp_path / "out", TRAIN_FLAGS="--num-workers 0", **settings, **texts)
    assert len(figures(done.out, "GLEU")) == 4 and len(figures(done.out, "F0.5")) == 2


UKRAINIAN = [
    "Він — добрий сусід.",
    "Кіт сидить, але пес біжить.",
    "Ми живемо в Києві.",
    "Вона має пам'ять.",
    "Вони сплять.",
]


@pytest.mark.slow
def test_ukrainian_compares_the_editor_with_its_peers(tmp_path: Path) -> None:
    """Another language, from its files and with a pre-trained encoder, beside its peers."""
    mistakes = [line.replace("—", "-").replace(", але", " але").replace("сидить", "седить") for line in UKRAINIAN]
    write_texts(tmp_path / "pairs", {"clean": UKRAINIAN, "noisy": mistakes}, {"train": 200, "valid": 4})
    settings = {"PAIRS": tmp_path / "pairs", "WORDS": save(tmp_path / "words", ["сусіди", "кота", "псами", "селом"])}
    settings |= {"OTHER": save(tmp_path / "other", UKRAINIAN * 9), "HARM": save(tmp_path / "harm", UKRAINIAN[2:])}
    settings |= {"BACKBONE": made_and_imported("roberta", tmp_path)}
    done = run_twice("ukrainian/run.sh", tmp_path / "out", **settings, UPDATES=20, PROMISE=100_000, HUNSPELL="none")
    rows = {name: values for name, *values in re.findall(r"^\| ([\w ,]+) \|" + r" ([\d. ]+) \|" * 5, done.out, re.M)}
    assert {"do nothing", "a rule for dashes", "this editor", "this editor, every edit"} <= rows.keys()
    assert float(rows["do nothing"][0]) == 0 and rows["do nothing"][4] == "0.0 0.0"
    # a third of the edits are dashes, and all of them right
    assert rows["a rule for dashes"][0] == "0.7143"
    assert Lexicon.read(tmp_path / "out" / "editor" / LEXICON).knows("псами")  # the words of WORDS


@pytest.mark.slow
def test_ukrainian_runs_without_files_of_a_language(tmp_path: Path) -> None:
    """No file of a language is needed for a training."""
    noisy = [line.replace("—", "-") for line in UKRAINIAN]
    write_texts(tmp_path / "pairs", {"clean": UKRAINIAN, "noisy": noisy}, {"train": 100, "valid": 4})
    language = save(tmp_path / "language" / "readme.txt", ["nothing"]).parent
    lines = [*UKRAINIAN * 9, *[""] * 2000, *["long" * 100] * 2000]  # 2,000 lines are read of more than a pipe holds
    settings = {"PAIRS": tmp_path / "pairs", "OTHER": save(tmp_path / "other", lines), "WORDS": "", "CODE": "uk"}
    settings |= {"LANGUAGE_FILES": language, "UPDATES": 6, "PROMISE": 100_000, "PEERS": ""}
    done = run_twice("ukrainian/run.sh", tmp_path / "out", **settings)
    names = {line.split(" | ")[0] for line in done.out.splitlines()[2:]}
    assert names == {"| this editor", "| this editor, every edit"}
    assert not (tmp_path / "out" / "editor" / LEXICON).exists()


@pytest.mark.slow
def test_ocr_correction_runs_two_folds_and_an_ensemble(tmp_path: Path) -> None:
    """Two folds, an ensemble, and new misreadings in every epoch."""
    draw = random.Random(1)
    for fold in ("fold0", "fold1"):
        for split, size in (("train", 200), ("dev", 20), ("test", 20)):
            words = [" ".join(draw.choices("abcde", k=draw.randint(3, 7))) for _ in range(size)]
            save(tmp_path / "data" / fold / f"{split}.tgt", words)
            save(tmp_path / "data" / fold / f"{split}.src", [word.replace("a", "o", 1) for word in words])
    settings = {"DATA": tmp_path / "data", "FOLDS": "0,1", "ONLY": "pbd2,transformer2,levt2,pbd2+transformer2"}
    settings |= {"UPDATES": 6, "TOKENS": 300, "AVERAGE": 2, "NOISE_SHARE": 0.5, "WIDTH": 16, "FFN": 16}
    done = run_twice("ocr_correction/run.sh", tmp_path / "run", TRAIN_FLAGS="--num-workers 0", **settings)
    rows = re.findall(r"^\| (\S.*?) \| ([\d.]+) ± [\d.]+ \| ([\d.]+) ± [\d.]+ \| 2 \|$", done.out, re.M)
    assert [title for title, *_ in rows] == ["do nothing", "pbd2", "transformer2", "levt2", "pbd2+transformer2"]


@pytest.mark.slow
def test_labelling_runs_all_models(tmp_path: Path) -> None:
    """The task with all four models, one of them with one latent for all labels."""
    folder = tmp_path / "data" / "multilabel-goemotions"
    save(folder / "labels.txt", ["joy", "anger"])
    for name, times in (("train", 20), ("dev", 2)):
        save(folder / f"{name}.tsv", ["good film\t0", "bad film\t1", "so so\t", "good bad\t0,1"] * times)
    out = tmp_path / "run"
    settings = {"DATA": tmp_path / "data", "TASKS": "emotions", "VOCAB": 16, "UPDATES": 4, "VALID_EVERY": 2}
    done = run_twice("labelling/run.sh", out, **settings, WIDTH=16, FFN=32)
    reports = dict(re.findall(r"^==> \S+/(\w+)\.scores <==\n((?:.+\n)+)", done.out, re.M))
    assert reports.keys() == {"plain", "one", "spelled", "baselines"}
    assert all("thresholds tuned: " in text and "few labels: rp_at_5" in text for text in reports.values())


@pytest.mark.slow
@pytest.mark.parametrize(("script", "kind"), [("paper", "t5"), ("bert", "bert")])
def test_labelling_runs_the_papers_settings(script: str, kind: str, tmp_path: Path) -> None:
    pairs = [f"{line}\t{line[::-1]}\t{number % 2}" for number, line in enumerate(TOKENIZER_LINES * 4)]
    for split in ("train", "valid"):
        save(tmp_path / "data" / "mrpc" / f"{split}.tsv", pairs)
    make(kind, tmp_path / "model")
    settings = {"TASKS": "mrpc", "DATA": tmp_path / "data", "MODEL": tmp_path / "model", "EPOCHS": 1}
    few = "--max-update 2 --validate-interval-updates 1 --save-interval-updates 1 --num-workers 0"
    done = run_twice(f"labelling/{script}.sh", tmp_path / "out", TRAIN_FLAGS=few, **settings)
    assert "f1" in done.out and ("t5.valid.scores.json" in done.out) == (kind == "t5")


def run_in_once(commands: str, out: Path) -> Result:
    """Runs commands in a shell that goes on after an error, with the functions of once.sh."""
    return Running("bash", "-c", f"source examples/once.sh; set +e; {commands}", OUT=str(out)).result()


def test_a_failed_step_is_not_done(tmp_path: Path) -> None:
    result = run_in_once(
        "broken() { false; true; }; once first false || true; once second broken; once third true", tmp_path
    )
    assert result.err.splitlines() == ["first ...", "second ...", "third ..."]
    assert [path.name for path in (tmp_path / "done").iterdir()] == ["third"]


def test_settings_may_change_until_a_step_is_done(tmp_path: Path) -> None:
    settings = "same_settings COPIES; same_settings UPDATES"
    assert run_in_once(f"COPIES=1 UPDATES=5; {settings}", tmp_path).code == 0
    assert run_in_once(f"COPIES=1 UPDATES=6; {settings}; once step true", tmp_path).code == 0
    assert run_in_once(f"COPIES=1 UPDATES=6; {settings}", tmp_path).code == 0
    result = run_in_once(f"COPIES=1 UPDATES=; {settings}", tmp_path)
    assert result.code == 2 and "was started with UPDATES=6, not UPDATES=: use the same value" in result.err


SCRIPTS = {"translation/run.sh": "GAMMA", "translation/ablations.sh": "GAMMA", "translation/figures.sh": "GAMMA"}
SCRIPTS |= {"denoising/run.sh": "WORD_RATE", "denoising/levt.sh": "LEVT_UPDATES", "grammar/pbd.sh": "LAYERS"}
SCRIPTS |= {"post_editing/run.sh": "WIDTH", "post_editing/figures.sh": "MAX_ITER", "post_editing/aced.sh": "DATA"}
SCRIPTS |= {f"{name}/run.sh": "UPDATES" for name in ("english", "grammar", "labelling", "ocr_correction", "ukrainian")}


@pytest.mark.parametrize(("script", "setting"), [*SCRIPTS.items(), ("english/demo.sh", "UPDATES")])
def test_an_out_with_other_settings_is_refused(script: str, setting: str, tmp_path: Path) -> None:
    save(tmp_path / "done" / "data", [])
    save(tmp_path / "settings", [f"{setting}=7"])  # and now it has its default
    result = Running("bash", ROOT / "examples" / script, OUT=str(tmp_path), SYMSPELL="no").result()
    assert result.code == 2 and f"was started with {setting}=7, not {setting}=" in result.err.splitlines()[-1]


@pytest.mark.parametrize("name", ["plh_tok", "oracle-it"])
def test_ablations_refuses_unknown_names(name: str, tmp_path: Path) -> None:
    """They are refused at once, not after the trainings before them."""
    script = ROOT / "examples" / "translation" / "ablations.sh"
    result = Running("bash", script, OUT=str(tmp_path / "run"), ABLATIONS=f"oracle,{name}").result()
    assert result.code == 2 and result.err == f"ABLATIONS has an unknown name: {name}\n"
    assert not (tmp_path / "run").exists()


def test_english_reads_its_test_before_the_training(tmp_path: Path) -> None:
    for suffix, lines in (("clean", ["One.", "Two."]), ("typos", ["Oen."])):
        save(tmp_path / "test" / f"web.{suffix}", lines)
    variables = {
        "TEXT": str(save(tmp_path / "text", ["One."])),
        "TEST": str(tmp_path / "test"),
        "OUT": str(tmp_path / "out"),
    }
    result = Running("bash", ROOT / "examples" / "english" / "run.sh", **variables).result()
    assert result.code == 2 and "web.typos has 1 lines" in result.err and "..." not in result.err


@pytest.mark.parametrize("setting", ["TASKS", "MODELS"])
def test_labelling_refuses_unknown_names(setting: str, tmp_path: Path) -> None:
    """A typo must not train the task before it again, and must not be ignored."""
    folder = tmp_path / "data" / "pair-mrpc"
    for name in ("train", "dev"):
        save(folder / f"{name}.tsv", ["good\tgood film\t1", "bad\tgood\t0"] * 20)
    names = {"TASKS": "mrpc", "MODELS": "", setting: "other"}
    script = ROOT / "examples" / "labelling" / "run.sh"
    result = Running("bash", script, OUT=str(tmp_path / "run"), DATA=str(tmp_path / "data"), **names).result()
    assert result.code == 2 and f"{setting} has an unknown name: other" in result.err


@pytest.mark.slow
def test_denoising_runs_gated_models(tmp_path: Path) -> None:
    """Pairs that come with their noise: gated models, and SymSpell if it is installed."""
    clean = ["the red dog runs here", "a small cat sleeps there", "old men sit", "young women eat now", "big dogs run"]
    noisy = ["the rde dog runs here", "a small cta sleeps there", "old nem sit", "young women aet now", "big dgos run"]
    write_texts(tmp_path / "text", {"src": noisy, "tgt": clean}, {"part.train": 40, "part.valid": 2})
    settings = {"TEXT": tmp_path / "text", "TRAIN": "part.train", "TEST": "part.valid", "SEEDS": 1}
    settings |= {
        "VOCAB": 32,
        "TOKENS": 400,
        "WARMUP": 1,
        "UPDATES": 4,
        "VALID_EVERY": 4,
        "BEAM": 1,
        "TRAIN_FLAGS": DIMS,
    }
    done = run_twice("denoising/run.sh", tmp_path / "run", SYSTEMS="none,MCG", METRICS="wrr,bleu,wrr-set", **settings)
    rows = re.findall(r"^\| (do nothing|no gates|mask, copy, generate) \| ([\d.]+) \|", done.out, re.M)
    assert len(rows) == 3 and all(0 <= float(score) <= 1 for _, score in rows)

    settings |= {"LEVT_UPDATES": 5, "TRAIN_FLAGS": "--max-tokens 400", "METRICS": "wrr"}
    done = run_twice("denoising/levt.sh", tmp_path / "run", **settings)  # on the texts of run.sh, beside its systems
    assert {"do nothing", "no gates", "levt"} <= set(re.findall(r"^\| ([\w ]+) \| [\d.]+ \|", done.out, re.M))


@pytest.mark.slow
def test_denoising_runs_the_papers_settings_on_a_t5(tmp_path: Path) -> None:
    write_texts(tmp_path / "text", {"src": TOKENIZER_LINES, "tgt": TOKENIZER_LINES}, {"all": 20})
    settings = {"TEXT": tmp_path / "text"}
    settings |= {"BACKBONE": made_and_imported("t5", tmp_path), "TRAIN_FLAGS": "--max-epoch 1"}
    settings |= {"SYSTEMS": "all", "SEEDS": 1, "NOISES": "swap-both", "TOKENS": 1000, "BEAM": 1, "METRICS": "wrr"}
    done = run_twice("denoising/paper.sh", tmp_path / "run", **settings)
    assert {"do nothing", "all gates"} <= set(re.findall(r"^\| ([\w ]+) \| [\d.]+ \|", done.out, re.M))


@pytest.mark.slow
def test_post_editing_runs_with_synthetic_drafts(tmp_path: Path) -> None:
    """A weak system makes the drafts."""
    settings = {"TEXT": parallel(tmp_path / "text"), "VOCAB": 60, "TOKENS": 400, "WARMUP": 4, "UPDATES": 10, **SHAPE}
    settings |= {"FINETUNE_UPDATES": 10, "VALID_EVERY": 5, "MAX_ITER": 2, "GAMMAS": "0,1"}
    out = tmp_path / "run"
    done = run_twice("post_editing/run.sh", out, KEEP_BIASES="-1", WEAK="words", DISTIL="yes", **settings)
    systems = {path.stem for path in out.glob("*.out")}
    assert {"autoregressive", "translator_delete", "finetuned_both", "scratch", "zero_shot"} <= systems
    assert len(figures(done.out, "BLEU")) == len(figures(done.out, "TER")) == 1 + len(systems)
    assert 0 < json.loads((out / "finetuned.quality.json").read_text("utf-8"))["bad"] <= 1

    model = {"MODEL": out / "scratch" / "checkpoint_best.pt", "DATA": out / "triples", "TEXT": out / "drafts"}
    glossary = tmp_path / "glossary"
    done = run_twice("post_editing/glossary.sh", glossary, TRAIN=tmp_path / "text" / "train", BIASES="0", **model)
    assert len(figures(done.out, "BLEU")) == 6 and len(figures(done.out, "terms used")) == 4
    times = {path.name: path.read_text("utf-8").split() for path in glossary.glob("*.times")}
    assert {"test.without.times", "test.hard.times", "test.soft.times"} < times.keys()
    assert all(re.fullmatch(r"[\d.]+ [\d.]+", " ".join(lines)) for lines in times.values())  # nothing that edit says


@pytest.mark.slow
def test_recurring_mistakes_of_two_clients_are_corrected(tmp_path: Path) -> None:
    """Systems that repeat changes correct a mistake that all drafts have."""
    for seed, client in enumerate(("first", "second")):
        clean = toy_lines(150, seed)
        drafts, targets = ([f"{line} {word} end" for line in clean] for word in ("former", "new"))
        texts = {"src": clean, "pert": drafts, "tgt": targets}
        write_texts(tmp_path / "aced" / client, texts, {"train": 1, "dev": 1})
    settings = {"CLIENTS": "first second", "UPDATES": 4, "SCHEDULE": 40, "THRESHOLDS": "0 0.5", "TRAIN_FLAGS": DIMS}
    done = run_twice("post_editing/aced.sh", tmp_path / "run", DATA=tmp_path / "aced", **settings)
    systems = re.findall(r"^(\w+, [\w-]+)(?:, threshold .+)?\nsystem +F0.5 = ([\d.]+)", done.out, re.MULTILINE)
    peers = ["nothing", "rules", "rules-online", "context", "context-online"]
    names = [f"{client}, {name}" for client in ("first", "second") for name in [*peers, "every", "levt"]]
    assert [name for name, _ in systems] == names
    assert [dict(systems)[f"second, {name}"] for name in peers] == ["0.0000"] + 4 * ["1.0000"]
    assert figures(done.out, "system +exact match")[:4] == [0, 0, 1, 1]  # against doing nothing, and the rules


def test_a_recurring_change_depends_on_the_source() -> None:
    sources = ["no slot", "none slot"] * 20
    drafts, targets = ["kein Slot"] * 40, ["ohne Slot", "kein Slot"] * 20
    edited = {}
    for rules in (False, True):
        reviser = Reviser(online=False, rules=rules)
        reviser.fit(sources, drafts, targets)
        edited[rules] = [reviser.edit(source, "mit kein Slot", 0.5) for source in ("no slot", "none slot")]
    assert edited == {False: ["mit ohne Slot", "mit kein Slot"], True: ["mit ohne Slot"] * 2}


def test_a_correction_applies_to_later_drafts(tmp_path: Path) -> None:
    files = [save(tmp_path / side, ["x"]) for side in ("src", "draft", "clean")]
    drafts, corrected = ["ein Bild", "das Bild", "Bild 3"], ["ein Image", "das Image", "Bild 3"]
    source, target = save(tmp_path / "source", drafts), save(tmp_path / "target", corrected)
    command = ["python", ROOT / "examples" / "post_editing" / "recurring.py", *files, "--source", source, "--rules"]
    for more, last in (([], "Bild 3"), (["--corrected", target], "Image 3")):
        done = succeed(*command, *more, stdin="\n".join(drafts).encode())
        assert done.out.splitlines() == [*drafts[:2], last]
