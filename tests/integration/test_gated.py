"""A gated model at the real command lines: train, early stopping, resume, search."""

from pathlib import Path

import pytest
import torch

from tests.commands import ADAM, QUIET, USER_DIR, exact_matches, hypotheses, succeed
from tests.integration.conftest import preprocess

TRANSLATION = ["--user-dir", USER_DIR, "--task", "translation", "--cpu"]
LOSS = ["--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1]


def train_gated(data: Path, save_dir: Path, *flags: object) -> list[object]:
    return [
        "fairseq-train",
        data,
        *TRANSLATION,
        *LOSS,
        *QUIET,
        "--save-dir",
        save_dir,
        "--max-tokens",
        1000,
        *flags,
    ]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sentences of random words, of which some are noise that the target lacks."""
    folder = tmp_path_factory.mktemp("copies")
    torch.manual_seed(1)
    for split, size in (("train", 400), ("valid", 40), ("test", 60)):
        lines = [[f"w{n}" for n in torch.randint(40, (8,)).tolist()] for _ in range(size)]
        noisy = [[f"x{word}" if torch.rand(()) < 0.2 else word for word in line] for line in lines]
        (folder / f"{split}.noisy").write_text("".join(" ".join(line) + "\n" for line in noisy))
        clean = [[word for word in line if not word.startswith("x")] for line in noisy]
        (folder / f"{split}.clean").write_text("".join(" ".join(line) + "\n" for line in clean))
    return preprocess(folder, "noisy", "clean")


@pytest.mark.slow
def test_gates_learn_to_copy_and_to_drop_words(copies: Path, tmp_path: Path) -> None:
    """A model without gates needs several times as many updates; the training is also resumed once."""
    flags = ["--arch", "gated_trans_tiny", "--share-all-embeddings", "--dropout", 0, *ADAM, "--clip-norm", 1]
    flags += ["--encoder-normalize-before", "--decoder-normalize-before", "--no-epoch-checkpoints", "--patience", 3]
    flags += ["--gate-mix", "probability", "--copy-from", "source", "--gates", "mask,copy,generate"]
    flags += ["--lr-scheduler", "polynomial_decay", "--total-num-update", 300, "--warmup-updates", 10]
    succeed(*train_gated(copies, tmp_path, *flags, "--max-update", 20, "--disable-validation"))
    log = succeed(*train_gated(copies, tmp_path, *flags, "--max-update", 300, "--validate-interval", 10))
    assert "Loaded checkpoint" in log.both
    command = ["fairseq-generate", copies, *TRANSLATION, "--path", tmp_path / "checkpoint_last.pt", "--beam", 3]
    log = succeed(*command, "--gen-subset", "test", "--batch-size", 7, "--required-batch-size-multiple", 1).out
    assert len(hypotheses(log)) == 60 and exact_matches(log) >= 2 / 3
