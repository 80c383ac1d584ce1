"""Lines as grapheme clusters."""

import regex

from lev_plugins.noise.text import ALONE


def test_the_fast_path_matches_only_isolated_code_points() -> None:
    """The code points of the fast path are of cluster classes that break on both sides."""
    breaking = regex.compile(r"[\p{GCB=Other}\p{GCB=Control}\p{GCB=CR}\p{GCB=LF}\p{GCB=LV}\p{GCB=LVT}]")
    quick = [chr(code) for code in range(0x110000) if ALONE.fullmatch(chr(code))]
    assert len(quick) > 40_000
    assert [hex(ord(letter)) for letter in quick if not breaking.fullmatch(letter)] == []
