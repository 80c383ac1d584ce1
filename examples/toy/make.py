"""Write two toy corpora: ``python examples/toy/make.py FOLDER``.

``*.src`` and ``*.tgt``: translate word by word and leave some words out; ``*.mt``: ``*.tgt`` with one mistake.
``*.clean``: small letters; ``*.noisy``: the same with some capitals and extra dots.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path

SIZES = {"train": 5000, "valid": 100, "test": 100}
WORDS = 30
LETTERS = "abcdef"
NOISE = 0.2


def translate(words: list[int]) -> str:
    """
    >>> translate([1, 5, 12])
    'v1 v12'
    """
    return " ".join(f"v{word}" for word in words if word % 5)


def translations(draw: random.Random) -> tuple[str, str]:
    """
    >>> translations(random.Random("valid"))
    ('w3 w5 w13 w18 w24 w26', 'v3 v13 v18 v24 v26')
    """
    line = sorted(draw.sample(range(WORDS), draw.randint(2, 8)))
    return " ".join(f"w{word}" for word in line), translate(line)


def spoil(target: str) -> str:
    """Drops a word or replaces it.

    >>> spoil("v7 v8 v23 v24"), spoil("v1 v12")
    ('v7 v8 v23 v24', 'v1 v9')
    """
    words, draw = target.split(), random.Random(target)
    if words:
        place = draw.randrange(len(words))
        words[place : place + 1] = draw.choice([[], [f"v{draw.randrange(WORDS)}"]])
    return " ".join(words)


def drafted(draw: random.Random) -> tuple[str, str, str]:
    source, target = translations(draw)
    return source, spoil(target), target


def corrections(draw: random.Random) -> tuple[str, str]:
    """
    >>> corrections(random.Random(4))
    ('B . E c', 'b e c')
    """
    clean = draw.choices(LETTERS, k=draw.randint(2, 6))
    noisy = [letter.upper() if draw.random() < NOISE else letter for letter in clean]
    for place in range(len(noisy), -1, -1):
        if draw.random() < NOISE / 2:
            noisy.insert(place, ".")
    return " ".join(noisy), " ".join(clean)


CORPORA: dict[tuple[str, ...], Callable[[random.Random], tuple[str, ...]]] = {
    ("src", "mt", "tgt"): drafted,
    ("noisy", "clean"): corrections,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split(":")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in SIZES.items():
        for sides, make in CORPORA.items():
            draw = random.Random(split)
            lines = [make(draw) for _ in range(size)]
            for i, side in enumerate(sides):
                path = folder / f"{split}.{side}"
                path.write_text("".join(f"{line[i]}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
