"""Drafts follow the parts of a training set that fairseq strings together and repeats."""

from pathlib import Path

import pytest
import torch
from fairseq.data import indexed_dataset

from lev_plugins.data.drafts.dataset import TextEditingDataset, as_spelt
from lev_plugins.errors import UserError
from lev_plugins.tasks.text_editing import TextEditingConfig, TextEditingTask
from tests.helpers import BOS, EOS, FIRST_WORD, toy_dictionary, toy_task

WORDS = 200


def write(folder: Path, part: str, side: str, words: list[list[int]], languages: str = "source-target") -> None:
    prefix = folder / f"{part}.{languages}.{side}"
    builder = indexed_dataset.make_builder(f"{prefix}.bin", impl="mmap", vocab_size=WORDS + FIRST_WORD)
    for row in words:
        builder.add_item(torch.tensor([*(word + FIRST_WORD for word in row), EOS]))
    builder.finalize(f"{prefix}.idx")


def write_part(folder: Path, part: str, numbers: range, drafts: bool = True, **options: str) -> None:
    """Sentence n is the word n, its draft the word n + 100 as often as n has units, its target n + 50."""
    write(folder, part, "source", [[n] for n in numbers], **options)
    write(folder, part, "target", [[n + 50] for n in numbers], **options)
    if drafts:
        write(folder, part, "mt", [[n + 100] * (n % 10) for n in numbers], "mt-target")


def load(folder: Path, combine: bool = True, upsample: int = 3, split: str = "train") -> TextEditingDataset:
    task = toy_task(toy_dictionary(WORDS), data=str(folder), draft_lang="mt", upsample_primary=upsample)
    task.cfg.train_subset, task.cfg.dataset_impl, task.cfg.required_seq_len_multiple = "train", None, 1
    task.load_dataset(split, combine=combine)
    return task.datasets[split]


def triples(dataset: TextEditingDataset) -> list[tuple[int, list[int], int]]:
    """(source, draft, target) of each example, as words."""
    found = []
    for example in (dataset[i] for i in range(len(dataset))):
        rows = [as_spelt(example[side]).ids.tolist() for side in ("source", "draft", "target")]
        assert all(row[0] == BOS and row[-1] == EOS for row in rows)
        source, draft, target = ([token - FIRST_WORD for token in row[1:-1]] for row in rows)
        found.append((source[0], draft, target[0]))
    return found


def test_an_upsampled_draft_belongs_to_its_source(tmp_path: Path) -> None:
    for part, numbers in (("train", range(0, 5)), ("train1", range(10, 17)), ("train2", range(20, 22))):
        write_part(tmp_path, part, numbers)
    dataset = load(tmp_path)
    assert [source for source, _, _ in triples(dataset)] == [*range(5)] * 3 + [*range(10, 17), 20, 21]
    for index, (source, draft, target) in enumerate(triples(dataset)):
        assert draft == [source + 100] * (source % 10) and target == source + 50
        assert dataset.dataset.tgt_sizes[index] == max(1, source % 10) + 2  # what batches are made by


def test_a_part_without_drafts_starts_from_nothing(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(1, 4))
    write_part(tmp_path, "train1", range(11, 14), drafts=False)
    found = triples(load(tmp_path, upsample=2))
    assert [(source, len(draft)) for source, draft, _ in found] == [(1, 1), (2, 2), (3, 3)] * 2 + [
        (11, 0), (12, 0), (13, 0)
    ]  # fmt: skip


def test_the_first_part_may_be_the_one_without_drafts(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(1, 3), drafts=False)
    write_part(tmp_path, "train1", range(11, 13))
    assert [draft for _, draft, _ in triples(load(tmp_path, upsample=2))] == [[]] * 4 + [[111], [112, 112]]


@pytest.mark.parametrize(("combine", "upsample", "size"), [(True, -1, 12), (True, 1, 12), (False, 3, 5)])
def test_sizes(tmp_path: Path, combine: bool, upsample: int, size: int) -> None:
    write_part(tmp_path, "train", range(5))
    write_part(tmp_path, "train1", range(10, 17))
    assert len(triples(load(tmp_path, combine, upsample))) == size


def test_a_pair_may_lie_under_the_other_order_of_its_languages(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(1, 4), languages="target-source")
    assert [draft for _, draft, _ in triples(load(tmp_path))] == [[101], [102, 102], [103] * 3]


def test_drafts_that_are_nowhere_are_missed(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(3), drafts=False)
    write_part(tmp_path, "train1", range(3), drafts=False)
    with pytest.raises(UserError, match=r"--draft-lang mt: there is no file .*/train\.mt-target\.mt\.bin"):
        load(tmp_path)


def test_each_part_has_as_many_drafts_as_sources(tmp_path: Path) -> None:
    """The sums agree, and everything after the first part would be off by one."""
    for part, drafts in (("train", 4), ("train1", 2)):
        write_part(tmp_path, part, range(3), drafts=False)
        write(tmp_path, part, "mt", [[1]] * drafts, "mt-target")
    with pytest.raises(UserError, match="but train has 3 source lines and 4 drafts"):
        load(tmp_path)


@pytest.mark.parametrize(("words", "fits"), [(WORDS, True), (WORDS - 1, False)])
def test_drafts_of_another_dictionary_are_refused(tmp_path: Path, words: int, fits: bool) -> None:
    write_part(tmp_path, "train", range(3))
    toy_dictionary(words).save(str(tmp_path / "dict.mt.txt"))
    if fits:
        assert len(load(tmp_path)) == 3
        return
    with pytest.raises(UserError, match=r"drafts were binarised with .*dict\.mt\.txt, but .* dict\.target\.txt"):
        load(tmp_path)


@pytest.mark.parametrize("value", [0, -2])
def test_upsampling_by_nothing_is_refused(tmp_path: Path, value: int) -> None:
    cfg = toy_task(data=str(tmp_path), upsample_primary=value).cfg
    with pytest.raises(UserError, match=f"--upsample-primary must be at least 1, but is {value}"):
        TextEditingTask.check_config(cfg)


def test_drafts_are_not_taken_for_the_source(tmp_path: Path) -> None:
    """Left out, --source-lang and --target-lang are the pair that has both its sides."""
    write_part(tmp_path, "train", range(3))
    for side in ("source", "target"):
        toy_dictionary(WORDS).save(str(tmp_path / f"dict.{side}.txt"))
    assert sorted(path.name for path in tmp_path.glob("train*"))[0] == "train.mt-target.mt.bin"
    task = TextEditingTask.setup_task(TextEditingConfig(data=str(tmp_path)))
    assert (task.cfg.source_lang, task.cfg.target_lang) == ("source", "target")
