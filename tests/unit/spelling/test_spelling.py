"""Spelling-aware words: against slow references, in the model, and as a command finds them."""

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.optim.adam import Adam
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from torch import Tensor

from lev_plugins.cli.main import main
from lev_plugins.data.drafts.dataset import RollIn, TextEditingDataset
from lev_plugins.data.noisy import NoisyWords, noise_and_codec
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import UserError
from lev_plugins.generators.generator import RefinementGenerator
from lev_plugins.models.levt import LevT
from lev_plugins.spelling import candidates
from lev_plugins.spelling.batch_words import BatchWords, EditingDictionary
from lev_plugins.spelling.candidates import (
    CASES,
    LEVELS,
    MAX_DISTANCE,
    WordIndex,
    letter_ngrams,
    ngram_buckets,
    words_and_counts,
)
from lev_plugins.spelling.embedding import NGRAM_SCALE, IntendedWordEmbedding, SampleSizes, WordVectors
from lev_plugins.spelling.word_scorer import WordScorer
from lev_plugins.text.tokenise import Words
from tests.helpers import PAD, UNK, collated, thorough, toy_config, toy_criterion, toy_pairs, toy_task, write_lines

BUCKETS = 256
WORDS = ["▁the", "▁value", "▁values", "▁of", "▁form", "▁from", "▁function", "."]
COUNTS = [40, 9, 5, 30, 1, 12, 3, 50]


def dictionary() -> EditingDictionary:
    words = EditingDictionary()
    for word, count in zip(WORDS, COUNTS, strict=True):
        words.add_symbol(word, count)
    words.placeholder_index = len(words)
    return words


def index_of(words: EditingDictionary | None = None) -> WordIndex:
    return WordIndex.of_dictionary(words or dictionary(), BUCKETS)


def spelling(dim: int = 8, seed: int = 1, words: EditingDictionary | None = None) -> IntendedWordEmbedding:
    torch.manual_seed(seed)
    return IntendedWordEmbedding(words or dictionary(), dim, index_of(words), SampleSizes(2, 1, 1))


def scores(
    table: IntendedWordEmbedding, states: Tensor, replaced: Tensor, words: WordVectors, reads: bool = False
) -> Tensor:
    with torch.random.fork_rng():  # draws go on as they are
        torch.manual_seed(1)
        scorer = WordScorer(table.index, table.shapes, PAD, table.embedding_dim, reads).to(table.grams.dtype)
    candidates = scorer.candidates(replaced.tolist(), replaced, words.words)
    return scorer(states, replaced, words, table.directions(words), candidates)


def model(**options: Any) -> LevT:
    torch.manual_seed(1)
    config = toy_config(**{"share_all_embeddings": True, "spelling": True, "spelling_buckets": BUCKETS, **options})
    return LevT.build_model(config, toy_task(dictionary()))


OWN = 4 + len(WORDS) + 1  # the first row of an unknown word
UNKNOWN = ["▁vlaue", "▁teh", "▁fucntion"]


def batch_words(words: list[str] | None = None) -> BatchWords:
    return BatchWords.of_words(UNKNOWN if words is None else words, index_of())


# ---- text ------------------------------------------------------------------------------------------------------------


@thorough
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12))
def test_every_text_has_its_words_back(text: str) -> None:
    plain = " ".join(text.replace("▁", "").split())
    assert Words().decode(Words().encode(plain)) == plain


@thorough
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_every_word_has_parts_and_each_once(word: str) -> None:
    assert len(letter_ngrams(word)) == len(set(letter_ngrams(word))) >= 2
    assert all(0 <= bucket < BUCKETS for bucket in ngram_buckets(word, BUCKETS))


# ---- vectors ---------------------------------------------------------------------------------------------------------


