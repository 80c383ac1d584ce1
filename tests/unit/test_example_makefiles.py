"""The commands that the examples run, and how their stages are made, stopped and continued."""

import itertools
import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.stages import Run
from lev_plugins.errors import UserError
from tests.examples import EXAMPLES, load_script
from tests.integration.commands import ENVIRONMENT, ROOT, readme_commands, run, succeed

EXAMPLE_NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/Makefile"))


def planned(example: str, *words: str, goal: str = "report") -> dict[str, str]:
    """The commands of each stage that a run without any output so far would make, one a line."""
    made = Run(EXAMPLES / example, ["GPUS=0", *words], goal, dry=True)
    load_script(f"{example}/run").plan(made)
    return {name: "\n".join(commands) for name, commands in made.made.items()}


def of_page(example: str, words: list[str]) -> dict[str, str]:
    """The same of a make command of a page."""
    goals = [word for word in words[1:] if re.fullmatch("[a-z]+", word)]
    settings = [word for word in words if "=" in word]
    folder = f"{example}/paper" if any(word.endswith("paper.mk") for word in words) else example
    return dict(
        itertools.chain.from_iterable(planned(folder, *settings, goal=goal).items() for goal in goals or ["report"])
    )


def commands(printed: str, tool: str) -> Iterator[list[str]]:
    """The arguments of each command of that name; what a shell would fill in is a 1."""
    printed = re.sub(r"\$\(python [^()]*\)|(?<![\"])\$dial\b", "", printed)
    for line in re.sub(r"\$\([^()]*\)|\$\w+", "1", printed).splitlines():
        words = shlex.split(line) if f"{tool} " in line else []
        if tool in words:
            rest = words[words.index(tool) + 1 :]
            yield [*itertools.takewhile(lambda word: not re.match(r"[<>|]|2>", word), rest)]


def value(line: str, flag: str) -> str:
    """The one that applies: the last."""
    words = shlex.split(line)
    return words[len(words) - 1 - words[::-1].index(flag) + 1]


# ---- commands of the pages -------------------------------------------------------------------------------------------


def take(tool: str, command: list[str]) -> None:
    """Reads the flags and their values as the tool does."""
    from fairseq import options

    from lev_plugins.cli.main import build_parser

    if tool == "lev-plugins":
        assert build_parser(command[0]).parse_args(command[1:]).run
    elif tool == "fairseq-preprocess":
        assert options.get_preprocessing_parser().parse_args(command).destdir
    else:
        parser = options.get_training_parser() if tool == "fairseq-train" else options.get_generation_parser()
        if tool == "fairseq-generate":
            parser.add_argument("--arch", default="wav2vec2")  # as fairseq_cli.generate does
        assert options.parse_args_and_arch(parser, command)


@pytest.fixture
def backbones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pre-trained models and files that pages name, where the commands look for them."""
    monkeypatch.chdir(tmp_path)
    for name in ("models/minilm-backbone", "models/t5"):
        (tmp_path / name).mkdir(parents=True)
        kind = {"model_type": "bert" if "minilm" in name else "t5"}
        (tmp_path / name / "config.json").write_text(json.dumps(kind), encoding="utf-8")
    for name in ("lev_plugins", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)


@pytest.mark.usefixtures("backbones")
@pytest.mark.parametrize("example", EXAMPLE_NAMES)
def test_commands_of_a_page_are_ones_that_fairseq_takes(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each choice of flags that the make commands of the pages lead to, without the data."""
    monkeypatch.setattr("sys.argv", ["fairseq"])  # where fairseq looks for --user-dir
    seen: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for words in readme_commands(example):
        printed = "\n".join(of_page(example, words).values())
        assert all("--cpu" in command for command in commands(printed, "fairseq-train")) and "fairseq-train" in printed
        for tool in ("fairseq-train", "fairseq-generate", "fairseq-preprocess", "lev-plugins"):
            for command in commands(printed, tool):
                flags = [word for word in command if word.startswith("-")]
                seen[(tool, command[0] if tool == "lev-plugins" else "", *flags)] = (tool, command)
    assert seen
    for tool, command in seen.values():
        take(tool, command)


