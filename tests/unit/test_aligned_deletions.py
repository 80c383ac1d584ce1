"""Which deleted word a slot had, and which a hole replaces, against lists in plain Python."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.edits.actions import apply_deletions, apply_placeholders, removed_after, replaced
from tests.helpers import BOS, EOS, FIRST_WORD, PAD, rows_to_tensor, tensor_to_rows, thorough

HOLE = 99

# each word with whether it is deleted, and the number of holes for each slot
words = st.lists(st.tuples(st.integers(FIRST_WORD, FIRST_WORD + 5), st.booleans()), max_size=6)
rows = st.lists(st.tuples(words, st.lists(st.integers(0, 2), min_size=7, max_size=7)), min_size=1, max_size=3)
Row = tuple[list[tuple[int, bool]], list[int]]


def gaps(row: list[tuple[int, bool]]) -> list[list[int]]:
    """The deleted words after <s> and after each kept word."""
    found: list[list[int]] = [[]]
    for word, gone in row:
        if gone:
            found[-1].append(word)
        else:
            found.append([])
    return found


def slow_replaced(row: list[tuple[int, bool]], holes: list[int]) -> list[int]:
    kept = [BOS, *(word for word, gone in row if not gone)]
    result = []
    for deleted, count in zip(gaps(row), holes[: len(kept)], strict=True):
        result += [PAD, *[*deleted, *[PAD] * count][:count]]
    return [*result, PAD]


def tensors(given_rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    tokens = rows_to_tensor([[BOS, *(word for word, _ in row), EOS] for row, _ in given_rows])
    deleted = torch.zeros_like(tokens, dtype=torch.bool)
    for i, (row, _) in enumerate(given_rows):
        for j, (_, gone) in enumerate(row, 1):
            deleted[i, j] = gone
    (kept,) = apply_deletions(tokens, deleted, PAD)
    counts = torch.zeros_like(kept[:, 1:])
    for i, (row, holes) in enumerate(given_rows):
        slots = len(gaps(row))
        counts[i, :slots] = torch.tensor(holes[:slots])
    (opened,) = apply_placeholders(kept, counts, HOLE, PAD)
    return tokens, deleted, opened


@thorough
@given(rows)
def test_a_hole_replaces_the_word_in_its_place(given_rows: list[Row]) -> None:
    tokens, deleted, opened = tensors(given_rows)
    before = [tensor_to_rows(each) for each in (tokens, deleted, opened)]
    found = replaced(tokens, deleted, opened.eq(HOLE), PAD)
    assert [tensor_to_rows(each) for each in (tokens, deleted, opened)] == before
    for row, (words_of_row, holes) in zip(found.tolist(), given_rows, strict=True):
        expected = slow_replaced(words_of_row, holes)
        assert row == expected + [PAD] * (len(row) - len(expected))


@thorough
@given(rows)
def test_what_was_removed_after_a_word(given_rows: list[Row]) -> None:
    tokens, deleted, _ = tensors(given_rows)
    found = removed_after(tokens, deleted, PAD)
    for row, counts, (words_of_row, _) in zip(found.first.tolist(), found.counts.tolist(), given_rows, strict=True):
        expected = [next(iter(gap), PAD) for gap in gaps(words_of_row)]
        assert row == expected + [PAD] * (len(row) - len(expected))
        numbers = [len(gap) for gap in gaps(words_of_row)]
        assert counts == numbers + [0] * (len(counts) - len(numbers))
