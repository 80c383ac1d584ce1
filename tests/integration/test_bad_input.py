"""Mistakes of users end in one line that names them, and no file is left half-written."""

import shutil
from pathlib import Path

import pytest
import torch

from tests.commands import BIN, LEVT, TASK, generate, hypotheses, interactive, refused, run, succeed, train
from tests.helpers import Malicious

TWO_UPDATES = ["--max-tokens", 500, "--max-update", 2]


def test_interactive_answers_empty_and_unknown_lines_in_order(toy: Path) -> None:
    typed = "heute kommt unser\n\n漢字 ☃ \u202eabc\nLehrer ja sehr\n"
    outputs = hypotheses(succeed(*interactive(toy, LEVT, "--buffer-size", 4), stdin=typed).out)
    assert list(outputs) == [0, 1, 2, 3]
    assert outputs[0][1] == "today comes our" and outputs[3][1] == "teacher very"


@pytest.mark.slow
def test_interactive_refuses_input_that_is_not_utf8(toy: Path) -> None:
    locale = {"LC_ALL": "C.UTF-8"}  # where Python lets such bytes through
    message = refused(*interactive(toy, LEVT), stdin=b"heute kommt\nunser \xff Lehrer\n", **locale)
    assert "not UTF-8 (byte 0xff)" in message


def test_a_malicious_checkpoint_is_refused_without_executing_it(toy: Path, tmp_path: Path) -> None:
    proof, bad = tmp_path / "proof", tmp_path / "bad.pt"
    torch.save({"model": {}, "args": Malicious(proof)}, bad)
    commands = [generate(toy, bad), train(toy, tmp_path / "out", *TWO_UPDATES, "--restore-file", bad)]
    for command in [*commands, ["lev-plugins", "average", bad, "--output", tmp_path / "out.pt"]]:
        message = refused(*command)
        assert "posix.mkdir" in message
        assert not proof.exists()
    assert not (tmp_path / "out.pt").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_the_previous_checkpoint(toy: Path, tmp_path: Path) -> None:
    save_dir = tmp_path / "out"
    succeed(*train(toy, save_dir, *TWO_UPDATES, "--disable-validation"))
    checkpoints = {path.name: path.read_bytes() for path in save_dir.glob("*.pt")}
    assert checkpoints
    # a limit on the size of files stands for a full disk; it is below the size of a checkpoint
    limited = train(toy, save_dir, "--max-tokens", 500, "--max-update", 4, "--disable-validation")
    words = " ".join(f"'{part}'" for part in limited)
    message = refused("bash", "-c", f"ulimit -f 200; exec '{BIN}'/{words}")
    assert "ulimit -f" in message
    assert {path.name: path.read_bytes() for path in save_dir.glob("*.pt")} == checkpoints
    assert "Loaded checkpoint" in succeed(*limited).both


@pytest.mark.parametrize(
    ("flags", "rule"),
    [
        (["--left-pad-target"], "--left-pad-target"),
        (["--draft-lang", "mt"], "--draft-lang mt"),
        (["--replace-unk"], "--replace-unk"),
        (["--sampling"], "--nbest"),
        (["--num-shards", 2], "--num-shards must be at most 1, but is 2"),
        (["--distributed-world-size", 2, "--distributed-rank", 2], "--distributed-rank"),
        (["--model-overrides", "{'a"], "--model-overrides must be a dictionary"),
        (["--dataset-impl", "cached"], "--dataset-impl"),
        (["-s", "src", "-t", "src"], "--target-lang"),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, list) else "",
)
def test_generate_refuses_options_that_cannot_work(toy: Path, flags: list[object], rule: str) -> None:
    refusal = run(*generate(toy, LEVT, *flags))
    assert rule in refusal.verdict and refusal.code == 1
    assert "Traceback" not in refusal.both and hypotheses(refusal.out) == {}


def test_damaged_data_are_named(toy: Path, tmp_path: Path) -> None:
    data = Path(shutil.copytree(toy, tmp_path / "data"))
    ids, dictionary = next(data.glob("test.*.src.bin")), data / "dict.src.txt"
    ids.write_bytes(b"")
    assert f"{ids} is empty" in refused(*generate(data, LEVT))
    ids.unlink()
    dictionary.write_text("a b c\n", encoding="utf-8")
    assert f"{dictionary} is not a fairseq dictionary" in refused(*generate(data, LEVT))
    dictionary.unlink()
    assert str(dictionary) in refused(*train(data, tmp_path / "out", *TWO_UPDATES))


def test_fairseq_commands_that_cannot_work_are_refused(toy: Path, tmp_path: Path) -> None:
    message = refused(*train(toy, tmp_path, *TWO_UPDATES, "--distributed-world-size", 2))
    assert "--distributed-world-size is 2" in message and "0 GPUs" in message
    assert "fairseq-validate" in refused("fairseq-eval-lm", toy, *TASK, "--path", LEVT)
