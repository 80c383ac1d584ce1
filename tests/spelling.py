"""A small dictionary, its index, and toy parts of a levt with --spelling."""

from typing import Any

import torch
from torch import Tensor

from lev_plugins.edits.batch_words import BatchWords, EditingDictionary, look_up_words
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.embedding import IntendedWordEmbedding, SampleSizes, WordVectors
from lev_plugins.edits.word_scorer import WordScorer
from lev_plugins.levt.dataset import RollIn, TextEditingDataset
from lev_plugins.levt.model import LevT
from lev_plugins.training.noisy import NoisyWords, noise_and_codec
from tests.helpers import PAD, toy_config, toy_pairs, toy_task

BUCKETS = 256
KNOWN = ["▁the", "▁value", "▁values", "▁of", "▁form", "▁from", "▁function", "."]
COUNTS = [40, 9, 5, 30, 1, 12, 3, 50]


def dictionary() -> EditingDictionary:
    words = EditingDictionary()
    for word, count in zip(KNOWN, COUNTS, strict=True):
        words.add_symbol(word, count)
    words.placeholder_index = len(words)
    return words


def index_of(words: EditingDictionary | None = None) -> WordIndex:
    return WordIndex.of_dictionary(words or dictionary(), BUCKETS)


UNKNOWN_ID = 4 + len(KNOWN) + 1  # the id of the first unknown word of a batch
UNKNOWN = ["▁vlaue", "▁teh", "▁fucntion"]


def batch_words(words: list[str] | None = None) -> BatchWords:
    return look_up_words(UNKNOWN if words is None else words, index_of())


def toy_table(dim: int = 8, seed: int = 1, words: EditingDictionary | None = None) -> IntendedWordEmbedding:
    torch.manual_seed(seed)
    return IntendedWordEmbedding(words or dictionary(), dim, index_of(words), SampleSizes(2, 1, 1))


def word_scores(
    table: IntendedWordEmbedding, states: Tensor, replaced: Tensor, words: WordVectors, reads: bool = False
) -> Tensor:
    with torch.random.fork_rng():  # later random numbers stay the same
        torch.manual_seed(1)
        scorer = WordScorer(table.index, table.shapes, PAD, table.embedding_dim, reads).to(table.grams.dtype)
    candidates = scorer.candidates(replaced.tolist(), replaced, words.words)
    return scorer(states, replaced, words, table.directions(words), candidates)


def model(**options: Any) -> LevT:
    torch.manual_seed(1)
    config = toy_config(**{"share_all_embeddings": True, "spelling": True, "spelling_buckets": BUCKETS, **options})
    return LevT.build_model(config, toy_task(dictionary()))


CLEAN_SENTENCES = [
    ["▁the", "▁value", "▁of", "▁the", "▁function", "."],
    ["▁values", "▁form", "▁the", "▁function", "."],
] * 3


def noisy_dataset(seed: int = 1) -> TextEditingDataset:
    """Returns clean sentences of which most words get noise, which differs in every epoch."""
    words = dictionary()
    rows = [[words.bos(), *(words.index(word) for word in row), words.eos()] for row in CLEAN_SENTENCES]
    pair = toy_pairs(rows, rows, words)
    flags = {"noise_kind": "swap,insert", "noise_word_rate": 0.7, "noise_seed": seed, "noise_bpe": "words"}
    cfg = toy_task(words, **flags, noise_tokenizer=None).cfg
    rollin = RollIn(seed, alpha=1.0, beta=1.0)
    noise = NoisyWords(*noise_and_codec(pair, cfg, words, words), 20, pair.tgt)
    return TextEditingDataset(pair, None, rollin, noise=noise, index=index_of())
