"""examples/translation as its README calls it, on a text of a few hundred invented sentences."""

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.commands import ENVIRONMENT, ROOT, readme, readme_command, readme_commands, succeed

WORDS = ["red", "blue", "old", "young", "small", "big", "dog", "cat", "man", "woman", "runs", "sleeps", "sits", "eats"]
WORDS += ["here", "there", "today", "now"]
LONG = 17  # number of the one training sentence that the teacher skips
STAGES = ["pieces", "binarise", "teacher", "average", "distil", "levt_start", "levt", "levt_oracle"]
STAGES += ["levt_start_fast", "levt_fast", "test_levt_fast"]
STAGES += ["levt_start_plh-tok"]
STAGES += [f"{stage}levt_{name}" for name in ("plh-tok", "dae", "1-1") for stage in ("", "test_")]
STAGES += ["test_sampled", "test_reranked", "test_noisy", "peer_start"]
STAGES += ["it", "test_it", "maskt", "test_maskt"]
STAGES += ["test_greedy", "test_beam", "test_levt", "test_levt_oracle"]
SMALL = ["VOCAB=70", "LONGEST=30", "TOKENS=400", "LAYERS=1", "WIDTH=16", "FFN=32", "HEADS=2", "TEACHER_UPDATES=30"]
SMALL += ["TEACHER_FLAGS=--num-workers 0 --warmup-updates 5", "AVERAGE=2", "BEAM=2", "SHARD_SIZE=50", "LEVT_UPDATES=8"]
SMALL += ["LEVT_FLAGS=--num-workers 0 --log-interval 4 --warmup-updates 4 --max-tokens 400", "VALID_EVERY=4"]
SMALL += ["MAX_ITER=3", "GAMMA=1", "GPUS=0", "THREADS=1", "ALSO_FAST=yes", "FAST_EXITS=1,1,1", "ABLATIONS=plh-tok,dae"]
SMALL += ["EARLY_EXITS=1-1", "SEARCH=2", "PEERS=it,maskt"]


