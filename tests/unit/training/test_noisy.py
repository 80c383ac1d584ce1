"""Noise in the training set: on what it depends, that it is the noise of the command, and what is refused."""

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

TEXTS = [f"the quick brown fox number {chr(97 + number)} jumps over it" for number in range(24)]


def dictionary_of(symbols: Iterable[str] = "abcdefghijklmnopqrstuvwxyz▁") -> Dictionary:
    dictionary = Dictionary()
    for symbol in symbols:
        dictionary.add_symbol(symbol)
    return dictionary


def codec() -> TextCodec:
    return TextCodec(dictionary_of(), Characters())


def pair(
    sources: list[str] = TEXTS, targets: list[str] | None = None, words: TextCodec | None = None
) -> LanguagePairDataset:
    words = words or codec()
    rows = [[words.encode(text).tolist() for text in texts] for texts in (sources, targets or sources)]
    return toy_pairs(*rows, words.dictionary)


def noisy(
    data: LanguagePairDataset | None = None, kind: str = "keyboard:2,swap", rate: float = 0.5, **options: Any
) -> NoisySourceDataset:
    words, corrupt = codec(), build_corruption(NoiseOptions(kind, word_rate=rate))
    return NoisySourceDataset(data or pair(), corrupt, words.decode, words.encode, **options)


def texts(dataset: Any, side: str = "source") -> list[str]:
    return [codec().decode(dataset[index][side]) for index in range(len(dataset))]


def test_noise_does_not_depend_on_the_order_or_on_numpy_or_on_the_process() -> None:
    dataset = noisy()
    in_order = texts(dataset)
    backwards = [codec().decode(dataset[np.int64(index)]["source"]) for index in reversed(range(24))]
    assert backwards[::-1] == in_order
    assert texts(pickle.loads(pickle.dumps(dataset))) == in_order


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
    lengths = {
        longest: [len(row["source"]) for row in noisy(pair(["ab cd"] * 3), "insert", rate=1.0, longest=longest)]
        for longest in (None, 8, 7)
    }
    assert lengths == {None: [8] * 3, 8: [8] * 3, 7: [6] * 3}


def test_unknown_words_stay_unknown_and_are_left_alone() -> None:
    words = TextCodec(dictionary_of(["the", "quick", "fox"]))
    tokens = words.encode("the wug fox")
    assert words.decode(tokens) == f"the {UNKNOWN_CHAR} fox"
    assert words.encode(words.decode(tokens)).equal(tokens)
    for kind in ("random", "keyboard", "swap", "ocr", "split"):
        noisy_text = build_corruption(NoiseOptions(kind, word_rate=1.0, char_rate=1.0))(words.decode(tokens), 0)
        assert UNKNOWN_CHAR in noisy_text.split()


def test_bpe_and_tokenizer_are_undone_and_done_in_order() -> None:
    class Upper:
        encode, decode = staticmethod(str.upper), staticmethod(str.lower)

    dictionary = dictionary_of("ABC▁")
    words = TextCodec(dictionary, Characters(), Upper())
    assert dictionary.string(words.encode("ab c")) == "A B ▁ C"
    assert words.decode(words.encode("ab c")) == "ab c"


# ---- the flags -------------------------------------------------------------------------------------------------------

PLAIN: dict[str, Any] = {"noise_kind": "swap:2,keyboard", "noise_word_rate": 0.5, "noise_bpe": "chars"}


def config(**options: Any) -> TextCorrectionConfig:
    defaults = {"data": ".", "noise_bpe": None, "noise_tokenizer": None, "required_seq_len_multiple": 1}
    return TextCorrectionConfig(**{**defaults, **options})


def with_flags(codec: TextCodec, **options: Any) -> FairseqDataset:
    cfg = config(**{**PLAIN, **options})
    return noise_and_codec(pair(words=codec), cfg, codec.dictionary, codec.dictionary)[0]


