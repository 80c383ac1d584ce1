"""Misspell words of a clean text, with typos that a training with noise on the fly never sees.

    python examples/english/typos.py CLEAN NOISY --train FILE --updates N --tokens N --rate 0.2

writes CLEAN with typos to NOISY. The noise is that of ``lev-plugins noise``. Since it depends only on seed, epoch and
line, this script knows what ``fairseq-train --noise-kind`` will make of FILE in so many updates: a typo that this makes
of the same word is replaced by another one. Words are never split, joined or lost.
"""

import argparse
import sys
from collections.abc import Container, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.editor import SLIPS, TYPOS
from lev_plugins.noise import Corruption, NoiseOptions, build_corruption
from lev_plugins.text.lines import read_lines

SHORTEST = 3  # letters of words that are misspelt: shorter ones are too hard to restore
TRIES = 100
TRAINING_SEED, SEED = 1, 2


def noise(kind: str, rate: float, seed: int) -> Corruption:
    """One typo in each word, at this rate."""
    keys = {"layout": str(TYPOS["layout"])} if "keyboard" in kind else {}
    return build_corruption(NoiseOptions(kind, word_rate=rate, min_letters=SHORTEST, seed=seed, **keys))


def of_training(rate: float) -> Corruption:
    return build_corruption(NoiseOptions(**TYPOS | {"word_rate": rate}, seed=TRAINING_SEED))  # type: ignore[arg-type]


Typo = tuple[str, str]  # a word, and what became of it


def epochs_of(lines: list[str], updates: int, tokens: int) -> int:
    """At most so many: no batch has more than ``tokens``, and a line has no fewer than its words.

    >>> epochs_of(["a b c", "d e f"], updates=3, tokens=4)
    3
    """
    return updates * tokens // sum(len(line.split()) for line in lines) + 1


def typos_of_training(lines: list[str], corrupt: Corruption, epochs: int) -> set[Typo]:
    every = ((line, corrupt(line, i, epoch)) for epoch in range(1, epochs + 1) for i, line in enumerate(lines))
    return {pair for line, noisy in every for pair in zip(line.split(), noisy.split(), strict=True)}


def unseen(word: str, seen: Container[Typo], corrupt: Corruption, first: int = 0) -> str:
    """The word with a typo that is not in ``seen``, or the word itself if there is none.

    >>> corrupt, seen = noise("swap", 1.0, seed=1), {("form", "ofrm"), ("form", "from"), ("abc", "bac"), ("abc", "acb")}
    >>> unseen("form", seen, corrupt), unseen("abc", seen, corrupt)
    ('fomr', 'abc')
    """
    tries = (corrupt(word, index) for index in range(first, first + TRIES))
    return next((typo for typo in tries if typo != word and (word, typo) not in seen), word)


def misspelt(lines: Iterable[str], corrupt: Corruption, again: Corruption, seen: Container[Typo]) -> list[str]:
    """``corrupt`` chooses the words; where training has seen its typo, ``again`` draws others."""
    result = []
    for index, line in enumerate(lines):
        words = []
        for word, typo in zip(line.split(), corrupt(line, index).split(), strict=True):
            common = typo != word and (word, typo) in seen
            words.append(unseen(word, seen, again, TRIES * index) if common else typo)
        result.append(" ".join(words))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", type=Path)
    parser.add_argument("noisy", type=Path)
    parser.add_argument("--train", type=Path, required=True, help="clean training text")
    parser.add_argument("--updates", type=int, required=True, help="of the training")
    parser.add_argument("--tokens", type=int, required=True, help="of a batch")
    parser.add_argument("--rate", type=float, required=True, help="share of the words that are misspelt")
    args = parser.parse_args()
    lines = list(read_lines(args.train))
    epochs = epochs_of(lines, args.updates, args.tokens)
    seen = typos_of_training(lines, of_training(args.rate), epochs)
    clean = list(read_lines(args.clean))
    noisy = misspelt(clean, noise(SLIPS, args.rate, SEED), noise(SLIPS, 1.0, SEED), seen)
    args.noisy.write_text("".join(f"{line}\n" for line in noisy), encoding="utf-8")


if __name__ == "__main__":
    main()