def write_text(folder: Path) -> None:
    """The "translation" of a sentence is its words, turned around and spelt in capitals."""
    draw = random.Random(1)
    folder.mkdir()
    for split, size in (("train", 250), ("valid", 8), ("test", 6)):
        text = [" ".join(draw.choices(WORDS, k=draw.randint(3, 6))) for _ in range(size)]
        if split == "train":
            text[LONG] = " ".join(WORDS * 2)
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in text))
        turned = (" ".join(reversed(line.upper().split())) for line in text)
        (folder / f"{split}.de").write_text("".join(f"{line}\n" for line in turned))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Stopped in the middle of the distillation, then run to its end; the first stages are not repeated."""
    folder = tmp_path_factory.mktemp("translation")
    write_text(folder / "text")
    out = folder / "run"
    command = [*readme_command("translation", 0, TEXT=folder / "text", OUT=out), *SMALL]
    first = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )
    shard = out / "distil" / "data.shards" / "train.0-50.json"
    while not shard.exists() and first.poll() is None:
        time.sleep(0.02)
    first.send_signal(signal.SIGTERM)
    printed, errors = first.communicate(timeout=60)
    assert shard.exists(), errors
    assert first.returncode != 0 and "distil: stopped" in errors
    before = re.findall(r"^(\S+): done in", printed, re.M)
    printed = succeed(*command, timeout=1200).out
    after = re.findall(r"^(\S+): done in \d+ s$", printed, re.M)
    assert not {*before} & {*after} and sorted([*before, *after]) == sorted(STAGES)
    return out, printed


def test_every_stage_leaves_its_files(runs: tuple[Path, str]) -> None:
    out = runs[0]
    files = ["pieces/pieces.en-de.model", "average/teacher.pt", "levt/checkpoint_best.pt"]
    files += [f"{stage}/{name}" for stage in STAGES for name in ("log", "done")]
    assert [name for name in files if not (out / name).exists()] == []
    assert re.search(r"^[1-4] of 5 shards were decoded before$", (out / "distil" / "log").read_text("utf-8"), re.M)


def test_figures_are_drawn_by_one_command(runs: tuple[Path, str]) -> None:
    """The same words as in the page, with fewer systems: what only selects them may change."""
    out = runs[0]
    number = [words[-1] for words in readme_commands("translation")].index("figures")
    command = readme_command("translation", number, TEXT=out.parent / "text", OUT=out)
    printed = succeed(
        *command, *SMALL, "ALSO_ORACLE=", "ALSO_FAST=", "ABLATIONS=", "EARLY_EXITS=", "SEARCH=0", "PEERS=", timeout=600
    ).out
    for name in ("iterations", "exits", "oracle"):
        assert (out / f"{name}.svg").read_text("utf-8").startswith("<?xml")
    assert re.findall(r"^(\S+): [\d.]+ BLEU, [\d.]+ ms$", printed, re.M) == ["greedy", "beam", "levt"]
    oracles = re.findall(r"^(\S+): [\d.]+(?: [\d.]+)*$", printed, re.M)
    assert oracles == ["alone", "delete", "delete+placeholder"]
    scored = json.loads((out / "report.json").read_text())["systems"]["test_levt"]["scores"]["BLEU"]
    assert f"levt: {scored:.2f} BLEU" in printed  # the same words as in the report


def test_another_seed_has_the_same_teacher(runs: tuple[Path, str]) -> None:
    """The page copies the folder of a run, without what a seed changes."""
    out, copy = runs[0], runs[0].parent / "seed2"
    blocks = re.findall(r"^```bash\n(.*?)^```", readme("translation"), re.M | re.S)
    block = next(block for block in blocks if block.startswith("cp -a"))
    lines = block.replace("runs/multi30k-table2", str(out)).replace("runs/multi30k-seed2", str(copy)).splitlines()
    subprocess.run(["bash", "-ec", "\n".join(line for line in lines if not line.startswith("make "))], check=True)
    command = next(words for words in readme_commands("translation") if "SEED=2" in words)
    command = [*command, f"TEXT={out.parent / 'text'}", f"OUT={copy}", *SMALL, "-n"]
    trained = re.findall(r"fairseq-train .*--save-dir \S+/(\S+)", succeed(*command, timeout=120).out)
    assert trained == ["levt", "levt_fast", "levt_plh-tok", "levt_dae", "levt_1-1"]


def test_the_report_has_its_numbers(runs: tuple[Path, str]) -> None:
    out, printed = runs
    found = json.loads((out / "report.json").read_text())
    assert len(found["systems"]) == 13 and found["systems"]["test_levt_1-1"]["title"] == "... early exits 1-1"
    trained = [found["systems"][f"test_{name}"]["training"] for name in ("levt", "levt_dae")]
    assert all("deletion_word_nll" in one and one["parameters"] > 0 for one in trained)
    recorded = json.loads((out / "results.json").read_text("utf-8"))
    assert recorded["minutes"] > 0 and recorded["command"].startswith("make -f examples/translation/Makefile report ")
    bleu = {row[0]: row[1] for row in recorded["tables"][0]}
    for system in found["systems"].values():
        assert 0 <= system["scores"]["BLEU"] <= 100 and bleu[system["title"]] == f"{system['scores']['BLEU']:.2f}"
        assert system["ms_per_sentence"] > 0
        assert system["sentences"] == 6
    assert found["systems"]["test_greedy"]["training"]["updates"] == 30
    for name in ("test_levt", "test_levt_oracle"):
        levt = found["systems"][name]
        assert levt["training"]["updates"] == 8
        assert 0 <= levt["edits"] <= levt["runs"] <= min(levt["edits"] + 1, 4)
        assert sum(levt["table_of_iterations"].values()) == pytest.approx(100, abs=0.5)
    text = (out / "report.md").read_text("utf-8")
    assert "not yet run" not in text
    assert printed.endswith(text)
