"""Scores through the real command lines: training chosen by one, a decoding with drafts, and its log scored again."""

import json
import random
import re
import shutil
from pathlib import Path

import pytest

from lev_plugins.scoring import rouge, ter
from tests.commands import generate, lines, succeed, train


@pytest.fixture(scope="module")
def drafted(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy corpus with drafts: the targets, of which some words are missing; the text lies one folder up."""
    folder = tmp_path_factory.mktemp("drafted")
    draw = random.Random(1)
    prefixes: list[object] = []
    for split in ("train", "valid", "test"):
        shutil.copy(toy.parent / f"{split}.tgt", folder)
        targets = (folder / f"{split}.tgt").read_text("utf-8").splitlines()
        kept = (" ".join(word for word in target.split() if draw.random() < 0.8) for target in targets)
        (folder / f"{split}.draft").write_text("".join(f"{line}\n" for line in kept), "utf-8")
        prefixes += [f"--{split}pref", folder / split]
    data = Path(shutil.copytree(toy, folder / "bin"))
    dictionary = ["--srcdict", data / "dict.tgt.txt", "--destdir", data]
    succeed("fairseq-preprocess", "-s", "draft", "-t", "tgt", "--only-source", *prefixes, *dictionary)
    return data


LANGUAGES = ["-s", "src", "-t", "tgt", "--draft-lang", "draft"]


@pytest.fixture(scope="module")
def chosen(drafted: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a model of two updates, and what its training printed."""
    folder = tmp_path_factory.mktemp("chosen")
    scores = ["--eval-metrics", "ter,rouge2,wrr,exact_match", "--best-checkpoint-metric", "ter"]
    scores += ["--keep-best-checkpoints", 1, "--eval-bleu-args", '{"iter_decode_max_iter": 1}']
    length = ["--max-tokens", 500, "--max-update", 2, "--save-interval-updates", 1]
    return folder, succeed(*train(drafted, folder, *LANGUAGES, *scores, *length)).both


def test_a_checkpoint_is_chosen_by_any_score(chosen: tuple[Path, str]) -> None:
    folder, log = chosen
    logged = [dict(re.findall(r"\| (\w+) ([\d.]+)", line)) for line in re.findall(r"valid on 'valid' subset .*", log)]
    assert len(logged) >= 2 and all(value.keys() >= {"bleu", "rouge2", "wrr", "exact_match"} for value in logged)
    lowest = min(float(value["ter"]) for value in logged)
    assert float(logged[-1]["best_ter"]) == lowest
    assert (folder / "checkpoint_best.pt").is_file()
    [best] = folder.glob("checkpoint.best_ter_*.pt")
    assert best.stem.startswith(f"checkpoint.best_ter_{lowest:.2f}"[:-1])


def test_the_system_beside_doing_nothing(drafted: Path, chosen: tuple[Path, str], tmp_path: Path) -> None:
    best = chosen[0] / "checkpoint_best.pt"
    scoring = ["--scoring", "rouge", "--rouge-kind", "rouge2", "--min-words", 9]  # so that it edits, trained or not
    log = succeed(*generate(drafted, best, *LANGUAGES, *scoring)).out
    [line] = re.findall(r"^Generate test .*?: (ROUGE-2 = .*)$", log, re.MULTILINE)
    texts = [line.split("\t")[1] for _, line in sorted(lines(log, "D").items())]
    targets, drafts = ((drafted.parent / f"test.{side}").read_text("utf-8").splitlines() for side in ("tgt", "draft"))
    assert line == rouge.evaluate(targets, texts, "rouge2").describe()

    (tmp_path / "log").write_text(log, encoding="utf-8")
    files = [tmp_path / "log", drafted.parent / "test.tgt", "--generated", "--draft", drafted.parent / "test.draft"]
    found = json.loads(succeed("lev-plugins", "score", "ter", *files, "--json").out)
    assert found["system"]["score"] == pytest.approx(ter.evaluate(targets, texts).score)
    assert found["do_nothing"]["score"] == pytest.approx(ter.evaluate(targets, drafts).score)