def test_make_passes_goals_and_settings() -> None:
    """Blanks, quotes and signs of the shell in a value included."""
    command = ["make", "-n", "-f", "examples/translation/Makefile", "TEXT=t", "OUT=o", "LEVT_FLAGS=--a 'b c' $$d & e"]
    printed = succeed(*command, "figures", "ALSO_ORACLE=yes", "GPUS=2").out
    (oracle,) = (line for line in printed.splitlines() if "--save-dir o/levt_oracle" in line)
    assert oracle.endswith("--a 'b c' $d & e") and "/figures.py exits greedy=o/time_greedy/log" in printed
    assert value(oracle.partition(" --a")[0], "--distributed-world-size") == "2" and "--cpu" not in oracle
    shown = succeed("make", "-f", "examples/labelling/paper.mk", "help").out
    assert re.search(r"^MODEL= +folder of a T5", shown, re.M) and re.search(r"^GPUS=auto +GPUs to use", shown, re.M)


def test_the_paper_settings_of_translation() -> None:
    recipes = [words for words in readme_commands("translation") if "SET=paper" in words]
    assert len(recipes) == 4
    for words in recipes:
        stages = of_page("translation", words)
        for name in ("teacher", "levt"):
            sizes = {"layers": "6", "embed-dim": "512", "ffn-embed-dim": "2048", "attention-heads": "8"}
            assert all(value(stages[name], f"--decoder-{size}") == number for size, number in sizes.items())
            flags = {"lr": "0.0005", "warmup-updates": "10000", "dropout": "0.3", "max-update": "300000"}
            assert all(value(stages[name], f"--{flag}") == wanted for flag, wanted in flags.items())
            assert value(stages[name], "--max-tokens") == "8192" and "--label-smoothing 0.1" in stages[name]
            assert ("--share-all-embeddings" in stages[name]) is ("SEPARATE=yes" not in words)


def test_levts_differ_in_what_they_share_read_and_learn_from() -> None:
    words = ["TEXT=t", "OUT=o", "ALSO_ORACLE=yes", "ALSO_FAST=yes", "ABLATIONS=plh-tok,dae", "EARLY_EXITS=1-3"]
    stages = planned("translation", *words)
    assert "--finetune-from-model o/levt_start_plh-tok/levt.pt" in stages["levt_plh-tok"]
    assert "--deletion-rollin dae" in stages["levt_dae"] and "o/levt_start/levt.pt" in stages["levt_dae"]
    assert "o/binarise/data " in stages["levt_oracle"] and "o/distil/data " in stages["levt"]
    assert "--deletion-layers 1 --placeholder-layers 3" in stages["levt_1-3"]
    assert "--arch levt_fast" in stages["levt_fast"] and "--early-exit 3,3,3" in stages["levt_start_fast"]
    scratch = planned("translation", "TEXT=t", "OUT=o", "LEVT_START=scratch", "AVERAGE=0")
    assert "levt_start" not in scratch and "--finetune-from-model" not in scratch["levt"]
    assert scratch["average"] == "cp o/teacher/checkpoint_best.pt o/average/teacher.pt"


def test_systems_of_ocr_correction_and_their_flags() -> None:
    stages = planned("ocr_correction", "DATA=d", "OUT=o", "FOLDS=1", "NOISE_SHARE=0.5", "FUTURE_DROPOUT=0.2")
    trained = {name.removeprefix("fold1/"): line for name, line in stages.items() if "fairseq-train" in line}
    assert len(trained) == 3 * 2 + 3 * 2 + 2
    assert "--seed 1" in trained["pbd2"] and "--seed 3" in trained["pbd2-seed3"]
    assert "--arch pbd --layers 4" in trained["pbd4"] and "--future-dropout 0.2" in trained["pbd4"]
    assert "--no-sharing" in trained["pbd2-no-sharing"] and "--no-sharing" not in trained["pbd2"]
    assert "--no-future" in trained["pbd2-no-future"] and "--future-dropout" not in trained["pbd2-no-future"]
    assert "--decoder-layers 4" in trained["transformer4"] and "--noise-share 0.5" in trained["transformer4"]
    assert "--draft-lang draft" in trained["levt2"] and "--noise" not in trained["levt2"]
    other = planned("ocr_correction", "DATA=d", "OUT=o", "ONLY=pbd2", "SCHEDULE=inverse_sqrt")
    assert "--total-num-update" in trained["pbd2"] and "--total-num-update" not in other["fold0/pbd2"]


