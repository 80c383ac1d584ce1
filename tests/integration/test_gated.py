"""Gated models at the real command lines: train, early stopping, resume, search; from scratch and pre-trained."""

import re
from pathlib import Path

import pytest
import torch

from tests import pretrained
from tests.commands import ADAM, QUIET, USER_DIR, hypotheses, run, succeed

COMMON = ["--user-dir", USER_DIR, "--task", "translation", "--cpu"]
LOSS = ["--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1]


def train(data: Path, save_dir: Path, *flags: object) -> list[object]:
    return ["fairseq-train", data, *COMMON, *LOSS, *QUIET, "--save-dir", save_dir, "--max-tokens", 1000, *flags]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of random words, some of which are noise that the target does not have."""
    folder = tmp_path_factory.mktemp("copies")
    torch.manual_seed(1)
    for split, size in (("train", 400), ("valid", 40), ("test", 60)):
        lines = [[f"w{n}" for n in torch.randint(40, (8,)).tolist()] for _ in range(size)]
        noisy = [[f"x{word}" if torch.rand(()) < 0.2 else word for word in line] for line in lines]
        (folder / f"{split}.noisy").write_text("".join(" ".join(line) + "\n" for line in noisy))
        clean = [[word for word in line if not word.startswith("x")] for line in noisy]
        (folder / f"{split}.clean").write_text("".join(" ".join(line) + "\n" for line in clean))
    prefixes = [part for split in ("train", "valid", "test") for part in (f"--{split}pref", folder / split)]
    bin_dir = folder / "bin"
    succeed("fairseq-preprocess", "-s", "noisy", "-t", "clean", *prefixes, "--destdir", bin_dir, "--joined-dictionary")
    return bin_dir


@pytest.mark.slow
def test_learns_to_copy_and_to_leave_out(copies: Path, tmp_path: Path) -> None:
    """To a threshold that the same model without gates needs several times as many updates for; resumed on the way."""
    flags = ["--arch", "gated_trans_tiny", "--share-all-embeddings", "--dropout", 0, *ADAM, "--clip-norm", 1]
    flags += ["--encoder-normalize-before", "--decoder-normalize-before", "--no-epoch-checkpoints", "--patience", 3]
    flags += ["--gate-mix", "probability", "--copy-from", "source", "--gates", "mask,copy,generate"]
    flags += ["--lr-scheduler", "polynomial_decay", "--total-num-update", 300, "--warmup-updates", 10]
    succeed(*train(copies, tmp_path, *flags, "--max-update", 20, "--disable-validation"))
    log = succeed(*train(copies, tmp_path, *flags, "--max-update", 300, "--validate-interval", 10))
    assert "Loaded checkpoint" in log.both
    command = ["fairseq-generate", copies, *COMMON, "--path", tmp_path / "checkpoint_last.pt", "--beam", 3]
    found = succeed(*command, "--gen-subset", "test", "--batch-size", 7, "--required-batch-size-multiple", 1).out
    targets = dict(re.findall(r"^T-(\d+)\t(.*)$", found, re.MULTILINE))
    exact = sum(hypotheses(found)[int(n)][1] == words for n, words in targets.items())
    assert len(targets) == 60 and exact >= 40


@pytest.mark.slow
def test_a_pretrained_model_is_trained_saved_and_trained_on(tmp_path: Path) -> None:
    """On noise that is made for its own pieces while it is trained."""
    pytest.importorskip("transformers")
    pretrained.bert(tmp_path / "bert")
    folder = pretrained.imported(tmp_path / "bert", tmp_path / "imported")
    for split in ("train", "valid"):
        (tmp_path / f"{split}.clean").write_text("".join(f"{line}\n" for line in pretrained.LINES * 4))
        (tmp_path / f"{split}.noisy").write_text("".join(f"{line[::-1]}\n" for line in pretrained.LINES * 4))
    texts = [tmp_path / f"{split}.{side}" for split in ("train", "valid") for side in ("noisy", "clean")]
    succeed("lev-plugins", "encode", folder, *texts, "--into", tmp_path / "pieces")
    prefixes = ["--trainpref", tmp_path / "pieces" / "train", "--validpref", tmp_path / "pieces" / "valid"]
    dictionary = ["--joined-dictionary", "--srcdict", folder / "dict.txt"]
    data = tmp_path / "bin"
    succeed("fairseq-preprocess", "-s", "noisy", "-t", "clean", *prefixes, *dictionary, "--destdir", data)
    flags = ["--arch", "gated_bert", "--backbone", folder, "--optimizer", "scaled_adam", "--backbone-lr-factor", 0.1]
    flags += ["--lr", 0.01, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 2, "--log-interval", 1]
    flags += ["--task", "text_correction", "--noise-kind", "swap", "--noise-word-rate", 0.5]
    flags += ["--bpe", "pretrained", "--pretrained-tokenizer", folder]
    save_dir = tmp_path / "out"
    succeed(*train(data, save_dir, *flags, "--max-update", 2))
    log = succeed(*train(data, save_dir, *flags, "--max-update", 4)).both
    assert "Loaded checkpoint" in log and re.search(r"num_updates=4, lr=0\.0070\d", log)
    state = torch.load(save_dir / "checkpoint_last.pt", weights_only=True, map_location="cpu")
    rates = [group["lr"] for group in state["last_optimizer_state"]["param_groups"]]
    assert max(rates) == pytest.approx(10 * min(rates)) and len(rates) == 2
    typed = ["fairseq-interactive", data, *COMMON, "--path", save_dir / "checkpoint_last.pt", "--beam", 2]
    typed += ["--task", "text_correction", "--bpe", "pretrained", "--pretrained-tokenizer"]
    text = "hello world\n\nthe Quick fox\n"
    out = succeed(*typed, folder, stdin=text).out
    assert list(hypotheses(out)) == [0, 1, 2]
    assert len(re.findall(r"^D-\d+\t", out, re.MULTILINE)) == 3
    moved = folder.rename(tmp_path / "moved")
    assert "--model-overrides \"{'backbone': 'NEW'}\"" in run(*typed, moved, stdin=text).verdict
    again = succeed(*typed, moved, "--model-overrides", {"backbone": str(moved)}, stdin=text).out
    assert hypotheses(again) == hypotheses(out)
