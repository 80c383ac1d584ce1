"""Scores of words in place of others, before training."""

import pytest
import torch

from lev_plugins.edits.batch_words import EditingDictionary, look_up_words
from lev_plugins.edits.word_scorer import WordScorer
from tests.helpers import PAD
from tests.spelling import OWN, WORDS, batch_words, dictionary, scores, spelling


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("dtype", [torch.float, torch.half, torch.bfloat16])
def test_before_training_what_looks_alike_is_the_best_replacement(dtype: torch.dtype, reads: bool) -> None:
    table = spelling(dim=64).to(dtype)
    words = table.vectors(batch_words())
    best = scores(table, torch.zeros(3, 64, dtype=dtype), OWN + torch.arange(3), words, reads).argmax(1)
    assert [dictionary()[i] for i in best.tolist()] == ["▁value", "▁the", "▁function"]


def test_a_replacement_has_the_shape_of_what_it_replaces() -> None:
    words = EditingDictionary()
    for word in ("▁model", "model", "▁Model", "Model"):
        words.add_symbol(word, 5)
    table = spelling(64, words=words)
    typos = table.vectors(look_up_words(["▁mdoel", "mdoel", "▁oMdel", "oMdel"], table.index))
    best = scores(table, torch.zeros(4, 64), len(words) + 1 + torch.arange(4), typos).argmax(1)
    assert [words[i] for i in best.tolist()] == ["▁model", "model", "▁Model", "Model"]


def test_a_word_is_not_replaced_by_itself() -> None:
    table = spelling(dim=64)
    form = 4 + WORDS.index("▁form")
    found = scores(table, torch.zeros(1, 64), torch.tensor([form]), table.vectors(None))[0]
    assert found.argmax() != form
    assert found[form] < found[4 + WORDS.index("▁from")]


def test_with_a_pre_trained_encoder_the_context_decides_in_place_of_a_known_word() -> None:
    """What looks like a known word says little of what is meant, as in "in" for "at"."""
    table = spelling(dim=64)
    words = table.vectors(batch_words())
    form, wanted = 4 + WORDS.index("▁form"), 4 + WORDS.index("▁the")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        query = WordScorer(table.index, table.shapes, PAD, 64).query.weight  # as in ``scores``
        state = torch.linalg.solve(query, 10 * table.directions(words)[wanted])[None]  # it asks for "the"
    known, typo = torch.tensor([form]), torch.tensor([OWN])  # "form", and "vlaue"
    best = [scores(table, state, word, words, reads).argmax() for reads in (False, True) for word in (known, typo)]
    assert [dictionary()[int(i)] for i in best] == ["▁from", "▁value", "▁the", "▁value"]
