"""What an editor and a model exchange: segments of a text go to the model, edits of each segment come back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

from lev_plugins.text.edited import Edit
from lev_plugins.text.offsets import Offsets, Unit


@dataclass
class Segment:
    """What a model edits at a time, such as a sentence, and what it reads beside it."""

    text: str  # without white space around it
    offsets: Offsets
    source: list[str] | None = None  # pieces of the source of a draft; None: the text is its own
    requests: list[int] | None = None  # what marks ask for, with an entry for <s> in front
    units: list[Unit] = field(init=False)
    pieces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.units = self.offsets.units(self.text)
        self.pieces = [piece for unit in self.units for piece in unit.pieces]


Offer = tuple[int, float]  # a word and its log-probability


@dataclass
class WordEdits:
    """Of one result; its tokens are counted without <s>, those of its draft with it."""

    origin: list[int]  # of each token, its place in the draft; -1: it was inserted
    born: list[int]  # the iteration that inserted it, from 1; 0: it is of the draft
    inserted: list[float]  # log-odds of that
    chosen: list[float]  # log-probability of the word that filled the hole; 0: it is of the draft
    died: list[int]  # of each token of the draft, the last iteration that deleted it, from 1
    deleted: list[float]  # log-odds of that
    # of each token, the best words for the hole that it filled; [] of the draft, and where nobody asks for them
    offers: list[list[Offer]] = field(default_factory=list)


class SegmentModel(Protocol):
    """All that an editor asks of a model."""

    task: str  # --task of its training, which says what settings have an effect
    drafts: bool  # may a segment have a source of its own, and requests?
    longest: int  # pieces of a segment, or of its source
    symbols: Collection[str]  # the pieces of its dictionaries

    def decode(self, segments: list[Segment]) -> list[list[Edit]]:
        """Of each segment, the edits of its text, each with its confidence and iteration."""
