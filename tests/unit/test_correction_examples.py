"""The helpers of examples/ocr_correction."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from lev_plugins.errors import UserError
from tests.examples import load_script

# ---- ocr_correction ------------------------------------------------------------------------------------------------


def write_fold(folder: Path) -> None:
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.src").write_text("k i f s a\nt u o\nk i f s a\n", encoding="utf-8")
        (folder / f"{split}.tgt").write_text("k i s s a\nt u o\nk i s s a\n", encoding="utf-8")


def test_texts_of_a_fold(tmp_path: Path) -> None:
    texts = load_script("ocr_correction/texts")
    write_fold(tmp_path / "fold0")
    texts.run(Namespace(fold=tmp_path / "fold0", out=tmp_path / "out", words=0, by_type=True))
    read = {path.name: path.read_text("utf-8").splitlines() for path in (tmp_path / "out").iterdir()}
    assert read["train.src"] == read["train.draft"] == ["k i f s a", "t u o"]
    assert read["train.words.tgt"] == ["kissa", "tuo"]
    assert len(read["valid.tgt"]) == len(read["test.tgt"]) == 3  # never thinned out
    (tmp_path / "fold0" / "dev.tgt").write_text("a\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"dev\.src has 3 lines and .*dev\.tgt has 1"):
        texts.read_pairs(tmp_path / "fold0" / "dev")


def decoded(words: list[str]) -> str:
    lines = (f"S-{i}\tx\nT-{i}\ty\nH-{i}\t-0.1\t{word}\n" for i, word in reversed(list(enumerate(words))))
    return "".join(lines) + "Generate valid with beam=5: BLEU4 = 1.00\n"


def write_system(out: Path, fold: str, words: dict[str, list[str]]) -> None:
    tested = out / fold / "pbd2-test"
    tested.mkdir(parents=True)
    for name, found in words.items():
        (tested / name).write_text(decoded(found), encoding="utf-8")
    (tested / "done").touch()
    (out / fold / "pbd2").mkdir()
    stamps = "2026-01-01 10:00:00 | INFO | a | num. shared model params: 1,500,000 (num. trained: 1,500,000)\n"
    (out / fold / "pbd2" / "log").write_text(
        stamps + "2026-01-01 10:03:00 | INFO | fairseq_cli.train | done training\n", encoding="utf-8"
    )


def test_dev_chooses_and_the_table_has_mean_and_spread(tmp_path: Path) -> None:
    report, texts = load_script("ocr_correction/report"), load_script("ocr_correction/texts")
    right, wrong = "k i s s a", "k i f s a"
    for fold, bad in (("fold0", wrong), ("fold1", right)):
        write_fold(tmp_path / fold)
        texts.run(Namespace(fold=tmp_path / fold, out=tmp_path / "out" / fold / "texts", words=0, by_type=False))
        files = {"valid.best": [right, "t u o", right], "test.best": [bad, "t u o", right]}
        files |= {"valid.average": [wrong, "t u o", right], "test.average": [right, "t u o", right]}
        (tmp_path / "out" / fold / "texts" / "done").touch()
        write_system(tmp_path / "out", fold, files)
    (tmp_path / "out" / "fold2" / "texts").mkdir(parents=True)  # it failed
    symspell = tmp_path / "out" / "fold0" / "symspell"
    symspell.mkdir()
    (symspell / "valid.out").write_text("kissa\ntuo\nkifsa\n", encoding="utf-8")
    (symspell / "test.out").write_text("kissa\ntuo\nkissa\n", encoding="utf-8")
    (symspell / "done").touch()
    report.run(Namespace(out=tmp_path / "out"))
    page = (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "| do nothing | 33.3 ± 0.0 | 33.3 ± 0.0 | 2 | | " in page.replace("|  |", "| |")
    assert "| SymSpell, the words of the training text | 66.7 | 100.0 | 1 | " in page  # fold 1 is not run
    assert "| PBD, 2 layers | 100.0 ± 0.0 | 83.3 ± 23.6 | 2 | 1.50 M | 3.0 |" in page
    assert "| Transformer, 4 layers | not yet run |" in page
    found = json.loads((tmp_path / "out" / "report.json").read_text("utf-8"))
    assert found["systems"]["pbd2"]["fold0"]["took"] == "best"  # though the average is better on the test
    (tmp_path / "out" / "fold0" / "pbd2-test" / "test.best").write_text(decoded([right]), encoding="utf-8")
    with pytest.raises(UserError, match="2 of 3 sentences were not decoded"):
        report.run(Namespace(out=tmp_path / "out"))
