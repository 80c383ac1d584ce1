"""Every mistake ends in one line that names it; nothing is lost, nothing half-written."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
from pathlib import Path

import pytest
import torch

from tests.integration.commands import (
    BIN,
    LEVT,
    QUIET,
    TASK,
    generate,
    hypotheses,
    interactive,
    run,
    succeed,
    train,
)

FEW = ["--max-tokens", 500, "--max-update", 2]


@pytest.fixture()
def data(toy: Path, tmp_path: Path) -> Path:
    """A copy of the binarised corpus, to spoil."""
    return Path(shutil.copytree(toy, tmp_path / "data"))


def test_a_dictionary_is_missing(data: Path, tmp_path: Path) -> None:
    (data / "dict.tgt.txt").unlink()
    result = run(*train(data, tmp_path / "out", *FEW))
    assert result.code != 0
    assert f"there is no dictionary {data / 'dict.tgt.txt'}" in result.verdict


def test_a_data_folder_is_missing(tmp_path: Path) -> None:
    result = run(*train(tmp_path / "nowhere", tmp_path / "out", *FEW))
    assert result.code != 0
    assert f"there is no folder {tmp_path / 'nowhere'}" in result.verdict


def test_dictionaries_differ_but_embeddings_are_shared(data: Path, tmp_path: Path) -> None:
    with (data / "dict.tgt.txt").open("a", encoding="utf-8") as file:
        file.write("extra 1\n")
    result = run(*train(data, tmp_path / "out", *FEW))
    assert result.code != 0
    assert "--share-all-embeddings requires one dictionary" in result.verdict


def test_a_dictionary_does_not_fit_the_checkpoint(data: Path) -> None:
    for side in ("src", "tgt"):
        with (data / f"dict.{side}.txt").open("a", encoding="utf-8") as file:
            file.write("extra 1\n")
    result = run(*generate(data, LEVT))
    assert result.code != 0
    assert "use the dict.*.txt files that the model was trained with" in result.verdict


def test_task_and_architecture_do_not_belong_together(toy: Path, tmp_path: Path) -> None:
    flags = ["--user-dir", TASK[1], "--cpu", *QUIET, "--optimizer", "adam", *FEW, "--save-dir", tmp_path]
    wrong_task = run("fairseq-train", toy, *flags, "--task", "translation", "--arch", "levt_tiny")
    assert wrong_task.code != 0
    assert "use --task text_editing" in wrong_task.verdict
    wrong_arch = run("fairseq-train", toy, *flags, "--task", "text_editing", "--arch", "transformer")
    assert wrong_arch.code != 0
    assert "--task text_editing trains --arch levt" in wrong_arch.verdict
    wrong_loss = run("fairseq-train", toy, *flags, "--task", "text_editing", "--arch", "levt_tiny")
    assert wrong_loss.code != 0
    assert (
        "--criterion must be dual_policy for --task text_editing with this --arch, but is cross_entropy"
        in wrong_loss.verdict
    )


def test_a_source_longer_than_the_position_table(toy: Path) -> None:
    typed = "w1 w2\n" + "w1 " * 2000 + "\n"
    refused = run(*interactive(toy, LEVT), stdin=typed)
    assert refused.code != 0
    assert "invalid" in refused.err and "max_positions" in refused.err
    skipped = succeed(*interactive(toy, LEVT, "--skip-invalid-size-inputs-valid-test"), stdin=typed)
    assert list(hypotheses(skipped.out)) == [0]


def test_empty_and_unknown_lines_are_answered_in_order(toy: Path) -> None:
    typed = "w1 w2 w3\n\n漢字 ☃ \u202eabc\nw4 w5 w6\n"
    result = succeed(*interactive(toy, LEVT, "--buffer-size", 4), stdin=typed)
    found = hypotheses(result.out)
    assert list(found) == [0, 1, 2, 3]
    assert found[0][1] == "v1 v2 v3" and found[3][1] == "v4 v6"


@pytest.mark.slow
def test_input_that_is_not_utf8(toy: Path) -> None:
    locale = {"LC_ALL": "C.UTF-8"}  # where Python lets such bytes through
    result = run(*interactive(toy, LEVT), stdin=b"w1 w2\nw3 \xff w4\n", **locale)
    assert result.code != 0
    assert "the input is not UTF-8 (byte 0xff)" in result.verdict


def test_a_truncated_checkpoint(toy: Path, tmp_path: Path) -> None:
    whole = (LEVT).read_bytes()
    cut = tmp_path / "cut.pt"
    cut.write_bytes(whole[: len(whole) // 2])
    result = run(*generate(toy, cut))
    assert result.code != 0
    assert f"{cut} was not loaded" in result.verdict and "it is truncated" in result.verdict


class Malice:
    def __init__(self, proof: str):
        self.proof = proof

    def __reduce__(self) -> tuple:
        return os.mkdir, (self.proof,)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_malicious_checkpoint_is_refused_and_not_run(toy: Path, tmp_path: Path, zipped: bool) -> None:
    proof, bad = tmp_path / "proof", tmp_path / "bad.pt"
    if zipped:
        torch.save({"model": {}, "args": Malice(str(proof))}, bad)
    else:
        bad.write_bytes(pickle.dumps({"model": {}, "args": Malice(str(proof))}, protocol=2))
    commands = [generate(toy, bad), train(toy, tmp_path / "out", *FEW, "--restore-file", bad)]
    for command in [*commands, ["lev-plugins", "average", bad, "--output", tmp_path / "out.pt"]]:
        result = run(*command)
        assert result.code != 0
        assert "posix.mkdir" in result.verdict and "nothing in it was executed" in result.verdict
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
    result = run("bash", "-c", f"ulimit -f 200; exec '{BIN}'/{words}")
    assert result.code != 0
    assert "the disk is full; earlier checkpoints are intact" in result.verdict
    assert {path.name: path.read_bytes() for path in save_dir.glob("*.pt")} == before
    resumed = succeed(*limited)
    assert "Loaded checkpoint" in resumed.both


def test_generation_options_that_cannot_work_are_refused(toy: Path) -> None:
    for flags, text in (
        (["--iter-decode-with-external-reranker"], "uses the last checkpoint of --path as the reranker"),
        (["--print-alignment"], "--print-alignment is for left-to-right search"),
        (["--prefix-size", 2], "--prefix-size is for left-to-right search"),
        (["--iter-decode-max-iter", -1], "--iter-decode-max-iter must be at least 0, but is -1"),
        (["--left-pad-target"], "--left-pad-target is not supported"),
        (["--num-batch-buckets", 2], "--num-batch-buckets is not supported"),
        (["--draft-lang", "mt"], "--draft-lang mt: there is no file"),
    ):
        result = run(*generate(toy, LEVT, *flags))
        assert result.code != 0
        assert text in result.verdict


def test_an_unwritable_output_is_named(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    target = locked / "file" if os.geteuid() == 0 else locked
    if os.geteuid() == 0:  # root writes anywhere; a file cannot be a folder for anybody
        locked.chmod(stat.S_IRWXU)
        target.write_text("")
    result = run("lev-plugins", "average", LEVT, "--output", target / "average.pt")
    assert result.code == 2
    assert str(target) in result.verdict
