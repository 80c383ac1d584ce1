"""``fairseq-train``, ``import-levt`` and ``fairseq-generate`` as a user types them: fairseq's LevT against ours."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lev_plugins import checkpoints
from lev_plugins.cli.import_levt import convert
from tests.integration.commands import succeed
from tests.parity.compare_generate import Comparison, Sentence, compare, main, read

TRAINING = [
    "--task=translation_lev",
    "--criterion=nat_loss",
    "--arch=levenshtein_transformer",
    "--noise=random_delete",
    "--share-all-embeddings",
    "--early-exit=2,2,2",
    *[f"--{side}-{name}" for side in ("encoder", "decoder") for name in ("layers=2", "attention-heads=2")],
    *[f"--{side}-{name}" for side in ("encoder", "decoder") for name in ("embed-dim=48", "ffn-embed-dim=64")],
    "--encoder-normalize-before",
    "--decoder-normalize-before",
    "--max-source-positions=64",
    "--max-target-positions=64",
    "--dropout=0",
    "--label-smoothing=0.1",
    "--optimizer=adam",
    "--lr=0.01",
    "--lr-scheduler=inverse_sqrt",
    "--warmup-updates=20",
    "--max-tokens=700",
    "--max-update=100",
    "--disable-validation",
    "--no-epoch-checkpoints",
    "--num-workers=0",
    "--no-progress-bar",
]


TEST_SENTENCES = 152


def write_copies(folder: Path) -> None:
    """A language of ten words; the target is the source."""
    chance = random.Random(1)
    for split, count in (("train", 1500), ("test", TEST_SENTENCES)):
        lines = [" ".join(chance.choices("abcdefghij", k=chance.randint(1, 9))) for _ in range(count)]
        for side in ("source", "target"):
            (folder / f"{split}.{side}").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binarised data, a checkpoint of fairseq's own LevT, and what ``import-levt`` makes of it."""
    path = tmp_path_factory.mktemp("copies")
    write_copies(path)
    languages = ["-s=source", "-t=target"]
    parts = ["--trainpref=train", "--testpref=test", "--destdir=data", "--joined-dictionary", "--workers=1"]
    succeed("fairseq-preprocess", *languages, *parts, cwd=path)
    succeed("fairseq-train", "data", *languages, "--cpu", "--save-dir=model", "--seed=1", *TRAINING, cwd=path)
    checkpoints.save(convert(checkpoints.load(path / "model/checkpoint_last.pt")), path / "imported.pt")
    return path


def decode(folder: Path, task: str, checkpoint: str, batch_size: int) -> dict[int, Sentence]:
    flags = ["--gen-subset=test", "--iter-decode-max-iter=9", "--print-step", "--cpu", f"--batch-size={batch_size}"]
    output = folder / f"{task}.{batch_size}.out"
    kind = ["data", "-s=source", "-t=target", f"--task={task}", f"--path={checkpoint}"]
    output.write_text(succeed("fairseq-generate", *kind, *flags, cwd=folder).out)
    return read(output)


def compare_decoding(folder: Path, batch_size: int) -> tuple[Comparison, dict[int, Sentence]]:
    theirs = decode(folder, "translation_lev", "model/checkpoint_last.pt", batch_size)
    ours = decode(folder, "text_editing", "imported.pt", batch_size)
    return compare(theirs, ours), ours


@pytest.mark.parametrize("batch_size", [1, 16])
def test_a_trained_checkpoint_decodes_to_the_same(folder: Path, batch_size: int) -> None:
    found, ours = compare_decoding(folder, batch_size)
    # fairseq loses a last batch that is no multiple of --required-batch-size-multiple
    assert (found.sentences, len(ours)) == (TEST_SENTENCES - (batch_size % 8), TEST_SENTENCES)
    assert found.different == []
    assert found.score < 1e-4
    assert found.positional < 2e-4  # printed with four digits
    assert len({sentence.steps for sentence in ours.values()}) >= 3
    assert len({sentence.hypothesis for sentence in ours.values()}) > 50


def test_a_difference_is_reported_by_its_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    theirs.write_text("H-0\t-0.5\ta b\nP-0\t0.0 -1.0 -0.5 0.0\nI-0\t1\nH-1\t-0.5\tc\nP-1\t0.0 -1.0 0.0\nI-1\t1\n")
    ours.write_text("H-0\t-0.25\ta b\nP-0\t-1.0 -0.25 0.0\nI-0\t1\nH-1\t-0.5\tc\nP-1\t-1.0 0.0\nI-1\t2\n")
    assert compare(read(theirs), read(ours)) == Comparison(2, [1], 0.25, 0.25)
    assert main([str(theirs), str(ours)]) == 1
    assert "1 of 2 sentences have the same hypothesis and steps" in capsys.readouterr().out
    assert main([str(ours), str(ours)]) == 1  # ours has no score for <s> that could be left out
    with pytest.raises(ValueError, match=r"ours lacks sentences of fairseq's: \[1\]"):
        compare(read(theirs), {0: read(ours)[0]})
