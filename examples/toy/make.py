"""Write a toy corpus: ``python examples/toy/make.py FOLDER`` (translate word by word, leave some out)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

SIZES = {"train": 5000, "valid": 100, "test": 100}
WORDS = 30


def translate(words: list[int]) -> str:
    """
    >>> translate([1, 5, 12])
    'v1 v12'
    """
    return " ".join(f"v{word}" for word in words if word % 5)


def pairs(count: int, seed: str) -> list[tuple[str, str]]:
    """
    >>> pairs(1, "valid")
    [('w3 w5 w13 w18 w24 w26', 'v3 v13 v18 v24 v26')]
    """
    draw = random.Random(seed)
    lines = [sorted(draw.sample(range(WORDS), draw.randint(2, 8))) for _ in range(count)]
    return [(" ".join(f"w{word}" for word in line), translate(line)) for line in lines]


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for split, size in SIZES.items():
        both = pairs(size, split)
        for i, side in enumerate(("src", "tgt")):
            path = Path(folder) / f"{split}.{side}"
            path.write_text("".join(f"{pair[i]}\n" for pair in both), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
