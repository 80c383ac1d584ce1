"""examples/demo, scaled down: every command of its README, as it stands there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.integration.commands import ENVIRONMENT, ROOT

README = (ROOT / "examples" / "demo" / "README.md").read_text(encoding="utf-8")
RUN = "make -f examples/demo/Makefile"
SMALL = "PACKAGES= SENTENCES=300 SLIPS=0 PIECES=600 UPDATES=10 THREADS=1"
STAGES = 6


def shell(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def commands(out: Path) -> list[str]:
    """What the README tells the reader to type, with another folder and little to do."""
    blocks = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    return [block.replace("demo-out", str(out)).replace(RUN, f"{RUN} OUT={out} {SMALL}") for block in blocks]


def number(report: str, row: str) -> float:
    found = re.search(rf"^{row} +([\d.,]+)", report, re.MULTILINE)
    assert found, report
    return float(found[1].replace(",", ""))


def counts(report: str, row: str) -> tuple[int, int]:
    found = re.search(rf"^{row} .*\(([\d,]+) of ([\d,]+)\)", report, re.MULTILINE)
    assert found, report
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


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
    assert "update 10: validation loss" in demo
    assert len(demo.splitlines()) < 70


def test_held_out_sentences_are_new(demo: str, out: Path) -> None:
    texts = {split: (out / "text" / f"{split}.txt").read_text().splitlines() for split in ("train", "valid", "test")}
    assert [len(texts[split]) > 50 for split in texts] == [True] * 3
    words = [{re.sub("[^a-z]", "", text.lower()) for text in split} for split in texts.values()]
    assert len(set.union(*words)) == sum(map(len, texts.values()))


def test_numbers_of_the_table_agree_with_the_texts_and_each_other(demo: str, out: Path) -> None:
    clean, noisy = (
        [line.split() for line in (out / "text" / f"test.{side}").read_text().splitlines()]
        for side in ("clean", "noisy")
    )
    words = sum(map(len, clean))
    # typos keep the number of words, so before editing the rate is a matter of comparing word by word
    right = sum(a == b for x, y in zip(clean, noisy, strict=True) for a, b in zip(x, y, strict=True))
    repaired, misspelt = counts(demo, "misspelt words repaired")
    broken, correct = counts(demo, "correct words broken")
    kinds = [counts(demo, f"  {kind}") for kind in ("typos seen in training", "typos never seen")]
    assert tuple(map(sum, zip(*kinds, strict=True))) == (repaired, misspelt)
    assert number(demo, "held-out sentences") == len(clean)
    assert number(demo, "words") == words == misspelt + correct
    assert correct == right
    assert 78 < number(demo, "word recognition before") < 90
    assert number(demo, "word recognition before") == pytest.approx(100 * right / words, abs=0.06)
    after = 100 * (right + repaired - broken) / words
    assert number(demo, "word recognition after") == pytest.approx(after, abs=0.06)


def test_every_sentence_is_edited_from_its_own_draft(demo: str, out: Path) -> None:
    log = (out / "log" / "decode.log").read_text(encoding="utf-8")
    drafts = (out / "pieces" / "test.draft").read_text(encoding="utf-8").splitlines()
    starts = dict(re.findall(r"^E-(\d+)_0\t(.*)$", log, re.MULTILINE))
    assert [starts[str(i)] for i in range(len(drafts))] == drafts


def test_three_traces(demo: str, out: Path) -> None:
    shown = demo.partition("fills them {+so+}.\n\n")[2].partition("\n\nAll edits")[0]
    numbers = re.findall(r"^sentence (\d+)$", shown, re.MULTILINE)
    assert len(numbers) == 3
    command = f"lev-plugins trace {out}/log/decode.log --remove-bpe sentencepiece --select {','.join(numbers)}"
    assert shell(command).stdout.strip() == shown.strip()
    assert command.partition(" --select")[0] in demo


def test_all_edits_on_one_page(demo: str, out: Path) -> None:
    command = commands(out)[1]
    assert command.strip() in demo
    run = shell(command)
    assert run.returncode == 0, run.stderr
    page = (out / "trace.html").read_text(encoding="utf-8")
    assert page.count("<h2>sentence ") == number(demo, "held-out sentences")


def test_the_loss_falls(demo: str) -> None:
    losses = [float(loss) for loss in re.findall(r"validation loss ([\d.]+)", demo)]
    assert len(losses) > 1 and losses[-1] < losses[0]


def test_your_own_sentence(demo: str, out: Path) -> None:
    command = commands(out)[2]
    printed = demo.partition("Your own sentence")[2].partition("\n\n")[2]
    assert printed.replace("\\\n", " ").split() == command.replace("\\\n", " ").split()
    run = shell(command)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.split()) > 1 and len(run.stdout.splitlines()) == 1


def test_a_second_run_does_nothing_again(demo: str, out: Path) -> None:
    again = shell(commands(out)[0])
    assert again.returncode == 0 and again.stdout == demo[demo.index("\nheld-out sentences") + 1 :]


def test_make_demo_runs_it() -> None:
    assert f"MAKEFLAGS= {RUN}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