def test_an_ensemble_is_decoded_by_its_members() -> None:
    stages = planned("ocr_correction", "DATA=d", "OUT=o", "FOLDS=1", "ONLY=pbd2+transformer2")
    decoded = stages["fold1/pbd2+transformer2-test"].splitlines()
    best = "o/fold1/pbd2/checkpoint_best.pt:o/fold1/transformer2/checkpoint_best.pt"
    average = "o/fold1/pbd2-test/average.pt:o/fold1/transformer2-test/average.pt"
    assert [value(line, "--path") for line in decoded] == [best, best, average, average]


def test_drafts_are_given_translated_or_taken_from_another_example() -> None:
    given = planned("post_editing", "TEXT=t", "OUT=o", "DRAFT=mt")
    assert "--halve" not in given["texts"] and " -d mt " in given["triples"] and "weak" not in given
    words = planned("post_editing", "TEXT=t", "OUT=o", "WEAK=words")
    assert "word_for_word.py --train" in words["drafts"] and "weak" not in words
    assert "--sentencepiece-model o/weak_data/data/sentencepiece.model" in words["triples"]
    other = planned("post_editing", "TEXT=t", "OUT=o", "TRANSLATION=m")
    assert "translator" not in other and "test_teacher" in other
    assert "--finetune-from-model m/levt/checkpoint_best.pt" in other["finetuned"]
    assert "--sentencepiece-model m/pieces/pieces.en-de.model" in other["weak_data"]
    more = planned("post_editing", "TEXT=t", "OUT=o", "DRAFT=mt", "SYNTHETIC=s", "PARALLEL=p")
    assert "--extra-train-prefix s" in more["triples"] and "--train-prefix p" in more["pairs"]
    assert "o/pairs/data" in more["translator"] and "--upsample-primary" not in more["translator"]
    assert all("--upsample-primary 10" in more[name] for name in ("scratch", "finetuned", "autoregressive"))


def test_noise_of_grammar() -> None:
    without, table = (planned("grammar", "TEST=t", "OUT=o", f"NOISE={kind}") for kind in ("random", "confusions:2"))
    assert "--noise-confusions" not in without["train"] and " --confusions" not in without["texts"]
    assert "--noise-confusions=o/texts/confusions.tsv" in table["train"] and "--confusions=" in table["texts"]


def test_learners_corpora_tune_the_corrector() -> None:
    recipes = [words for words in readme_commands("grammar") if "SET=paper" in words]
    assert len(recipes) == 5
    for words in recipes:
        stages = of_page("grammar", words)
        assert "--embed-dim 1024" in stages["train"] and "--finetune-from-model" in stages["tune"]
        assert "score m2" in stages["test_m2"] and "--update-freq 8" in stages["tune"]


def test_systems_of_denoising() -> None:
    words = ["OUT=o", "NOISES=swap,keyboard", "SEEDS=3", "SYSTEMS=none,all,MG,CG,MCG,levt", "SHIFT_RATE=0.2"]
    stages = planned("denoising", *words)
    gates = {name: value(stages[f"train_swap_{name}_3"], "--gates") for name in ("none", "all", "MG", "CG", "MCG")}
    assert gates == {
        "none": "",
        "all": "mask,copy,generate,skip",
        "MG": "mask,generate",
        "CG": "copy,generate",
        "MCG": "mask,copy,generate",
    }
    editor, noise = stages["train_keyboard_levt_3"], stages["noise_keyboard"]
    assert "--noise-kind keyboard --noise-word-rate 0.3 --noise-shift-rate 0.2" in editor
    assert noise.count("--kind keyboard --word-rate 0.3 --shift-rate 0.2") == 3 and "shift" not in stages["noise_swap"]
    assert "lev-plugins edit" in stages["test_keyboard_levt_3"] and "forced_keyboard_levt_3" not in stages
    assert not any(name.startswith("test_") for name in planned("denoising", *words, goal="trainings"))


