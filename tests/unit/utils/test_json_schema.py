"""JSON that does not fit a dataclass is refused, and the message names the entry."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lev_plugins.utils.errors import UserError
from lev_plugins.utils.json_schema import from_entries, parse_object


@dataclass
class Inner:
    size: float


@dataclass
class Outer:
    name: str
    on: bool
    inner: Inner
    numbers: list[int] = field(default_factory=list)
    more: dict[str, float | str | None] = field(default_factory=dict)
    anything: Any = None


VALID_ENTRIES: dict[str, Any] = {"name": "a", "on": True, "inner": {"size": 1}}


def test_valid_entries_fill_the_dataclass() -> None:
    entries = {**VALID_ENTRIES, "more": {"a": None}, "numbers": [1], "anything": [{}]}
    assert from_entries(Outer, entries, "x") == Outer("a", True, Inner(1), [1], {"a": None}, [{}])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"on": 1}, "x: on must be bool, but is 1"),
        ({"name": None}, "x: name must be str, but is None"),
        ({"inner": []}, "x: inner must be an object, but is []"),
        ({"inner": {"size": True}}, "x: inner: size must be finite float, but is True"),
        ({"inner": {"size": math.inf}}, "x: inner: size must be finite float, but is inf"),
        ({"inner": {"size": 10**400}}, "x: inner: size must be finite float, but is 1000"),
        ({"numbers": [1, 2.5]}, "x: numbers must be list[int], but is [1, 2.5]"),
        ({"more": {"a": []}}, "x: more must be dict[str, finite float | str | None], but is {'a': []}"),
        ({"others": 1}, "x has an unknown entry 'others'"),
        ({"name": "a" * 999, "on": "b" * 999}, "x: on must be bool, but is '" + "b" * 59 + "..."),
    ],
)
def test_an_invalid_entry_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        from_entries(Outer, {**VALID_ENTRIES, **changes}, "x")


@given(st.binary(max_size=40))
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
def test_any_bytes_are_an_object_or_refused(text: bytes) -> None:
    try:
        assert isinstance(parse_object(text, "x"), dict)
    except UserError as error:
        assert str(error).startswith("x is not")
