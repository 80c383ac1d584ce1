"""Vectors of words from their letters: which rows they add, what is held out, and samples of the dictionary."""

import pytest
import torch
import torch.nn.functional as F
from fairseq.optim.adam import Adam
from torch import Tensor

from lev_plugins.edits.batch_words import BatchWords
from lev_plugins.edits.candidates import CASES, LEVELS, ngram_buckets
from lev_plugins.edits.embedding import NGRAM_SCALE, CollectingTable, IntendedWordEmbedding, WordVectors
from tests.helpers import PAD, UNK
from tests.spelling import BUCKETS, COUNTS, OWN, UNKNOWN, WORDS, batch_words, dictionary, scores, spelling


def test_a_vector_is_the_mean_of_its_parts() -> None:
    table = spelling()
    words = table.vectors(batch_words())
    names = [*dictionary().symbols, "", *UNKNOWN]
    for row, name in enumerate(names):
        special = row < 4 or not name
        expected = torch.zeros(8) if special else NGRAM_SCALE * table.grams[list(ngram_buckets(name, BUCKETS))].mean(0)
        assert torch.allclose(words.ngram_means.rows(torch.tensor(row)), expected, atol=1e-6)


def test_validation_sees_what_the_last_step_of_training_changed() -> None:
    """fairseq's optimiser changes weights through ``.data``, which torch's version counter does not notice."""
    table = spelling()
    optimizer = Adam(table.parameters(), lr=0.1)

    def validate() -> Tensor:
        table.eval()
        with torch.no_grad():
            return table.vectors(None).ngram_means.weight.clone()

    before = validate()
    table.train()
    table.vectors(None).ngram_means.weight.square().sum().backward()
    optimizer.step()
    with torch.no_grad():
        now = table.mean(table.ngrams, table.ngram_starts)
    assert not torch.allclose(before, now)
    assert torch.equal(validate(), now)


def vectors_of(table: IntendedWordEmbedding, tokens: list[int], held_out: Tensor | None = None) -> Tensor:
    if held_out is not None:
        table.prepare_training()
    return table.look_up(torch.tensor([tokens]), table.vectors(batch_words()), held_out)[0]


def meant_by(table: IntendedWordEmbedding, words: WordVectors, guess: int, slips: int) -> Tensor:
    row = torch.tensor(guess)
    return table.from_guess(words.ngram_means.rows(row) + words.own.rows(row)) + table.slips.weight[slips]


def test_a_word_that_is_held_out_is_as_if_training_had_seen_it_once_less() -> None:
    table = spelling()
    form, value = 4 + WORDS.index("▁form"), 4 + WORDS.index("▁value")  # seen once, seen nine times
    out = torch.tensor([[True, True]])
    held = vectors_of(table, [form, value], out)
    words = table.vectors(None)
    spelled = words.ngram_means.weight
    meant = meant_by(table, words, 4 + WORDS.index("▁from"), 1)
    beside = table.familiarity.weight + table.capitals.weight[CASES]  # a blank before it, no capitals
    assert torch.allclose(held[0], spelled[form] + table.own.weight[UNK] + beside[0] + meant)
    level = sum(number <= 8 for number in LEVELS)
    assert torch.allclose(held[1], spelled[value] + table.own.weight[value] + beside[level])


TORN = ["▁val", "▁ue", "ue", "▁VAL", "▁12"]


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["▁val", "▁ue"], "▁value"),
        (["▁VAL", "▁ue"], "▁value"),  # whatever the case
        (["▁val", "ue"], None),  # no blank between them: one word already
        (["▁ue", "▁val"], None),
        (["▁val", "▁ue", "▁val"], "▁value"),
        (["▁12", "▁value"], None),  # numbers and signs have no letters
        (["▁value", "."], None),
    ],
)
def test_a_word_that_was_torn_apart_is_seen(words: list[str], joined: str | None) -> None:
    table = spelling()
    with torch.no_grad():
        table.joined.weight.normal_()
    ids = {word: OWN + i for i, word in enumerate(TORN)} | {word: 4 + i for i, word in enumerate(WORDS)}
    tokens = torch.tensor([[ids[word] for word in words]])
    batch = table.vectors(batch_words(TORN))
    with_joined = table.look_up(tokens, batch)[0]
    with torch.no_grad():
        weight = table.joined.weight.clone()
        table.joined.weight.zero_()
        found = with_joined - table.look_up(tokens, batch)[0]
    level = 0 if joined is None else sum(COUNTS[WORDS.index(joined)] >= number for number in LEVELS)
    levels = [level] + [0] * (len(words) - 1)  # of each with the next; only the first two may be one word
    with_next, with_last = weight.split(len(LEVELS) + 1)
    for at, vector in enumerate(found):
        assert torch.allclose(vector, with_next[levels[at]] + with_last[levels[at - 1] if at else 0], atol=1e-6)


def sampled(table: IntendedWordEmbedding, words: BatchWords, tokens: list[int]) -> WordVectors:
    return table.vectors(words, table.sample(torch.tensor(tokens), words, words["candidates"]["ids"]))


def test_a_sample_scores_its_words_as_the_whole_dictionary_does() -> None:
    table = spelling(dim=64)
    whole, some = table.vectors(batch_words()), sampled(table, batch_words(), [4, OWN])
    ids = some.sample.ids
    assert ids is not None and 4 in ids and 4 + WORDS.index("▁value") in ids and len(ids) < table.vocabulary
    assert torch.equal(some.sample.classes(torch.tensor([table.vocabulary])), torch.tensor([len(ids)]))
    states, replaced = torch.randn(3, 64), torch.tensor([OWN, 4, PAD])
    expected = scores(table, states, replaced, whole)[:, ids] + some.sample.log_weights
    assert torch.allclose(scores(table, states, replaced, some), expected, atol=1e-5)
    tokens = torch.tensor([[4, OWN, table.vocabulary]])
    assert torch.allclose(table.look_up(tokens, some), table.look_up(tokens, whole), atol=1e-6)


def test_the_loss_over_samples_is_that_over_the_dictionary_on_average() -> None:
    table, words = spelling(), batch_words()
    replaced, states = torch.tensor([OWN]), torch.randn(1, 8)
    expected = scores(table, states, replaced, table.vectors(words)).exp().sum()
    with torch.no_grad():
        found = [scores(table, states, replaced, sampled(table, words, [4])).exp().sum() for _ in range(400)]
    assert torch.stack(found).std() > 0
    assert torch.stack(found).mean().item() == pytest.approx(expected.item(), rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("uses", ["rows", "rows and all", "all", "nothing"])
def test_a_table_has_the_gradient_of_its_look_ups(uses: str, dtype: torch.dtype) -> None:
    ids = torch.tensor([[0, 3], [3, 1]]), torch.tensor([3, 2])
    found = []
    for ours in (True, False):
        weight = torch.arange(10.0, dtype=dtype).view(5, 2).requires_grad_()
        scaled = weight * 2  # not a leaf
        table = CollectingTable(scaled)
        loss = weight.sum()
        if "rows" in uses:
            looked_up = (table.rows(each) if ours else F.embedding(each, scaled) for each in ids)
            loss = loss + sum(number * each.square().sum() for number, each in enumerate(looked_up, 1))
        if "all" in uses:
            loss = loss + (table.weight if ours else scaled)[:4].pow(3).sum()
        loss.backward()
        found.append(weight.grad)
    assert found[0].dtype == dtype and torch.equal(*found)
    with torch.no_grad():
        assert CollectingTable(weight).rows(ids[0]).equal(weight[ids[0]])
