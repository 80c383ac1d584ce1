"""The commands that the examples run, and how their stages are made, stopped and continued."""

import itertools
import json
import random
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
from lev_plugins import __version__
from lev_plugins.errors import UserError
from lev_plugins.noise import NoiseOptions, build_corruption
from lev_plugins.scoring import wrr
from tests.commands import ENVIRONMENT, ROOT, readme_commands, run, succeed
from tests.examples import EXAMPLES, load_script

PLANS = Path(__file__).with_name("plans.txt")
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
    berts = ("models/minilm-backbone", "models/bert-base-uncased", "models/bert-base-multilingual-cased")
    for name in ("models/t5", *berts):
        (tmp_path / name).mkdir(parents=True)
        kind = {"model_type": "t5"} if "t5" in name else {"model_type": "bert", "max_position_embeddings": 512}
        (tmp_path / name / "config.json").write_text(json.dumps(kind), encoding="utf-8")
    for name in ("lev_plugins", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "data" / "udpos" / "tests").mkdir(parents=True)
    (tmp_path / "data" / "udpos" / "tests" / "de.conllu").touch()


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


@pytest.mark.parametrize("noise", ["random", "random-swap", "keyboard", "swap", "swap-both", "delete"])
def test_the_noise_of_a_rate_makes_wrr_miss_that_share_of_the_words(noise: str) -> None:
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(2000)]
    lines = [" ".join(draw.choices(words, k=draw.randint(8, 30))) for _ in range(400)]
    run = Run(EXAMPLES / "denoising", ["SET=paper", "TEXT=t", "WORD_RATE=0.29"])
    _, kinds, _, rate, *_ = shlex.split(load_script("denoising/run").added(run, noise, "--"))
    corrupt = build_corruption(NoiseOptions(kinds, word_rate=float(rate)))
    found = wrr.evaluate(lines, [corrupt(line, index) for index, line in enumerate(lines)])
    assert 0.27 < 1 - found.score < 0.31


@pytest.mark.parametrize("rate", ["0.7", "1", "some"])
def test_wrr_cannot_miss_all_words_when_words_change_places(rate: str) -> None:
    with pytest.raises(UserError, match=f"WORD_RATE must be a number up to 0.66 for swap-both, but is '{rate}'"):
        planned("denoising", "OUT=o", "NOISES=swap-both", f"WORD_RATE={rate}", "SYSTEMS=none")
    assert "--word-rate 0.99" in planned("denoising", "OUT=o", "NOISES=swap-both", "WORD_RATE=.66")["noise_swap-both"]


def test_make_passes_goals_and_settings() -> None:
    """Blanks, quotes and signs of the shell in a value included."""
    command = ["make", "-n", "-f", "examples/translation/Makefile", "TEXT=t", "OUT=o", "LEVT_FLAGS=--a 'b c' $$d & e"]
    printed = succeed(*command, "figures", "ALSO_ORACLE=yes", "GPUS=2").out
    (oracle,) = (line for line in printed.splitlines() if "--save-dir o/levt_oracle" in line)
    assert oracle.endswith("--a 'b c' $d & e") and "/figures.py exits greedy=o/time_greedy/log" in printed
    assert value(oracle.partition(" --a")[0], "--distributed-world-size") == "2" and "--cpu" not in oracle
    shown = succeed("make", "-f", "examples/labelling/paper.mk", "help").out
    assert re.search(r"^MODEL= +folder of a T5", shown, re.M) and re.search(r"^GPUS=auto +GPUs to use", shown, re.M)


def test_what_settings_change(backbones: None) -> None:
    Path("t/udpos/tests").mkdir(parents=True)
    for language in ("de", "fr"):
        Path(f"t/udpos/tests/{language}.conllu").touch()
    stages, refused, wrong, checked = {}, "", [], 0
    for line in re.sub("^(#.*)?\n", "", PLANS.read_text("utf-8"), flags=re.M).splitlines():
        name, _, text = line.strip().partition(": ")
        if not line.startswith(" "):
            example, *words = shlex.split(line)
            goal = words.pop(1) if words[0] == "goal" else "report"
            try:
                stages, refused = planned(example, *(word for word in words if "=" in word), goal=goal), ""
            except UserError as error:
                stages, refused = {}, str(error)
            continue
        if name == "refused":
            right = text in refused
        elif name.startswith("no "):
            right = not refused and name.removeprefix("no ") not in stages
        else:
            right = name in stages and (text.removeprefix("not ") in stages[name]) is not text.startswith("not ")
        checked += 1
        wrong += [] if right else [f"{example} {words}: {line} {refused}"]
    assert not wrong, "\n".join(wrong)
    assert checked > 110


# ---- stops, failures and other settings, by an example whose stages take no time ------------------------------------

TOY = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from examples.stages import main

def plan(run):
    run.begin("OUT", "PARTS FAIL")
    text = f"{{run.out}}/text"
    new = f"test ! -e {{text}}/average.pt; touch {{text}}/average.pt"  # as a command that overwrites nothing
    run.stage("text", "", f"cat in >{{text}}/text", f"echo '{{run.LETTER}}' >>{{text}}/text", new)
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
    made = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert made["command"] == "make -f ./Makefile report PARTS=a,b" and made["seed"] == "1" and made["tables"] == []
    assert made["minutes"] is not None and made["version"] == __version__ and "cores" in made["machine"]
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


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stop_loses_nothing_and_leaves_nothing_running(toy: list[str], tmp_path: Path, sent: signal.Signals) -> None:
    out, wait = tmp_path / "out", tmp_path / "out.wait"
    wait.touch()
    with subprocess.Popen(
        toy, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as running:
        while not (out / "a" / "checkpoint").exists() and running.poll() is None:
            time.sleep(0.02)
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
