"""Misspell words of a clean text with typos that a training with noise on the fly never makes.

    python examples/english/typos.py CLEAN NOISY --train FILE --updates N --tokens N --rate 0.2

writes CLEAN with typos to NOISY. The noise of ``fairseq-train --noise-kind`` depends only on seed, epoch and line, so
this script knows what the training of ``demo.sh`` will make of FILE in N updates: a typo of that training is replaced
by another typo of the same word. Words are never split, joined or lost.
"""

import argparse
import sys
from collections.abc import Container, Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import write_lines
from lev_plugins.noise import Corruption, NoiseOptions, build_corruption
from lev_plugins.noise.languages import KEYBOARD, LANGUAGE_FOLDERS
from lev_plugins.text.lines import read_lines

KINDS = "insert,delete,substitute,swap,keyboard"
LAYOUT = str(LANGUAGE_FOLDERS / "en" / KEYBOARD)
MIN_LETTERS = 3  # shorter words are too hard to restore
CANDIDATES = 100  # typos of a word that are drawn until training has not seen one
TRAINING_SEED, SEED = 1, 2

Typo = tuple[str, str]  # a word and its misspelling


def one_typo_per_word(rate: float, seed: int, kinds: str = KINDS) -> Corruption:
    layout = {"layout": LAYOUT} if "keyboard" in kinds else {}
    return build_corruption(NoiseOptions(kinds, word_rate=rate, min_letters=MIN_LETTERS, seed=seed, **layout))


def training_typos(lines: list[str], rate: float, updates: int, tokens: int) -> set[Typo]:
    """Returns the pairs of a word and what ``demo.sh`` makes of it in training.

    No batch has more than ``tokens`` tokens and a line has at least as many as words, which bounds the epochs.
    """
    epochs = updates * tokens // sum(len(line.split()) for line in lines) + 1
    options = NoiseOptions(
        KINDS, rate, char_rate=0.16, varied=True, min_letters=MIN_LETTERS, layout=LAYOUT, seed=TRAINING_SEED
    )
    corrupt = build_corruption(options)
    texts = ((line, corrupt(line, i, epoch)) for epoch in range(1, epochs + 1) for i, line in enumerate(lines))
    return {pair for line, noisy in texts for pair in zip(line.split(), noisy.split(), strict=True)}


def unseen_typo(word: str, seen: Container[Typo], corrupt: Corruption, start: int = 0) -> str:
    """Returns the word with a typo that is not in ``seen``, or the word itself if there is none.

    >>> seen = {("form", "ofrm"), ("form", "from"), ("abc", "bac"), ("abc", "acb")}
    >>> corrupt = one_typo_per_word(1.0, seed=1, kinds="swap")
    >>> unseen_typo("form", seen, corrupt), unseen_typo("abc", seen, corrupt)
    ('fomr', 'abc')
    """
    candidates = (corrupt(word, index) for index in range(start, start + CANDIDATES))
    return next((typo for typo in candidates if typo != word and (word, typo) not in seen), word)


def misspell(lines: Iterable[str], rate: float, seen: Container[Typo]) -> list[str]:
    corrupt, redraw = one_typo_per_word(rate, SEED), one_typo_per_word(1.0, SEED)
    noisy = []
    for index, line in enumerate(lines):
        pairs = zip(line.split(), corrupt(line, index).split(), strict=True)
        words = [
            unseen_typo(word, seen, redraw, CANDIDATES * index) if typo != word and (word, typo) in seen else typo
            for word, typo in pairs
        ]
        noisy.append(" ".join(words))
    return noisy


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", type=Path)
    parser.add_argument("noisy", type=Path)
    parser.add_argument("--train", type=Path, required=True, help="clean training text")
    parser.add_argument("--updates", type=int, required=True, help="updates of the training")
    parser.add_argument("--tokens", type=int, required=True, help="tokens in a batch")
    parser.add_argument("--rate", type=float, required=True, help="share of the words that are misspelt")
    args = parser.parse_args()
    seen = training_typos(list(read_lines(args.train)), args.rate, args.updates, args.tokens)
    write_lines(args.noisy, misspell(read_lines(args.clean), args.rate, seen))


if __name__ == "__main__":
    main()
