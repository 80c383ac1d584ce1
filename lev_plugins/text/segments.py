"""What an editor and a model exchange: segments of a text go to the model, edits of each segment come back."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from lev_plugins.text.edited import Edit
from lev_plugins.text.lexicon import Lexicon
from lev_plugins.text.offsets import Offsets, Unit


@dataclass
class Segment:
    """A part of a text that a model edits by itself, such as a sentence."""

    text: str  # without white space around it
    offsets: Offsets  # cuts it into pieces
    source: list[str] | None = None  # pieces of the source, if the text is a draft; None: the text is its own source
    requests: list[int] | None = None  # what marks request: bits (``text.mark_bits``) for <s> and each piece
    units: list[Unit] = field(init=False)
    pieces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.units = self.offsets.units(self.text)
        self.pieces = [piece for unit in self.units for piece in unit.pieces]


Alternative = tuple[int, float]  # the id of a word and its log-probability


@dataclass
class WordEdits:
    """How a draft became a result: one entry per token of the result without <s>, or of the draft with <s>."""

    # of the result
    origin: list[int]  # the token's place in the draft; -1: it was inserted
    inserted_at: list[int]  # the iteration that inserted it, from 1; 0: it is from the draft
    insertion_log_odds: list[float]  # log-odds of inserting anything there
    log_probs: list[float]  # log-probability of the word in its placeholder; 0: it is from the draft
    # of the draft
    deleted_at: list[int]  # the last iteration that deleted the token, from 1; 0: it was kept
    # log-odds of deleting it: less its penalty (--keep-bias); if it was kept, those of the last decision, unchanged
    deletion_log_odds: list[float]
    # of the result: the best words for the token's placeholder; [] if it is from the draft, or none were requested
    alternatives: list[list[Alternative]] = field(default_factory=list)


class SegmentModel(Protocol):
    """The interface between an editor and its model."""

    task: str  # --task of its training, which says what settings have an effect
    drafts: bool  # whether a segment may have a source of its own, and requests
    longest: int  # pieces that a segment may have, or its source
    lexicon: Lexicon | None  # words and misspellings that it knows besides those of its dictionaries

    @property
    def symbols(self) -> Collection[str]:
        """The pieces of its dictionaries."""
        ...

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        """Returns the edits of each segment, with their confidences and iterations."""
