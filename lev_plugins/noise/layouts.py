"""Keyboards as data: which keys are neighbours. The layouts are in tables/layouts."""

from functools import lru_cache
from pathlib import Path

from lev_plugins.errors import UserError, require

LAYOUTS = Path(__file__).parent / "tables" / "layouts"
NO_KEY = "¤"  # a dead or missing key, which keeps the place of the others
Keys = dict[str, tuple[float, int]]  # the middle of a key: key widths from the left, rows from the top


def known_layouts() -> list[str]:
    return sorted(path.stem for path in LAYOUTS.glob("*.txt"))


@lru_cache(maxsize=8)
def neighbouring_keys(layout: str, flag: str = "--layout") -> dict[str, tuple[str, ...]]:
    """For every character of a layout, those of the neighbouring keys, with or without shift like the character.

    A layout is a name, or a file like those in tables/layouts. It has one line per row of keys, from the top: the start
    of its first key, in key widths from the left; its characters without shift; its characters with shift.

    >>> "".join(neighbouring_keys("qwerty")["g"]), "".join(neighbouring_keys("qwertz")["Z"])
    ('tyfhvb', '&/TUGH')
    """
    near: dict[str, tuple[str, ...]] = {}
    for keys in read_layout(layout, flag):
        near |= {key: tuple(other for other in keys if adjacent(keys[key], keys[other])) for key in keys}
    return near


@lru_cache(maxsize=8)
def shifts(layout: str, flag: str = "--layout") -> dict[str, str]:
    """For every character of a layout, that of the same key with shift, or without.

    >>> [shifts("qwerty")[key] for key in "aA1!"]
    ['A', 'a', '!', '1']
    """
    plain, shifted = read_layout(layout, flag)
    above = {place: key for key, place in shifted.items()}
    pairs = [(key, above[place]) for key, place in plain.items() if above.get(place, key) != key]
    return dict(pairs) | {shifted: key for key, shifted in pairs}


def read_layout(layout: str, flag: str) -> tuple[Keys, Keys]:
    """The keys without and with shift."""
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
        start, *both = text.split() or [""]
        number = start.replace(".", "", 1)
        require(
            number.isdecimal() and len(both) == 2 and len(both[0]) == len(both[1]),
            f"{path}:{row + 1}: a row must be START KEYS SHIFTED, the last two equally long, but is {text!r}",
        )
        for keys, characters in zip((plain, shifted), both, strict=True):
            keys |= {key: (float(start) + at, row) for at, key in enumerate(characters) if key != NO_KEY}
    return plain, shifted


def adjacent(one: tuple[float, int], other: tuple[float, int]) -> bool:
    """The keys on both sides in a row; in the rows above and below, those that overlap."""
    across, down = abs(one[0] - other[0]), abs(one[1] - other[1])
    return across == 1 if down == 0 else down == 1 and across < 1
