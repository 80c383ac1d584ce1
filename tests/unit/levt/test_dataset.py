"""Batches of the editing data set, and what determines roll-ins."""

import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq.data import indexed_dataset

from lev_plugins.correction.task import TextCorrectionConfig, TextCorrectionTask
from lev_plugins.levt.dataset import RollIn, TextEditingDataset, as_spelt
from lev_plugins.levt.task import TextEditingConfig, TextEditingTask
from lev_plugins.utils.errors import UserError
from tests.helpers import (
    BOS,
    EOS,
    FIRST_WORD,
    PAD,
    PLACEHOLDER,
    collated,
    epochs_of,
    random_rows,
    slow_alignment,
    tensor_to_rows,
    toy_dataset,
    toy_dictionary,
    toy_task,
    with_placeholders,
)
from tests.unit.editor.test_editor import NOISY

COUNT = 12


def training_set(rollin: RollIn | None = None, drafts: bool = False, seed: int = 1) -> TextEditingDataset:
    return toy_dataset(
        random_rows(COUNT, seed, shortest=1),
        random_rows(COUNT, seed + 1, shortest=3),
        random_rows(COUNT, seed + 2, shortest=1) if drafts else None,
        rollin or RollIn(seed=1),
    )


def missing(dataset: TextEditingDataset, order: Iterable[int] = range(COUNT)) -> list[list[bool]]:
    return [dataset[i]["missing"].tolist() for i in order]


def test_a_rollin_depends_only_on_seed_epoch_and_index() -> None:
    dataset, rng_state = training_set(), torch.random.get_rng_state()
    epoch_1 = missing(dataset)
    assert torch.random.get_rng_state().equal(rng_state)
    assert missing(dataset, reversed(range(COUNT)))[::-1] == epoch_1
    worker = pickle.loads(pickle.dumps(dataset))  # as in a worker process
    torch.manual_seed(99)
    assert missing(worker) == epoch_1 != missing(training_set(RollIn(seed=2)))
    dataset.set_epoch(2)
    assert missing(dataset) != epoch_1
    dataset.set_epoch(1)
    assert missing(dataset) == epoch_1


def test_a_rollin_does_not_depend_on_the_batch() -> None:
    dataset = training_set()
    together = collated(dataset)
    kept_tokens = dict(
        zip(together["id"].tolist(), tensor_to_rows(together["net_input"]["states"]["kept_tokens"]), strict=True)
    )
    for i in range(COUNT):
        alone = collated(dataset, [i])
        assert tensor_to_rows(alone["net_input"]["states"]["kept_tokens"]) == [kept_tokens[i]]


def test_truncate_source_keeps_all_sources_within_the_limit() -> None:
    positions = {"max_source_positions": 6, "max_target_positions": 64}
    settings = {"source_lang": "noisy", "target_lang": "clean", "dataset_impl": None, "seed": 1}
    cfg = TextEditingConfig(data=str(NOISY), train_subset="test", truncate_source=True, **positions, **settings)
    cfg.required_seq_len_multiple = 1
    task = TextEditingTask.setup_task(cfg)
    task.load_dataset("test")
    dataset = task.datasets["test"]
    sizes = [len(dataset[index]["source"].ids) for index in range(len(dataset))]
    assert max(sizes) == 6 and all(int(dataset[index]["source"].ids[0]) == BOS for index in range(len(dataset)))
    indices = task.filter_indices_by_size(np.arange(len(dataset)), dataset, tuple(positions.values()))
    assert len(indices[0] if isinstance(indices, tuple) else indices) == len(dataset)


def test_worker_processes_draw_new_rollins_in_every_epoch() -> None:
    """fairseq keeps worker processes across epochs, so each must be notified of a new epoch."""

    def states(batch: dict[str, Any]) -> list[list[int]]:
        return tensor_to_rows(batch["net_input"]["states"]["kept_tokens"])

    alone = epochs_of(training_set(), states, workers=0)
    assert alone[0] != alone[1] != alone[2] != alone[0]
    assert epochs_of(training_set(), states, workers=2) == alone


def test_validation_rollins_are_the_same_in_every_epoch() -> None:
    dataset = training_set(RollIn(seed=1, alpha=0.5, beta=0.5, every_epoch=False), drafts=True)
    epochs = []
    for epoch in (1, 2, 7):
        dataset.set_epoch(epoch)
        epochs.append([str(dataset[i]) for i in range(COUNT)])
    assert epochs[0] == epochs[1] == epochs[2]


