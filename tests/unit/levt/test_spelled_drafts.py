"""Batches of drafts whose unknown words keep their spelling, from noise or from real drafts."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from lev_plugins.cli.main import main
from lev_plugins.edits.batch_words import PLACEHOLDER, EditingDictionary
from lev_plugins.levt.dataset import RollIn, TextEditingDataset
from lev_plugins.text.tokenise import Words
from lev_plugins.training.noisy import NoisyWords, noise_and_codec
from lev_plugins.utils.errors import UserError
from tests.helpers import PAD, collated, thorough, toy_config, toy_pairs, toy_task, write_lines
from tests.spelling import CLEAN_SENTENCES, UNKNOWN_ID, dictionary, index_of, noisy_dataset


@thorough
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=12))
def test_bpe_words_decodes_to_the_text(text: str) -> None:
    plain = " ".join(text.replace("▁", "").split())
    assert Words().decode(Words().encode(plain)) == plain


def spelled_words(batch: dict[str, Any], side: str, words: EditingDictionary | None = None) -> dict[int, list[str]]:
    """Returns the words of each example of a batch, with the spelling of unknown ones, by example."""
    words = words or dictionary()
    symbols = [*words.symbols, PLACEHOLDER, *batch["unknown_words"]]
    rows = zip(batch["id"].tolist(), batch["net_input"][side].tolist(), strict=True)
    return {number: [symbols[i] for i in row if i not in (0, 1, 2)] for number, row in rows}


def test_noisy_targets_are_sources_and_drafts_with_spelled_unknown_words() -> None:
    dataset = noisy_dataset()
    batch = collated(dataset)
    sources, drafts = spelled_words(batch, "src_tokens"), spelled_words(batch, "draft")
    assert sources == drafts and len(batch["unknown_words"]) == len(batch["net_input"]["words"]["shapes"]) > 0
    noise = dataset.noise
    assert noise is not None
    assert [sources[i] for i in range(len(CLEAN_SENTENCES))] == [noise(i, 1) for i in range(len(CLEAN_SENTENCES))]


def test_sources_without_noise_are_their_own_drafts() -> None:
    """A source has no noise because of --noise-share, or because it would be too long."""
    words = dictionary()
    targets = [[words.bos(), *(words.index(word) for word in row), words.eos()] for row in CLEAN_SENTENCES]
    sources = [[words.bos(), words.index("▁form"), words.eos()] for _ in CLEAN_SENTENCES]
    for share, longest in ((0.5, 20), (1.0, 7)):
        pair = toy_pairs(sources, targets, words)
        cfg = toy_task(words, noise_kind="insert", noise_word_rate=1.0, noise_share=share, noise_bpe="words").cfg
        cfg.noise_tokenizer = None
        noise = NoisyWords(*noise_and_codec(pair, cfg, words, words), longest, pair.tgt)
        dataset = TextEditingDataset(pair, None, RollIn(1), noise=noise)
        examples = [dataset[i] for i in range(len(CLEAN_SENTENCES))]
        is_clean = [example["source"].ids.tolist() == source for example, source in zip(examples, sources, strict=True)]
        # of the two sentences, of 8 and 7 tokens with boundaries, only the second one may get noise in 7
        assert 0 < sum(is_clean) < len(CLEAN_SENTENCES) if share < 1 else is_clean == [True, False] * 3
        assert all(example["draft"] is example["source"] for example in examples)


def test_noise_with_two_dictionaries_is_refused() -> None:
    target_dictionary = dictionary()
    target_dictionary.add_symbol("▁fourth")
    task = toy_task(dictionary(), target_dictionary, noise_kind="insert", noise_word_rate=1.0)
    with pytest.raises(UserError, match=r"--noise-kind .*one dictionary"):
        task.build_model(OmegaConf.structured(toy_config(_name="levt")))


def test_missing_words_have_the_draft_word_that_they_replace() -> None:
    states = collated(noisy_dataset())["net_input"]["states"]
    placeholders = states["placeholder_index"]
    replaced = states["replaced"].flatten()
    assert (
        len(placeholders) and replaced[placeholders].ge(UNKNOWN_ID).float().mean() > 0.8
    )  # a slip may make another known word
    rest = torch.ones_like(replaced, dtype=torch.bool).index_fill(0, placeholders, False)
    assert replaced[rest].eq(PAD).all()
    assert states["removed"].ne(PAD).sum() <= len(placeholders)
    slots = states["missing_counts"]  # this noise neither splits nor joins words
    assert torch.equal(states["removed_counts"][:, : slots.size(1)], slots)


CLEAN_LINES = ["the value of the function .", "the function form .", "a value from the form ."] * 4
NOISY_LINES = ["teh value of the fucntion .", "the function form .", "a vlaue from the forn ."] * 4


@pytest.fixture(scope="module")
def real_drafts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    for side, lines in (("src", NOISY_LINES), ("draft", NOISY_LINES), ("tgt", CLEAN_LINES)):
        write_lines(folder / f"train.{side}", lines)
    flags = ["--joined-dictionary", "--clean-dictionary", "--bpe", "words", "--train-prefix", str(folder / "train")]
    assert main(["prepare", "-s", "src", "-d", "draft", "-t", "tgt", *flags, "--dest", str(folder / "data")]) == 0
    return folder / "data"


def dataset_of(folder: Path, **options: Any) -> TextEditingDataset:
    words = EditingDictionary.load(str(folder / "dict.tgt.txt"))
    languages = {"source_lang": "src", "target_lang": "tgt", "draft_lang": "draft"}
    task = toy_task(words, data=str(folder), **languages, **options)
    task.word_index = index_of(words)
    task.load_dataset("train")
    return task.datasets["train"]


def drafts_and_sources(dataset: TextEditingDataset) -> list[tuple[list[str], list[str]]]:
    """Returns the words of draft and source of each example."""
    batch = collated(dataset)
    drafts, sources = (spelled_words(batch, side, dataset.dataset.tgt_dict) for side in ("draft", "src_tokens"))
    return [(drafts[i], sources[i]) for i in range(len(dataset))]


def words_of_line(line: str) -> list[str]:
    return Words().encode(line).split()


def test_draft_words_that_no_target_has_are_spelled_unknown_words(real_drafts: Path) -> None:
    words = EditingDictionary.load(str(real_drafts / "dict.tgt.txt"))
    assert "▁vlaue" not in words.indices and words.count[words.index("▁value")] == 8
    rows = drafts_and_sources(dataset_of(real_drafts))
    assert [draft for draft, _ in rows] == [source for _, source in rows] == list(map(words_of_line, NOISY_LINES))


def test_draft_words_that_srcdict_lacks_are_in_the_notes(
    real_drafts: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    flags = ["--joined-dictionary", "--srcdict", str(real_drafts / "dict.tgt.txt"), "--bpe", "words", "--train-prefix"]
    flags += [str(real_drafts.parent / "train"), "--dest", str(tmp_path / "data")]
    assert main(["prepare", "-s", "src", "-d", "draft", "-t", "tgt", *flags]) == 0
    assert "train: 0 with marks, 8 with unknown words" in capsys.readouterr().out
    notes = "train.draft-tgt.draft.notes.jsonl"
    assert "vlaue" in (real_drafts / notes).read_text("utf-8")
    assert (tmp_path / "data" / notes).read_bytes() == (real_drafts / notes).read_bytes()


def test_noise_share_keeps_real_drafts_in_the_rest_of_the_examples(real_drafts: Path) -> None:
    noise = {"noise_kind": "insert", "noise_word_rate": 1.0, "noise_bpe": "words", "noise_tokenizer": None}
    rows = drafts_and_sources(dataset_of(real_drafts, noise_share=0.5, **noise))
    real = [draft == words_of_line(line) for (draft, _), line in zip(rows, NOISY_LINES, strict=True)]
    assert 0 < sum(real) < len(real)
    assert all(draft == source for draft, source in rows)
    dataset = dataset_of(real_drafts, noise_share=0.5, **noise)
    dataset.set_epoch(2)
    assert [draft for draft, _ in drafts_and_sources(dataset)] != [draft for draft, _ in rows]
