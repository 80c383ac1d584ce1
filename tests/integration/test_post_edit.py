"""The autoregressive post-editor through the real command lines, on triples that need source and draft."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import (
    ADAM,
    QUIET,
    TASK,
    TRAINED,
    Result,
    generate,
    hypotheses,
    interactive,
    lines,
    same_hypotheses,
    succeed,
)

POST_EDITOR = TRAINED / "post_edit.pt"
SIZES = {"train": 4000, "valid": 60, "test": 100}
WORDS = 5
LANGUAGES = ["-s", "src", "-t", "pe"]
DRAFTED = [*LANGUAGES, "--draft-lang", "mt"]
MODEL = ["--arch", "post_edit_transformer", "--share-decoder-input-output-embed", "--dropout", 0]
for name, number in {"embed-dim": 64, "ffn-embed-dim": 128, "attention-heads": 2}.items():
    MODEL += [f"--encoder-{name}", number, f"--decoder-{name}", number]
MODEL += ["--encoder-layers", 2, "--decoder-layers", 1]
LOSS = ["--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1]
BLEU = [*LOSS, "--eval-bleu", "--eval-bleu-args", '{"beam": 2, "max_len_b": 10}']
BLEU += ["--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"]
WIDE = ["--beam", 4, "--batch-size", 40, "--remove-bpe"]


def triples(split: str) -> Iterator[tuple[str, str, str]]:
    """Every word has two right translations, a and b; the draft has either, or one of another word, which becomes a.

    The source does not know which of both is asked for, and the draft does not know which of its words are wrong.
    """
    draw = random.Random(split)
    for _ in range(SIZES[split]):
        rows = []
        for _ in range(draw.randint(1, 5)):
            word, other, way = draw.randrange(WORDS), draw.randrange(WORDS), draw.choice("ab")
            drafted = word if draw.random() < 0.6 else other
            rows.append((f"s{word}", f"{way}{drafted}", f"{way if drafted == word else 'a'}{word}"))
        source, draft, target = (" ".join(part) for part in zip(*rows, strict=True))
        yield source, draft, target


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Binarised with separate dictionaries; the text lies one folder up."""
    folder = tmp_path_factory.mktemp("triples")
    for split in SIZES:
        for side, column in zip(("src", "mt", "pe"), zip(*triples(split), strict=True), strict=True):
            (folder / f"{split}.{side}").write_text("".join(f"{line}\n" for line in column), encoding="utf-8")
    prefixes = [part for split in SIZES for part in (f"--{split}-prefix", folder / split)]
    succeed("lev-plugins", "prepare", *LANGUAGES, "-d", "mt", *prefixes, "--dest", folder / "bin")
    return folder / "bin"


def train(data: Path, save_dir: Path, *flags: object) -> list[object]:
    return ["fairseq-train", data, *TASK, *DRAFTED, *MODEL, *ADAM, *QUIET, "--save-dir", save_dir, *flags]


@pytest.fixture(scope="module")
def decoded(data: Path) -> Result:
    return succeed(*generate(data, POST_EDITOR, *DRAFTED, *WIDE))


def assert_learned(data: Path, log: str) -> None:
    targets, found = lines(log, "T"), hypotheses(log)
    drafts = (data.parent / "test.mt").read_text(encoding="utf-8").splitlines()
    exact = sum(found[n][1] == targets[n] for n in targets)
    untouched = sum(drafts[n] == targets[n] for n in targets)
    assert len(targets) == 100
    assert untouched < 50 and exact >= 90


def test_what_only_source_and_draft_together_tell_has_been_learned(data: Path, decoded: Result) -> None:
    assert_learned(data, decoded.out)


@pytest.mark.slow
def test_what_only_source_and_draft_together_tell_is_learned(data: Path, tmp_path: Path) -> None:
    schedule = ["--lr-scheduler", "polynomial_decay", "--total-num-update", 300, "--warmup-updates", 50]
    schedule += ["--max-tokens", 800, "--max-update", 300, "--clip-norm", 1]
    assert_bleu_chooses(succeed(*train(data, tmp_path, *schedule, "--validate-interval", 6, *BLEU)).both)
    assert_learned(data, succeed(*generate(data, tmp_path / "checkpoint_best.pt", *DRAFTED, *WIDE)).out)


def test_a_training_from_a_checkpoint_is_chosen_by_bleu(data: Path, tmp_path: Path) -> None:
    few = ["--max-tokens", 800, "--max-update", 2, "--save-interval-updates", 1, "--lr", 1e-4]
    assert_bleu_chooses(succeed(*train(data, tmp_path, "--finetune-from-model", POST_EDITOR, *few, *BLEU)).both)


def assert_bleu_chooses(log: str) -> None:
    scores = [float(score) for score in re.findall(r"valid on 'valid' subset .* bleu ([\d.]+)", log)]
    assert len(scores) >= 2 and max(scores) > 80
    assert f"best_bleu {max(scores):g}" in log


def test_interactive_is_generate(data: Path, decoded: Result) -> None:
    columns = [(data.parent / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("src", "mt")]
    typed = "".join(f"{source}\t{draft}\n" for source, draft in zip(*columns, strict=True))
    flags = [*LANGUAGES, "--beam", 4, "--buffer-size", 30, "--batch-size", 7]
    same_hypotheses(decoded.out, succeed(*interactive(data, POST_EDITOR, *flags), stdin=typed).out)