def share(name: str, rollin: RollIn) -> float:
    rows = [[BOS, 5, 6, EOS]] * 400
    dataset = toy_dataset(rows, rows, rows, rollin)
    return sum(dataset[i][name] for i in range(400)) / 400


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, 0.0, 0.0), (0.3, 0.2, 0.4), (1.0, 1.0, 1.0)])
def test_alpha_and_beta_are_shares_of_rollins_from_the_draft(value: float, low: float, high: float) -> None:
    assert low <= share("delete_from_draft", RollIn(seed=1, alpha=value, beta=0.5)) <= high
    assert low <= share("insert_into_draft", RollIn(seed=1, alpha=0.5, beta=value)) <= high


def test_an_empty_draft_is_no_rollin() -> None:
    rows = [[BOS, 5, 6, EOS]] * 5
    dataset = toy_dataset(rows, rows, [[BOS, EOS]] * 5, RollIn(seed=1, alpha=1.0, beta=1.0))
    assert not any(dataset[i]["delete_from_draft"] or dataset[i]["insert_into_draft"] for i in range(5))


def test_with_beta_1_insertion_starts_from_the_draft_words_that_the_target_has() -> None:
    net_input = collated(training_set(RollIn(seed=1, alpha=0.0, beta=1.0), drafts=True))["net_input"]
    kept_tokens = tensor_to_rows(net_input["states"]["kept_tokens"])
    sides = (tensor_to_rows(rows) for rows in (net_input["draft"], net_input["states"]["target"]))
    for draft, target, row in zip(*sides, kept_tokens, strict=True):
        in_target, _ = slow_alignment(draft, target)
        assert row == [token for token, keep in zip(draft, in_target, strict=True) if keep]


@pytest.mark.parametrize("drafts", [False, True])
def test_kept_tokens_counts_and_placeholders_of_a_batch_are_consistent(drafts: bool) -> None:
    net_input = collated(training_set(RollIn(seed=3, alpha=0.5, beta=0.5), drafts))["net_input"]
    states = net_input["states"]
    target, kept_tokens, counts = states["target"], states["kept_tokens"], states["missing_counts"]
    index = states["placeholder_index"]
    masked = torch.zeros_like(target).flatten().index_fill(0, index, 1).view_as(target).bool()
    assert target.shape == kept_tokens.shape and counts.shape == (COUNT, target.size(1) - 1)
    assert counts.sum(1).tolist() == masked.sum(1).tolist()
    assert with_placeholders(kept_tokens, counts, PLACEHOLDER).equal(target.masked_fill(masked, PLACEHOLDER))
    assert not masked[target.eq(PAD) | target.eq(BOS) | target.eq(EOS)].any()


def test_a_batch_contains_its_examples_sorted_by_source_length() -> None:
    dataset = training_set(drafts=True)
    batch = collated(dataset, (3, 0, 7))
    net_input, order = batch["net_input"], batch["id"].tolist()
    assert sorted(order) == [0, 3, 7]
    for row, index in enumerate(order):
        example = dataset[index]
        assert tensor_to_rows(net_input["src_tokens"])[row] == example["source"].ids.tolist()
        assert tensor_to_rows(net_input["states"]["target"])[row] == example["target"].tolist()
        assert tensor_to_rows(net_input["draft"])[row] == example["draft"].ids.tolist()
        assert tensor_to_rows(batch["target"])[row] == example["target"].tolist()[1:]
        assert bool(net_input["states"]["from_draft"][row]) == example["delete_from_draft"]
    assert batch["ntokens"] == sum(dataset[i]["target"].numel() for i in (3, 0, 7))
    assert batch["nsentences"] == 3
    lengths = net_input["src_lengths"].tolist()
    assert lengths == sorted(lengths, reverse=True)
    assert dataset.collater([]) == {}


@pytest.mark.parametrize("left_pad", [True, False])
def test_left_pad_source_pads_only_sources_on_the_left(left_pad: bool) -> None:
    rows = [[BOS, 5, EOS], [BOS, 5, 6, EOS]]
    net_input = collated(toy_dataset(rows, rows, rows, RollIn(seed=1), left_pad_source=left_pad))["net_input"]
    assert net_input["src_tokens"][1].tolist() == ([PAD, *rows[0]] if left_pad else [*rows[0], PAD])
    assert net_input["states"]["target"][1].tolist() == net_input["draft"][1].tolist() == [*rows[0], PAD]


