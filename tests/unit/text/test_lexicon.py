"""A lexicon finds all its entries, and refuses files that are none."""

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.text import lexicon as lexicons
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.utils.errors import UserError

WORDS = st.text(alphabet="ab'é", min_size=1, max_size=4)


@given(st.dictionaries(WORDS, st.lists(WORDS, max_size=2), max_size=30), WORDS)
def test_entries_are_those_of_a_dictionary(entries: dict[str, list[str]], other: str) -> None:
    lexicon = Lexicon.of_lines([",".join([word, *corrections]) for word, corrections in entries.items()])
    for word in {*entries, other}:
        assert lexicon.corrections(word) == entries.get(word, [])
        assert lexicon.knows(word) == (entries.get(word) == [])


def test_the_same_entries_make_the_same_file(tmp_path: Path) -> None:
    lines = ["teh,the", "etcd", "etc"]
    for name, entries in (("a", lines), ("b", lines[::-1])):
        Lexicon.of_lines(entries).write(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert Lexicon.read(tmp_path / "a").text == "etc\netcd\nteh,the\n"


DAMAGED = {
    "no gzip": b"etcd\n",
    "cut off": gzip.compress(b"etcd\n" * 99)[:-9],
    "damaged": gzip.compress(b"etcd\n")[:-8] + bytes(8),
    "not UTF-8": gzip.compress(b"\xff\n"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_no_lexicon_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "lexicon.txt.gz"
    path.write_bytes(DAMAGED[name])
    with pytest.raises(UserError, match="is not a lexicon"):
        Lexicon.read(path)


def test_a_small_archive_of_endless_text_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicons, "MAX_TEXT_BYTES", 1000)
    path = tmp_path / "lexicon.txt.gz"
    path.write_bytes(gzip.compress(b"a" * 1001))
    with pytest.raises(UserError, match="more than 1,000 bytes"):
        Lexicon.read(path)


def test_lines_in_any_order_are_no_error() -> None:
    lexicon = Lexicon("teh,the\nabc\n\n,\nzoo")
    assert {word: lexicon.entry(word) for word in ("", "abc", "teh", "zoo", "x")}.keys() == {
        "",
        "abc",
        "teh",
        "zoo",
        "x",
    }
