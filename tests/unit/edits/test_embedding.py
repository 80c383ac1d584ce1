"""Word vectors from letter n-grams: their parts, held-out words, and samples of the dictionary."""

import pytest
import torch
import torch.nn.functional as F
from fairseq.optim.adam import Adam
from torch import Tensor

from lev_plugins.edits.batch_words import BatchWords, look_up_words
from lev_plugins.edits.candidates import CASES, LEVELS, LISTED, WordIndex, ngram_buckets
from lev_plugins.edits.embedding import NGRAM_SCALE, CollectingTable, IntendedWordEmbedding, WordVectors
from lev_plugins.text.lexicon import Lexicon
from tests.helpers import PAD, UNK
from tests.spelling import BUCKETS, COUNTS, KNOWN, UNKNOWN, UNKNOWN_ID, batch_words, dictionary, toy_table, word_scores


def test_a_words_vector_is_the_mean_of_its_ngram_vectors() -> None:
    table = toy_table()
    words = table.vectors(batch_words())
    names = [*dictionary().symbols, "", *UNKNOWN]
    for row, name in enumerate(names):
        special = row < 4 or not name
        expected = torch.zeros(8) if special else NGRAM_SCALE * table.grams[list(ngram_buckets(name, BUCKETS))].mean(0)
        assert torch.allclose(words.ngram_means.rows(torch.tensor(row)), expected, atol=1e-6)


def test_validation_uses_the_weights_of_the_last_training_step() -> None:
    """fairseq's optimiser changes weights through ``.data``, which torch's version counter does not notice."""
    table = toy_table()
    optimizer = Adam(table.parameters(), lr=0.1)

    def validate() -> Tensor:
        table.eval()
        with torch.no_grad():
            return table.vectors(None).ngram_means.weight.clone()

    initial = validate()
    table.train()
    table.vectors(None).ngram_means.weight.square().sum().backward()
    optimizer.step()
    with torch.no_grad():
        updated = table.mean(table.ngrams, table.ngram_starts)
    assert not torch.allclose(initial, updated)
    assert torch.equal(validate(), updated)


def vectors_of(table: IntendedWordEmbedding, tokens: list[int], held_out: Tensor | None = None) -> Tensor:
    if held_out is not None:
        table.prepare_training()
    return table.look_up(torch.tensor([tokens]), table.vectors(batch_words()), held_out)[0]


def intended_vector(table: IntendedWordEmbedding, words: WordVectors, guess: int, slips: int) -> Tensor:
    row = torch.tensor(guess)
    return table.from_guess(words.ngram_means.rows(row) + words.own.rows(row)) + table.slips.weight[slips]


def test_a_held_out_word_is_read_as_if_its_count_were_one_lower() -> None:
    table = toy_table()
    form, value = 4 + KNOWN.index("▁form"), 4 + KNOWN.index("▁value")  # with counts 1 and 9
    held_out = torch.tensor([[True, True]])
    vectors = vectors_of(table, [form, value], held_out)
    words = table.vectors(None)
    spelled = words.ngram_means.weight
    intended = intended_vector(table, words, 4 + KNOWN.index("▁from"), 1)
    features = table.familiarity.weight + table.capitals.weight[CASES]  # for words after a blank without capitals
    assert torch.allclose(vectors[0], spelled[form] + table.own.weight[UNK] + features[0] + intended)
    level = sum(number <= 8 for number in LEVELS)
    assert torch.allclose(vectors[1], spelled[value] + table.own.weight[value] + features[level])


def test_a_word_of_the_lexicon_is_read_as_a_rare_word_without_a_row_of_its_own() -> None:
    lexicon = Lexicon.of_lines(["vlaue", "teh,of"])
    index = WordIndex.of_dictionary(dictionary(), BUCKETS, lexicon=lexicon)
    table = IntendedWordEmbedding(dictionary(), 8, index)
    words = table.vectors(look_up_words(UNKNOWN, index))
    tokens = torch.tensor([[UNKNOWN_ID, UNKNOWN_ID + 1]])
    known, listed = table.look_up(tokens, words)[0]
    features = table.familiarity.weight + table.capitals.weight[CASES]
    spelled = words.ngram_means.rows(tokens[0]) + table.own.weight[UNK]
    assert torch.allclose(known, spelled[0] + features[1], atol=1e-6)
    intended = intended_vector(table, words, 4 + KNOWN.index("▁of"), LISTED)
    assert torch.allclose(listed, spelled[1] + features[0] + intended, atol=1e-6)


SPLIT_WORDS = ["▁val", "▁ue", "ue", "▁VAL", "▁12"]


