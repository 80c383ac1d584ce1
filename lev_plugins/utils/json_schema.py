"""Reads JSON from files and requests into dataclasses: known keys, exact types, finite numbers."""

import json
from dataclasses import MISSING, fields, is_dataclass
from inspect import formatannotation
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from lev_plugins.utils.errors import UserError, require

MAX_NUMBER = 1e15  # far beyond any size, and exact as a float
T = TypeVar("T")


def read_object(path: Path) -> dict[str, Any]:
    """Returns the JSON object that a file contains."""
    return parse_object(path.read_bytes(), str(path))


def parse_object(text: bytes, where: str) -> dict[str, Any]:
    """Returns the JSON object that a text contains; ``where`` is for error messages.

    >>> parse_object(b'[1]', "a.json")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: a.json is not a JSON object
    """
    try:
        entries = json.loads(text)
        json.dumps(entries, ensure_ascii=False).encode()  # "\ud800" is half of a character, which has no bytes
    except (ValueError, RecursionError) as error:  # including bad UTF-8 and numbers of thousands of digits
        raise UserError(f"{where} is not valid JSON ({error})") from error
    require(isinstance(entries, dict), f"{where} is not a JSON object")
    return entries


def from_entries(cls: type[T], entries: Any, where: str) -> T:
    """Returns the dataclass ``cls`` with these values; missing, unknown and ill-typed entries are errors.

    ``where`` names the file or request in error messages.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     width: int
    ...     name: str | None = None
    >>> from_entries(Size, {"width": 3}, "config.json")
    Size(width=3, name=None)
    >>> from_entries(Size, {"width": "3"}, "config.json")
    Traceback (most recent call last):
    lev_plugins.utils.errors.UserError: config.json: width must be int, but is '3'
    """
    require(isinstance(entries, dict), f"{where} must be an object, but is {shown(entries)}")
    hints = get_type_hints(cls)
    for name in entries:
        require(name in hints, f"{where} has an unknown entry {shown(name)}")
    for field in fields(cls):  # type: ignore[arg-type]
        optional = field.default is not MISSING or field.default_factory is not MISSING
        require(optional or field.name in entries, f"{where} has no entry {field.name!r}")
    values = {}
    for name, value in entries.items():
        place, hint = f"{where}: {name}", hints[name]
        if is_dataclass(hint):
            values[name] = from_entries(hint, value, place)  # type: ignore[arg-type]
        else:
            kind = formatannotation(hint).replace("float", "finite float")
            require(fits(value, hint), f"{place} must be {kind}, but is {shown(value)}")
            values[name] = value
    return cls(**values)


def fits(value: Any, hint: Any) -> bool:
    """Returns whether a value has exactly the type of the hint; an integer is also a float.

    >>> fits({"a": [1, 2]}, dict[str, list[int]]), fits(True, int), fits(1, float | None), fits(float("nan"), float)
    (True, False, True, False)
    """
    arguments = get_args(hint)
    if hint is Any:
        return True
    if get_origin(hint) in (Union, UnionType):
        return any(fits(value, kind) for kind in arguments)
    if get_origin(hint) is dict:
        return isinstance(value, dict) and all(fits(item, arguments[1]) for item in value.values())
    if get_origin(hint) is list:
        return isinstance(value, list) and all(fits(item, arguments[0]) for item in value)
    if hint in (int, float):
        return type(value) in (int, hint) and -MAX_NUMBER <= value <= MAX_NUMBER
    return type(value) is hint


def shown(value: object, max_length: int = 60) -> str:
    """Returns a value for an error message, cut off if it is long."""
    text = repr(value)
    return text if len(text) <= max_length else f"{text[:max_length]}..."
