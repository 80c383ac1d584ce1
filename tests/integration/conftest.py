"""A toy corpus and a model that has learnt it, made once (tests that look at ``trained`` share a worker)."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.integration import commands
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


@pytest.fixture(scope="session")
def trained(toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a `levt_tiny` after 500 updates, chosen by BLEU."""
    folder = tmp_path_factory.mktemp("trained")
    schedule = ["--lr-scheduler", "polynomial_decay", "--total-num-update", 500, "--warmup-updates", 50]
    schedule += ["--max-tokens", 2000, "--max-update", 500, "--clip-norm", 1, "--save-interval", 10]
    schedule += ["--validate-interval", 10]
    scoring = ["--eval-bleu", "--best-checkpoint-metric", "bleu", "--maximize-best-checkpoint-metric"]
    log = succeed(*commands.train(toy, folder, *schedule, *scoring, "--dropout", 0))
    (folder / "log").write_text(log.both, encoding="utf-8")
    return folder


@pytest.fixture
def peer(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn()
    made: Any = ModuleType("ctranslate2")
    made.converters = SimpleNamespace(FairseqConverter=stand_in.converter)
    made.Translator = stand_in.translator
    monkeypatch.setitem(sys.modules, "ctranslate2", made)
    monkeypatch.setattr("bench.peer.find_spec", lambda name: name == "ctranslate2")
    return stand_in
