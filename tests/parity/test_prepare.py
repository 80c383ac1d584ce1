"""``lev-plugins prepare`` and ``fairseq-preprocess`` write the same bytes."""

import random
from pathlib import Path

import pytest
from fairseq import options

from lev_plugins.cli.main import main


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    draw = random.Random(1)
    words = [f"w{number}é" for number in range(40)]
    for part, lines in (("train", 120), ("valid", 20), ("valid1", 5), ("test", 10)):
        for side in ("en", "mt", "de"):
            raw = (" ".join(draw.choices(words, weights=range(40), k=draw.randint(0, 8))) for _ in range(lines))
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in raw), "utf-8")
    return folder


def run_preprocess(raw: Path, folder: Path, *flags: object) -> None:
    from fairseq_cli import preprocess

    words = ["--trainpref", raw / "train", "--validpref", f"{raw}/valid,{raw}/valid1", "--testpref", raw / "test"]
    words += ["--destdir", folder, *flags]
    preprocess.main(options.get_preprocessing_parser().parse_args([str(word) for word in words]))


def run_prepare(raw: Path, folder: Path, *flags: object) -> None:
    words = ["prepare", "--train-prefix", raw / "train", "--valid-prefix", raw / "valid", raw / "valid1"]
    words += ["--test-prefix", raw / "test", "-s", "en", "-t", "de", "--dest", folder, *flags]
    assert main([str(word) for word in words]) == 0


def folder_contents(folder: Path) -> dict[str, bytes]:
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
def test_pairs_are_prepared_like_fairseq(raw: Path, tmp_path: Path, flags: list) -> None:
    run_preprocess(raw, tmp_path / "theirs", "-s", "en", "-t", "de", *flags)
    run_prepare(raw, tmp_path / "ours", *flags)
    assert folder_contents(tmp_path / "ours") == folder_contents(tmp_path / "theirs")


def test_triples_with_existing_dictionaries_are_prepared_like_fairseq(raw: Path, tmp_path: Path) -> None:
    run_preprocess(raw, tmp_path / "pairs", "-s", "en", "-t", "de")
    source, target = (tmp_path / "pairs" / f"dict.{side}.txt" for side in ("en", "de"))
    dictionaries = ["--srcdict", source, "--tgtdict", target]
    run_prepare(raw, tmp_path / "ours", "-d", "mt", *dictionaries)
    run_preprocess(raw, tmp_path / "theirs", "-s", "en", "-t", "de", *dictionaries)
    words = ["-s", "mt", "-t", "de", "--only-source", "--srcdict", target]
    run_preprocess(raw, tmp_path / "drafts", *words)
    drafts = folder_contents(tmp_path / "drafts")
    assert drafts.pop("dict.mt.txt")
    assert folder_contents(tmp_path / "ours") == {**folder_contents(tmp_path / "theirs"), **drafts}
