"""Alignment, labels and deletions against slow references in plain Python and against fairseq's libnat."""

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
    PLACEHOLDER,
    needs_libnat,
    rows_to_tensor,
    slow_alignment,
    tensor_to_rows,
    thorough,
    with_placeholders,
)


def sentence_rows(words: int, longest: int = 9) -> st.SearchStrategy[list[int]]:
    inner = st.lists(st.integers(FIRST_WORD, FIRST_WORD + words - 1), max_size=longest)
    return inner.map(lambda row: [BOS, *row, EOS])


def batches(words: int = 3, rows: int = 4) -> st.SearchStrategy[list[tuple[list[int], list[int]]]]:
    """Returns pairs of a draft and a target with few different words, so that there are many ties."""
    return st.lists(st.tuples(sentence_rows(words), sentence_rows(words)), min_size=1, max_size=rows)


def pairs_to_tensors(pairs: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    return rows_to_tensor([draft for draft, _ in pairs]), rows_to_tensor([target for _, target in pairs])


@thorough
@given(batches())
def test_alignment_matches_the_slow_reference(pairs: list[tuple[list[int], list[int]]]) -> None:
    keep, matched = align(*pairs_to_tensors(pairs), PAD)
    for kept_row, matched_row, (draft, target) in zip(keep.tolist(), matched.tolist(), pairs, strict=True):
        expected_kept, expected_matched = slow_alignment(draft, target)
        assert kept_row == expected_kept + [False] * (len(kept_row) - len(draft))
        assert matched_row == expected_matched + [False] * (len(matched_row) - len(target))


@needs_libnat
@thorough
@given(batches())
def test_labels_match_those_of_libnat(pairs: list[tuple[list[int], list[int]]]) -> None:
    tokens, target = pairs_to_tensors(pairs)
    keep, matched = align(tokens, target, PAD)
    for row, (draft, goal) in zip(keep, pairs, strict=True):
        libnat_deletions = _get_del_targets(torch.tensor([draft]), torch.tensor([goal]), PAD)[0, : len(draft)]
        assert (~row[: len(draft)]).long().tolist() == libnat_deletions.tolist()
    missing = ~matched & target.ne(PAD)
    labels = insertion_labels(target, missing, PAD)
    (remaining,) = apply_deletions(tokens, ~keep, PAD)
    masks, with_placeholders, counts = _get_ins_targets(remaining, target, PAD, PLACEHOLDER)
    assert missing.tolist() == masks.tolist()
    assert target.masked_fill(missing, PLACEHOLDER).tolist() == with_placeholders.tolist()
    width = min(counts.size(1), labels.counts.size(1))  # the rest lies in the padding
    assert labels.counts[:, :width].tolist() == counts[:, :width].tolist()
    assert not labels.counts[:, width:].any() and not counts[:, width:].any()


@thorough
@given(batches())
def test_applying_deletions_and_insertions_yields_the_target(pairs: list[tuple[list[int], list[int]]]) -> None:
    tokens, target = pairs_to_tensors(pairs)
    keep, matched = align(tokens, target, PAD)
    missing = ~matched & target.ne(PAD)
    (remaining,) = apply_deletions(tokens, ~keep, PAD)
    labels = insertion_labels(target, missing, PAD)
    assert tensor_to_rows(remaining) == tensor_to_rows(labels.tokens)
    assert with_placeholders(labels.tokens, labels.counts, PLACEHOLDER).equal(target.masked_fill(missing, PLACEHOLDER))


def masks_for(tokens: torch.Tensor) -> st.SearchStrategy[list[list[bool]]]:
    batch, width = tokens.shape
    row = st.lists(st.booleans(), min_size=width, max_size=width)
    return st.lists(row, min_size=batch, max_size=batch)


def rows_of(words: int = 5) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(sentence_rows(words), min_size=1, max_size=4)


@thorough
@given(rows_of(), st.data())
def test_deletions_match_those_of_a_list(rows: list[list[int]], data: st.DataObject) -> None:
    tokens = rows_to_tensor(rows)
    deleted = torch.tensor(data.draw(masks_for(tokens)))
    scores = torch.arange(1.0, tokens.numel() + 1).view_as(tokens)
    remaining, remaining_scores = apply_deletions(tokens, deleted, PAD, scores)
    assert remaining.shape == tokens.shape and remaining_scores is not None
    for i, row in enumerate(rows):
        indices = [j for j in range(len(row)) if not deleted[i, j]]
        assert tensor_to_rows(remaining)[i] == [row[j] for j in indices]
        expected = [float(scores[i, j]) for j in indices]
        assert remaining_scores[i].tolist() == expected + [0.0] * (tokens.size(1) - len(indices))


@thorough
@given(st.integers(0, 30), st.integers(0, 2**31))
def test_random_deletions_spare_the_boundaries(length: int, seed: int) -> None:
    deleted = random_deletions(length, torch.Generator().manual_seed(seed))
    assert deleted.shape == (length,) and deleted.dtype == torch.bool
    assert not deleted[:1].any() and not deleted[-1:].any()


def test_the_number_of_random_deletions_is_uniform() -> None:
    random = torch.Generator().manual_seed(7)
    observed = [0] * 9  # for 0 to 8 deleted tokens
    for _ in range(4500):
        observed[int(random_deletions(10, random).sum())] += 1
    assert all(400 < count < 600 for count in observed)
