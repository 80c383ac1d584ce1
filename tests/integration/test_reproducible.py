"""The same numbers whatever the way: two processes, a crash in between, another precision."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from lev_plugins.training import checkpoints
from tests.commands import ADAM, LEVT, QUIET, USER_DIR, Running, generate, hypotheses, succeed, train, two_ranks
from tests.integration import test_correction
from tests.labelling import folder_of


def weights(path: Path) -> dict[str, Tensor]:
    return checkpoints.load(path)["model"]


def assert_same(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float) -> None:
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=tolerance, rtol=0, msg=lambda m, n=name: f"{n}: {m}")


def test_two_processes_are_one_with_update_freq_2(toy: Path, tmp_path: Path) -> None:
    # without dropout, whose masks depend on the process; plain SGD does not blow rounding up as Adam does
    sgd = ["--optimizer", "sgd", "--lr", "0.1"]
    flags = ["--dropout", 0, "--batch-size", 16, "--max-update", 10, "--disable-validation"]
    succeed(*train(toy, tmp_path / "one", *flags, "--update-freq", 2, optimizer=sgd))
    two_ranks(lambda *ranks: train(toy, tmp_path / "two", *flags, *ranks, optimizer=sgd))
    assert_same(weights(tmp_path / "one/checkpoint_last.pt"), weights(tmp_path / "two/checkpoint_last.pt"), 1e-5)


def copied(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def test_killed_and_resumed_is_never_killed(toy: Path, tmp_path: Path) -> None:
    flags = ["--train-subset", "valid", "--max-tokens", 100, "--disable-validation"]  # 100 lines, 9 batches
    flags += ["--max-update", 60, "--save-interval-updates", 20]
    succeed(*train(toy, tmp_path / "whole", *flags))
    save_dir = tmp_path / "killed"
    last, deadline = save_dir / "checkpoint_last.pt", time.monotonic() + 120
    running = Running(*train(toy, save_dir, *flags))
    while not any(copied(file, last) for file in save_dir.glob("checkpoint_*_20.pt")):  # between updates
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.process.kill()
    assert running.result().code == -signal.SIGKILL
    log = succeed(*train(toy, save_dir, *flags))
    assert "Loaded checkpoint" in log.both
    assert_same(weights(tmp_path / "whole/checkpoint_last.pt"), weights(last), 0.0)
    before = last.read_bytes()
    again = succeed(*train(toy, save_dir, *flags))
    assert "this training is complete: it has had 60 of 60 updates; raise --max-update to continue" in again.both
    assert last.read_bytes() == before


def packed_labels(folder: Path, save_dir: Path) -> list[object]:
    data = folder / "labels" / "data"
    if not data.exists():
        folder_of(folder / "labels", "tagging", "--bpe", "words", lines=200)
    task = ["--user-dir", USER_DIR, "--task", "text_labelling", "--criterion", "labelling", "--cpu"]
    own = ["--arch", "enct5_tiny", "--spelling", "--word-dropout", 0.3, "--pack", "--pack-length", 40]
    return ["fairseq-train", data, *task, *own, *ADAM, *QUIET, "--max-tokens", 300, "--save-dir", save_dir]


def correction_with_noise(data: Path, save_dir: Path) -> list[object]:
    noise = ["--noise-kind", "swap,insert", "--noise-word-rate", 0.5, "--noise-share", 0.8, "--bpe", "chars"]
    return test_correction.train(data, save_dir, *test_correction.PBD, *noise, "--max-tokens", 1000)


@pytest.mark.parametrize("system", [correction_with_noise, packed_labels])
def test_stopped_within_an_epoch_and_continued_is_never_stopped(
    system: Callable[[Path, Path], list[object]], noisy: Path, tmp_path: Path
) -> None:
    """Noise, packing and dropout are those of the update, whatever was before it."""
    data = noisy if system is correction_with_noise else tmp_path
    for name, stops in (("whole", [14]), ("stopped", [9, 14])):
        for updates in stops:
            command = [*system(data, tmp_path / name), "--max-update", updates, "--disable-validation"]
            log = succeed(*command)
        assert f"num_updates {stops[-1]}" in log.both
    whole, stopped = (weights(tmp_path / name / "checkpoint_last.pt") for name in ("whole", "stopped"))
    assert_same(whole, stopped, 0.0)


def test_generation_in_half_precision_agrees(toy: Path) -> None:
    full = hypotheses(succeed(*generate(toy, LEVT)).out)
    half = hypotheses(succeed(*generate(toy, LEVT, "--fp16")).out)
    assert sum(full[n][1] == half[n][1] for n in full) >= 0.9 * len(full)