def test_a_vector_is_the_mean_of_its_parts() -> None:
    table = spelling()
    words = table.vectors(batch_words())
    names = [*dictionary().symbols, "", *UNKNOWN]
    for row, name in enumerate(names):
        special = row < 4 or not name
        expected = torch.zeros(8) if special else NGRAM_SCALE * table.grams[list(ngram_buckets(name, BUCKETS))].mean(0)
        assert torch.allclose(words.ngram_means.rows(torch.tensor(row)), expected, atol=1e-6)


def test_what_words_have_in_common() -> None:
    names = [*UNKNOWN, WORDS[0], "12", ""]
    for name, *rows in zip(names, *(column.tolist() for column in index_of().nearest(names)), strict=True):
        parts = set(ngram_buckets(name, BUCKETS)) if name else set()
        for near, alike, number in zip(*rows, strict=True):
            other = dictionary()[near] if near >= 4 else ""
            own = set(ngram_buckets(other, BUCKETS)) if other else set()
            assert alike == pytest.approx(len(parts & own) / (max(len(parts), 1) * max(len(own), 1)) ** 0.5, abs=1e-6)
            named = alike and name != "12" and other != "."
            assert number == (
                min(slips_one_by_one(name.lstrip("▁"), other.lstrip("▁")), MAX_DISTANCE) if named else MAX_DISTANCE
            )


@pytest.mark.parametrize("together", [1, 2])
def test_few_words_are_compared_at_a_time(together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    without = np.array([4, 5, 6])
    whole = index_of().search(UNKNOWN, without)
    assert not ((whole["ids"] == without[:, None]) & (whole["ngram_overlap"] >= 0)).any()
    monkeypatch.setattr(candidates, "CHUNK", together)
    assert np.array_equal(index_of().search(UNKNOWN, without), whole)


@pytest.mark.parametrize("dense", [0, 3, 1000])
def test_candidates_are_the_best_of_a_large_dictionary(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against a dictionary that is compared word by word; however many groups are counted by one product."""
    monkeypatch.setattr(candidates, "DENSE_NGRAMS", dense)
    monkeypatch.setattr(candidates, "BLOCK", 4)
    draw = random.Random(1)
    words = ["".join(draw.choices("abcdef", k=draw.randint(1, 9))) for _ in range(400)]
    counts = [draw.randint(1, 1000) for _ in words]
    index = WordIndex(words, counts, 1 << 20)
    typos = ["abcd", "fade", "cabbage", "zzz"]
    for typo, near in zip(typos, index.nearest(typos).ids.tolist(), strict=True):
        own = set(letter_ngrams(typo))

        def score(i: int, own: set[str] = own) -> float:
            parts = set(letter_ngrams(words[i]))
            share = len(own & parts) / (len(own) * len(parts)) ** 0.5
            return share + candidates.FREQUENCY_WEIGHT * np.log(counts[i] + 1) * (share > 0)

        expected = sorted(map(score, range(len(words))), reverse=True)[: candidates.MAX_CANDIDATES]
        assert [score(i) for i in near] == pytest.approx(expected, abs=1e-6)


def test_a_batch_of_new_misspellings_takes_little_time() -> None:
    """375 of them among 45,000 words take 0.15 s of one core at 3 GHz; the bound allows for a slow one."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlucmfwypvbgkqjxz", range(26, 0, -1), k=draw.randint(3, 12)))
             for _ in range(45_000)]  # fmt: skip
    index = WordIndex(words, [1] * len(words), 1 << 15)
    index.nearest(["warm"])
    typos = [word[:1] + word[2:] for word in words[:375]]
    start = time.process_time()
    index.nearest(typos)
    assert time.process_time() - start < 1.5


def test_words_that_were_compared_before_are_as_if_they_had_not_been() -> None:
    """Few of them are remembered."""
    index, other = WordIndex(*words_and_counts(dictionary()), BUCKETS, cache_size=4), index_of()
    index.nearest(["▁vlaue", "Teh"])
    words = [*UNKNOWN, "▁TEH"]  # and more than one word with the same letters
    for again in (index.nearest(words), index.nearest(words)):
        for found, expected in zip(again, other.nearest(words), strict=True):
            assert np.array_equal(found, expected)
    for word in "abcdef":
        index.nearest([word])
        assert len(index.cache) <= 4


