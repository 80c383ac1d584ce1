"""What a word looks like: the parts of its spelling that it shares with its misspellings."""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Unknown", "grams", "hashed", "parts_of", "unknown_words"]

BLANK = "▁"
LENGTHS = (1, 2, 3, 4)
REMEMBERED = 1 << 18  # words


def grams(word: str) -> list[str]:
    """The n-grams of a word between its boundaries, and what survives the usual slips.

    - pairs of letters with one between them, which an inserted or wrong letter leaves alone
    - its letters in alphabetical order but for the first and last one, which swapping two leaves alone
    - its shape: small or capital letters, and whether a blank is before it (▁)

    >>> grams("▁Go")
    ['g', 'o', '<g', 'go', 'o>', '<go', 'go>', '<go>', '<_o', 'g_>', '=go', '#Xx', '#▁']
    >>> sorted(set(grams("thier")) & set(grams("their")))
    ['#', '#x', '<_h', '<t', '<th', '=tehir', 'e', 'h', 'i', 'r', 'r>', 't', 'th']
    """
    plain = word.lstrip(BLANK)
    letters = plain.lower()
    between = f"<{letters}>"
    parts = list(letters)
    parts += [between[i : i + n] for n in LENGTHS[1:] for i in range(len(between) - n + 1)]
    parts += [f"{between[i]}_{between[i + 2]}" for i in range(len(between) - 2)]
    parts.append(f"={letters[:1]}{''.join(sorted(letters[1:-1]))}{letters[1:][-1:]}")
    shape = "X" if len(plain) > 1 and plain.isupper() else "Xx" if plain[:1].isupper() else "x"
    return list(dict.fromkeys([*parts, f"#{shape}", f"#{word[: len(word) - len(plain)]}"]))


@lru_cache(maxsize=REMEMBERED)
def hashed(word: str, buckets: int) -> tuple[int, ...]:
    """The buckets of a word's parts, the same on every machine.

    >>> hashed("go", 100)
    (78, 80, 27, 74, 4, 23, 52, 83, 48, 91, 84, 20, 31)
    """
    return tuple(dict.fromkeys(zlib.crc32(part.encode()) % buckets for part in grams(word)))


class Unknown(NamedTuple):
    """How the unknown words of a batch are spelt."""

    ids: Tensor  # (U,) borrowed ids, ascending
    parts: Tensor  # (P,) their parts, word after word
    starts: Tensor  # (U + 1,) where each word begins


def unknown_words(words: dict[int, str], buckets: int) -> Unknown:
    """``words`` by their borrowed ids.

    >>> unknown = unknown_words({101: "ab", 100: "a"}, buckets=1000)
    >>> unknown.ids.tolist(), unknown.starts.tolist()
    ([100, 101], [0, 8, 21])
    """
    return Unknown(torch.tensor(sorted(words), dtype=torch.long), *parts_of([words[i] for i in sorted(words)], buckets))


def parts_of(words: list[str], buckets: int) -> tuple[Tensor, Tensor]:
    """Parts (P,) and starts (n + 1,); an empty word has none."""
    each = [hashed(word, buckets) if word else () for word in words]
    parts = torch.tensor([part for parts in each for part in parts], dtype=torch.long)
    return parts, torch.tensor([0, *map(len, each)]).cumsum(0)