def test_widths_can_be_padded_to_a_multiple() -> None:
    dataset = training_set(drafts=True)
    padded = TextEditingDataset(dataset.dataset, dataset.drafts, dataset.rollin, pad_to_multiple=8)
    net_input = collated(padded)["net_input"]
    states = net_input["states"]
    sides = (net_input["src_tokens"], net_input["draft"], states["target"], states["kept_tokens"])
    assert all(side.size(1) % 8 == 0 for side in sides)


@pytest.mark.parametrize("forced", [False, True])
def test_a_batch_without_targets_has_only_the_inputs_of_decoding(forced: bool) -> None:
    rows = random_rows(3, seed=1)
    batch = collated(toy_dataset(rows, None, rows, teacher_forcing=forced))
    assert set(batch["net_input"]) == {"src_tokens", "src_lengths", "draft"}
    assert batch["target"] is None and batch["ntokens"] == sum(len(row) for row in rows)


@pytest.mark.parametrize("drafts", [None, random_rows(5, seed=3, shortest=1)])
def test_teacher_forcing_batches_have_shifted_targets_and_drafts(drafts: list[list[int]] | None) -> None:
    sources, targets = random_rows(5, seed=1), random_rows(5, seed=2)
    batch = collated(toy_dataset(sources, targets, drafts, teacher_forcing=True), (3, 0, 4))
    net_input = batch["net_input"]
    names = {"src_tokens", "src_lengths", "prev_output_tokens"}
    assert set(net_input) == (names if drafts is None else {*names, "draft"})
    for row, index in enumerate(batch["id"].tolist()):
        assert tensor_to_rows(batch["target"])[row] == targets[index][1:]
        assert tensor_to_rows(net_input["prev_output_tokens"])[row] == [EOS, *targets[index][1:-1]]
        assert tensor_to_rows(net_input["src_tokens"])[row] == sources[index]
        if drafts is not None:
            assert tensor_to_rows(net_input["draft"])[row] == drafts[index]
    assert batch["ntokens"] == sum(len(targets[i]) - 1 for i in (3, 0, 4))


@pytest.mark.parametrize("targets", [True, False])
@pytest.mark.parametrize("reads_drafts", [True, False])
def test_drafts_are_limited_by_the_positions_of_the_side_that_reads_them(reads_drafts: bool, targets: bool) -> None:
    short, long = [BOS, 5, EOS], [BOS, *range(4, 12), EOS]
    dataset = toy_dataset(
        [short, long, short, short],
        [short, short, long, short] if targets else None,
        [short, short, short, long],
        teacher_forcing=reads_drafts,
    )

    def remaining(source: int, target: int) -> list[int]:
        return dataset.filter_indices_by_size(np.arange(4), (source, target))[0].tolist()

    assert remaining(10, 10) == [0, 1, 2, 3]
    assert remaining(9, 10) == ([0, 2] if reads_drafts else [0, 2, 3])
    if targets:
        assert remaining(10, 9) == ([0, 1, 3] if reads_drafts else [0, 1])
        assert [dataset.num_tokens(i) for i in range(4)] == [3, 10, 10, 10]


@pytest.mark.parametrize("size", [1, 5, 8, 16])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 19, 24])
def test_batches_contain_every_sentence_once(count: int, size: int) -> None:
    rows = random_rows(24, seed=1)
    dataset = toy_dataset(rows, rows)
    indices = dataset.ordered_indices()[:count]
    batches = dataset.batch_by_size(indices, max_sentences=size, required_batch_size_multiple=8)
    assert [index for batch in batches for index in batch] == indices.tolist()
    assert all(len(batch) <= size for batch in batches)


# ---- drafts of a training set in several parts, which fairseq concatenates and repeats -------------------------------


VOCABULARY_SIZE = 200


def write_side(folder: Path, part: str, side: str, words: list[list[int]], languages: str = "source-target") -> None:
    prefix = folder / f"{part}.{languages}.{side}"
    builder = indexed_dataset.make_builder(f"{prefix}.bin", impl="mmap", vocab_size=VOCABULARY_SIZE + FIRST_WORD)
    for row in words:
        builder.add_item(torch.tensor([*(word + FIRST_WORD for word in row), EOS]))
    builder.finalize(f"{prefix}.idx")


def write_part(folder: Path, part: str, numbers: range, drafts: bool = True, **options: str) -> None:
    """Writes the pairs (word n, word n + 50) and as draft the word n + 100, n % 10 times."""
    write_side(folder, part, "source", [[n] for n in numbers], **options)
    write_side(folder, part, "target", [[n + 50] for n in numbers], **options)
    if drafts:
        write_side(folder, part, "mt", [[n + 100] * (n % 10) for n in numbers], "mt-target")


