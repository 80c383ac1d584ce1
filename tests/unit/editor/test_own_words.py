"""The user's own words, in a file that several servers may change."""

import threading
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.editor.own_words import WordList
from lev_plugins.utils.errors import UserError


def test_a_word_list_reads_and_writes_its_file(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("teh\n\n New York \n", "utf-8")
    words = WordList(path)
    assert list(words.words) == ["teh", "New York"]
    assert words.add("Zürich") and not words.add("Zürich")
    assert words.delete("teh") and not words.delete("teh")
    assert path.read_text("utf-8") == "New York\nZürich\n"
    text = "Zürich, New York, new york"
    assert [text[a:b] for a, b in words.protected.spans(text)] == ["Zürich", "New York"]
    with pytest.raises(UserError, match=r"word .*blanks"):
        words.add("a b")
    with pytest.raises(UserError, match=r"word .*200 .* 0"):
        words.add("")
    assert WordList().protected.spans(text) == [] and WordList(tmp_path / "none").words == {}


@pytest.mark.parametrize("word", [5, None, "\ud800"])
def test_a_word_that_is_no_text_is_refused(word: Any) -> None:
    with pytest.raises(UserError, match=r"word .*(must be a string|half of a character)"):
        WordList(words=["teh", word])


def test_a_word_list_keeps_its_permissions_and_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "words.txt"
    real.touch(0o600)
    link.symlink_to(real)
    assert WordList(link).add("teh")
    assert link.is_symlink() and real.read_text("utf-8") == "teh\n" and real.stat().st_mode & 0o777 == 0o600


def test_threads_lose_no_added_words(tmp_path: Path) -> None:
    """Each thread reads the file, adds a word and writes the file."""
    words = WordList(tmp_path / "words")
    threads = [threading.Thread(target=words.add, args=(f"w{number}",)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len((tmp_path / "words").read_text(encoding="utf-8").split()) == len(words.words) == 20
