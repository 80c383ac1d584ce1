"""Noise in training data equals that of ``lev-plugins noise``, and depends on seed, epoch and index."""

import pickle
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairseq.data import Dictionary, FairseqDataset, LanguagePairDataset
from fairseq.data.encoders.characters import Characters
from fairseq.dataclass.utils import gen_parser_from_dataclass

from lev_plugins.cli import noise
from lev_plugins.correction.task import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.noise import NOISE_FLAGS, NoiseOptions, build_corruption
from lev_plugins.text.tokenise import Chars
from lev_plugins.training.batching import KeepLastBatch
from lev_plugins.training.noisy import UNKNOWN_CHAR, NoiseConfig, NoisySourceDataset, TextCodec, noise_and_codec
from lev_plugins.utils.errors import UserError
from lev_plugins.utils.ranges import flag_name
from tests.helpers import toy_pairs

FOX_TEXTS = [f"the quick brown fox number {chr(97 + number)} jumps over it" for number in range(24)]


def dictionary_of(symbols: Iterable[str] = "abcdefghijklmnopqrstuvwxyz▁") -> Dictionary:
    dictionary = Dictionary()
    for symbol in symbols:
        dictionary.add_symbol(symbol)
    return dictionary


def codec() -> TextCodec:
    return TextCodec(dictionary_of(), Characters())


def pair_dataset(
    sources: list[str] = FOX_TEXTS, targets: list[str] | None = None, words: TextCodec | None = None
) -> LanguagePairDataset:
    words = words or codec()
    rows = [[words.encode(text).tolist() for text in decoded_texts] for decoded_texts in (sources, targets or sources)]
    return toy_pairs(*rows, words.dictionary)


def noisy_source(
    data: LanguagePairDataset | None = None, kind: str = "keyboard:2,swap", rate: float = 0.5, **options: Any
) -> NoisySourceDataset:
    words, corrupt = codec(), build_corruption(NoiseOptions(kind, word_rate=rate))
    return NoisySourceDataset(data or pair_dataset(), corrupt, words.decode, words.encode, **options)


def decoded_texts(dataset: Any, side: str = "source") -> list[str]:
    return [codec().decode(dataset[index][side]) for index in range(len(dataset))]


def test_noise_depends_on_the_index_alone() -> None:
    dataset = noisy_source()
    in_order = decoded_texts(dataset)
    backwards = [codec().decode(dataset[np.int64(index)]["source"]) for index in reversed(range(24))]
    assert backwards[::-1] == in_order
    assert decoded_texts(pickle.loads(pickle.dumps(dataset))) == in_order


def test_noisy_targets_replace_sources() -> None:
    dataset = noisy_source(pair_dataset(["old noise"] * 24, FOX_TEXTS))
    assert decoded_texts(dataset) == decoded_texts(noisy_source())
    mixed = decoded_texts(noisy_source(pair_dataset(["old noise"] * 24, FOX_TEXTS), share=0.5))
    assert 4 <= mixed.count("old noise") <= 20
    assert {noisy_text for noisy_text in mixed if noisy_text != "old noise"} <= set(decoded_texts(dataset))


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0, 0), (0.3, 45, 75), (1.0, 200, 200)])
def test_noise_share_is_the_share_of_noisy_examples(share: float, low: int, high: int) -> None:
    dataset = noisy_source(pair_dataset(["quick brown"] * 200), rate=1.0, share=share)
    assert low <= sum(text != "quick brown" for text in decoded_texts(dataset)) <= high
    if 0 < share < 1:
        changed = [text != "quick brown" for text in decoded_texts(dataset)]
        dataset.set_epoch(2)
        assert changed != [text != "quick brown" for text in decoded_texts(dataset)]


def test_too_long_noisy_sources_are_dropped() -> None:
    lengths = {
        longest: [
            len(row["source"]) for row in noisy_source(pair_dataset(["ab cd"] * 3), "insert", rate=1.0, longest=longest)
        ]
        for longest in (None, 8, 7)
    }
    assert lengths == {None: [8] * 3, 8: [8] * 3, 7: [6] * 3}


def test_unknown_words_get_no_noise() -> None:
    words = TextCodec(dictionary_of(["the", "quick", "fox"]))
    tokens = words.encode("the wug fox")
    assert words.decode(tokens) == f"the {UNKNOWN_CHAR} fox"
    assert words.encode(words.decode(tokens)).equal(tokens)
    for kind in ("random", "keyboard", "swap", "ocr", "split"):
        noisy_text = build_corruption(NoiseOptions(kind, word_rate=1.0, char_rate=1.0))(words.decode(tokens), 0)
        assert UNKNOWN_CHAR in noisy_text.split()


def test_codec_applies_tokenizer_and_bpe_in_order() -> None:
    class Upper:
        encode, decode = staticmethod(str.upper), staticmethod(str.lower)

    dictionary = dictionary_of("ABC▁")
    words = TextCodec(dictionary, Characters(), Upper())
    assert dictionary.string(words.encode("ab c")) == "A B ▁ C"
    assert words.decode(words.encode("ab c")) == "ab c"


