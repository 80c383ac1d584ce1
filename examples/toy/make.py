"""Write two toy corpora: ``python examples/toy/make.py FOLDER``.

``*.src`` and ``*.tgt``: translate German word by word and leave particles out; ``*.mt``: ``*.tgt`` with one mistake.
``*.clean``: small letters; ``*.noisy``: the same with some capitals and extra dots.
"""

import argparse
import random
from collections.abc import Callable
from pathlib import Path

SIZES = {"train": 5000, "valid": 100, "test": 100}
# Every fifth word is a particle, which a translation leaves out; its English word is only in drafts.
SENTENCE = (
    "also heute kommt unser Lehrer ja sehr gern und bringt mal seine kleine graue Katze "
    "doch zu dem alten Haus halt ohne ihren roten Hut eben durch tiefen Schnee heim"
)
TRANSLATION = (
    "so today comes our teacher yes very gladly and brings once his little gray cat "
    "yet to the old house stop without her red hat even through deep snow home"
)
GERMAN, ENGLISH = SENTENCE.split(), TRANSLATION.split()
LETTERS = "abcdef"
NOISE = 0.2


def translate(words: list[int]) -> str:
    """
    >>> translate([1, 5, 12])
    'today little'
    """
    return " ".join(ENGLISH[word] for word in words if word % 5)


def translations(draw: random.Random) -> tuple[str, str]:
    """
    >>> translations(random.Random("valid"))
    ('unser ja graue alten Hut durch', 'our gray old hat through')
    """
    line = sorted(draw.sample(range(len(GERMAN)), draw.randint(2, 8)))
    return " ".join(GERMAN[word] for word in line), translate(line)


def spoil(target: str) -> str:
    """Drops a word or replaces it.

    >>> spoil("comes our teacher"), spoil("his little cat")
    ('comes his teacher', 'his cat')
    """
    words, draw = target.split(), random.Random(target)
    if words:
        place = draw.randrange(len(words))
        words[place : place + 1] = draw.choice([[], [draw.choice(ENGLISH)]])
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