def slips_one_by_one(word: str, other: str) -> int:
    """By its recursive definition."""
    if not word or not other:
        return len(word) + len(other)
    found = min(
        slips_one_by_one(word[:-1], other) + 1,
        slips_one_by_one(word, other[:-1]) + 1,
        slips_one_by_one(word[:-1], other[:-1]) + (word[-1] != other[-1]),
    )
    if len(word) > 1 and len(other) > 1 and word[-2:] == other[-2:][::-1]:
        found = min(found, slips_one_by_one(word[:-2], other[:-2]) + 1)
    return found


@thorough
@given(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=5), st.text("abc", min_size=1, max_size=5))
def test_slips_are_those_of_the_definition(words: list[str], typo: str) -> None:
    found = WordIndex(words, [1] * len(words), 1 << 20).nearest([typo])
    for near, alike, number in zip(*(column[0].tolist() for column in found), strict=True):
        assert number == (min(slips_one_by_one(typo, words[near]), MAX_DISTANCE) if alike else MAX_DISTANCE)


def test_the_guess_for_an_unknown_word_is_the_one_most_like_it() -> None:
    word, slips = batch_words().guesses.tolist()
    assert [dictionary()[i] for i in word] == ["▁value", "▁the", "▁function"] and slips == [1, 1, 1]


def test_the_guess_for_a_word_that_is_held_out_is_another() -> None:
    word, slips = index_of().held_out_guesses()
    form = 4 + WORDS.index("▁form")
    assert dictionary()[int(word[form])] == "▁from" and slips[form] == 1
    assert np.delete(word, form).sum() == 0  # all others were seen more often


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


def test_in_training_the_words_of_a_target_are_held_out_of_its_sentence() -> None:
    """As if training had not seen this sentence, of which a rare word says how it is written."""
    levt = model()
    table = levt.decoder.embedding.tokens
    assert isinstance(table, IntendedWordEmbedding)
    table.prepare_training()
    form, value, words = 4 + WORDS.index("▁form"), 4 + WORDS.index("▁value"), table.vectors(None)
    tokens, target = torch.tensor([[form, value], [form, value]]), torch.tensor([[value, 2, PAD], [9, form, 2]])
    for wanted, out in ((target, torch.tensor([[False, True], [True, False]])), (None, None)):
        look_up = levt.decoder.word_vectors(None, wanted)
        assert look_up is not None and torch.equal(look_up(tokens), table.look_up(tokens, words, out))
    assert not torch.equal(table.look_up(tokens, words), table.look_up(tokens, words, tokens.eq(form)))


def test_an_unknown_word_has_the_row_of_unknown_words() -> None:
    table = spelling()
    words, last = table.vectors(batch_words()), OWN + 2
    beside = table.familiarity.weight[0] + table.capitals.weight[CASES]
    expected = words.ngram_means.rows(torch.tensor(last)) + table.own.weight[UNK] + beside
    expected = expected + meant_by(table, words, 4 + WORDS.index("▁function"), 1)
    assert torch.allclose(vectors_of(table, [last])[0], expected)


def test_a_known_word_in_another_case_is_known() -> None:
    table = spelling()
    words = table.vectors(batch_words(["▁Value", "▁VALUE", "▁vaLue"]))
    value = 4 + WORDS.index("▁value")
    capital, capitals, odd = table.look_up(torch.tensor([[OWN, OWN + 1, OWN + 2]]), words)[0]
    spelled = words.ngram_means.rows(torch.tensor(value))
    for shape, vector in ((1, capital), (2, capitals)):
        level = sum(number <= 9 for number in LEVELS)
        beside = table.familiarity.weight[level] + table.capitals.weight[CASES + shape]
        assert torch.allclose(vector, spelled + table.own.weight[value] + beside)
    beside = table.familiarity.weight[0] + table.capitals.weight[CASES + 3]
    assert torch.allclose(odd, spelled + table.own.weight[UNK] + beside + meant_by(table, words, value, 0))


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
    typos = table.vectors(BatchWords.of_words(["▁mdoel", "mdoel", "▁oMdel", "oMdel"], table.index))
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


