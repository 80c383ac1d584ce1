"""Which words of a file an editor has to look at."""

from pathlib import Path

from lev_plugins.checking.cache import Cache
from lev_plugins.checking.prose import Prose, words_of_project
from lev_plugins.text.documents.document import Part, paragraph
from lev_plugins.text.edited import Span
from lev_plugins.text.lexicon import Lexicon

LEXICON = Lexicon.of_lines(["it's,it's,its", "form,form,from", "teh,the"])
TEXT = "A form\u2019s teh. It\u2019s its form."
KNOWN = {"A", "form", "form\u2019s", "It\u2019s", "its"}


def prose(*ignored: Span, lexicon: Lexicon | None = LEXICON) -> Prose:
    return Prose(TEXT, [paragraph(TEXT, [Part(0, len(TEXT))])], KNOWN.__contains__, ignored, lexicon=lexicon)


def words_at(places: object) -> list[str]:
    return [TEXT[start:end] for start, end in places]  # type: ignore[attr-defined]


def test_words_that_people_write_for_others_are_looked_at() -> None:
    assert words_at(prose().request(()).places) == ["teh", "It\u2019s", "form"]
    assert words_at(prose(Span(0, 13)).request(()).places) == ["It\u2019s", "form"]
    assert words_at(prose(lexicon=None).request(()).places) == ["teh"]


def test_the_cache_has_their_number(tmp_path: Path) -> None:
    path = tmp_path / "cache"
    cache = Cache(path)
    cache.words["a"] = words = prose().words
    cache.save(keep_others=False)
    assert words.confused == 2 and Cache(path).words_of("a") == words._replace(code=[])


def test_a_listed_misspelling_that_recurs_is_no_word_of_the_project() -> None:
    words = prose().words._replace(unknown={"teh": 3, "etcd": 2})
    assert words_of_project([words], LEXICON) == {"etcd"} and words_of_project([words]) == {"etcd", "teh"}