def test_training_has_every_flag_of_the_command_with_its_type_and_default() -> None:
    command, training = ArgumentParser(), ArgumentParser()
    noise.add_arguments(command)
    gen_parser_from_dataclass(training, NoiseConfig())
    ours = {action.dest: action for action in training._actions}
    for flag in NOISE_FLAGS:
        theirs = next(action for action in command._actions if action.dest == flag.name)
        mine = ours[f"noise_{flag.name}"]
        assert mine.option_strings == [flag_name(f"noise_{flag.name}")]
        assert (mine.type, mine.default) == (theirs.type, theirs.default)
        assert mine.help is not None and " --word" not in mine.help
    assert [flag.name for flag in NOISE_FLAGS if flag.default is MISSING] == ["kind"]
    with_values = [flag_name(f"noise_{flag.name}") for flag in NOISE_FLAGS if flag.type is not bool]
    arguments = [part for name in with_values for part in (name, "1")]
    parsed = vars(training.parse_args(arguments))
    expected = {"kind": "1", "word_rate": 1.0, "char_rate": 1.0, "seed": 1, "layout": "1"}
    assert {name: parsed[f"noise_{name}"] for name in expected} == expected


def test_epochs_of_a_training_have_other_noise() -> None:
    """The batches stay, what is in them does not."""
    codec = TextCodec(dictionary_of(), Chars())
    task = TextCorrectionTask(config(**PLAIN), codec.dictionary, codec.dictionary)
    dataset = KeepLastBatch(with_flags(codec))
    sources = {}
    for epoch in (1, 2):
        batches = task.get_batch_iterator(dataset, max_sentences=4, seed=1, epoch=epoch)
        rows = {}
        for batch in batches.next_epoch_itr(shuffle=False):
            for index, row in zip(batch["id"].tolist(), batch["net_input"]["src_tokens"], strict=True):
                rows[index] = codec.decode(row[row != codec.dictionary.pad()])
        sources[epoch] = [rows[index] for index in range(len(TEXTS))]
    corrupt = build_corruption(NoiseOptions(PLAIN["noise_kind"], word_rate=0.5))
    for epoch, rows in sources.items():
        known = set("abcdefghijklmnopqrstuvwxyz ")
        noise = [corrupt(text, index, epoch) for index, text in enumerate(TEXTS)]
        assert rows == ["".join(letter if letter in known else UNKNOWN_CHAR for letter in text) for text in noise]


REFUSED = {
    "--noise-kind 'typos' is unknown": {"noise_kind": "typos"},
    "--noise-kind swap:2,keyboard needs --noise-word-rate, --noise-char-rate or both": {"noise_word_rate": None},
    "--noise-confusions FILE and the kind confusions go together": {"noise_kind": "confusions"},
    "--load-alignments cannot be used with --noise-kind": {"load_alignments": True},
    "27 symbols have the mark ▁ of pieces: give the --bpe that cut the text": {"noise_bpe": None},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items())
def test_what_is_refused(message: str, options: dict[str, Any]) -> None:
    pieces = (f"▁{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
    codec = TextCodec(dictionary_of([*pieces, "▁"] if "pieces" in message else "abcdefghijklmnopqrstuvwxyz▁"), Chars())
    with pytest.raises(UserError, match=message):
        with_flags(codec, **options)


def test_the_bpe_must_be_that_of_the_data() -> None:
    words = TextCodec(dictionary_of(" ".join(TEXTS).split()))
    with pytest.raises(UserError, match="24 of the first 24 targets change when they are joined and cut again"):
        with_flags(words)


@pytest.mark.parametrize("name", ["word_rate", "char_rate", "share", "layout", "seed"])
def test_a_flag_of_noise_wants_a_kind(name: str, tmp_path: Path) -> None:
    value: Any = "azerty" if name == "layout" else 0
    with pytest.raises(UserError, match=f"--noise-{name.replace('_', '-')} requires --noise-kind"):
        TextCorrectionTask.setup_task(config(data=str(tmp_path), **{f"noise_{name}": value}))
