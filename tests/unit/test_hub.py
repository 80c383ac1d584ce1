"""fairseq's own way to a model in Python, ``from_pretrained``, on checkpoints, which are read safely."""

import os
import shutil
from pathlib import Path

import pytest
from fairseq.models import BaseFairseqModel

from lev_plugins import checkpoints
from lev_plugins.errors import UserError
from lev_plugins.models.gated import GatedTrans
from lev_plugins.models.levt import LevT
from lev_plugins.models.pbd import PBD
from tests.pretrained import sentencepieces
from tests.unit.test_editor import GOLDEN, LEVT, NOISES, NOISY, SOURCES, characters, generated


def test_a_levt_translates() -> None:
    model = LevT.from_pretrained(str(GOLDEN / "levt"), "checkpoint.pt", str(LEVT))
    assert model.translate(SOURCES) == generated("levt/expected-from-nothing")


@pytest.mark.parametrize(("name", "kind"), [("pbd", PBD), ("gated", GatedTrans)])
def test_a_corrector_translates(name: str, kind: type[BaseFairseqModel]) -> None:
    model = kind.from_pretrained(str(GOLDEN / name), "checkpoint.pt", str(NOISY), bpe="chars")
    assert model.translate(NOISES, beam=3) == [characters(text).strip() for text in generated(f"{name}/expected")]


def test_sentencepiece_models_are_taken(tmp_path: Path) -> None:
    sentencepieces(tmp_path / "pieces", NOISES * 3, 30, hard_vocab_limit=False)
    options = {"bpe": "sentencepiece", "sentencepiece_model": str(tmp_path / "pieces.model")}
    model = PBD.from_pretrained(str(GOLDEN / "pbd"), "checkpoint.pt", str(NOISY), **options)
    assert isinstance(model.translate("a b"), str)
    assert model.bpe.encode("a b").startswith("▁a")


def test_what_is_not_a_weight_is_refused(tmp_path: Path) -> None:
    class Malicious:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "canary"),)

    shutil.copy(GOLDEN / "pbd" / "checkpoint.pt", tmp_path)
    state = checkpoints.load(tmp_path / "checkpoint.pt")
    checkpoints.save({**state, "more": Malicious()}, tmp_path / "checkpoint.pt")
    with pytest.raises(Exception, match=r"mkdir"):
        PBD.from_pretrained(str(tmp_path), "checkpoint.pt", str(NOISY), bpe="chars")
    assert not (tmp_path / "canary").exists()


def test_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    """fairseq would write where its members say, and delete it."""
    archive = tmp_path / "model.tar.gz"
    archive.write_bytes(b"")
    with pytest.raises(UserError, match="is a file, but a folder is needed: unpack it"):
        LevT.from_pretrained(str(archive), "checkpoint_best.pt", str(tmp_path))
    assert archive.exists()
