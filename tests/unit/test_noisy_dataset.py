"""Noise on the fly: on what it depends, and that it is the noise of the command."""

import pickle
from typing import Any

import numpy as np
import pytest
from fairseq.data import Dictionary, LanguagePairDataset, iterators
from fairseq.data.encoders.characters import Characters

from lev_plugins.data.noisy import UNKNOWN, NoisySourceDataset, TextCodec
from lev_plugins.errors import UserError
from lev_plugins.noise import Corruption, NoiseOptions, build_corruption
from tests.helpers import end_workers, list_dataset, tensor_to_rows, toy_task

TEXTS = [f"the quick brown fox number {chr(97 + number)} jumps over it" for number in range(24)]


def characters() -> Dictionary:
    dictionary = Dictionary()
    for symbol in "abcdefghijklmnopqrstuvwxyz0123456789▁":
        dictionary.add_symbol(symbol)
    return dictionary


def codec() -> TextCodec:
    return TextCodec(characters(), Characters())


def pair(sources: list[str] = TEXTS, targets: list[str] | None = None) -> LanguagePairDataset:
    words = codec()
    rows = [[words.encode(text).tolist() for text in texts] for texts in (sources, targets or sources)]
    sizes = [[len(row) for row in side] for side in rows]
    return LanguagePairDataset(
        list_dataset(rows[0]), sizes[0], words.dictionary, list_dataset(rows[1]), sizes[1], words.dictionary
    )


def corruption(seed: int = 1, rate: float = 0.5) -> Corruption:
    return build_corruption(NoiseOptions("keyboard:2,swap", word_rate=rate, seed=seed))


def noisy(
    data: LanguagePairDataset | None = None, seed: int = 1, rate: float = 0.5, **options: Any
) -> NoisySourceDataset:
    words = codec()
    return NoisySourceDataset(data or pair(), corruption(seed, rate), words.decode, words.encode, **options)


def texts(dataset: Any, side: str = "source") -> list[str]:
    return [codec().decode(dataset[index][side]) for index in range(len(dataset))]


def test_the_source_is_what_the_command_makes_of_the_line() -> None:
    dataset = noisy(seed=5)
    dataset.set_epoch(3)
    corrupt = corruption(seed=5)
    known = set("abcdefghijklmnopqrstuvwxyz0123456789 ")
    for index, (text, result) in enumerate(zip(TEXTS, texts(dataset), strict=True)):
        expected = "".join(letter if letter in known else UNKNOWN for letter in corrupt(text, index, epoch=3))
        assert result == expected != text
    assert texts(dataset, "target") == TEXTS


def test_the_pair_itself_stays_as_it_was() -> None:
    data = pair()
    texts(noisy(data))
    assert texts(data) == TEXTS


def batches(workers: int, epoch: int) -> list[dict[str, Any]]:
    dataset = noisy(pair())
    iterator = iterators.EpochBatchIterator(
        dataset=dataset,
        collate_fn=dataset.collater,
        batch_sampler=[list(range(start, start + 4)) for start in range(0, 24, 4)],
        seed=1,
        num_workers=workers,
        epoch=epoch,
    )
    found = list(iterator.next_epoch_itr(shuffle=True))
    end_workers()
    return found


def test_four_workers_make_the_batches_of_none() -> None:
    for epoch in (1, 2):
        for one, other in zip(batches(0, epoch), batches(4, epoch), strict=True):
            assert one["id"].tolist() == other["id"].tolist()
            assert one["net_input"]["src_tokens"].equal(other["net_input"]["src_tokens"])
            assert one["target"].equal(other["target"])


def sources_of_epochs(workers: int) -> list[dict[int, list[int]]]:
    """The sources of two epochs, by sentence, as fairseq's loader hands them to a trainer."""
    epochs = []
    batches = toy_task().get_batch_iterator(noisy(), max_sentences=4, seed=1, num_workers=workers)
    for _ in range(2):
        sources = {}
        for batch in batches.next_epoch_itr(shuffle=True):
            rows = tensor_to_rows(batch["net_input"]["src_tokens"])
            sources |= {i: sorted(row) for i, row in zip(batch["id"].tolist(), rows, strict=True)}
        epochs.append(sources)
    end_workers()
    return epochs


