"""Scripts of examples/: odd input, and what their errors say."""

import random
from argparse import Namespace
from pathlib import Path

import pytest

from tests.examples import load_script


def test_pairs_with_few_words_in_common_are_left_out(tmp_path: Path) -> None:
    repairs = load_script("denoising/repairs")
    (tmp_path / "src").write_text("tlie cat sat down\nsomething else , entirely\n", encoding="utf-8")
    (tmp_path / "tgt").write_text("the cat sat down\na page of another book\n", encoding="utf-8")
    repairs.run(Namespace(source=tmp_path / "src", target=tmp_path / "tgt", out=tmp_path / "out"))
    assert (tmp_path / "out.tgt").read_text(encoding="utf-8") == "the cat sat down\n"
    assert (tmp_path / "out.src").read_text(encoding="utf-8") == "tlie cat sat down\n"


def test_each_listed_word_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    widen = load_script("denoising/widen")
    monkeypatch.setattr(widen, "DRAWN", 5)
    listed = {"common": 10**9, "rare": 1, "rarer": 1}
    words = [word for line in widen.drawn(listed, random.Random(1)) for word in line.split()]
    assert set(words) == set(listed) and len(words) == 8