def sampled(table: IntendedWordEmbedding, words: BatchWords, tokens: list[int]) -> WordVectors:
    return table.vectors(words, table.sample(torch.tensor(tokens), words, words.candidate_ids))


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


def test_training_with_samples_learns_every_parameter() -> None:
    batch, levt = collated(noisy_dataset()), model().train()
    levt.decoder.word_embedding.sizes = SampleSizes(2, 1, 1)
    sizes, whole = [], WordScorer.forward

    def noted(respelling: WordScorer, states: Tensor, replaced: Tensor, words: WordVectors, *others: Any) -> Tensor:
        sizes.append(words.sample.ids is not None)
        return whole(respelling, states, replaced, words, *others)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WordScorer, "forward", noted)
        toy_criterion()(levt, batch)[0].backward()
        toy_criterion(label_smoothing=0.1)(levt, batch)
        toy_criterion()(levt.eval(), batch)
    assert sizes == [True, False, False]  # smoothing needs all words; validation is exact
    assert [name for name, weight in levt.named_parameters() if weight.grad is None] == []


# ---- in the model ----------------------------------------------------------------------------------------------------


TEXT = [["▁the", "▁value", "▁of", "▁the", "▁function", "."], ["▁values", "▁form", "▁the", "▁function", "."]] * 3


def noisy_dataset(seed: int = 1) -> TextEditingDataset:
    """Clean text alone; every word that can gets a slip, other ones in every epoch."""
    words = dictionary()
    rows = [[words.bos(), *(words.index(word) for word in row), words.eos()] for row in TEXT]
    pair = toy_pairs(rows, rows, words)
    flags = {"noise_kind": "swap,insert", "noise_word_rate": 0.7, "noise_seed": seed, "noise_bpe": "words"}
    cfg = toy_task(words, **flags, noise_tokenizer=None).cfg
    rollin = RollIn(seed, alpha=1.0, beta=1.0)
    noise = NoisyWords(*noise_and_codec(pair, cfg, words, words), 20, pair.tgt)
    return TextEditingDataset(pair, None, rollin, noise=noise, index=index_of())


def texts(batch: dict[str, Any], side: str, words: EditingDictionary | None = None) -> dict[int, list[str]]:
    """The rows of a batch, as it says how they are spelt, by number."""
    words = words or dictionary()
    words.unknown_words = batch["unknown_words"]
    rows = zip(batch["id"].tolist(), batch["net_input"][side].tolist(), strict=True)
    return {number: [words[i] for i in row if i not in (0, 1, 2)] for number, row in rows}


def test_noise_on_the_fly_is_source_and_draft_with_its_spelling() -> None:
    dataset = noisy_dataset()
    batch = collated(dataset)
    sources, drafts = texts(batch, "src_tokens"), texts(batch, "draft")
    assert sources == drafts and len(batch["unknown_words"]) == len(batch["net_input"]["words"].shapes) > 0
    noise = dataset.noise
    assert noise is not None
    assert [sources[i] for i in range(len(TEXT))] == [noise(i, 1) for i in range(len(TEXT))]