def test_worker_processes_hear_of_a_new_epoch() -> None:
    """fairseq keeps them from epoch to epoch, and has one unless told otherwise."""
    alone = sources_of_epochs(workers=0)
    assert alone[0] != alone[1]
    assert sources_of_epochs(workers=1) == alone


def test_epochs_and_seeds_differ_and_come_again() -> None:
    dataset = noisy()
    epochs = {}
    for epoch in (1, 2, 7):
        dataset.set_epoch(epoch)
        epochs[epoch] = texts(dataset)
    assert epochs[1] != epochs[2] != epochs[7]
    dataset.set_epoch(2)
    assert texts(dataset) == epochs[2]
    assert texts(noisy(seed=2)) != epochs[1] == texts(noisy())


def test_noise_does_not_depend_on_the_order_or_on_numpy_or_on_the_process() -> None:
    dataset = noisy()
    in_order = texts(dataset)
    backwards = [codec().decode(dataset[np.int64(index)]["source"]) for index in reversed(range(24))]
    assert backwards[::-1] == in_order
    assert texts(pickle.loads(pickle.dumps(dataset))) == in_order


def test_a_batch_holds_the_noisy_sources() -> None:
    dataset = noisy()
    batch = dataset.collater([dataset[index] for index in (3, 0, 7)])
    lengths = batch["net_input"]["src_lengths"].tolist()
    assert lengths == sorted(lengths, reverse=True)
    for place, index in enumerate(batch["id"].tolist()):
        row = batch["net_input"]["src_tokens"][place][-lengths[place] :]  # padded on the left
        assert row.equal(dataset[index]["source"])


def test_the_targets_are_read_and_the_sources_give_way() -> None:
    dataset = noisy(pair(["old noise"] * 24, TEXTS))
    assert texts(dataset) == texts(noisy())
    some = texts(noisy(pair(["old noise"] * 24, TEXTS), share=0.5))
    assert 4 <= some.count("old noise") <= 20
    assert {other for other in some if other != "old noise"} <= set(texts(dataset))


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0, 0), (0.3, 45, 75), (1.0, 200, 200)])
def test_share_of_the_examples(share: float, low: int, high: int) -> None:
    dataset = noisy(pair(["quick brown"] * 200), rate=1.0, share=share)
    assert low <= sum(text != "quick brown" for text in texts(dataset)) <= high
    if 0 < share < 1:
        first = [text != "quick brown" for text in texts(dataset)]
        dataset.set_epoch(2)
        assert first != [text != "quick brown" for text in texts(dataset)]


def test_a_noisy_source_that_is_too_long_is_not_used() -> None:
    splitting = build_corruption(NoiseOptions("insert", word_rate=1.0, alphabet="x"))
    data, words = pair(["ab cd"] * 3), codec()
    lengths = {
        longest: [
            len(row["source"])
            for row in NoisySourceDataset(data, splitting, words.decode, words.encode, longest=longest)
        ]
        for longest in (None, 8, 7)
    }
    assert lengths == {None: [8] * 3, 8: [8] * 3, 7: [6] * 3}


def test_unknown_words_stay_unknown_and_are_left_alone() -> None:
    dictionary = Dictionary()
    for word in ("the", "quick", "fox"):
        dictionary.add_symbol(word)
    words = TextCodec(dictionary)
    tokens = words.encode("the wug fox")
    assert words.decode(tokens) == f"the {UNKNOWN} fox"
    assert words.encode(words.decode(tokens)).equal(tokens)
    for kind in ("random", "keyboard", "swap", "ocr", "split"):
        noisy_text = build_corruption(NoiseOptions(kind, word_rate=1.0, char_rate=1.0))(words.decode(tokens), 0)
        assert UNKNOWN in noisy_text.split()


def test_bpe_and_tokenizer_are_undone_and_done_in_order() -> None:
    class Upper:
        encode, decode = staticmethod(str.upper), staticmethod(str.lower)

    dictionary = Dictionary()
    for symbol in "ABC▁":
        dictionary.add_symbol(symbol)
    words = TextCodec(dictionary, Characters(), Upper())
    assert dictionary.string(words.encode("ab c")) == "A B ▁ C"
    assert words.decode(words.encode("ab c")) == "ab c"


def test_what_cannot_be() -> None:
    dictionary = Dictionary()
    dictionary.add_symbol(UNKNOWN)
    with pytest.raises(UserError, match=r"the dictionary contains the character U\+E000"):
        TextCodec(dictionary)
