"""Keyboards as data: which keys are neighbours. The layouts are in tables/layouts."""

from functools import lru_cache
from pathlib import Path

from lev_plugins.utils.errors import UserError, require

LAYOUTS = Path(__file__).parent / "tables" / "layouts"
NO_KEY = "¤"  # a dead or missing key, which keeps the place of the others
Keys = dict[str, tuple[float, int]]  # the middle of a key: key widths from the left, rows from the top


def known_layouts() -> list[str]:
    return sorted(path.stem for path in LAYOUTS.glob("*.txt"))


@lru_cache(maxsize=8)
def neighbouring_keys(layout: str, flag: str = "--layout") -> dict[str, tuple[str, ...]]:
    """Return the characters of the neighbouring keys, by character of a layout: with shift if the character has it.

    A layout is a name, or a file like those in tables/layouts. It has one line per row of keys, from the top: the start
    of its first key, in key widths from the left; its characters without shift; its characters with shift.

    >>> "".join(neighbouring_keys("qwerty")["g"]), "".join(neighbouring_keys("qwertz")["Z"])
    ('tyfhvb', '&/TUGH')
    """
    near: dict[str, tuple[str, ...]] = {}
    for keys in read_layout(layout, flag):
        near |= {key: tuple(other for other in keys if adjacent_keys(keys[key], keys[other])) for key in keys}
    return near


@lru_cache(maxsize=8)
def shifts(layout: str, flag: str = "--layout") -> dict[str, str]:
    """Return, by character of a layout, that of the same key with shift, or without.

    >>> [shifts("qwerty")[key] for key in "aA1!"]
    ['A', 'a', '!', '1']
    """
    plain, shifted = read_layout(layout, flag)
    above = {place: key for key, place in shifted.items()}
    pairs = [(key, above[place]) for key, place in plain.items() if above.get(place, key) != key]
    return dict(pairs) | {shifted: key for key, shifted in pairs}


def read_layout(layout: str, flag: str) -> tuple[Keys, Keys]:
    """Return the keys without and with shift."""
    path = LAYOUTS / f"{layout}.txt" if layout in known_layouts() else Path(layout)
    require(
        path.is_file(), f"{flag} {layout} is unknown: choose from {', '.join(known_layouts())}, or name a layout file"
    )
    plain: Keys = {}
    shifted: Keys = {}
    try:
        lines = path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text: follow the layouts in {LAYOUTS}") from error
    for row, text in enumerate(lines):
        start, *characters = text.split() or [""]
        number = start.replace(".", "", 1)
        require(
            number.isdecimal() and len(characters) == 2 and len(characters[0]) == len(characters[1]),
            f"{path}:{row + 1}: a row must be START KEYS SHIFTED, the last two equally long, but is {text!r}",
        )
        for keys, in_row in zip((plain, shifted), characters, strict=True):
            keys |= {key: (float(start) + at, row) for at, key in enumerate(in_row) if key != NO_KEY}
    return plain, shifted


def adjacent_keys(key: tuple[float, int], other_key: tuple[float, int]) -> bool:
    """Return whether two keys are side by side in a row, or overlap in neighbouring rows."""
    across, down = abs(key[0] - other_key[0]), abs(key[1] - other_key[1])
    return across == 1 if down == 0 else down == 1 and across < 1