@pytest.mark.parametrize(
    ("words", "clean"),
    [
        (["NOISES=random", "METRICS=bleu"], "o/texts/test.src"),  # a translation of noisy text
        (["METRICS=wrr,bleu"], "o/data_as-is/test.tgt"),
        (["METRICS=bleu"], None),  # a translation of text whose clean form is not known
        (["NOISES=random", "METRICS=wrr", "BACKBONE=models/t5"], "o/data_random/test.tgt"),  # after the tokenizer
        (["NOISES=random", "METRICS=bleu", "BACKBONE=models/t5"], None),
    ],
)
@pytest.mark.usefixtures("backbones")
def test_gates_are_drawn_by_noise_where_the_clean_source_is_known(words: list[str], clean: str | None) -> None:
    stages = planned("denoising", "OUT=o", "TEXT=t", "SYSTEMS=none,all", "SEEDS=1", *words, goal="figures")
    (drawn,) = (lines for name, lines in stages.items() if name.startswith("gates_"))  # none has no gates
    assert re.findall(r"^head -n 400 (\S+) >\S+/clean$", drawn, re.M) == ([clean] if clean else [])
    figures = [Path(value(line, "--output")).stem for line in drawn.splitlines() if "--output" in line]
    assert figures == [*(["noise"] if clean else []), "length", "sentences"]


@pytest.mark.usefixtures("backbones")
def test_long_texts_are_cut() -> None:
    for longest, last in (("300", "300"), ("0", "")):
        stages = planned("denoising", "BACKBONE=models/t5", "OUT=o", "SYSTEMS=none", f"LONGEST={longest}")
        assert f"cut -d ' ' -f 1-{last} o/data_" in stages["data_swap"]


def test_what_labelling_trains() -> None:
    stages = planned("labelling", "DATA=d", "OUT=o")
    trained = [name for name in stages if name.startswith("train_")]
    tasks = ["sst2", "mrpc", "emotions", "pos"]
    models = [
        f"train_{task}{way}"
        for task in tasks
        for way in ("", "_one", "_spelled")
        if task == "emotions" or way != "_one"
    ]
    assert trained == models and value(stages["train_pos_spelled"], "--max-update") == "5000"
    assert "--latents one" in stages["train_emotions_one"] and "--spelling" in stages["train_mrpc_spelled"]
    plain = planned("labelling", "DATA=d", "OUT=o", "TASKS=emotions,hter,hter21", goal="plain")
    metrics = [value(line, "--best-checkpoint-metric") for name, line in plain.items() if name.startswith("train_")]
    assert metrics == ["micro_f1", "pearson", "pearson"] and "baselines_hter21" in plain
    pretrained = planned("labelling", "DATA=d", "OUT=o", "TASKS=mrpc", "BACKBONE=b", goal="pretrained")
    assert [*pretrained] == ["texts_mrpc", "backbone_mrpc", "train_mrpc_pretrained", "test_mrpc_pretrained"]


