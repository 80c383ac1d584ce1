"""Write a toy corpus: ``python examples/toy/make.py FOLDER`` (reverse the words of a short line)."""

from __future__ import annotations

import random
import sys
from pathlib import Path

SIZES = {"train": 3000, "valid": 100, "test": 100}
WORDS = 30


def pairs(count: int, seed: str) -> list[tuple[str, str]]:
    """
    >>> pairs(1, "train")
    [('w9 w19', 'w19 w9')]
    """
    draw = random.Random(seed)
    lines = [[f"w{draw.randrange(WORDS)}" for _ in range(draw.randint(2, 8))] for _ in range(count)]
    return [(" ".join(line), " ".join(reversed(line))) for line in lines]


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for split, size in SIZES.items():
        both = pairs(size, split)
        for i, side in enumerate(("src", "tgt")):
            path = Path(folder) / f"{split}.{side}"
            path.write_text("".join(f"{pair[i]}\n" for pair in both), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
