"""Scores of replacements of a word, before training."""

import pytest
import torch

from lev_plugins.edits.batch_words import EditingDictionary, look_up_words
from lev_plugins.edits.word_scorer import WordScorer
from tests.helpers import PAD
from tests.spelling import KNOWN, UNKNOWN_ID, batch_words, dictionary, toy_table, word_scores


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("dtype", [torch.float, torch.half, torch.bfloat16])
def test_before_training_the_most_similar_word_is_the_best_replacement(dtype: torch.dtype, reads: bool) -> None:
    table = toy_table(dim=64).to(dtype)
    words = table.vectors(batch_words())
    best = word_scores(table, torch.zeros(3, 64, dtype=dtype), UNKNOWN_ID + torch.arange(3), words, reads).argmax(1)
    assert [dictionary()[i] for i in best.tolist()] == ["▁value", "▁the", "▁function"]


def test_a_replacement_has_the_blank_and_the_capitals_of_the_replaced_word() -> None:
    words = EditingDictionary()
    for word in ("▁model", "model", "▁Model", "Model"):
        words.add_symbol(word, 5)
    table = toy_table(64, words=words)
    typos = table.vectors(look_up_words(["▁mdoel", "mdoel", "▁oMdel", "oMdel"], table.index))
    best = word_scores(table, torch.zeros(4, 64), len(words) + 1 + torch.arange(4), typos).argmax(1)
    assert [words[i] for i in best.tolist()] == ["▁model", "model", "▁Model", "Model"]


def test_a_word_is_not_replaced_by_itself() -> None:
    table = toy_table(dim=64)
    form = 4 + KNOWN.index("▁form")
    scores = word_scores(table, torch.zeros(1, 64), torch.tensor([form]), table.vectors(None))[0]
    assert scores.argmax() != form
    assert scores[form] < scores[4 + KNOWN.index("▁from")]


def test_with_a_pretrained_encoder_context_outweighs_similarity_for_known_words() -> None:
    """Similar spelling is weak evidence of what was intended by a known word, such as "in" for "at"."""
    table = toy_table(dim=64)
    words = table.vectors(batch_words())
    form, intended = 4 + KNOWN.index("▁form"), 4 + KNOWN.index("▁the")
    with torch.random.fork_rng():
        torch.manual_seed(1)
        query = WordScorer(table.index, table.shapes, PAD, 64).query.weight  # as in ``word_scores``
        state = torch.linalg.solve(query, 10 * table.directions(words)[intended])[None]  # a query for "the"
    word, typo = torch.tensor([form]), torch.tensor([UNKNOWN_ID])  # "form", and "vlaue"
    pairs = [(reads, replaced) for reads in (False, True) for replaced in (word, typo)]
    best = [word_scores(table, state, replaced, words, reads).argmax() for reads, replaced in pairs]
    assert [dictionary()[int(i)] for i in best] == ["▁from", "▁value", "▁the", "▁value"]