def test_the_papers_sets_of_enct5(tmp_path: Path) -> None:
    words = ["SET=glue", "TEXT=t", "MODEL=m", "OUT=o", "ONLY=mnli,stsb", "GPUS=1", "FLAGS=--max-update 2"]
    stages = planned("labelling/paper", *words, "ENCT5_FLAGS=--decoder-layers 12")
    trained = {name: line for name, line in stages.items() if "fairseq-train" in line}
    assert [*trained] == [f"{task}/{model}" for task in ("mnli", "stsb") for model in ("enct5", "t5")]
    assert all("--bf16" in line and value(line, "--max-update") == "2" for line in trained.values())
    assert trained["mnli/enct5"].endswith("--decoder-layers 12") and "--decoder-layers" not in trained["mnli/t5"]
    assert "--arch gated_t5 --gates '' --backbone o/backbone/data" in trained["mnli/t5"]
    assert "--round-labels 0.2" in stages["stsb/labels"] and "--label-kind regression" in stages["stsb/t5-data"]
    number = planned("labelling/paper", *words, "STSB=number")
    assert "--round-labels" not in number["stsb/labels"] and "spearman" in number["stsb/enct5"]
    assert (
        "text_to_text.py t/mnli/mismatched.tsv" in stages["mnli/t5-test"] and "--part test" in stages["mnli/enct5-test"]
    )
    eurlex = planned("labelling/paper", "SET=eurlex57k", "TEXT=t", "MODEL=m", "OUT=o")["eurlex/enct5"]
    assert "--pack" not in eurlex and "--max-tokens 8192 --update-freq 8" in eurlex and "--bf16" not in eurlex
    tests = tmp_path / "udpos" / "tests"
    tests.mkdir(parents=True)
    for language in ("de", "fr"):
        (tests / f"{language}.conllu").touch()
    udpos = planned("labelling/paper", "SET=udpos", f"TEXT={tmp_path}", "MODEL=m", "OUT=o")
    assert f"--test {tests}/de.conllu {tests}/fr.conllu" in udpos["udpos/labels"]
    assert "--testpref o/udpos/t5-data/pieces/test,o/udpos/t5-data/pieces/test1" in udpos["udpos/t5-data"]


def test_symspell_is_a_choice() -> None:
    for example, words in (("denoising", []), ("ocr_correction", ["DATA=d"]), ("grammar", ["TEST=t"])):
        yes, no = (planned(example, *words, "OUT=o", f"SYMSPELL={choice}") for choice in ("yes", "no"))
        assert "symspell.py" in "".join(yes.values()) and "symspell.py" not in "".join(no.values())


