"""Trainings are reproducible: with two processes, after a crash, and after a stop within an epoch."""

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


def weights_of(path: Path) -> dict[str, Tensor]:
    return checkpoints.load(path)["model"]


def assert_same_weights(weights: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    assert weights.keys() == expected.keys()
    for name in weights:
        torch.testing.assert_close(
            weights[name], expected[name], atol=tolerance, rtol=0, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_two_processes_equal_update_freq_2(toy: Path, tmp_path: Path) -> None:
    # without dropout, whose masks depend on the process; plain SGD does not blow rounding up as Adam does
    sgd = ["--optimizer", "sgd", "--lr", "0.1"]
    flags = ["--dropout", 0, "--batch-size", 16, "--max-update", 10, "--disable-validation"]
    succeed(*train(toy, tmp_path / "one", *flags, "--update-freq", 2, optimizer=sgd))
    two_ranks(lambda *ranks: train(toy, tmp_path / "two", *flags, *ranks, optimizer=sgd))
    assert_same_weights(
        weights_of(tmp_path / "one/checkpoint_last.pt"), weights_of(tmp_path / "two/checkpoint_last.pt"), 1e-5
    )


def is_copied(source: Path, copy: Path) -> bool:
    return copy.exists() and source.read_bytes() == copy.read_bytes()


def test_a_killed_and_resumed_training_has_the_same_weights(toy: Path, tmp_path: Path) -> None:
    flags = ["--train-subset", "valid", "--max-tokens", 100, "--disable-validation"]  # 100 lines, 9 batches
    flags += ["--max-update", 60, "--save-interval-updates", 20]
    succeed(*train(toy, tmp_path / "whole", *flags))
    save_dir = tmp_path / "killed"
    last, deadline = save_dir / "checkpoint_last.pt", time.monotonic() + 120
    running = Running(*train(toy, save_dir, *flags))
    while not any(is_copied(file, last) for file in save_dir.glob("checkpoint_*_20.pt")):  # between updates
        assert time.monotonic() < deadline
        time.sleep(0.01)
    running.process.kill()
    assert running.result().code == -signal.SIGKILL
    log = succeed(*train(toy, save_dir, *flags))
    assert "Loaded checkpoint" in log.both
    assert_same_weights(weights_of(tmp_path / "whole/checkpoint_last.pt"), weights_of(last), 0.0)
    checkpoint = last.read_bytes()
    again = succeed(*train(toy, save_dir, *flags))
    assert "60 of 60 updates" in again.both
    assert last.read_bytes() == checkpoint


def packed_labels(folder: Path, save_dir: Path) -> list[object]:
    data = folder / "labels" / "data"
    if not data.exists():
        folder_of(folder / "labels", "tagging", "--bpe", "words", lines=200)
    task = ["--user-dir", USER_DIR, "--task", "text_labelling", "--criterion", "labelling", "--cpu"]
    flags = ["--arch", "enct5_tiny", "--spelling", "--word-dropout", 0.3, "--pack", "--pack-length", 40]
    return ["fairseq-train", data, *task, *flags, *ADAM, *QUIET, "--max-tokens", 300, "--save-dir", save_dir]


def correction_with_noise(data: Path, save_dir: Path) -> list[object]:
    noise = ["--noise-kind", "swap,insert", "--noise-word-rate", 0.5, "--noise-share", 0.8, "--bpe", "chars"]
    return test_correction.train_pbd(data, save_dir, *test_correction.PBD_FLAGS, *noise, "--max-tokens", 1000)


@pytest.mark.parametrize("system", [correction_with_noise, packed_labels])
def test_a_training_resumed_within_an_epoch_has_the_same_weights(
    system: Callable[[Path, Path], list[object]], noisy: Path, tmp_path: Path
) -> None:
    """Noise, packing and dropout depend on the number of the update alone."""
    data = noisy if system is correction_with_noise else tmp_path
    for name, stops in (("whole", [14]), ("stopped", [9, 14])):
        for updates in stops:
            command = [*system(data, tmp_path / name), "--max-update", updates, "--disable-validation"]
            log = succeed(*command)
        assert f"num_updates {stops[-1]}" in log.both
    whole, stopped = (weights_of(tmp_path / name / "checkpoint_last.pt") for name in ("whole", "stopped"))
    assert_same_weights(whole, stopped, 0.0)


def test_generation_in_fp16_agrees(toy: Path) -> None:
    full = hypotheses(succeed(*generate(toy, LEVT)).out)
    half = hypotheses(succeed(*generate(toy, LEVT, "--fp16")).out)
    assert sum(full[n][1] == half[n][1] for n in full) >= 0.9 * len(full)
