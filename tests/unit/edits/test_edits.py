"""The edit operations against slow references in plain Python; those of deleted words: tests/unit/generators."""

import torch
from fairseq.models.nat.levenshtein_utils import _get_del_targets, _get_ins_targets
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.edits.actions import apply_deletions
from lev_plugins.edits.expert import align, insertion_labels, random_deletions
from tests.helpers import (
    BOS,
    EOS,
    FIRST_WORD,
    PAD,
    needs_libnat,
    rows_to_tensor,
    slow_alignment,
    tensor_to_rows,
    thorough,
    with_placeholders,
)

HOLE = 99


def sentences(words: int, longest: int = 9) -> st.SearchStrategy[list[int]]:
    inner = st.lists(st.integers(FIRST_WORD, FIRST_WORD + words - 1), max_size=longest)
    return inner.map(lambda row: [BOS, *row, EOS])


def batches(words: int = 3, rows: int = 4) -> st.SearchStrategy[list[tuple[list[int], list[int]]]]:
    """Pairs of a draft and a target; few different words, so that there are many ties."""
    return st.lists(st.tuples(sentences(words), sentences(words)), min_size=1, max_size=rows)


def pairs_to_tensors(pairs: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    return rows_to_tensor([draft for draft, _ in pairs]), rows_to_tensor([target for _, target in pairs])


@thorough
@given(batches())
def test_alignment_is_that_of_the_slow_reference(pairs: list[tuple[list[int], list[int]]]) -> None:
    kept, matched = align(*pairs_to_tensors(pairs), PAD)
    for row, other, (draft, goal) in zip(kept.tolist(), matched.tolist(), pairs, strict=True):
        expected = slow_alignment(draft, goal)
        assert row == expected[0] + [False] * (len(row) - len(draft))
        assert other == expected[1] + [False] * (len(other) - len(goal))


@needs_libnat
@thorough
@given(batches())
def test_alignment_gives_the_labels_of_libnat(pairs: list[tuple[list[int], list[int]]]) -> None:
    tokens, target = pairs_to_tensors(pairs)
    kept, matched = align(tokens, target, PAD)
    for row, (draft, goal) in zip(kept, pairs, strict=True):
        theirs = _get_del_targets(torch.tensor([draft]), torch.tensor([goal]), PAD)[0, : len(draft)]
        assert (~row[: len(draft)]).long().tolist() == theirs.tolist()
    missing = ~matched & target.ne(PAD)
    ours = insertion_labels(target, missing, PAD)
    (left,) = apply_deletions(tokens, ~kept, PAD)
    masks, holes, counts = _get_ins_targets(left, target, PAD, HOLE)
    assert missing.tolist() == masks.tolist()
    assert target.masked_fill(missing, HOLE).tolist() == holes.tolist()
    width = min(counts.size(1), ours.counts.size(1))  # the rest lies in the padding
    assert ours.counts[:, :width].tolist() == counts[:, :width].tolist()
    assert not ours.counts[:, width:].any() and not counts[:, width:].any()


@thorough
@given(batches())
def test_applying_the_labels_gives_the_target(pairs: list[tuple[list[int], list[int]]]) -> None:
    tokens, target = pairs_to_tensors(pairs)
    kept, matched = align(tokens, target, PAD)
    missing = ~matched & target.ne(PAD)
    (left,) = apply_deletions(tokens, ~kept, PAD)
    labels = insertion_labels(target, missing, PAD)
    assert tensor_to_rows(left) == tensor_to_rows(labels.tokens)
    assert with_placeholders(labels.tokens, labels.counts, HOLE).equal(target.masked_fill(missing, HOLE))


def masks_for(tokens: torch.Tensor) -> st.SearchStrategy[list[list[bool]]]:
    batch, width = tokens.shape
    row = st.lists(st.booleans(), min_size=width, max_size=width)
    return st.lists(row, min_size=batch, max_size=batch)


def rows_of(words: int = 5) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(sentences(words), min_size=1, max_size=4)


@thorough
@given(rows_of(), st.data())
def test_deletions_are_those_of_a_list(rows: list[list[int]], data: st.DataObject) -> None:
    tokens = rows_to_tensor(rows)
    deleted = torch.tensor(data.draw(masks_for(tokens)))
    scores = torch.arange(1.0, tokens.numel() + 1).view_as(tokens)
    left, moved = apply_deletions(tokens, deleted, PAD, scores)
    assert left.shape == tokens.shape and moved is not None
    for i, row in enumerate(rows):
        stay = [j for j in range(len(row)) if not deleted[i, j]]
        assert tensor_to_rows(left)[i] == [row[j] for j in stay]
        expected = [float(scores[i, j]) for j in stay]
        assert moved[i].tolist() == expected + [0.0] * (tokens.size(1) - len(stay))


@thorough
@given(st.integers(0, 30), st.integers(0, 2**31))
def test_random_deletions_spare_the_boundaries(length: int, seed: int) -> None:
    deleted = random_deletions(length, torch.Generator().manual_seed(seed))
    assert deleted.shape == (length,) and deleted.dtype == torch.bool
    assert not deleted[:1].any() and not deleted[-1:].any()


def test_the_number_of_random_deletions_is_uniform() -> None:
    random = torch.Generator().manual_seed(7)
    observed = [0] * 9  # of 8 tokens none, one, ... or all go
    for _ in range(4500):
        observed[int(random_deletions(10, random).sum())] += 1
    assert all(400 < count < 600 for count in observed)
