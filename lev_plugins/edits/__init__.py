"""The core of the package: edits as pure functions on padded token tensors.

This room uses no fairseq, no models and no files. Every function leaves its arguments unchanged, runs on the device of
its inputs and never reads a number back from it, so that training does not stall a GPU. The one exception is
``apply_placeholders`` without ``width``, which asks for the longest row.

Shapes: B batch, N length of the edited sequence, T length of the target, K insertions in one slot.
A *slot* is the gap between two neighbouring tokens: a row of N tokens has N - 1 slots.
"""

from lev_plugins.edits import requests
from lev_plugins.edits.actions import (
    Removed,
    among,
    apply_deletions,
    apply_placeholders,
    apply_tokens,
    deletable,
    known,
    origin_of,
    removed_after,
    replaced,
    unopened,
)
from lev_plugins.edits.copy_alignment import distances_after, distances_before, expected
from lev_plugins.edits.expert import Alignment, InsertionLabels, align, insertion_labels, random_deletions

__all__ = [
    "Alignment",
    "InsertionLabels",
    "Removed",
    "align",
    "among",
    "apply_deletions",
    "apply_placeholders",
    "apply_tokens",
    "deletable",
    "distances_after",
    "distances_before",
    "expected",
    "insertion_labels",
    "known",
    "origin_of",
    "random_deletions",
    "removed_after",
    "replaced",
    "requests",
    "unopened",
]