def test_without_noise_a_source_is_its_own_draft() -> None:
    """Because of --noise-share, or because it would be too long; there are no other drafts."""
    words = dictionary()
    targets = [[words.bos(), *(words.index(word) for word in row), words.eos()] for row in TEXT]
    sources = [[words.bos(), words.index("▁form"), words.eos()] for _ in TEXT]
    for share, longest in ((0.5, 20), (1.0, 7)):
        pair = toy_pairs(sources, targets, words)
        cfg = toy_task(words, noise_kind="insert", noise_word_rate=1.0, noise_share=share, noise_bpe="words").cfg
        cfg.noise_tokenizer = None
        noise = NoisyWords(*noise_and_codec(pair, cfg, words, words), longest, pair.tgt)
        dataset = TextEditingDataset(pair, None, RollIn(1), noise=noise)
        examples = [dataset[i] for i in range(len(TEXT))]
        own = [example["source"].ids.tolist() == source for example, source in zip(examples, sources, strict=True)]
        # of the two sentences, of 8 and 7 tokens with boundaries, only the second one may get noise in 7
        assert 0 < sum(own) < len(TEXT) if share < 1 else own == [True, False] * 3
        assert all(example["draft"] is example["source"] for example in examples)


def test_noise_is_source_and_draft_so_both_sides_have_one_dictionary() -> None:
    other = dictionary()
    other.add_symbol("▁fourth")
    task = toy_task(dictionary(), other, noise_kind="insert", noise_word_rate=1.0)
    with pytest.raises(UserError, match="--noise-kind in --task text_editing requires one dictionary for both sides"):
        task.build_model(OmegaConf.structured(toy_config(_name="levt")))


def test_a_missing_word_comes_with_the_one_it_replaces() -> None:
    states = collated(noisy_dataset())["net_input"]["states"]
    holes = states.placeholder_index
    replaced = states.replaced.flatten()
    assert len(holes) and replaced[holes].ge(OWN).float().mean() > 0.8  # a slip may make another known word
    rest = torch.ones_like(replaced, dtype=torch.bool).index_fill(0, holes, False)
    assert replaced[rest].eq(PAD).all()
    assert states.removed.ne(PAD).sum() <= len(holes)
    slots = states.missing_counts  # a slip never makes two words of one here, nor one of two
    assert torch.equal(states.removed_counts[:, : slots.size(1)], slots)


def test_the_unknown_words_of_other_sentences_change_nothing() -> None:
    levt = model().eval()
    source = torch.tensor([[0, 4, OWN, 2]])
    memories = (levt.encode(source, batch_words(words)) for words in (["▁vlaue"], UNKNOWN, ["▁teh"]))
    alone, company, another = (levt.decoder.states("deletion", source, memory)[-1] for memory in memories)
    assert torch.allclose(alone, company, atol=1e-6) and not torch.allclose(alone, another)


