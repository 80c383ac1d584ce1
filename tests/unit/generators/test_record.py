"""The record of a refinement: what became of each word; tests/unit/inference/test_editor.py has its odds."""

import math
from typing import Any

import pytest
import torch

from lev_plugins.edits import mark_bits
from lev_plugins.text.segments import WordEdits
from tests.helpers import BOS, EOS, lively_model, random_rows
from tests.slow_refinement import refine

DRAFTS = random_rows(40, seed=5, longest=8)
SOURCES = random_rows(40, seed=6, shortest=4, longest=8)


def recorded(drafts: list[list[int]], asked: list[list[int]] | None = None, **options: Any) -> list[Any]:
    return refine([lively_model()], SOURCES[: len(drafts)], drafts, asked, retain_history=True, **options)


@pytest.mark.parametrize("options", [{}, {"max_iter": 0}, {"keep_bias": 1.0}, {"adaptive": False, "max_iter": 3}])
def test_every_word_is_kept_or_accounted_for(options: dict[str, Any]) -> None:
    found = recorded(DRAFTS, **options)
    born = set()
    for draft, hypothesis in zip(DRAFTS, found, strict=True):
        edits: WordEdits = hypothesis["edits"]
        tokens = hypothesis["tokens"].tolist()
        kept = [place for place in edits.origin if place >= 0]
        assert kept == sorted(set(kept))
        for token, place, iteration in zip(tokens, edits.origin, edits.inserted_at, strict=True):
            assert (token == draft[place] and iteration == 0) if place >= 0 else iteration > 0 or len(draft) == 2
        words = range(1, len(draft) - 1)
        assert all(edits.deleted_at[place] > 0 for place in words if place not in kept)
        assert max([*edits.deleted_at, *edits.inserted_at]) <= hypothesis["steps"] + 1
        assert len(edits.deleted_at) == len(edits.deletion_log_odds) == len(draft)
        born |= set(edits.inserted_at)
    assert len(born) > 1  # some insertions


def test_what_a_hole_was_offered_begins_with_what_fills_it() -> None:
    found = recorded(DRAFTS)
    seen = 0
    for hypothesis in found:
        edits = hypothesis["edits"]
        for word, origin, chosen, offers in zip(
            hypothesis["tokens"].tolist(), edits.origin, edits.log_probs, edits.alternatives, strict=True
        ):
            assert bool(offers) == (origin < 0)
            if offers:
                seen += 1
                assert offers[0] == (word, pytest.approx(chosen)) and len(offers) == 5
                assert sorted(offers, key=lambda offer: -offer[1]) == offers
    assert seen


def test_what_a_mark_asks_for_is_certain() -> None:
    draft = [BOS, 5, 6, EOS]
    asked = [[0, mark_bits.DELETE + mark_bits.SPAN, mark_bits.INSERT, 0]]
    (hypothesis,) = recorded([draft], asked, max_iter=0)
    edits = hypothesis["edits"]
    assert edits.deletion_log_odds[1] == math.inf and edits.deleted_at[1] == 1
    behind = edits.origin.index(2) + 1 if 2 in edits.origin else 0
    assert edits.insertion_log_odds[behind] == math.inf


def test_without_history_there_is_no_record() -> None:
    plain = refine([lively_model()], SOURCES, DRAFTS)
    for one, other in zip(plain, recorded(DRAFTS), strict=True):
        assert "edits" not in one and torch.equal(one["tokens"], other["tokens"])
        assert torch.equal(one["positional_scores"], other["positional_scores"])