# ---- the flags -------------------------------------------------------------------------------------------------------

NOISE_OPTIONS: dict[str, Any] = {"noise_kind": "swap:2,keyboard", "noise_word_rate": 0.5, "noise_bpe": "chars"}


def correction_config(**options: Any) -> TextCorrectionConfig:
    defaults = {"data": ".", "noise_bpe": None, "noise_tokenizer": None, "required_seq_len_multiple": 1}
    return TextCorrectionConfig(**{**defaults, **options})


def dataset_from_flags(codec: TextCodec, **options: Any) -> FairseqDataset:
    cfg = correction_config(**{**NOISE_OPTIONS, **options})
    return noise_and_codec(pair_dataset(words=codec), cfg, codec.dictionary, codec.dictionary)[0]


def test_training_has_the_flags_of_the_noise_command() -> None:
    command, training = ArgumentParser(), ArgumentParser()
    noise.add_arguments(command)
    gen_parser_from_dataclass(training, NoiseConfig())
    training_flags = {action.dest: action for action in training._actions}
    for flag in NOISE_FLAGS:
        command_flag = next(action for action in command._actions if action.dest == flag.name)
        training_flag = training_flags[f"noise_{flag.name}"]
        assert training_flag.option_strings == [flag_name(f"noise_{flag.name}")]
        assert (training_flag.type, training_flag.default) == (command_flag.type, command_flag.default)
        assert training_flag.help is not None and " --word" not in training_flag.help
    assert [flag.name for flag in NOISE_FLAGS if flag.default is MISSING] == ["kind"]
    with_values = [flag_name(f"noise_{flag.name}") for flag in NOISE_FLAGS if flag.type is not bool]
    arguments = [part for name in with_values for part in (name, "1")]
    parsed = vars(training.parse_args(arguments))
    expected = {"kind": "1", "word_rate": 1.0, "char_rate": 1.0, "seed": 1, "layout": "1"}
    assert {name: parsed[f"noise_{name}"] for name in expected} == expected


def test_every_epoch_has_new_noise() -> None:
    """The batches have the same sentences in every epoch."""
    codec = TextCodec(dictionary_of(), Chars())
    task = TextCorrectionTask(correction_config(**NOISE_OPTIONS), codec.dictionary, codec.dictionary)
    dataset = KeepLastBatch(dataset_from_flags(codec))
    sources = {}
    for epoch in (1, 2):
        batches = task.get_batch_iterator(dataset, max_sentences=4, seed=1, epoch=epoch)
        rows = {}
        for batch in batches.next_epoch_itr(shuffle=False):
            for index, row in zip(batch["id"].tolist(), batch["net_input"]["src_tokens"], strict=True):
                rows[index] = codec.decode(row[row != codec.dictionary.pad()])
        sources[epoch] = [rows[index] for index in range(len(FOX_TEXTS))]
    corrupt = build_corruption(NoiseOptions(NOISE_OPTIONS["noise_kind"], word_rate=0.5))
    for epoch, rows in sources.items():
        letters = set("abcdefghijklmnopqrstuvwxyz ")
        noise = [corrupt(text, index, epoch) for index, text in enumerate(FOX_TEXTS)]
        assert rows == ["".join(letter if letter in letters else UNKNOWN_CHAR for letter in text) for text in noise]


WRONG_NOISE = {
    "--noise-kind 'typos'": {"noise_kind": "typos"},
    "--noise-kind swap:2,keyboard .*--noise-word-rate.*--noise-char-rate": {"noise_word_rate": None},
    "--noise-confusions .*confusions": {"noise_kind": "confusions"},
    "--load-alignments .*--noise-kind": {"load_alignments": True},
    "27 symbols .*▁ of pieces": {"noise_bpe": None},
}


@pytest.mark.parametrize(("message", "options"), WRONG_NOISE.items())
def test_wrong_noise_flags_are_refused(message: str, options: dict[str, Any]) -> None:
    pieces = (f"▁{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    codec = TextCodec(dictionary_of([*pieces, "▁"] if "pieces" in message else "abcdefghijklmnopqrstuvwxyz▁"), Chars())
    with pytest.raises(UserError, match=message):
        dataset_from_flags(codec, **options)


def test_another_bpe_than_that_of_the_data_is_refused() -> None:
    words = TextCodec(dictionary_of(" ".join(FOX_TEXTS).split()))
    with pytest.raises(UserError, match="24 of the first 24"):
        dataset_from_flags(words)


@pytest.mark.parametrize("name", ["word_rate", "char_rate", "share", "layout", "seed"])
def test_noise_flags_require_a_kind(name: str, tmp_path: Path) -> None:
    value: Any = "azerty" if name == "layout" else 0
    with pytest.raises(UserError, match=f"--noise-{name.replace('_', '-')} .*--noise-kind"):
        TextCorrectionTask.setup_task(correction_config(data=str(tmp_path), **{f"noise_{name}": value}))
