"""The fields of a JSON request, each of its own type; a wrong one is named, with what it should be."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from lev_plugins.errors import require
from lev_plugins.serving.limits import encodable

T = TypeVar("T")
Check = Callable[[Any, str], T]


def only(given: Any, names: Iterable[str]) -> dict[str, Any]:
    expected = known(given, names)
    unknown = [name for name in given if name not in expected]
    require(not unknown, f"unknown field {unknown and unknown[0]!r}: the fields are {', '.join(names)}")
    return given


def known(given: Any, names: Iterable[str]) -> dict[str, Any]:
    """Without the fields of other names, which the clients of a protocol that is not ours may send."""
    require(isinstance(given, dict), f"the request must be a JSON object, but is {kind(given)}")
    return {name: given[name] for name in names if name in given}


def optional(given: dict[str, Any], name: str, check: Check[T], default: T) -> T:
    return check(given[name], name) if name in given else default


def each_of(check: Check[T]) -> Check[list[T]]:
    def of_all(value: Any, name: str) -> list[T]:
        require(isinstance(value, list), f"{name} must be a list, but is {kind(value)}")
        return [check(each, f"{name}[{i}]") for i, each in enumerate(value)]

    return of_all


def text(value: Any, name: str) -> str:
    require(isinstance(value, str), f"{name} must be a string, but is {kind(value)}")
    return encodable(value, name)


def text_or_words(value: Any, name: str) -> str | tuple[str, ...]:
    return tuple(each_of(text)(value, name)) if isinstance(value, list) else text(value, name)


def share(value: Any, name: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    require(
        number and 0 <= value <= 1, f"{name} must be a number from 0 to 1, but is {value if number else kind(value)}"
    )
    return float(value)


def flag(value: Any, name: str) -> bool:
    require(isinstance(value, bool), f"{name} must be true or false, but is {kind(value)}")
    return value


def kind(value: Any) -> str:
    """
    >>> [kind(value) for value in [None, True, 1, "a", [], {}]]
    ['null', 'a boolean', 'a number', 'a string', 'a list', 'an object']
    """
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list"}
    return kinds.get(type(value), "an object")