def test_a_draft_is_edited_and_its_unknown_words_are_kept() -> None:
    levt = model().eval()
    words = dictionary()
    with torch.no_grad():
        levt.decoder.deletion_head.weight.zero_()
        levt.decoder.placeholder_head.weight.zero_()
    draft = torch.tensor([[0, words.index("▁the"), OWN, 2]])
    sample = {"net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])}}
    (found,) = RefinementGenerator([levt], words, RefinementOptions()).generate(None, sample)
    words.unknown_words = ["▁vlaue"]
    assert words.string(found[0]["tokens"]) == "▁the ▁vlaue"


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_what_decoding_keeps_may_be_used_in_training(precision: torch.dtype) -> None:
    """fairseq-train --cpu-bf16 is torch's autocast."""
    levt, words = model().eval(), dictionary()
    draft = torch.tensor([[0, words.index("▁the"), OWN, words.index("▁value"), 2]])
    sample = {"net_input": {"src_tokens": draft, "draft": draft, "words": batch_words(["▁vlaue"])}}
    RefinementGenerator([levt], words, RefinementOptions(inference_mode=True)).generate(None, sample)
    levt.train()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision != torch.float32):
        output = levt(**collated(noisy_dataset(), range(4))["net_input"])
    sum(head.logits.float().square().sum() for head in output).backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in levt.parameters())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"share_all_embeddings": False}, "--spelling is for both sides and the output: add --share-all-embeddings"),
        ({"placeholder": "unk"}, "--placeholder must not be unk"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        model(**options)


# ---- real drafts -----------------------------------------------------------------------------------------------------


CLEAN = ["the value of the function .", "the function form .", "a value from the form ."] * 4
NOISY = ["teh value of the fucntion .", "the function form .", "a vlaue from the forn ."] * 4


@pytest.fixture(scope="module")
def real_drafts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    for side, lines in (("src", NOISY), ("draft", NOISY), ("tgt", CLEAN)):
        write_lines(folder / f"train.{side}", lines)
    flags = ["--joined-dictionary", "--clean-dictionary", "--bpe", "words", "--train-prefix", str(folder / "train")]
    assert main(["prepare", "-s", "src", "-d", "draft", "-t", "tgt", *flags, "--dest", str(folder / "data")]) == 0
    return folder / "data"


def dataset_of(folder: Path, **options: Any) -> TextEditingDataset:
    words = EditingDictionary.load(str(folder / "dict.tgt.txt"))
    languages = {"source_lang": "src", "target_lang": "tgt", "draft_lang": "draft"}
    task = toy_task(words, **languages, **options)
    task.cfg.data, task.cfg.dataset_impl, task.word_index = str(folder), None, index_of(words)
    task.cfg.train_subset = "train"
    task.load_dataset("train")
    return task.datasets["train"]


def spelt_rows(dataset: TextEditingDataset) -> list[tuple[list[str], list[str]]]:
    """Draft and source of each example, as a batch of all says."""
    batch = collated(dataset)
    drafts, sources = (texts(batch, side, dataset.dataset.tgt_dict) for side in ("draft", "src_tokens"))
    return [(drafts[i], sources[i]) for i in range(len(dataset))]


def spelling_of_line(line: str) -> list[str]:
    return Words().encode(line).split()


def test_words_of_real_drafts_that_no_target_has_are_unknown_and_spelt(real_drafts: Path) -> None:
    words = EditingDictionary.load(str(real_drafts / "dict.tgt.txt"))
    assert "▁vlaue" not in words.indices and words.count[words.index("▁value")] == 8
    rows = spelt_rows(dataset_of(real_drafts))
    assert [draft for draft, _ in rows] == [source for _, source in rows] == list(map(spelling_of_line, NOISY))


def test_words_of_real_drafts_that_a_given_dictionary_lacks_are_spelt_too(
    real_drafts: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = ["--joined-dictionary", "--srcdict", str(real_drafts / "dict.tgt.txt"), "--bpe", "words", "--train-prefix"]
    given = [*flags, str(real_drafts.parent / "train"), "--dest", str(tmp_path / "data")]
    assert main(["prepare", "-s", "src", "-d", "draft", "-t", "tgt", *given]) == 0
    assert "Drafts of train: 0 with marks, 8 with unknown words, for fairseq-train" in capsys.readouterr().out
    notes = "train.draft-tgt.draft.notes.jsonl"
    assert "vlaue" in (real_drafts / notes).read_text("utf-8")
    assert (tmp_path / "data" / notes).read_bytes() == (real_drafts / notes).read_bytes()


def test_noise_in_a_share_of_the_examples_leaves_the_drafts_of_the_others(real_drafts: Path) -> None:
    noise = {"noise_kind": "insert", "noise_word_rate": 1.0, "noise_bpe": "words", "noise_tokenizer": None}
    rows = spelt_rows(dataset_of(real_drafts, noise_share=0.5, **noise))
    real = [draft == spelling_of_line(line) for (draft, _), line in zip(rows, NOISY, strict=True)]
    assert 0 < sum(real) < len(real)
    assert all(draft == source for draft, source in rows)
    dataset = dataset_of(real_drafts, noise_share=0.5, **noise)
    dataset.set_epoch(2)
    assert [draft for draft, _ in spelt_rows(dataset)] != [draft for draft, _ in rows]