def load(folder: Path, combine: bool = True, upsample: int = 3, split: str = "train") -> TextEditingDataset:
    task = toy_task(toy_dictionary(VOCABULARY_SIZE), data=str(folder), draft_lang="mt", upsample_primary=upsample)
    task.load_dataset(split, combine=combine)
    return task.datasets[split]


def triples(dataset: TextEditingDataset) -> list[tuple[int, list[int], int]]:
    """Returns (source, draft, target) of each example, as words."""
    words_of_examples = []
    for example in (dataset[i] for i in range(len(dataset))):
        rows = [as_spelt(example[side]).ids.tolist() for side in ("source", "draft", "target")]
        assert all(row[0] == BOS and row[-1] == EOS for row in rows)
        source, draft, target = ([token - FIRST_WORD for token in row[1:-1]] for row in rows)
        words_of_examples.append((source[0], draft, target[0]))
    return words_of_examples


def test_upsampled_sources_have_their_drafts(tmp_path: Path) -> None:
    for part, numbers in (("train", range(0, 5)), ("train1", range(10, 17)), ("train2", range(20, 22))):
        write_part(tmp_path, part, numbers)
    dataset = load(tmp_path)
    assert [source for source, _, _ in triples(dataset)] == [*range(5)] * 3 + [*range(10, 17), 20, 21]
    for index, (source, draft, target) in enumerate(triples(dataset)):
        assert draft == [source + 100] * (source % 10) and target == source + 50
        assert dataset.dataset.tgt_sizes[index] == max(1, source % 10) + 2  # fairseq batches by these


def test_a_part_without_drafts_has_empty_drafts(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(1, 4))
    write_part(tmp_path, "train1", range(11, 14), drafts=False)
    examples = triples(load(tmp_path, upsample=2))
    assert [(source, len(draft)) for source, draft, _ in examples] == [(1, 1), (2, 2), (3, 3)] * 2 + [
        (11, 0), (12, 0), (13, 0)
    ]  # fmt: skip


@pytest.mark.parametrize(("combine", "upsample", "size"), [(True, -1, 12), (True, 1, 12), (False, 3, 5)])
def test_only_combined_parts_are_loaded_and_upsampled(tmp_path: Path, combine: bool, upsample: int, size: int) -> None:
    write_part(tmp_path, "train", range(5))
    write_part(tmp_path, "train1", range(10, 17))
    assert len(triples(load(tmp_path, combine, upsample))) == size


def test_drafts_are_loaded_for_files_named_target_source(tmp_path: Path) -> None:
    write_part(tmp_path, "train", range(1, 4), languages="target-source")
    assert [draft for _, draft, _ in triples(load(tmp_path))] == [[101], [102, 102], [103] * 3]


def test_a_part_with_more_drafts_than_sources_is_refused(tmp_path: Path) -> None:
    """Here the totals of both parts agree, so only a check of each part notices the shift."""
    for part, drafts in (("train", 4), ("train1", 2)):
        write_part(tmp_path, part, range(3), drafts=False)
        write_side(tmp_path, part, "mt", [[1]] * drafts, "mt-target")
    with pytest.raises(UserError, match=r"train .*3 .*4"):
        load(tmp_path)


@pytest.mark.parametrize("value", [0, -2])
@pytest.mark.parametrize(
    "task, config", [(TextEditingTask, TextEditingConfig), (TextCorrectionTask, TextCorrectionConfig)]
)
def test_upsample_primary_below_1_is_refused(tmp_path: Path, task: Any, config: Any, value: int) -> None:
    with pytest.raises(UserError, match=f"--upsample-primary .*1.*{value}"):
        task.check_config(config(data=str(tmp_path), upsample_primary=value, eval_bleu_args="{}"))


def test_languages_are_inferred_from_the_pair_and_not_from_the_drafts(tmp_path: Path) -> None:
    """The pair that has both sides is used without --source-lang and --target-lang."""
    write_part(tmp_path, "train", range(3))
    for side in ("source", "target"):
        toy_dictionary(VOCABULARY_SIZE).save(str(tmp_path / f"dict.{side}.txt"))
    assert sorted(path.name for path in tmp_path.glob("train*"))[0] == "train.mt-target.mt.bin"
    task = TextEditingTask.setup_task(TextEditingConfig(data=str(tmp_path)))
    assert (task.cfg.source_lang, task.cfg.target_lang) == ("source", "target")
