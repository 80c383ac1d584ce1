"""A sentencepiece model without the names of the files that it was learned from, which are paths on somebody's machine.

The file is a protocol buffer: fields of a number, a kind and a value. Field 2 has the settings of its training; in
those, field 1 names the texts, field 2 the model, and field 54 a list of first pieces. Fields 3 and 5 have those of its
normaliser and of the way back; in those, field 6 names a table.
"""

from __future__ import annotations

from collections.abc import Iterator

from lev_plugins.errors import require

PATHS = {2: {1, 2, 54}, 3: {6}, 5: {6}}  # outer field: inner fields
VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES = 0, 1, 2, 5
MORE = 0x80  # a byte of a number that has more bytes


def without_paths(model: bytes) -> bytes:
    """
    >>> without_paths(bytes([0x0A, 1, 65, 0x12, 5, 0x0A, 1, 47, 0x18, 7]))  # field 1: A; field 2: 1: /, 3: 7
    b'\\n\\x01A\\x12\\x02\\x18\\x07'
    """
    parts = []
    for number, start, value, end in fields(model):
        if number in PATHS:
            inside, paths = model[value:end], PATHS[number]
            kept = b"".join(inside[a:b] for inner, a, _, b in fields(inside) if inner not in paths)
            parts.append(bytes([number << 3 | LENGTH]) + varint(len(kept)) + kept)
        else:
            parts.append(model[start:end])
    return b"".join(parts)


def fields(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Of each field: its number, and where it starts, its value starts, and it ends."""
    place = 0
    while place < len(data):
        start = place
        tag, place = read_varint(data, place)
        kind = tag & 7
        require(kind in (VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES), "the sentencepiece model is damaged: copy it again")
        size = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
        value = place
        if kind == LENGTH:
            size, value = read_varint(data, place)
        elif kind == VARINT:
            _, value = read_varint(data, place)
        place = value + size
        require(place <= len(data), "the sentencepiece model is damaged: copy it again")
        yield tag >> 3, start, value, place


def read_varint(data: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits per byte, the lowest first, and the place behind it."""
    number = shift = 0
    for at in range(place, len(data)):
        number |= (data[at] & ~MORE) << shift
        shift += 7
        if not data[at] & MORE:
            return number, at + 1
    return number, len(data) + 1  # beyond the end: damaged


def varint(number: int) -> bytes:
    """
    >>> varint(300)
    b'\\xac\\x02'
    """
    parts = []
    while number >= MORE:
        parts.append(number % MORE | MORE)
        number //= MORE
    return bytes([*parts, number])
