"""What models that edit segments of text have in common."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import exp
from pathlib import Path
from typing import TypeVar

from lev_plugins.editor.folder import Vocabulary, whole_number
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.rewrites import UNKNOWN
from lev_plugins.text.segments import Segment
from lev_plugins.utils import model_folder
from lev_plugins.utils.model_folder import ModelConfig

logger = logging.getLogger(__name__)

BOUNDARIES = 2  # <s> and </s>
SUSPICIOUS_UNKNOWN = 0.5  # share of unknown tokens from which the tokeniser is most likely not the model's
MAX_EXPONENT = 700.0  # exp of it is still finite

Item = TypeVar("Item")
Result = TypeVar("Result")
Origin = list[int | None]  # for each token of an output, its place in the input; None: it is new


def batches(sizes: Sequence[int] | Mapping[int, int], indices: Iterable[int], max_tokens: int) -> Iterator[list[int]]:
    """Yields batches of indices with similar sizes; what is longer than ``max_tokens`` is a batch by itself.

    >>> list(batches([3, 9, 2, 4], range(4), max_tokens=8))
    [[2, 0], [3], [1]]
    """
    batch: list[int] = []
    for index in sorted(indices, key=sizes.__getitem__):
        if batch and sizes[index] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class SegmentDecoder:
    """The part of a ``SegmentModel`` that does not depend on how it writes."""

    lexicon: Lexicon | None = None

    def __init__(
        self, dictionaries: Sequence[Vocabulary], limits: Sequence[int], max_tokens: int, spells: bool = False
    ) -> None:
        """
        dictionaries: those of source and target
        limits: the positions that the model has for each of the two
        max_tokens: the size of a batch
        spells: the model reads and writes words that its dictionary lacks
        """
        self.source, self.words = dictionaries
        self.max_tokens, self.spells = max_tokens, spells
        self.warned = spells
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]

    @cached_property
    def symbols(self) -> Collection[str]:
        """The pieces in the dictionaries."""
        return {symbol for words in (self.source, self.words) for symbol in words.symbols[words.nspecial :]}

    def map_in_batches(
        self, function: Callable[[list[Item]], Iterable[Result]], items: Sequence[Item], sizes: Sequence[int]
    ) -> list[Result]:
        """Applies a function of lists to all items, in batches of at most ``max_tokens``."""
        results: dict[int, Result] = {}
        for batch in batches(sizes, range(len(items)), self.max_tokens):
            results |= zip(batch, function([items[i] for i in batch]), strict=True)
        return [results[i] for i in range(len(items))]

    def pieces(self, segment: Segment, tokens: list[int], origin: Origin) -> list[str]:
        """Spells an output; tokens from the segment are spelt as there, even if the dictionary lacks them."""
        places = zip(tokens, origin, strict=True)
        return [self.spelling(i) if place is None else segment.pieces[place] for i, place in places]

    def spelling(self, token: int) -> str:
        """Spells a token of the output; a special symbol counts as unknown, so it changes nothing."""
        return self.words[token] if token >= self.words.nspecial else UNKNOWN

    def count(self, piece: str) -> int:
        """Returns how often a piece occurs in the training text; 0 if the dictionary lacks it."""
        token = self.words.index(piece)
        return max(1, self.words.count[token]) if token >= self.words.nspecial else 0

    def warn_of_unknown(self, segments: list[Segment]) -> None:
        """Warns, once, of text with so many unknown pieces that it was most likely cut by another tokeniser."""
        if self.warned:
            return
        pieces = [piece for segment in segments for piece in segment.pieces]
        unknown = sum(not self.count(piece) for piece in pieces)
        if unknown > SUSPICIOUS_UNKNOWN * len(pieces):
            self.warned = True
            logger.warning(
                f"{unknown:,} of {len(pieces):,} tokens are not in the model's dictionary: check that --bpe "
                "and its flags are those that its data was made with"
            )


def dictionaries_of(folder: Path, config: ModelConfig) -> tuple[tuple[Vocabulary, Vocabulary], list[int]]:
    """Reads the dictionaries of source and target, and how many positions each side may have."""
    files = [f"dict.{config.task_flags.get(side)}.txt" for side in ("source_lang", "target_lang")]
    if config.model_flags.get("spelling") and files[0] not in config.files:  # both sides then have the same words
        files[0] = files[1]
    for file in files:
        model_folder.require_listed(config, folder, file)
    words = Vocabulary(folder / files[1])
    source = words if config.files[files[0]] == config.files[files[1]] else Vocabulary(folder / files[0])
    limits = ("max_source_positions", "max_target_positions")
    return (source, words), [
        min(whole_number(flags, name) for flags in (config.model_flags, config.task_flags)) for name in limits
    ]


def sigmoid(log_odds: float) -> float:
    return 1 / (1 + exp(-max(-MAX_EXPONENT, log_odds)))


def symbols_of(dictionaries: Iterable[Vocabulary]) -> Collection[str]:
    return {symbol for words in dictionaries for symbol in words.symbols[words.nspecial :]}