@pytest.mark.parametrize(
    ("words", "joined"),
    [
        (["▁val", "▁ue"], "▁value"),
        (["▁VAL", "▁ue"], "▁value"),  # ignoring case
        (["▁val", "ue"], None),  # no blank between them
        (["▁ue", "▁val"], None),
        (["▁val", "▁ue", "▁val"], "▁value"),
        (["▁12", "▁value"], None),  # numbers and signs have no letters
        (["▁value", "."], None),
    ],
)
def test_two_words_that_join_to_a_known_word_get_its_familiarity(words: list[str], joined: str | None) -> None:
    table = toy_table()
    with torch.no_grad():
        table.joined.weight.normal_()
    ids = {word: UNKNOWN_ID + i for i, word in enumerate(SPLIT_WORDS)} | {word: 4 + i for i, word in enumerate(KNOWN)}
    tokens = torch.tensor([[ids[word] for word in words]])
    batch = table.vectors(batch_words(SPLIT_WORDS))
    with_joined = table.look_up(tokens, batch)[0]
    with torch.no_grad():
        weight = table.joined.weight.clone()
        table.joined.weight.zero_()
        joined_vectors = with_joined - table.look_up(tokens, batch)[0]
    level = 0 if joined is None else sum(COUNTS[KNOWN.index(joined)] >= number for number in LEVELS)
    levels = [level] + [0] * (len(words) - 1)  # of each word with its successor
    with_next, with_last = weight.split(len(LEVELS) + 1)
    for vector, level, last_level in zip(joined_vectors, levels, [0, *levels[:-1]], strict=True):
        assert torch.allclose(vector, with_next[level] + with_last[last_level], atol=1e-6)


def sampled(table: IntendedWordEmbedding, words: BatchWords, tokens: list[int]) -> WordVectors:
    return table.vectors(words, table.sample(torch.tensor(tokens), words, words["candidates"]["ids"]))


def test_scores_of_sampled_words_match_those_of_the_whole_dictionary() -> None:
    table = toy_table(dim=64)
    all_words, sampled_words = table.vectors(batch_words()), sampled(table, batch_words(), [4, UNKNOWN_ID])
    ids = sampled_words.sample.ids
    assert ids is not None and 4 in ids and 4 + KNOWN.index("▁value") in ids and len(ids) < table.vocabulary
    assert torch.equal(sampled_words.sample.classes(torch.tensor([table.vocabulary])), torch.tensor([len(ids)]))
    states, replaced = torch.randn(3, 64), torch.tensor([UNKNOWN_ID, 4, PAD])
    expected = word_scores(table, states, replaced, all_words)[:, ids] + sampled_words.sample.log_weights
    assert torch.allclose(word_scores(table, states, replaced, sampled_words), expected, atol=1e-5)
    tokens = torch.tensor([[4, UNKNOWN_ID, table.vocabulary]])
    assert torch.allclose(table.look_up(tokens, sampled_words), table.look_up(tokens, all_words), atol=1e-6)


def test_the_partition_function_of_samples_is_unbiased() -> None:
    table, words = toy_table(), batch_words()
    replaced, states = torch.tensor([UNKNOWN_ID]), torch.randn(1, 8)
    expected = word_scores(table, states, replaced, table.vectors(words)).exp().sum()
    with torch.no_grad():
        sums = [word_scores(table, states, replaced, sampled(table, words, [4])).exp().sum() for _ in range(400)]
    assert torch.stack(sums).std() > 0
    assert torch.stack(sums).mean().item() == pytest.approx(expected.item(), rel=0.05)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("uses", ["rows", "rows and all", "all", "nothing"])
def test_collecting_table_has_the_gradients_of_embedding(uses: str, dtype: torch.dtype) -> None:
    ids = torch.tensor([[0, 3], [3, 1]]), torch.tensor([3, 2])
    gradients = []
    for collecting in (True, False):
        weight = torch.arange(10.0, dtype=dtype).view(5, 2).requires_grad_()
        scaled = weight * 2  # not a leaf
        table = CollectingTable(scaled)
        loss = weight.sum()
        if "rows" in uses:
            looked_up = (table.rows(rows) if collecting else F.embedding(rows, scaled) for rows in ids)
            loss = loss + sum(number * rows.square().sum() for number, rows in enumerate(looked_up, 1))
        if "all" in uses:
            loss = loss + (table.weight if collecting else scaled)[:4].pow(3).sum()
        loss.backward()
        gradients.append(weight.grad)
    assert gradients[0].dtype == dtype and torch.equal(*gradients)
    with torch.no_grad():
        assert CollectingTable(weight).rows(ids[0]).equal(weight[ids[0]])
