"""The Makefiles of examples/: what they print, what they refuse, and what a stop or another setting does."""

from __future__ import annotations

import argparse
import itertools
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.commands import ENVIRONMENT, ROOT, readme_commands, run, succeed

EXAMPLES = ROOT / "examples"
EXAMPLE_NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/Makefile"))
MAKEFILES = sorted(EXAMPLES.glob("*/Makefile")) + [EXAMPLES / "labelling" / "paper.mk"]
OUR_OWN = [
    "MAKEFILE_LIST",
    "PATH",
    "HERE",
    "PLUGINS",
    "EXAMPLES",
    "DRY_RUN",
    "MAKECMDGOALS",
]  # variables that are not settings


def dry_run(makefile: str, *settings: str) -> str:
    return succeed("make", "-n", "-f", f"examples/{makefile}", *settings).out


def commands(printed: str, tool: str) -> list[list[str]]:
    """The arguments of each command of that name in a dry run; what a shell would fill in is a 1."""
    lines = printed.replace("\\\n", " ").replace("gated_FAMILY", "gated_t5")  # a pre-trained model that does not exist
    lines = re.sub(r'\$\(python [^()]*\)|(?<!")\$dial', "", lines)
    lines = re.sub(r"\$\([^()]*\)|\$\w+", "1", lines)
    found = []
    for line in lines.splitlines():
        words = shlex.split(line) if f"{tool} " in line else []
        if tool in words:
            words = words[words.index(tool) + 1 :]
            found.append([*itertools.takewhile(lambda word: not re.match(r"[<>|]|2>", word), words)])
    return found


def value(words: list[str], flag: str) -> str:
    return words[words.index(flag) + 1]


# ---- what they print -----------------------------------------------------------------------------------------------


def taken_by_fairseq(command: list[str], parser: argparse.ArgumentParser, seen: set[str]) -> None:
    """Its flags and their values; and, once for each choice of flags, as the typed configuration."""
    from fairseq import options
    from fairseq.dataclass.utils import convert_namespace_to_omegaconf

    args = options.parse_args_and_arch(parser, command)
    flags = " ".join(word for word in command if word.startswith("--"))
    if flags not in seen:
        seen.add(flags)
        convert_namespace_to_omegaconf(args)


