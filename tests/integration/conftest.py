"""The toy corpora, binarised."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.integration.commands import ROOT, succeed
from tests.integration.stand_in import StandIn


def binarised(folder: Path, source: str, target: str) -> Path:
    """A corpus of examples/toy, joined dictionary; the text lies one folder up."""
    succeed("python", ROOT / "examples" / "toy" / "make.py", folder)
    prefixes = [part for split in ("train", "valid", "test") for part in (f"--{split}pref", folder / split)]
    languages = ["-s", source, "-t", target, "--joined-dictionary"]
    succeed("fairseq-preprocess", *languages, *prefixes, "--destdir", folder / "bin")
    return folder / "bin"


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return binarised(tmp_path_factory.mktemp("toy"), "src", "tgt")


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return binarised(tmp_path_factory.mktemp("noisy"), "noisy", "clean")


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    made: Any = ModuleType("ctranslate2")
    made.converters = SimpleNamespace(FairseqConverter=stand_in.converter)
    made.Translator = stand_in.translator
    monkeypatch.setitem(sys.modules, "ctranslate2", made)
    monkeypatch.setattr("bench.peer.find_spec", lambda name: name == "ctranslate2")
    return stand_in
