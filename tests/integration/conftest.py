"""The toy corpora, binarised."""

from pathlib import Path

import pytest

from tests.commands import ROOT, succeed


def preprocess(folder: Path, source: str, target: str) -> Path:
    """Binarises the texts of a folder with one dictionary."""
    prefixes = [part for split in ("train", "valid", "test") for part in (f"--{split}pref", folder / split)]
    languages = ["-s", source, "-t", target, "--joined-dictionary"]
    succeed("fairseq-preprocess", *languages, *prefixes, "--destdir", folder / "bin")
    return folder / "bin"


def binarised(folder: Path, source: str, target: str) -> Path:
    """A corpus of examples/toy; the text lies one folder up."""
    succeed("python", ROOT / "examples" / "toy" / "make.py", folder)
    return preprocess(folder, source, target)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return binarised(tmp_path_factory.mktemp("toy"), "src", "tgt")


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return binarised(tmp_path_factory.mktemp("noisy"), "noisy", "clean")
