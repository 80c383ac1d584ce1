"""Scripts of examples/: odd input, and what their errors say."""

import io
import random
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.examples import load_script


@pytest.mark.parametrize(
    ("script", "flags", "given", "message"),
    [
        ("denoising/symspell", ["--words", "{}/none"], b"", "none"),
        ("denoising/symspell", ["--words", "{}/words"], b"a\ncaf\xe9\n", "line 2 of standard input is not UTF-8"),
        ("denoising/symspell", ["--list", "{}/latin"], b"", "latin is not UTF-8"),
        ("denoising/familiar", ["{}/words"], b"caf\xe9\n", "line 1 of standard input is not UTF-8"),
    ],
)
def test_what_cannot_be_read(
    tmp_path: Path, fails: Callable[..., str], script: str, flags: list[str], given: bytes, message: str
) -> None:
    if "symspell" in script:
        pytest.importorskip("symspellpy")
    for name in ("words", "clean"):
        (tmp_path / name).write_text("cat 1\n", "utf-8")
    (tmp_path / "latin").write_bytes(b"caf\xe9 1\n")
    assert message in fails(script, *(flag.format(tmp_path) for flag in flags), stdin=given)


def test_harper_is_missing(fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "harper", None)
    assert "harper, which is not installed: pip install 'lev-plugins[baselines]'" in fails("english/harper_suggestions")


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """The one line with which a script ends."""

    def run(script: str, *flags: str, stdin: bytes = b"") -> str:
        monkeypatch.setattr(sys, "argv", ["script", *flags])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO()))
        assert load_script(script).main() == 2
        error = capsys.readouterr().err
        assert error.startswith("script: error: ") and error.count("\n") == 1
        return error

    return run


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
