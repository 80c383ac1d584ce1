"""``fairseq-train``, ``import-levt`` and ``fairseq-generate`` as a user types them: fairseq's LevT against ours."""

import random
from pathlib import Path

import pytest

from tests.commands import hypotheses, lines, same_hypotheses, succeed
from tests.helpers import needs_libnat

SIZES = ["layers=2", "attention-heads=2", "embed-dim=48", "ffn-embed-dim=64", "normalize-before"]
TRAINING = [f"--{side}-{size}" for side in ("encoder", "decoder") for size in SIZES]
TRAINING += ["--task=translation_lev", "--criterion=nat_loss", "--arch=levenshtein_transformer", "--early-exit=2,2,2"]
TRAINING += ["--noise=random_delete", "--share-all-embeddings", "--max-source-positions=64"]
TRAINING += ["--dropout=0", "--label-smoothing=0.1", "--optimizer=adam", "--lr=0.01", "--lr-scheduler=inverse_sqrt"]
TRAINING += ["--warmup-updates=20", "--max-tokens=700", "--max-update=100", "--disable-validation", "--num-workers=0"]
TRAINING += ["--no-epoch-checkpoints", "--no-progress-bar", "--max-target-positions=64"]
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
    said = succeed("lev-plugins", "import-levt", "model/checkpoint_last.pt", "imported.pt", cwd=path).out
    assert said == "imported.pt is a levt with the weights of model/checkpoint_last.pt\n"
    return path


def decode(folder: Path, task: str, checkpoint: str, batch_size: int) -> str:
    kind = ["data", "-s=source", "-t=target", f"--task={task}", f"--path={checkpoint}", "--gen-subset=test", "--cpu"]
    # otherwise fairseq loses a last batch that is no multiple of 8
    sizes = [f"--batch-size={batch_size}", "--required-batch-size-multiple=1"]
    return succeed("fairseq-generate", *kind, *sizes, "--iter-decode-max-iter=9", "--print-step", cwd=folder).out


@needs_libnat
@pytest.mark.parametrize("batch_size", [1, 16])
def test_a_trained_checkpoint_decodes_to_the_same(folder: Path, batch_size: int) -> None:
    theirs = decode(folder, "translation_lev", "model/checkpoint_last.pt", batch_size)
    ours = decode(folder, "text_editing", "imported.pt", batch_size)
    same_hypotheses(theirs, ours)
    steps, scores = lines(ours, "I"), lines(ours, "P")
    assert steps == lines(theirs, "I")
    for number, row in lines(theirs, "P").items():
        expected = [float(score) for score in row.split()[1:]]  # fairseq's has a score for the leading <s>
        assert [float(score) for score in scores[number].split()] == pytest.approx(expected, abs=2e-4), number
    assert len(steps) == TEST_SENTENCES and len(set(steps.values())) >= 3
    assert len({words for _, words in hypotheses(ours).values()}) > 50
