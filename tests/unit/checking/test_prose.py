"""Which words of a file are words of its project."""

from collections import Counter

from lev_plugins.checking.prose import FileWords, Prose, words_of_project
from lev_plugins.text.documents.document import Part, paragraph
from lev_plugins.text.documents.restructured import read_rst
from lev_plugins.text.edited import Edit
from lev_plugins.text.lexicon import Lexicon


def test_a_listed_misspelling_that_recurs_is_no_word_of_the_project() -> None:
    words = FileWords(unknown=Counter(teh=3, etcd=2))
    assert words_of_project([words], Lexicon.of_lines(["teh,the"])) == {"etcd"}
    assert words_of_project([words]) == {"etcd", "teh"}
    in_code = words._replace(code=frozenset({"teh"}))
    assert words_of_project([in_code], Lexicon.of_lines(["teh,the"])) == {"etcd", "teh"}


def test_the_words_of_an_html_comment_are_no_words_of_the_project() -> None:
    text = "Teh. <!-- lev-plugins: ignore\nteh --> <etcd>"
    prose = Prose(text, [paragraph(text, [Part(0, 4)])], set[str]().__contains__)
    assert prose.words.code == {"etcd"}


def test_a_title_does_not_outgrow_its_line() -> None:
    text = "We begining\n-----------\n\nWe begining\n=============\n"
    prose = Prose(text, read_rst(text), set[str]().__contains__)
    edits = [Edit(3, 11, "beginning"), Edit(0, 2, "I"), Edit(28, 36, "beginning")]
    assert prose.edits(edits) == edits[1:]
    edits = [Edit(25, 27, "They"), Edit(28, 36, "beginning")]
    assert prose.edits(edits) == edits[:1]


def test_the_sources_of_translations_are_no_code() -> None:
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "We recieved it."\nmsgstr ""\n'
    assert not Prose(text, [], set[str]().__contains__, has_code=False).words.code
