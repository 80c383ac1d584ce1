"""Every mistake ends in one line that names it; nothing is lost, nothing half-written."""

import shutil
from pathlib import Path

import pytest
import torch

from tests.commands import BIN, LEVT, TASK, generate, hypotheses, interactive, refused, run, succeed, train
from tests.helpers import Malicious

FEW = ["--max-tokens", 500, "--max-update", 2]


def test_empty_and_unknown_lines_are_answered_in_order(toy: Path) -> None:
    typed = "heute kommt unser\n\n漢字 ☃ \u202eabc\nLehrer ja sehr\n"
    found = hypotheses(succeed(*interactive(toy, LEVT, "--buffer-size", 4), stdin=typed).out)
    assert list(found) == [0, 1, 2, 3]
    assert found[0][1] == "today comes our" and found[3][1] == "teacher very"


@pytest.mark.slow
def test_input_that_is_not_utf8(toy: Path) -> None:
    locale = {"LC_ALL": "C.UTF-8"}  # where Python lets such bytes through
    said = refused(*interactive(toy, LEVT), stdin=b"heute kommt\nunser \xff Lehrer\n", **locale)
    assert "the input is not UTF-8 (byte 0xff)" in said


def test_a_malicious_checkpoint_is_refused_and_not_run(toy: Path, tmp_path: Path) -> None:
    proof, bad = tmp_path / "proof", tmp_path / "bad.pt"
    torch.save({"model": {}, "args": Malicious(proof)}, bad)
    commands = [generate(toy, bad), train(toy, tmp_path / "out", *FEW, "--restore-file", bad)]
    for command in [*commands, ["lev-plugins", "average", bad, "--output", tmp_path / "out.pt"]]:
        said = refused(*command)
        assert "posix.mkdir" in said and "nothing in it was executed" in said
        assert not proof.exists()
    assert not (tmp_path / "out.pt").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_the_previous_checkpoint(toy: Path, tmp_path: Path) -> None:
    save_dir = tmp_path / "out"
    succeed(*train(toy, save_dir, *FEW, "--disable-validation"))
    before = {path.name: path.read_bytes() for path in save_dir.glob("*.pt")}
    assert before
    # a limit on the size of files stands for a full disk; it is below the size of a checkpoint
    limited = train(toy, save_dir, "--max-tokens", 500, "--max-update", 4, "--disable-validation")
    words = " ".join(f"'{part}'" for part in limited)
    said = refused("bash", "-c", f"ulimit -f 200; exec '{BIN}'/{words}")
    assert "(ulimit -f): raise its limit, and run the same command again; earlier checkpoints are intact" in said
    assert {path.name: path.read_bytes() for path in save_dir.glob("*.pt")} == before
    assert "Loaded checkpoint" in succeed(*limited).both


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--left-pad-target"], "--left-pad-target is not supported"),
        (["--draft-lang", "mt"], "--draft-lang mt: there is no file"),
        (["--replace-unk"], "--replace-unk reads only data of fairseq-preprocess --dataset-impl raw: leave it out"),
        (["--sampling"], "--sampling prints --beam samples: leave it out, or set --nbest to the same number"),
        (["--num-shards", 2], "--num-shards must be at most 1, but is 2: fairseq ignores it; decode in shards with"),
        (["--distributed-world-size", 2, "--distributed-rank", 2], "--distributed-rank counts from 0: it must be less"),
        (["--model-overrides", "{'a"], "--model-overrides must be a dictionary in Python's notation"),
        (["--dataset-impl", "cached"], "an .idx file is damaged, or not in the format of --dataset-impl: leave the"),
        (["-s", "src", "-t", "src"], "in these languages (--source-lang, --target-lang) and this format (--dataset-"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_generation_options_that_cannot_work(toy: Path, flags: list[object], says: str) -> None:
    refusal = run(*generate(toy, LEVT, *flags))
    assert says in refusal.verdict and refusal.code == 1
    assert "Traceback" not in refusal.both and hypotheses(refusal.out) == {}


def test_data_that_are_damaged(toy: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(toy, tmp_path / "data"))
    ids, dictionary = next(data.glob("test.*.src.bin")), data / "dict.src.txt"
    ids.write_bytes(b"")
    assert f"{ids} is empty: make the folder again" in refused(*generate(data, LEVT))
    ids.unlink()
    dictionary.write_text("a b c\n", encoding="utf-8")
    said = refused(*generate(data, LEVT))
    assert f"{dictionary} is not a fairseq dictionary: Incorrect dictionary format" in said
    dictionary.unlink()
    assert str(dictionary) in refused(*train(data, tmp_path / "out", *FEW))


def test_fairseq_commands_that_cannot_work(toy: Path, tmp_path: Path) -> None:
    said = refused(*train(toy, tmp_path, *FEW, "--distributed-world-size", 2))
    assert "--distributed-world-size is 2, but this machine has 0 GPUs: leave it out, or add --distributed-no" in said
    said = refused("fairseq-eval-lm", toy, *TASK, "--path", LEVT)
    assert said.endswith("is for language models: for the loss of this one, use fairseq-validate")
