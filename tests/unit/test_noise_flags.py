"""Noise in the training set of ``text_correction``: the data it makes, and what is refused before there is any."""

import itertools
from argparse import ArgumentParser
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import pytest
from fairseq.data import Dictionary, LanguagePairDataset
from fairseq.dataclass.utils import gen_parser_from_dataclass

from lev_plugins.cli import noise
from lev_plugins.data.noisy import UNKNOWN, NoiseConfig, TextCodec, with_noise
from lev_plugins.errors import UserError
from lev_plugins.fairseq_fixes.batching import EverySentence
from lev_plugins.noise import FLAGS, NoiseOptions, build_corruption
from lev_plugins.tasks.text_correction import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.text.tokenise import Chars
from tests.helpers import list_dataset

TEXTS = [f"the quick brown fox number {chr(97 + number)}" for number in range(12)]
PLAIN: dict[str, Any] = {"noise_kind": "swap:2,keyboard", "noise_word_rate": 0.5, "noise_bpe": "chars"}
BEGINNING = 9  # characters


def alphabet(symbols: str = "abcdefghijklmnopqrstuvwxyz▁") -> Dictionary:
    dictionary = Dictionary()
    for symbol in symbols:
        dictionary.add_symbol(symbol)
    return dictionary


def config(**options: Any) -> TextCorrectionConfig:
    defaults = {"data": ".", "noise_bpe": None, "noise_tokenizer": None, "required_seq_len_multiple": 1}
    return TextCorrectionConfig(**{**defaults, **options})


def pair(texts: list[str], codec: TextCodec) -> LanguagePairDataset:
    """Clean text as targets, and its beginnings as sources."""
    targets = [codec.encode(text).tolist() for text in texts]
    sources = [codec.encode(text[:BEGINNING]).tolist() for text in texts]
    rows = ((list_dataset(side), [len(row) for row in side], codec.dictionary) for side in (sources, targets))
    return LanguagePairDataset(*itertools.chain.from_iterable(rows))


def noisy(texts: list[str] = TEXTS, **options: Any) -> list[tuple[str, str]]:
    codec = TextCodec(alphabet(), Chars())
    dataset = with_noise(pair(texts, codec), config(**{**PLAIN, **options}), codec.dictionary, codec.dictionary)
    dataset.set_epoch(4)
    return [(codec.decode(row["source"]), codec.decode(row["target"])) for row in dataset]


def test_sources_are_the_noise_of_the_command() -> None:
    corrupt = build_corruption(NoiseOptions("swap", word_rate=0.5, seed=7))
    found = noisy(noise_kind="swap", noise_seed=7)
    assert found == [(corrupt(text, index, epoch=4), text) for index, text in enumerate(TEXTS)]
    assert all(source != target for source, target in found)


def as_typed(name: str) -> str:
    return f"--noise-{name}".replace("_", "-")


def test_training_has_every_flag_of_the_command_with_its_type_and_default() -> None:
    command, training = ArgumentParser(), ArgumentParser()
    noise.add_arguments(command)
    gen_parser_from_dataclass(training, NoiseConfig())
    ours = {action.dest: action for action in training._actions}
    for flag in FLAGS:
        theirs = next(action for action in command._actions if action.dest == flag.name)
        mine = ours[f"noise_{flag.name}"]
        assert mine.option_strings == [as_typed(flag.name)]
        assert (mine.type, mine.default) == (theirs.type, theirs.default)
        assert mine.help is not None and " --word" not in mine.help
    assert [flag.name for flag in FLAGS if flag.default is MISSING] == ["kind"]
    arguments = [part for flag in FLAGS if flag.type is not bool for part in (as_typed(flag.name), "1")]
    parsed = vars(training.parse_args(arguments))
    assert {name: parsed[f"noise_{name}"] for name in ("kind", "word_rate", "char_rate", "seed", "layout")} == {
        "kind": "1",
        "word_rate": 1.0,
        "char_rate": 1.0,
        "seed": 1,
        "layout": "1",
    }


def test_epochs_of_a_training_have_other_noise() -> None:
    """The batches stay, what is in them does not."""
    codec = TextCodec(alphabet(), Chars())
    task = TextCorrectionTask(config(**PLAIN), codec.dictionary, codec.dictionary)
    dataset = EverySentence(with_noise(pair(TEXTS, codec), task.cfg, codec.dictionary, codec.dictionary))
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
        assert rows == ["".join(letter if letter in known else UNKNOWN for letter in text) for text in noise]


def test_a_share_keeps_its_sources() -> None:
    found = noisy(TEXTS * 10, noise_share=0.5)
    kept = [source == target[:BEGINNING] for source, target in found]
    assert 30 < sum(kept) < 90
    assert all(len(source) > BEGINNING for (source, _), same in zip(found, kept, strict=True) if not same)


def test_a_table_of_confusions(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("characters\tbecome\trate\nqu\tkv\t1.0\n", encoding="utf-8")
    found = noisy(noise_kind="confusions", noise_word_rate=None, noise_confusions=str(table))
    assert found[0][0] == "the kvick brown fox number a"


REFUSED = {
    "--noise-kind 'typos' is unknown: choose from": {"noise_kind": "typos"},
    r"--noise-word-rate must be between 0 and 1, but is 1\.5": {"noise_word_rate": 1.5},
    r"--noise-char-rate must be between 0 and 1, but is -0\.1": {"noise_char_rate": -0.1},
    "--noise-kind keyboard needs --noise-word-rate, --noise-char-rate or both": {
        "noise_kind": "keyboard",
        "noise_word_rate": None,
    },
    "--noise-layout": {"noise_kind": "keyboard", "noise_layout": "no-such-layout"},
    "--noise-confusions FILE and the kind confusions go together": {"noise_kind": "confusions"},
    "--load-alignments cannot be used with --noise-kind": {"load_alignments": True},
    "27 symbols have the mark ▁ of pieces: give the --bpe that cut the text": {"noise_bpe": None},
}


@pytest.mark.parametrize(("message", "options"), REFUSED.items())
def test_what_is_refused(message: str, options: dict[str, Any]) -> None:
    codec = TextCodec(alphabet("abcdefghijklmnopqrstuvwxy▁z") if "pieces" not in message else pieces(), Chars())
    with pytest.raises(UserError, match=message):
        with_noise(pair(TEXTS, codec), config(**{**PLAIN, **options}), codec.dictionary, codec.dictionary)


def pieces() -> Dictionary:
    dictionary = alphabet("")
    for symbol in "abcdefghijklmnopqrstuvwxyz":
        dictionary.add_symbol(f"▁{symbol}")
    dictionary.add_symbol("▁")
    return dictionary


def test_the_bpe_must_be_that_of_the_data() -> None:
    words = TextCodec(Dictionary())
    for word in " ".join(TEXTS).split():
        words.dictionary.add_symbol(word)
    with pytest.raises(UserError, match="12 of the first 12 targets change when they are joined and cut again"):
        with_noise(pair(TEXTS, words), config(**PLAIN), words.dictionary, words.dictionary)


@pytest.mark.parametrize("name", ["word_rate", "char_rate", "share", "layout", "seed"])
def test_a_flag_of_noise_wants_a_kind(name: str, tmp_path: Path) -> None:
    value: Any = "azerty" if name == "layout" else 0
    with pytest.raises(UserError, match=f"--noise-{name.replace('_', '-')} requires --noise-kind"):
        TextCorrectionTask.setup_task(config(data=str(tmp_path), **{f"noise_{name}": value}))