@pytest.mark.parametrize("example", EXAMPLE_NAMES)
def test_commands_of_a_readme_are_ones_that_fairseq_takes(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command that the make commands of the page would run, without the data, where nothing has been made yet."""
    from fairseq import options

    from lev_plugins.cli.main import build_parser

    monkeypatch.setattr("sys.argv", ["fairseq"])  # where fairseq looks for --user-dir
    page, seen = readme_commands(example), set[str]()
    assert page
    for words in page:
        printed = succeed(*words, "-n", "GPUS=0", f"OUT={tmp_path / 'out'}").out
        trainings, decodings = commands(printed, "fairseq-train"), commands(printed, "fairseq-generate")
        others = ("labelling", "demo")  # decode with lev-plugins
        edits = {"SET=levt", "SYSTEMS=levt"} & set(
            words
        ) and "lev-plugins edit " in printed  # an editor decodes with it
        undecoded = {"trainings", "figures"} & set(words)
        assert trainings and (decodings or edits or example in others or undecoded)
        for command in trainings:
            assert "--cpu" in command and value(command, "--user-dir") == "lev_plugins"
            taken_by_fairseq(command, options.get_training_parser(), seen)
        for command in decodings:
            parser = options.get_generation_parser()
            parser.add_argument("--arch", default="wav2vec2")  # as fairseq_cli.generate does
            taken_by_fairseq(command, parser, seen)
        for command in commands(printed, "fairseq-preprocess"):
            assert options.get_preprocessing_parser().parse_args(command).destdir
        for command in commands(printed, "lev-plugins"):
            assert build_parser(command[0]).parse_args(command[1:]).run


@pytest.mark.parametrize("makefile", MAKEFILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_help_lists_every_setting(makefile: Path) -> None:
    shown = succeed("make", "-f", makefile, "help")
    assert shown.err == ""
    listed = re.findall(r"^([A-Z0-9_]+)=.*? \w", shown.out, re.M)
    used = set(re.findall(r"\$\(([A-Z][A-Z0-9_]*)[:)]", makefile.read_text("utf-8"))) - {*OUR_OWN}
    assert used <= {*listed} and {"OUT", "GPUS", "THREADS"} <= {*listed}


def test_gpus_replace_threads() -> None:
    printed = dry_run(
        "translation/Makefile", "TEXT=t", "OUT=o", "TOKENS=1000", "LEVT_TOKENS=500", "STEP_TOKENS=8000", "GPUS=2"
    )
    teacher, levt = commands(printed, "fairseq-train")
    assert (value(teacher, "--update-freq"), value(levt, "--update-freq")) == ("4", "8")  # fewer GPUs, more batches
    assert value(teacher, "--distributed-world-size") == "2" and "--processes 2" in printed
    assert "--cpu" not in printed and "OMP_NUM_THREADS=2" not in printed
    on_cpu = dry_run("translation/Makefile", "TEXT=t", "OUT=o", "THREADS=3")
    assert (
        on_cpu.count("OMP_NUM_THREADS=3 fairseq-train") == 2 and on_cpu.count("OMP_NUM_THREADS=1 fairseq-generate") == 3
    )


@pytest.mark.parametrize("makefile", MAKEFILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_training_takes_as_many_gpus_as_it_is_given(makefile: Path) -> None:
    if makefile.parent.name == "demo":
        return  # GPUS=1 is refused: see below
    folders = (f"{name}={name.lower()}" for name in ("TEXT", "DATA", "TEST", "OUT", "MODEL", "TRANSLATION"))
    named = re.findall(r"^([A-Z_]+) *:=", makefile.read_text("utf-8"), re.M)
    settings = [each for each in folders if each.partition("=")[0] in named]
    settings += ["SET=glue"] if makefile.name == "paper.mk" else []
    for gpus, processes in (("0", "1"), ("1", "1"), ("2", "2")):
        found = commands(dry_run(f"{makefile.parent.name}/{makefile.name}", *settings, f"GPUS={gpus}"), "fairseq-train")
        assert found and {value(words, "--distributed-world-size") for words in found} == {processes}
        assert all(("--cpu" in words) is (gpus == "0") for words in found)


@pytest.mark.parametrize(("longest", "last"), [("300", "300"), ("75", "75"), ("0", "")])
def test_long_texts_are_cut(longest: str, last: str) -> None:
    printed = dry_run("denoising/Makefile", "BACKBONE=b", "OUT=o", f"LONGEST={longest}")
    assert f"cut -d ' ' -f 1-{last} o/data_" in printed


@pytest.mark.parametrize(("average", "kept"), [("10", "10"), ("0", "1")])
def test_as_many_checkpoints_are_kept_as_are_averaged(average: str, kept: str) -> None:
    teacher = commands(dry_run("translation/Makefile", "TEXT=t", "OUT=o", f"AVERAGE={average}"), "fairseq-train")[0]
    assert value(teacher, "--keep-last-epochs") == kept


def test_the_paper_settings_of_translation() -> None:
    recipes = [words for words in readme_commands("translation") if "SET=paper" in words]
    assert len(recipes) == 4
    sizes = {"layers": "6", "embed-dim": "512", "ffn-embed-dim": "2048", "attention-heads": "8"}
    for words in recipes:
        printed = succeed(*words, "-n", "GPUS=8").out
        separate = "SEPARATE=yes" in words
        for command in commands(printed, "fairseq-train"):
            for name, size in sizes.items():
                assert [value(command, f"--{side}-{name}") for side in ("encoder", "decoder")] == [size] * 2
            for flag, wanted in (
                ("lr", "0.0005"),
                ("warmup-updates", "10000"),
                ("dropout", "0.3"),
                ("max-update", "300000"),
            ):
                assert value(command, f"--{flag}") == wanted
            assert value(command, "--label-smoothing") == "0.1"
            assert int(value(command, "--max-tokens")) * int(value(command, "--update-freq")) * 8 == 65536
            assert ("--share-all-embeddings" in command) is not separate and "--cpu" not in command
        assert ("--joined-dictionary" in printed) is not separate


def test_systems_of_ocr_correction_and_their_flags() -> None:
    settings = ["DATA=d", "OUT=o", "FOLDS=1", "NOISE_SHARE=0.5"]
    printed = dry_run("ocr_correction/Makefile", *settings, "FUTURE_DROPOUT=0.2")
    trained = {Path(value(words, "--save-dir")).name: " ".join(words) for words in commands(printed, "fairseq-train")}
    assert trained.keys() == {
        *(f"{kind}{depth}" for kind in ("transformer", "pbd", "levt") for depth in (2, 4)),
        *(f"pbd{depth}-no-{part}" for part in ("future", "segments", "sharing") for depth in (2, 4)),
        *("pbd2-seed2", "pbd2-seed3"),
    }
    assert "--seed 1" in trained["pbd2"] and "--seed 3" in trained["pbd2-seed3"]
    assert trained["pbd2-seed3"].split("--save-dir")[0] == trained["pbd2"].split("--save-dir")[0]
    assert "--arch pbd --layers 4" in trained["pbd4"] and "--future-dropout 0.2" in trained["pbd4"]
    assert "--no-sharing" in trained["pbd2-no-sharing"] and "--no-sharing" not in trained["pbd2"]
    assert "--no-future" in trained["pbd2-no-future"] and "--future-dropout" not in trained["pbd2-no-future"]
    assert "--decoder-layers 4" in trained["transformer4"] and "--noise-share 0.5" in trained["transformer4"]
    assert "--draft-lang draft" in trained["levt2"] and "--noise" not in trained["levt2"]
    assert "--lr-scheduler polynomial_decay" in trained["pbd2"] and "--total-num-update 4500" in trained["pbd2"]
    other = dry_run("ocr_correction/Makefile", *settings, "SCHEDULE=inverse_sqrt", "UPDATES=1800", "ONLY=pbd2")
    assert "--lr-scheduler inverse_sqrt" in other and "--max-update 1800" in other and "--total-num-update" not in other


def test_an_ensemble_is_decoded_by_its_members() -> None:
    settings = ["DATA=d", "OUT=o", "FOLDS=1", "ONLY=pbd2+transformer2"]
    printed = dry_run("ocr_correction/Makefile", *settings)
    trained = {Path(value(words, "--save-dir")).name for words in commands(printed, "fairseq-train")}
    assert trained == {"pbd2", "transformer2"}
    paths = [value(words, "--path") for words in commands(printed, "fairseq-generate") if ":" in value(words, "--path")]
    best = "o/fold1/pbd2/checkpoint_best.pt:o/fold1/transformer2/checkpoint_best.pt"
    average = "o/fold1/pbd2-test/average.pt:o/fold1/transformer2-test/average.pt"
    assert paths == [best, best, average, average]


@pytest.mark.parametrize("number", [2, 4, 6])
def test_drafts_that_exist_are_post_edited(number: int) -> None:
    printed = succeed(*readme_commands("post_editing")[number], "-n").out
    assert "/triples/data" in printed and "weak" not in printed and " -d mt " in printed and "--halve" not in printed


def test_drafts_are_translated_word_for_word() -> None:
    printed = succeed(*readme_commands("post_editing")[3], "-n").out
    assert "word_for_word.py --train" in printed and "--arch lstm" not in printed
    assert "--sentencepiece-model runs/post-editing-words/weak_data/data/sentencepiece.model" in printed


def test_synthetic_triples_and_more_pairs() -> None:
    printed = succeed(*readme_commands("post_editing")[4], "-n").out
    trained = {name: line for line in printed.splitlines() if (name := re.search(r"--save-dir \S+/(\w+)", line))}
    trained = {name[1]: line for name, line in trained.items()}
    assert "/pairs/data" in trained["translator"] and "--upsample-primary" not in trained["translator"]
    for name in ("scratch", "finetuned", "autoregressive"):
        assert "/triples/data" in trained[name] and "--upsample-primary 10" in trained[name]
    assert "--extra-train-prefix DIR/500K" in printed and "--train-prefix DIR/4M" in printed
    wrong = ["make", "-f", EXAMPLES / "post_editing" / "Makefile", "TEXT=.", "OUT=p", "-n"]
    assert "SYNTHETIC is for triples of your own" in run(*wrong, "SYNTHETIC=a").err
    assert (
        "TRANSLATION is a translator, and PARALLEL is for training one"
        in run(*wrong, "PARALLEL=a", "TRANSLATION=.").err
    )


def test_a_translator_that_exists_is_post_editing() -> None:
    printed = succeed(*readme_commands("post_editing")[1], "-n").out
    assert "/test_teacher/" in printed and "--save-dir runs/post-editing/translator" not in printed
    assert "--finetune-from-model runs/multi30k/levt/checkpoint_best.pt" in printed
    assert "--sentencepiece-model runs/multi30k/pieces/pieces.en-de.model" in printed


def test_noise_without_confusions_needs_no_table() -> None:
    settings = ["TEST=t", "OUT=o", "KEEP_BIASES=-1,0"]
    without, given = (
        dry_run("grammar/Makefile", *settings, f"NOISE={kind}") for kind in ("random:1", "random:1,confusions:2")
    )
    assert "confusions=" not in without and "--keep-bias=-1,0" in without
    assert "--confusions=" in given and "--noise-confusions=" in given


def test_learners_corpora_tune_the_corrector() -> None:
    recipes = [words for words in readme_commands("grammar") if "SET=paper" in words]
    assert len(recipes) == 5
    for words in recipes:
        printed = succeed(*words, "-n").out
        assert "--embed-dim 1024" in printed and "--finetune-from-model" in printed and "score m2" in printed


GATES = {
    "none": "",
    "all": "mask,copy,generate,skip",
    "MG": "mask,generate",
    "CG": "copy,generate",
    "MCG": "mask,copy,generate",
}


def test_every_system_of_denoising_has_its_gates() -> None:
    printed = dry_run("denoising/Makefile", "OUT=o", "NOISES=swap,delete", "SEEDS=3", "SYSTEMS=none,all,MG,CG,MCG")
    found = {
        Path(value(words, "--save-dir")).name: value(words, "--gates") for words in commands(printed, "fairseq-train")
    }
    assert found == {f"train_{noise}_{name}_3": gates for noise in ("swap", "delete") for name, gates in GATES.items()}
    assert len(commands(printed, "fairseq-generate")) == 10


@pytest.mark.parametrize(
    ("settings", "clean"),
    [
        (["NOISES=random", "METRICS=bleu"], "o/texts/test.src"),  # a translation of noisy text
        (["METRICS=wrr,bleu"], "o/data_as-is/test.tgt"),
        (["METRICS=bleu"], None),  # a translation of text whose clean form is not known
        (["NOISES=random", "METRICS=wrr", "BACKBONE=b"], "o/data_random/test.tgt"),  # after the tokenizer
        (["NOISES=random", "METRICS=bleu", "BACKBONE=b"], None),
    ],
)
def test_gates_are_drawn_by_noise_where_the_clean_source_is_known(settings: list[str], clean: str | None) -> None:
    printed = dry_run("denoising/Makefile", "OUT=o", "TEXT=t", "SYSTEMS=none,all", "SEEDS=1", *settings, "figures")
    made = [words for words in commands(printed, "lev-plugins") if words[0] == "plot"]
    drawn = [Path(value(words, "--output")).stem for words in made if "--output" in words]
    assert drawn == [*(["noise"] if clean else []), "length", "sentences"]
    assert sum("--save" in words for words in made) == 1  # the gates of all, none has no gates
    assert re.findall(r"^head -n 400 (\S+) >\S+/clean$", printed, re.M) == ([clean] if clean else [])


@pytest.mark.parametrize(
    ("settings", "alphabet", "shift_rate"),
    [
        (["SYSTEMS=levt,spelled"], None, None),
        (["SYSTEMS=levt,spelled", "ALPHABET=a&z", "SHIFT_RATE=0.2"], "a&z", "0.2"),
        (["SET=paper", "TEXT=t", "BACKBONE=b"], "any", "0.5"),  # as in Table 2 of the paper
    ],
)
def test_noise_of_denoising_has_the_flags_that_its_kind_reads(
    settings: list[str], alphabet: str | None, shift_rate: str | None
) -> None:
    """Both what is written into files and what is made while editors are trained."""
    printed = dry_run("denoising/Makefile", "OUT=o", "NOISES=random,keyboard,swap", "SEEDS=1", *settings)
    made = [words for words in commands(printed, "lev-plugins") if words[0] == "noise"]
    trained = [words for words in commands(printed, "fairseq-train") if "--noise-kind" in words]
    assert len(made) == 9 and len(trained) == (0 if "SET=paper" in settings else 6)
    wanted = {"random": (alphabet, None), "keyboard": (None, shift_rate), "swap": (None, None)}
    for prefix, each in (("--", made), ("--noise-", trained)):
        for words in each:
            found = (
                value(words, f"{prefix}{name}") if f"{prefix}{name}" in words else None
                for name in ("alphabet", "shift-rate")
            )
            assert value(words, f"{prefix}word-rate") == "0.3" and f"{prefix}char-rate" not in words
            assert tuple(found) == wanted[value(words, f"{prefix}kind")]


def test_what_labelling_trains() -> None:
    printed = dry_run("labelling/Makefile", "DATA=d", "OUT=o")
    trained = [Path(value(words, "--save-dir")).name for words in commands(printed, "fairseq-train")]
    tasks = ["emotions", "mrpc", "pos", "sst2"]
    assert sorted(trained) == sorted(
        [*(f"train_{task}{way}" for task in tasks for way in ("", "_spelled")), "train_emotions_one"]
    )
    assert printed.count(" --spelling ") == 4 and printed.count("--bpe words") == 3
    assert printed.count("--latents one") == 1 and printed.count("baselines.py") == 4
    plain = dry_run("labelling/Makefile", "DATA=d", "OUT=o", "TASKS=emotions,hter,hter21", "plain")
    trainings = commands(plain, "fairseq-train")
    chosen_by = {Path(value(words, "--save-dir")).name: value(words, "--best-checkpoint-metric") for words in trainings}
    assert chosen_by == {"train_emotions": "micro_f1", "train_hter": "pearson", "train_hter21": "pearson"}
    assert plain.count("baselines.py") == 3 and plain.count("report.py") == 1


def test_the_glue_set() -> None:
    settings = ["SET=glue", "TEXT=TEXT", "MODEL=T5", "OUT=OUT", "ONLY=mnli,stsb", "GPUS=1", "FLAGS=--max-update 2"]
    printed = dry_run("labelling/paper.mk", *settings, "ENCT5_FLAGS=--decoder-layers 12")
    trainings = [" ".join(words) for words in commands(printed, "fairseq-train")]
    assert len(trainings) == 4 and all(line.count("--bf16") == 1 and "--max-update 2" in line for line in trainings)
    enct5, t5 = trainings[:2]
    assert "--arch enct5 --backbone OUT/backbone/data" in enct5 and enct5.endswith("--decoder-layers 12")
    assert "--pack --pack-length 512" in enct5 and "--optimizer adafactor --scale-parameter --lr 0.001" in enct5
    assert "--label-kind classification" in trainings[2] and "--best-checkpoint-metric spearman" in trainings[2]
    assert printed.count("--round-labels 0.2") == 1 and printed.count("--label-kind regression") == 3  # T5's texts
    scored = re.findall(r"score.py (\S+) --part (\S+)", printed)
    assert scored == [(f"OUT/{task}/enct5/checkpoint_best.pt", "$part") for task in ("mnli", "stsb")]
    assert "OUT/stsb/enct5-test/*.json" in printed
    number = dry_run("labelling/paper.mk", *settings, "STSB=number")
    assert "--round-labels" not in number and "--best-checkpoint-metric spearman" in number
    assert "--arch gated_t5 --gates  --backbone OUT/backbone/data" in t5 and "--decoder-layers" not in t5
    assert re.findall(r"for part in (.*); do", printed) == ["valid test", "valid"]  # mnli: matched and mismatched
    assert [value(words, "--gen-subset") for words in commands(printed, "fairseq-generate")] == [
        "valid",
        "test",
        "valid",
    ]
    assert re.search(
        r"text_to_text.py TEXT/mnli/mismatched.tsv .* --generated OUT/mnli/t5-test/test.generated", printed
    )


def test_the_other_sets_of_enct5(tmp_path: Path) -> None:
    settings = ["MODEL=T5", "OUT=OUT", f"TEXT={tmp_path}"]
    (enct5,) = (
        line
        for line in dry_run("labelling/paper.mk", "SET=eurlex57k", *settings).replace("\\\n", "").splitlines()
        if "--arch enct5" in line
    )
    assert "--pack" not in enct5 and "--max-tokens 8192 --update-freq 8" in enct5
    (tmp_path / "udpos" / "tests").mkdir(parents=True)
    tests = [tmp_path / "udpos" / "tests" / f"{language}.conllu" for language in ("de", "fr")]
    for path in tests:
        path.touch()
    printed = dry_run("labelling/paper.mk", "SET=udpos", *settings, "GPUS=0")
    (prepared,) = (words for words in commands(printed, "lev-plugins") if words[0] == "prepare-labels")
    assert value(prepared, "--train") == f"{tmp_path}/udpos/train.conllu"
    assert prepared[prepared.index("--test") + 1 :][:2] == [*map(str, tests)]
    assert "--testpref OUT/udpos/t5-data/pieces/test,OUT/udpos/t5-data/pieces/test1" in printed
    assert "--bf16" not in printed  # on a CPU fairseq does not have it


# ---- what they refuse ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("example", "settings"), [("denoising", []), ("ocr_correction", ["DATA=d"])])
def test_symspell_is_a_choice(example: str, settings: list[str]) -> None:
    for choice in ("yes", "no"):
        printed = dry_run(f"{example}/Makefile", *settings, "OUT=o", f"SYMSPELL={choice}")
        assert ("symspell.py" in printed) == (choice == "yes")


BAD = [
    ("ocr_correction/Makefile", ["OUT=o"], "DATA is missing: give a folder, DATA=DIR"),
    (
        "translation/Makefile",
        ["TEXT=t", "OUT=o", "LAYERS=2", "EARLY_EXITS=1-3"],
        "EARLY_EXITS has no 1-3: choose from '' 1-1 1-2 2-1 2-2",
    ),
    ("translation/Makefile", ["TEXT=t", "OUT=o", "ALSO_FAST=no"], "ALSO_FAST has no no: choose from '' yes"),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "TEXT=x"], "There is no setting TEXT: choose from DATA OUT FOLDS"),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o o"], "OUT must not have blanks, but is 'o o'"),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "UPDATES=0"], "UPDATES must be a whole number above 0, but is '0'"),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "WORDS="], "WORDS must be a whole number, 0 or above, but is ''"),
    (
        "ocr_correction/Makefile",
        ["DATA=d", "OUT=o", "FOLDS=1,a"],
        "FOLDS must be a whole number, 0 or above, but is '1,a'",
    ),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "GPUS=all"], "GPUS must be auto or a whole number, but is 'all'"),
    (
        "ocr_correction/Makefile",
        ["DATA=d", "OUT=o", "ONLY=pbd3"],
        "ONLY has no pbd3: choose from '' transformer2 pbd2 levt2",
    ),
    (
        "ocr_correction/Makefile",
        ["DATA=d", "OUT=o", "SCHEDULE=cosine"],
        "SCHEDULE has no cosine: choose from polynomial_decay",
    ),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "FOLDS=7"], "There is no file d/fold7/train.src"),
    ("translation/Makefile", ["TEXT=t", "OUT=o", "SET=papers"], "There is no set papers: choose from paper"),
    ("translation/Makefile", ["TEXT=t", "OUT=o"], "There is no file t/train.en"),
    (
        "translation/Makefile",
        ["TEXT=t", "OUT=o", "STEP_TOKENS=10000", "GPUS=3", "-n"],
        "of TOKENS times the number of GPUs, 12288, but is 10000",
    ),
    ("translation/Makefile", ["TEXT=t", "OUT=o", "METRIC=ter"], "METRIC has no ter: choose from bleu rouge"),
    ("denoising/Makefile", ["OUT=o", "SYSTEMS=all,some"], "SYSTEMS has no some: choose from none all MG CG MCG"),
    ("denoising/Makefile", ["OUT=o", "BACKBONE=/nowhere"], "There is no file /nowhere/dict.txt"),
    ("denoising/Makefile", ["OUT=o", "SET=paper", "TEXT=t", "-n"], "BACKBONE is missing: give a folder"),
    ("labelling/Makefile", ["DATA=d", "OUT=o", "TASKS=x"], "TASKS has no x: choose from sst2 mrpc emotions pos"),
    ("labelling/paper.mk", ["TEXT=t", "MODEL=m", "OUT=o"], "SET is missing: choose from eurlex57k glue udpos"),
    (
        "labelling/paper.mk",
        ["SET=udpos", "TEXT=t", "MODEL=m", "OUT=o"],
        "There are no files t/udpos/tests/LANGUAGE.conllu",
    ),
    ("labelling/Makefile", ["DATA=d", "OUT=o", "SET=glue"], "There is no set glue, and this example has none"),
    ("translation/Makefile", ["TEXT=a:b", "OUT=o"], "the path a:b has :: give one without such signs"),
    ("translation/Makefile", ["TEXT=a", "OUT=a#b"], "the path a#b has #: give one without such signs"),
    ("translation/Makefile", ["TEXT=a", "OUT=a(%"], "the path a(% has % (: give one without such signs"),
    (
        "translation/Makefile",
        ["TEXT=a", "OUT=o", "BLEU_TOKENIZE=13A"],
        "BLEU_TOKENIZE has no 13A: choose from none 13a",
    ),
    (
        "translation/Makefile",
        ["TEXT=a", "OUT=o", "LEVT_START=teacher,scratch"],
        "LEVT_START has no teacher,scratch: choose from teacher scratch",
    ),
    (
        "translation/Makefile",
        ["TEXT=a", "OUT=o", "LEVT_START=teacher scratch"],
        "LEVT_START must be one value, but is 'teacher scratch'",
    ),
    ("denoising/Makefile", ["OUT=o", "TRAIN=t"], "TRAIN is for pairs: give their folder as well, TEXT=DIR"),
    (
        "denoising/Makefile",
        ["OUT=o", "TEXT=t", "NOISES=swap", "-n"],
        "levt and spelled learn added noise from clean text alone: with TEXT and NOISES, choose SYSTEMS from none all",
    ),
    (
        "denoising/Makefile",
        ["OUT=o", "BACKBONE=b", "SYSTEMS=levt", "-n"],
        "SYSTEMS=levt does not work with BACKBONE: choose from none all MG CG MCG",
    ),
    (
        "grammar/Makefile",
        ["TEST=t", "OUT=o", "UPDATES=1900", "-n"],
        "UPDATES must be a multiple of VALID_EVERY, 1000, but is 1900",
    ),
    ("grammar/Makefile", ["TEST=t", "OUT=o"], "There is no file t/dev.src"),
    (
        "grammar/Makefile",
        ["TEST=t", "OUT=o", "ARCH=levt", "TUNE=a.m2", "-n"],
        "do not work with ARCH=levt: leave them out",
    ),
    ("grammar/Makefile", ["TEST=t", "OUT=o", "ERRANT=yes", "-n"], "ERRANT=yes scores TEST_M2: give it too"),
    ("labelling/Makefile", ["DATA=d", "OUT=o", "-n", "pretrained"], "pretrained needs BACKBONE: give the folder"),
    ("ocr_correction/Makefile", ["DATA=d", "OUT=o", "ONLY=pbd2x2", "SEED=2", "-n"], "SEED=2 is that of pbd2-seed2"),
    ("demo/Makefile", ["OUT=o", "UPDATES=few"], "UPDATES must be a whole number above 0, but is 'few'"),
    ("demo/Makefile", ["OUT=o", "GPUS=1"], "GPUS has no 1: choose from auto 0"),
]


@pytest.mark.parametrize(("makefile", "settings", "message"), BAD)
def test_wrong_settings(tmp_path: Path, makefile: str, settings: list[str], message: str) -> None:
    done = run("make", "-f", EXAMPLES / makefile, *settings, cwd=tmp_path)
    assert done.code == 2 and message in done.err and len(done.err.splitlines()) == 1
    assert [*tmp_path.iterdir()] == []


def test_an_early_exit_is_named_after_its_blocks(tmp_path: Path) -> None:
    """m-n, as LevT(m-n) in Figure 4b of the paper: deletions read block m, placeholders block n."""
    command = ["make", "-n", "-f", EXAMPLES / "translation" / "Makefile", "TEXT=t", "OUT=o", "EARLY_EXITS=1-3"]
    printed = " ".join(succeed(*command, "o/levt_1-3/done", cwd=tmp_path).out.replace("\\\n", "").split())
    assert "--save-dir o/levt_1-3" in printed and "--deletion-layers 1 --placeholder-layers 3" in printed


def test_what_a_run_needs_is_there_before_it_begins(tmp_path: Path) -> None:
    for name in ("train.en", "train.de", "valid.en", "valid.de", "test.en", "test.de"):
        (tmp_path / name).touch()
    missing = run(
        "make", "-f", EXAMPLES / "translation" / "Makefile", "TEXT=.", "OUT=o", "SEGMENT=no-such-tool -x", cwd=tmp_path
    )
    assert not (tmp_path / "o").exists()  # where the next attempt would find the settings of this one
    assert missing.code == 2 and "SEGMENT: there is no command no-such-tool: install it" in missing.err
    (tmp_path / "levt").mkdir()
    (tmp_path / "levt" / "checkpoint_best.pt").touch()
    begun = run("make", "-f", EXAMPLES / "post_editing" / "Makefile", "TEXT=.", "OUT=p", "TRANSLATION=.", cwd=tmp_path)
    assert begun.code == 2 and "TRANSLATION=. is not a finished run of examples/translation" in begun.err


# ---- stops, failures, other settings, by a Makefile whose stages take no time ----------------------------------------

TOY = """
IN := # a file
OUT := # folder
PARTS := a # which
LETTER := x # what is written
FAIL := # yes: fail
THREADS := 1 # threads
FOLDERS := OUT
SELECT := PARTS FAIL THREADS
INPUTS = $(IN)
parts = $(call list,$(PARTS))
include $(dir $(lastword $(MAKEFILE_LIST)))../common.mk

$(OUT)/text/done:
	cat $(IN) >$(@D)/text
	echo '$(LETTER)' >>$(@D)/text
$(parts:%=$(OUT)/%/begun): $(OUT)/text/done
$(parts:%=$(OUT)/%/done): $(OUT)/%/done: $(OUT)/%/begun
	echo 'begins, or continues' >>$(@D)/checkpoint
	$(if $(FAIL),echo the reason; false)
	while [ -e $(OUT).wait ]; do sleep 0.02; done
	cat $(OUT)/text/text >$(@D)/result
report: $(parts:%=$(OUT)/%/done)
	cat $(^D:%=%/result)
"""


@pytest.fixture
def toy(tmp_path: Path) -> list[str]:
    """The command of a toy example: its folder stands where an example's would."""
    folder = tmp_path / "examples" / "toy"
    folder.mkdir(parents=True)
    for name in ("common.mk", "stage.sh"):
        (tmp_path / "examples" / name).symlink_to(EXAMPLES / name)
    (folder / "Makefile").write_text(TOY, encoding="utf-8")
    (tmp_path / "in").write_text("in\n", encoding="utf-8")
    return ["make", "-C", str(tmp_path), "--no-print-directory", "-f", "examples/toy/Makefile", "IN=in", "OUT=out"]


def test_stages_are_done_once_and_more_can_be_chosen(toy: list[str], tmp_path: Path) -> None:
    dry = succeed(*toy, "-n").out
    assert "cat in >out/text/text" in dry and not (tmp_path / "out").exists()
    first = succeed(*toy).out
    assert re.sub(r"\d+ s$", "N s", first, flags=re.M) == "text ...\ntext: done in N s\na ...\na: done in N s\nin\nx\n"
    assert succeed(*toy).out == "in\nx\n"
    assert succeed(*toy, "PARTS=a,b").out.startswith("b ...\nb: done in ")
    assert (tmp_path / "out" / "a" / "checkpoint").read_text("utf-8").count("begins") == 1


def test_other_settings_and_other_files_are_refused(toy: list[str], tmp_path: Path) -> None:
    succeed(*toy)
    other = run(*toy, "LETTER=y$$z #")
    assert (
        other.code == 2
        and "out was made with LETTER='x' and not 'y$z #': take another OUT, remove out, or," in other.err
    )
    (tmp_path / "in").write_text("other\n", encoding="utf-8")
    changed = run(*toy)
    assert changed.code == 2 and "out was made from another in: take another OUT, remove out, or," in changed.err
    assert (tmp_path / "out" / "a" / "result").read_text("utf-8") == "in\nx\n"
    for _ in range(2):  # what make would read differently in OUT/settings is the same again
        assert succeed(*toy, "OUT=out2", "LETTER=y$$z #").out.endswith("other\ny$z #\n")


def test_a_test_that_was_added_is_another_one(tmp_path: Path) -> None:
    for name in ("dev.src", "dev.ref0", "dev.ref0~"):
        (tmp_path / name).touch()
    out = tmp_path / "o"
    out.mkdir()
    (out / "settings").write_text("was.references := ./dev.ref0\n", encoding="utf-8")
    grammar = ["make", "-C", str(tmp_path), "-n", "-f", str(EXAMPLES / "grammar" / "Makefile"), "TEST=.", "OUT=o"]
    succeed(*grammar)
    (tmp_path / "dev.ref1").touch()
    added = run(*grammar)
    assert added.code == 2 and "o was made with references='./dev.ref0' and not './dev.ref0 ./dev.ref1'" in added.err


def test_a_folder_is_no_file(toy: list[str], tmp_path: Path) -> None:
    done = run(*toy, "IN=examples")
    assert done.code == 2 and "examples is a folder: name a file" in done.err


def test_another_make_with_other_settings(toy: list[str], tmp_path: Path) -> None:
    """It began after this one had read that there are none."""
    out = tmp_path / "out"
    (tmp_path / "examples" / "toy" / "Makefile").write_text(
        TOY.replace(
            "\techo '$(LETTER)'",
            "\techo 'was.LETTER := y' >>$(OUT)/settings\n\tsed -i.bak /LETTER.*x/d $(OUT)/settings\n\techo",
        )
    )
    done = run(*toy)
    assert done.code == 2 and "another make is filling out with another LETTER: take another OUT" in done.err
    assert (out / "text" / "done").exists() and not (out / "a" / "begun").exists()


def test_settings_that_cannot_be_written(toy: list[str], tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mv").symlink_to(shutil.which("false") or "")
    done = run(*toy, PATH=f"{tmp_path / 'bin'}:{ENVIRONMENT['PATH']}")
    assert done.code == 2 and "out/settings cannot be written" in done.err
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name[0] != "."] == ["text"]
    assert not (tmp_path / "out" / "text" / "done").exists()


@pytest.mark.parametrize("out", ["./o", "out/../o", "{}/o", "~/o", "."])
def test_a_folder_may_be_written_in_many_ways(toy: list[str], tmp_path: Path, out: str) -> None:
    folder = tmp_path if out == "." else tmp_path / "o"
    (tmp_path / "out").mkdir()
    command, home = [*toy, f"OUT={out.format(tmp_path)}"], str(tmp_path)
    assert succeed(*command, HOME=home).out.startswith("text ...\n")
    assert all((folder / name).exists() for name in ("settings", "text/done", "a/begun", "a/log", "a/done"))
    assert succeed(*command, HOME=home).out == "in\nx\n"
    other = run(*command, "LETTER=y", HOME=home)
    assert other.code == 2 and "was made with LETTER='x' and not 'y'" in other.err


def test_a_failure_shows_its_log_and_can_be_continued(toy: list[str], tmp_path: Path) -> None:
    failed = run(*toy, "FAIL=yes")
    assert failed.code == 2 and "a failed; the end of out/a/log:\nthe reason\n" in failed.err
    assert not (tmp_path / "out" / "a" / "done").exists()
    succeed(*toy)
    assert (tmp_path / "out" / "a" / "checkpoint").read_text("utf-8").count("continues") == 2


def wait_for(*paths: Path) -> None:
    end = time.monotonic() + 30
    while not all(path.exists() for path in paths):
        assert time.monotonic() < end, paths
        time.sleep(0.02)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_loses_nothing_and_leaves_nothing_running(toy: list[str], tmp_path: Path, sent: signal.Signals) -> None:
    """Two parts at once; whether the stop comes from the terminal or from another program."""
    out = tmp_path / "out"
    (tmp_path / "out.wait").touch()
    running = subprocess.Popen(
        [*toy, "PARTS=a,b", "-j2"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait_for(out / "a" / "checkpoint", out / "b" / "checkpoint")
    os.killpg(running.pid, sent) if sent == signal.SIGINT else running.send_signal(sent)  # Ctrl-C reaches all of them
    if sent == signal.SIGKILL:
        running.wait()
        if shutil.which("flock"):
            second = run(*toy, "PARTS=a,b")
            assert second.code == 2 and "a is already running, in another make or since one was killed" in second.err
            third = subprocess.Popen([*toy, "PARTS=a,b"], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
            time.sleep(0.5)
        (tmp_path / "out.wait").unlink()  # what it started ends by itself, unseen
        if shutil.which("flock"):
            printed, _ = third.communicate(timeout=30)  # b may end just before its turn, and is then made again
            assert printed.endswith("in\nx\nin\nx\n") and "a ..." not in printed and third.returncode == 0
        time.sleep(0.5)
    else:
        printed, _ = running.communicate(timeout=30)
        assert running.returncode != 0 and "a: stopped" in printed and "b: stopped" in printed
        (tmp_path / "out.wait").unlink()
        time.sleep(0.2)
        assert not (out / "a" / "result").exists() and not (out / "a" / "done").exists()
    assert "text ..." not in succeed(*toy, "PARTS=a,b").out
    assert (out / "b" / "result").read_text("utf-8") == "in\nx\n"


def test_what_is_only_interrupted_goes_on(toy: list[str], tmp_path: Path) -> None:
    """kill -STOP, to leave the machine to others for a while."""
    out = f"interrupted-{os.getpid()}"
    wait = tmp_path / f"{out}.wait"
    wait.touch()
    running = subprocess.Popen([*toy, f"OUT={out}"], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(tmp_path / out / "a" / "checkpoint")
    listed = run("ps", "-eww", "-o", "pgid=,args=").out.splitlines()
    groups = {int(line.split()[0]) for line in listed if "pipefail" in line and f"{out}.wait" in line}
    (group,) = groups - {os.getpgid(running.pid)}
    os.killpg(group, signal.SIGSTOP)
    time.sleep(0.3)
    assert running.poll() is None
    os.killpg(group, signal.SIGCONT)
    wait.unlink()
    printed, errors = running.communicate(timeout=30)
    assert running.returncode == 0 and b"a: done in" in printed, errors


def test_a_training_begins_again_when_its_data_was_made_again(toy: list[str], tmp_path: Path) -> None:
    succeed(*toy)
    (tmp_path / "out" / "a" / "done").unlink()
    succeed(*toy)
    checkpoint = tmp_path / "out" / "a" / "checkpoint"
    assert checkpoint.read_text("utf-8").count("continues") == 2
    (tmp_path / "out" / "text" / "done").unlink()
    succeed(*toy)
    assert checkpoint.read_text("utf-8").count("begins") == 1