@pytest.mark.parametrize(
    ("example", "words", "message"),
    [
        ("ocr_correction", ["OUT=o"], "DATA is missing: give a folder, DATA=DIR"),
        ("ocr_correction", ["DATA=d", "OUT=o", "TEXT=x"], "there is no setting TEXT: choose from GPUS, DATA, OUT"),
        ("ocr_correction", ["DATA=d", "OUT=o", "ONLY=pbd3"], "ONLY has unknown systems: pbd3; choose from"),
        ("ocr_correction", ["DATA=d", "OUT=o", "ONLY=pbd2x2", "SEED=2"], "SEED=2 is that of pbd2-seed2"),
        ("demo", ["UPDATES=few"], "UPDATES must be a whole number, but is 'few'"),
        ("translation", ["TEXT=t", "OUT=o", "SET=papers"], "there is no set papers: choose from paper"),
        ("denoising", ["OUT=o", "SYSTEMS=all,some"], "SYSTEMS must be some of none, all, MG, CG, MCG and levt"),
        ("denoising", ["OUT=o", "SET=paper", "TEXT=t"], "BACKBONE is missing: give a folder"),
        ("denoising", ["OUT=o", "TEXT=t", "NOISES=swap"], "levt learns added noise from clean text alone"),
        ("labelling", ["DATA=d", "OUT=o", "TASKS=x"], "TASKS has unknown tasks: x; choose from sst2, mrpc"),
        ("labelling", ["DATA=d", "OUT=o", "SET=glue"], "there is no setting SET"),
        ("labelling/paper", ["SET=blue", "TEXT=t", "MODEL=m", "OUT=o"], "there is no set blue: choose from glue"),
        ("labelling/paper", ["SET=udpos", "TEXT=t", "MODEL=m", "OUT=o"], "there are no files t/udpos/tests/LANGUAGE"),
        ("grammar", ["TEST=t", "OUT=o", "UPDATES=1900"], "UPDATES must be a multiple of VALID_EVERY, 1000"),
        ("grammar", ["TEST=t", "OUT=o", "ARCH=levt", "TUNE=a.m2"], "do not work with ARCH=levt: leave them out"),
        ("grammar", ["TEST=t", "OUT=o", "ERRANT=yes"], "ERRANT=yes scores TEST_M2: give it too"),
        ("post_editing", ["TEXT=t", "OUT=o", "SYNTHETIC=s"], "SYNTHETIC is for triples of your own"),
        ("post_editing", ["TEXT=t", "OUT=o", "PARALLEL=p", "TRANSLATION=m"], "leave one out"),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together(example: str, words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        planned(example, *words)


# ---- stops, failures and other settings, by an example whose stages take no time ------------------------------------

TOY = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from examples.stages import main

def plan(run):
    run.begin("OUT", "PARTS FAIL")
    run.stage("text", "", f"cat in >{{run.out}}/text/text", f"echo '{{run.LETTER}}' >>{{run.out}}/text/text")
    for part in run.parts("PARTS"):
        run.training(
            part,
            "text",
            f"echo 'begins, or continues' >>{{run.out}}/{{part}}/checkpoint",
            "echo the reason; false" if run.FAIL else "",
            f"while [ -e {{run.out}}.wait ]; do sleep 0.02; done",
            f"cat {{run.out}}/text/text >{{run.out}}/{{part}}/result",
        )
    run.show("a/result")

sys.exit(main(__file__, "report", plan))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command of a toy example."""
    (tmp_path / "run.py").write_text(TOY, encoding="utf-8")
    (tmp_path / "settings").write_text("OUT=out # folder\nPARTS=a # which\nLETTER=x # what\nFAIL= # yes\n", "utf-8")
    (tmp_path / "in").write_text("in\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return [sys.executable, "run.py", "report"]


def test_stages_are_done_once_and_more_can_be_chosen(toy: list[str], tmp_path: Path) -> None:
    assert succeed(*toy, "--dry-run", cwd=tmp_path).out.startswith("cat in >out/text/text\n")
    assert not (tmp_path / "out").exists()
    first = succeed(*toy, cwd=tmp_path).out
    assert re.sub(r"\d+ s$", "N s", first, flags=re.M) == "text ...\ntext: done in N s\na ...\na: done in N s\nin\nx\n"
    other = run(*toy, "LETTER=y", cwd=tmp_path)
    assert other.code == 2 and "out was made with LETTER=x: use another OUT, or remove this one" in other.err
    assert succeed(*toy, "PARTS=a,b", cwd=tmp_path).out.startswith("b ...\nb: done in ")
    (tmp_path / "out" / "text" / "done").unlink()
    succeed(*toy, cwd=tmp_path)  # a training begins again when its data was made again
    assert (tmp_path / "out" / "a" / "checkpoint").read_text("utf-8").count("begins") == 1


def test_a_failure_shows_its_log_and_can_be_continued(toy: list[str], tmp_path: Path) -> None:
    failed = run(*toy, "FAIL=yes", cwd=tmp_path)
    assert failed.code == 2 and "a failed; the end of out/a/log:\nbegins" not in failed.err
    assert failed.err.endswith("a failed; the end of out/a/log:\nthe reason\n")
    assert not (tmp_path / "out" / "a" / "done").exists()
    assert succeed(*toy, cwd=tmp_path).out.endswith("in\nx\n")
    assert (tmp_path / "out" / "a" / "checkpoint").read_text("utf-8").count("continues") == 2


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end, path
        time.sleep(0.02)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_loses_nothing_and_leaves_nothing_running(toy: list[str], tmp_path: Path, sent: signal.Signals) -> None:
    out, wait = tmp_path / "out", tmp_path / "out.wait"
    wait.touch()
    with subprocess.Popen(
        toy, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        wait_for(out / "a" / "checkpoint")
        running.send_signal(sent)
        if sent == signal.SIGKILL:
            running.wait()
            second = run(*toy, cwd=tmp_path)
            assert second.code == 2 and "a is already running, in another make or since one was killed" in second.err
        else:
            printed, _ = running.communicate(timeout=30)
            assert running.returncode != 0 and "a: stopped" in printed
    wait.unlink()
    time.sleep(0.3)
    assert (out / "a" / "result").exists() is (sent == signal.SIGKILL)  # what it had started ends by itself, unseen
    assert not (out / "a" / "done").exists()
    printed = succeed(*toy, cwd=tmp_path).out
    assert "text ..." not in printed and (out / "a" / "result").read_text("utf-8") == "in\nx\n"
