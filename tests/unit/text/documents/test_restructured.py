"""reStructuredText: directives that hold sentences are prose, others, literal blocks and roles are not."""

import pytest

from lev_plugins.text.documents.restructured import read_rst
from tests.unit.text.documents.prose import prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("=====\nTitle\n=====\n\nOne\ntwo.\n", ["Title", "One|two."]),
        ("Title\n-----\nText\n\nENV\n---\nText", ["Title", "Text", "Text"]),
        ("- some item\n- name\n- other\n  item", ["some item", "other|item"]),
        ("The title\n---------\nSee `the  title`_\n\nOther\n-----\nMore", ["See|<`the  title`_>", "Other", "More"]),
        ("Code::\n\n  x\n\n  y\n\nText", ["Code::", "Text"]),
        ("* item::\n\n    x\n\n  more\n\n::\n\n  code\n", ["item::", "more"]),
        (
            "See::\n\n* no\n* no\n\n* some item\n\nSee::\n\n no\n\n* one item",
            ["See::", "some item", "See::", "one item"],
        ),
        ("A ``code``s and ``b``, c", ["A|<``code``s and ``b``>|, c"]),
        ("A ``code`` and :ref:`text <x>`, :ref:`x`.", ["A|<``code``>|and|text|,|<:ref:`x`>|."]),
        ("A `b <http://a>`_ `b`_ to A%B@c.org", ["A|<`b <http://a>`_>|<`b`_>|to|<A%B@c.org>"]),
        ("`web <http://a>`_ `name`_ name_ |sub| [1]_", ["web|<`name`_>|<name_>|<|sub|>|<[1]_>"]),
        (":class:`A <b>` *em* **bold** ``a``\\ s", ["<:class:`A <b>`>|em|bold|<``a``\\ s>"]),
        (".. note:: One\n   two.\n\n   Three.\n\n.. tip::\n   Four.\n", ["One|two.", "Three.", "Four."]),
        (".. note:: 3 things\n.. c:function:: int f(int a)\n\n   Text.\n", ["3 things", "Text."]),
        (".. versionadded:: 3.2\n   Text.\n.. deprecated:: 2.0 Since.", ["Text.", "Since."]),
        (".. code-block:: py\n   :linenos:\n\n   x = 1\n\n   y\n\nText", ["Text"]),
        (".. unknown:: a\n\n   x\n.. toctree::\n   a\n\nText", ["Text"]),
        (".. figure:: a.png\n   :alt: a\n\n   Caption.\n", ["Caption."]),
        (
            ".. py:function:: f(a)\n   g(b)\n\n   Text.\n\n   :param a: one\n     more\n   :type a: int\n",
            ["Text.", "one|more"],
        ),
        (".. _target: http://x\n.. |a| replace:: b\n.. comment\n   more\n.. [1] Note.\n__ http://a\n", ["Note."]),
        ("some term\n   Text.\n\nname.of_code\n   Text.\n", ["some term", "Text.", "Text."]),
        ("-o file  Option text\n--long=x  More", ["Option text", "More"]),
        (">>> x = 1\n1\n\nText\n", ["Text"]),
        ("| One\n| two\n\n+---+---+\n| a | b |\n+---+---+\n\n=== ===\na   b\n=== ===\n\nText", ["One", "two", "Text"]),
        ("==  ====\nno  no\n==  ====\nno  no\n\nno  no\n==  ====\n\nText", ["Text"]),
        ("\ufeffText\r\nmöre ``é``\r\n\r\n- a\r\n  b\r\n", ["Text|möre|<``é``>", "a|b"]),
    ],
)
def test_prose_of_rst(text: str, expected: list[str]) -> None:
    assert prose(read_rst, text) == expected


@pytest.mark.parametrize(
    "text", ["Wich is\n=======\n", "Wich is\r\n=======\r\n", "Wich *is*\n=========\n", "Wich is \n====== \n"]
)
def test_a_title_has_the_room_that_its_underline_has(text: str) -> None:
    (entry,) = read_rst(text)
    assert entry.room == 0
