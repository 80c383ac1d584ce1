"""Hundreds of correction pairs are learned by heart: what fairseq's LevT could not do (its issue 3291)."""

import random
from pathlib import Path

import pytest

from tests.commands import generate, hypotheses, succeed

WORDS = [f"w{number}" for number in range(100)]
PAIRS = 200
SIZES = [
    f"--{side}-{name}={size}"
    for side in ("encoder", "decoder")
    for name, size in (("embed-dim", 128), ("ffn-embed-dim", 256))
]
UPDATES = 800


def corrected(draw: random.Random, clean: list[str]) -> list[str]:
    """The sentence before its correction: one or two words wrong, too many or missing; none can be guessed."""
    noisy = list(clean)
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(noisy))
        kind = draw.choice(["wrong", "too many", "missing"])
        if kind == "wrong":
            noisy[place] = draw.choice(WORDS)
        elif kind == "too many":
            noisy.insert(place, draw.choice(WORDS))
        elif len(noisy) > 2:
            del noisy[place]
    return noisy


def write_pairs(folder: Path) -> list[str]:
    draw = random.Random(1)
    clean = [draw.choices(WORDS, k=draw.randint(3, 7)) for _ in range(PAIRS)]
    noisy = [corrected(draw, words) for words in clean]
    for suffix, sentences in (("right", clean), ("wrong", noisy), ("draft", noisy)):
        (folder / f"train.{suffix}").write_text("".join(f"{' '.join(words)}\n" for words in sentences))
    return [" ".join(words) for words in clean]


@pytest.mark.slow
def test_hundreds_of_corrections_are_learned_by_heart(tmp_path: Path) -> None:
    clean = write_pairs(tmp_path)
    data = tmp_path / "data"
    preprocess = ["fairseq-preprocess", "--trainpref", tmp_path / "train", "--destdir", data, "-t", "right"]
    succeed(*preprocess, "-s", "wrong", "--joined-dictionary")
    succeed(*preprocess, "-s", "draft", "--only-source", "--srcdict", data / "dict.right.txt")
    common = [data, "-s", "wrong", "-t", "right", "--draft-lang", "draft"]
    succeed(
        *("fairseq-train", *common, "--user-dir", "lev_plugins", "--task", "text_editing", "--arch", "levt_tiny"),
        *SIZES,
        *("--criterion", "dual_policy", "--share-all-embeddings", "--encoder-normalize-before", "--cpu"),
        *("--decoder-normalize-before", "--dropout", 0, "--label-smoothing", 0, "--placeholder-label-smoothing", 0),
        *("--rollin-alpha", 0.6, "--rollin-beta", 0.6, "--optimizer", "adam", "--adam-betas", "(0.9,0.98)"),
        *("--lr", 0.003, "--lr-scheduler", "polynomial_decay", "--warmup-updates", 50, "--clip-norm", 1),
        *("--total-num-update", UPDATES, "--max-update", UPDATES, "--max-tokens", 1200, "--disable-validation"),
        *("--no-epoch-checkpoints", "--save-interval", 1000, "--save-dir", tmp_path / "model"),
        timeout=1200,
    )
    checkpoint = tmp_path / "model" / "checkpoint_last.pt"
    done = succeed(*generate(data, checkpoint, *common[1:], "--gen-subset", "train", "--batch-size", 100))
    found = hypotheses(done.out)
    exact = sum(found[i][1] == sentence for i, sentence in enumerate(clean))
    assert exact >= 0.99 * PAIRS, exact
