"""Lines as cells."""

import regex

from lev_plugins.noise.text import ALONE


def test_the_quick_path_takes_only_what_stands_alone() -> None:
    """No code point of it joins a neighbour of it: all are of cluster classes that break on both sides."""
    breaking = regex.compile(r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
    quick = [chr(code) for code in range(0x110000) if ALONE.fullmatch(chr(code))]
    assert len(quick) > 40_000
    assert [hex(ord(letter)) for letter in quick if not breaking.fullmatch(letter)] == []
