"""Words that no edit may touch, in a request and in a file."""

import random
import time
from pathlib import Path

import pytest

from lev_plugins.errors import UserError
from lev_plugins.text.edited import Edit, Edited, Span
from lev_plugins.text.own_words import WordList
from lev_plugins.text.protected import OwnWords, untouched


def test_of_words_that_begin_alike_the_longest() -> None:
    protected = OwnWords(["New York", "New", "York City Hall"])
    text = "New York City, new"
    assert [text[a:b] for a, b in protected.spans(text)] == ["New York"]


def test_many_words_in_words_take_no_time() -> None:
    protected = OwnWords([" ".join("a" * n) for n in range(1, 101)])
    start = time.process_time()
    assert len(protected.spans("a " * 5_000)) == 5_000
    assert time.process_time() - start < 5  # once 46 s


def test_an_accent_may_be_written_apart() -> None:
    """As macOS does; places are those of the text."""
    for word in ("café", "cafe\u0301"):
        assert OwnWords([word]).spans("a cafe\u0301, café") == [(2, 7), (9, 13)]


def test_many_edits_of_many_words_take_no_time() -> None:
    """Spans may overlap, and are in no order: a long one may begin before others and end behind them."""
    draw = random.Random(1)
    spans = [Span(start, start + draw.randint(1, 9)) for start in draw.choices(range(300), k=60)]
    edits = [Edit(start, start + draw.randint(0, 3), "x") for start in range(0, 300, 4)]
    kept = untouched(Edited("a" * 310, tuple(edits)), spans).edits
    assert list(kept) == [
        edit for edit in edits if not any(edit.start < span.end and span.start < edit.end for span in spans)
    ]
    assert 0 < len(kept) < len(edits)

    text = "teh a " * 30_000
    many = Edited(text, tuple(Edit(place, place + 3, "the") for place in range(0, len(text), 6)))
    start = time.process_time()
    assert len(untouched(many, OwnWords(["a"]).spans(text)).edits) == 30_000
    assert time.process_time() - start < 10  # the square of 30,000 takes minutes


def test_a_byte_order_mark_is_no_part_of_a_word(tmp_path: Path) -> None:
    """It would stand at the start of the file, which then could not be read."""
    file = tmp_path / "words.txt"
    words = WordList(file)
    assert words.add("\ufeffteh") and words.add("tset") and not words.add("teh")
    assert list(WordList(file).words) == ["teh", "tset"]
    assert words.delete("\ufeffteh")


def test_a_word_that_is_too_long() -> None:
    with pytest.raises(UserError, match="at most 200 characters"):
        OwnWords(["a" * 201])


def test_a_file_with_a_word_that_is_too_long(tmp_path: Path) -> None:
    """It refuses every change, not only the first, and changes nothing."""
    file = tmp_path / "words.txt"
    words = WordList(file)
    long = f"{'a' * 201}\n"
    file.write_text(long, encoding="utf-8")
    for _ in range(2):
        with pytest.raises(UserError, match="at most 200 characters"):
            words.add("beta")
    assert file.read_text(encoding="utf-8") == long


def test_what_others_wrote_into_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("alpha\n", encoding="utf-8")
    words = WordList(file)
    with file.open("a", encoding="utf-8") as more:
        more.write("beta\n")
    assert words.add("gamma") and not words.add("beta") and words.delete("alpha")
    assert file.read_text(encoding="utf-8") == "beta\ngamma\n"
    assert words.protected.spans("beta")


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("lev_plugins.text.own_words.all_or_nothing", fail)
    words = WordList(tmp_path / "words.txt")
    with pytest.raises(UserError, match=r"words\.txt cannot be written"):
        words.add("alpha")
    assert not words.words
