"""Keyboards: which keys are neighbours."""

from pathlib import Path

import pytest

from lev_plugins.noise.layouts import known_layouts, neighbouring_keys
from lev_plugins.utils.errors import UserError
from tests.helpers import noise


def test_neighbouring_keys_are_neighbours_of_each_other() -> None:
    assert {"qwerty", "qwertz", "azerty", "dvorak"} <= set(known_layouts())
    for layout in known_layouts():
        near = neighbouring_keys(layout)
        assert len(near) > 80
        assert all(near.values())
        assert all(key in near[neighbour] and key != neighbour for key in near for neighbour in near[key])


@pytest.mark.parametrize(
    ("layout", "key", "near"),
    [("qwerty", "a", "qwsz"), ("qwertz", "y", "<asx"), ("azerty", "q", "azsw<"), ("dvorak", "a", "',o;")],
)
def test_neighbours_of_a_key(layout: str, key: str, near: str) -> None:
    assert set(neighbouring_keys(layout)[key]) == set(near)


def test_a_layout_file(tmp_path: Path) -> None:
    path = tmp_path / "pad.txt"
    path.write_text("0 123 !?.\n0 456 ¤,;\n", "utf-8")
    assert neighbouring_keys(str(path))["5"] == ("2", "4", "6")
    assert neighbouring_keys(str(path))["!"] == ("?",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0 123 !?\n", "pad.txt:1: a row must be START KEYS SHIFTED"),
        (b"0 12 !?\nx 34 ab\n", "pad.txt:2: a row must be START KEYS SHIFTED"),
        (b"0 12 !?\n\n", "pad.txt:2: a row must be START KEYS SHIFTED.* but is ''"),
        (b"\xff", "pad.txt is not UTF-8 text"),
    ],
)
def test_a_malformed_layout_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "pad.txt"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        noise("keyboard", 0.1, layout=str(path))
