"""A sentence on its way through a model, and what the model made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from fairseq.data import Dictionary

from lev_plugins.text.offsets import Unit


@dataclass(frozen=True)
class Passage:
    """What is edited, and what the model reads beside it."""

    text: str  # without white space around it
    units: list[Unit]
    source: list[str] | None = None  # pieces of the source of a draft; None: the text is its own
    requests: list[int] | None = None  # what marks ask for, with an entry for <s> in front
    pieces: list[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", [piece for unit in self.units for piece in unit.pieces])


class Written(NamedTuple):
    """What a model wrote for a passage, without boundaries."""

    ids: list[int]
    pieces: list[str]
    origin: list[int | None]  # which piece of the passage each is; None: a new one


def written_for(passage: Passage, ids: list[int], origin: list[int | None], words: Dictionary) -> Written:
    """A piece that was kept is spelt as in the passage, also where the dictionary does not know it."""
    kept_or_new = zip(ids, origin, strict=True)
    return Written(ids, [words[i] if place is None else passage.pieces[place] for i, place in kept_or_new], origin)
