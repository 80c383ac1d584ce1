"""examples/demo, scaled down: every command of its README, as it stands there."""

import json
import re
import subprocess
import urllib.request
from pathlib import Path

import pytest

from lev_plugins.scoring import wrr
from tests.commands import ENVIRONMENT, ROOT, succeed

README = (ROOT / "examples" / "demo" / "README.md").read_text(encoding="utf-8")
RUN = "make -f examples/demo/Makefile"
SMALL = "PACKAGES= SENTENCES=300 UPDATES=10 THREADS=1"
STAGES = 7


def shell(command: str) -> subprocess.CompletedProcess[str]:
    words = ["bash", "-c", f"set -o pipefail; {command}"]
    return subprocess.run(words, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, encoding="utf-8")


def commands(out: Path) -> list[str]:
    """What the README tells the reader to type, with another folder and little to do."""
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    return [block.replace("demo-out", str(out)).replace(RUN, f"{RUN} OUT={out} {SMALL}") for block in blocks]


def row(report: str, system: str) -> list[float]:
    found = re.search(rf"^{system} +([\d.]+) % +([\d.]+) % +([\d.]+) %$", report, re.MULTILINE)
    assert found, report
    return [float(number) for number in found.groups()]


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "out"


@pytest.fixture(scope="module")
def demo(out: Path) -> str:
    run = shell(commands(out)[0])
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_every_stage_is_one_line_and_ends(demo: str) -> None:
    for stage in range(1, STAGES + 1):
        assert len(re.findall(rf"^\[{stage}/{STAGES}\] .*\.\.\.$", demo, re.MULTILINE)) == 1
    losses = [float(loss) for loss in re.findall(r"update \d+: validation loss ([\d.]+)", demo)]
    assert len(losses) > 1 and losses[-1] < losses[0]
    assert len(demo.splitlines()) < 50


def test_held_out_sentences_are_new(demo: str, out: Path) -> None:
    texts = {split: (out / "text" / f"{split}.clean").read_text().splitlines() for split in ("train", "valid", "test")}
    assert [len(texts[split]) > 50 for split in texts] == [True] * 3
    words = [{re.sub("[^a-z]", "", text.lower()) for text in split} for split in texts.values()]
    assert len(set.union(*words)) == sum(map(len, texts.values()))


def test_numbers_of_the_table_agree_with_the_texts(demo: str, out: Path) -> None:
    texts = {
        side: [line.split() for line in (out / "text" / f"test.{side}").read_text("utf-8").splitlines()]
        for side in ("clean", "noisy")
    }
    edited = [json.loads(line)["text"] for line in (out / "edited" / "test.json").read_text("utf-8").splitlines()]
    words = sum(map(len, texts["clean"]))
    assert f"{len(texts['clean'])} held-out sentences, {words:,} words" in demo
    # typos keep the number of words, so before editing the rate is a matter of comparing word by word
    pairs = [pair for both in zip(*texts.values(), strict=True) for pair in zip(*both, strict=True)]
    before = 100 * sum(word == other for word, other in pairs) / words
    assert row(demo, "do nothing") == [pytest.approx(before, abs=0.06), 0, 0]
    assert 78 < before < 90
    after = 100 * wrr.evaluate([" ".join(words) for words in texts["clean"]], edited).score
    assert row(demo, "this editor")[0] == pytest.approx(after, abs=0.06)
    assert row(demo, "SymSpell")[1] > 50


def test_no_typo_is_in_the_noise_of_the_training(demo: str, out: Path) -> None:
    """The noise that the training made, by the command that says it makes the same."""
    flags = "--kind insert,delete,substitute,swap,keyboard --layout examples/english/letters.txt --varied"
    flags += " --word-rate 0.2 --char-rate 0.16 --min-letters 3 --epoch"
    train = (out / "text" / "train.clean").read_text("utf-8").split()
    begun = re.findall(r"begin training epoch (\d+)", (out / "model" / "log").read_text("utf-8"))
    noises = [shell(f"lev-plugins noise {flags} {n} <{out}/text/train.clean").stdout.split() for n in begun]
    seen = {pair for noisy in noises for pair in zip(train, noisy, strict=True) if len({*pair}) == 2}
    assert len(begun) > 1
    clean, wrong = ((out / "text" / f"test.{side}").read_text("utf-8").split() for side in ("clean", "noisy"))
    assert len(seen) > 500
    assert not {(word, typo) for word, typo in zip(clean, wrong, strict=True) if word != typo} & seen


def test_the_editor_is_a_model_folder_with_the_dial_of_the_validation_text(demo: str, out: Path) -> None:
    said = json.loads(shell(f"lev-plugins info {out}/editor --json").stdout)
    assert said["kind"] == "editor" and said["architecture"] == "levt_tiny"
    assert 0 <= said["decoding"]["min_confidence"] < 1


def test_your_own_sentence(demo: str, out: Path) -> None:
    command = commands(out)[1]
    assert all(line in demo for line in command.splitlines())
    run = shell(command)
    assert run.returncode == 0, run.stderr
    assert re.match(r"Ret\w+ the v\w+ of the f\w+\.\n", run.stdout)  # ten updates teach little


def test_the_server_starts_with_it(demo: str, out: Path) -> None:
    command = f"lev-plugins serve {out}/editor"
    assert f"  {command}\n" in demo
    with subprocess.Popen(
        ["bash", "-c", f"exec {command} --port 0"], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            told = next(line for line in server.stdout if "http://" in line)
            address = re.findall(r"http://[\d.]+:\d+", told)[0]
            request = urllib.request.Request(f"{address}/v1/edit", json.dumps({"texts": ["Sort it."]}).encode())
            answer = json.loads(urllib.request.urlopen(request).read())
            assert [each["text"] for each in answer["results"]] == ["Sort it."]
        finally:
            server.terminate()
        assert server.wait(60) == 0


def test_a_second_run_does_nothing_again(demo: str, out: Path) -> None:
    again = shell(commands(out)[0])
    assert again.returncode == 0 and again.stdout == demo[re.search(r"\d+ held-out sentences", demo).start() :]


def test_make_demo_runs_it_with_its_settings() -> None:
    printed = succeed("make", "-n", "demo", "OUT=there", "UPDATES=10", "VENV=.venv", "JOBS=1").out.replace("\\\n", " ")
    (line,) = (line for line in printed.splitlines() if "-f examples/demo/Makefile" in line)
    given = line.split("-f examples/demo/Makefile")[1].split()
    assert sorted(given) == ["OUT=there", "UPDATES=10"] and "MAKEFLAGS= " in line
