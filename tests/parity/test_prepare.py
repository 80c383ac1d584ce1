"""``lev-plugins prepare`` and ``fairseq-preprocess`` write the same bytes."""

import random
from pathlib import Path

import pytest
from fairseq import options

from lev_plugins.cli.main import main


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    draw = random.Random(1)
    words = [f"w{number}é" for number in range(40)]
    for part, lines in (("train", 120), ("valid", 20), ("valid1", 5), ("test", 10)):
        for side in ("en", "mt", "de"):
            text = (" ".join(draw.choices(words, weights=range(40), k=draw.randint(0, 8))) for _ in range(lines))
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in text), "utf-8")
    return folder


def preprocess(text: Path, folder: Path, *flags: object) -> None:
    from fairseq_cli import preprocess

    words = ["--trainpref", text / "train", "--validpref", f"{text}/valid,{text}/valid1", "--testpref", text / "test"]
    words += ["--destdir", folder, *flags]
    preprocess.main(options.get_preprocessing_parser().parse_args([str(word) for word in words]))


def prepare(text: Path, folder: Path, *flags: object) -> None:
    words = ["prepare", "--train-prefix", text / "train", "--valid-prefix", text / "valid", text / "valid1"]
    words += ["--test-prefix", text / "test", "-s", "en", "-t", "de", "--dest", folder, *flags]
    assert main([str(word) for word in words]) == 0


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "preprocess.log"}


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--joined-dictionary", "--workers", 3],
        ["--thresholdsrc", 15, "--thresholdtgt", 12, "--nwordssrc", 20, "--nwordstgt", 24],
    ],
    ids=["separate", "joined", "rare words"],
)
def test_pairs(text: Path, tmp_path: Path, flags: list) -> None:
    preprocess(text, tmp_path / "theirs", "-s", "en", "-t", "de", *flags)
    prepare(text, tmp_path / "ours", *flags)
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")


def test_triples_with_given_dictionaries(text: Path, tmp_path: Path) -> None:
    preprocess(text, tmp_path / "first", "-s", "en", "-t", "de")
    given = ["--srcdict", tmp_path / "first" / "dict.en.txt", "--tgtdict", tmp_path / "first" / "dict.de.txt"]
    prepare(text, tmp_path / "ours", "-d", "mt", *given)
    preprocess(text, tmp_path / "theirs", "-s", "en", "-t", "de", *given)
    words = ["-s", "mt", "-t", "de", "--only-source", "--srcdict", tmp_path / "first" / "dict.de.txt"]
    preprocess(text, tmp_path / "drafts", *words)
    drafts = contents(tmp_path / "drafts")
    assert drafts.pop("dict.mt.txt")
    assert contents(tmp_path / "ours") == {**contents(tmp_path / "theirs"), **drafts}
