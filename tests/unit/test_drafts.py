"""Drafts that are typed, and the words that a dictionary prints."""

import pytest
import torch

from lev_plugins.data.words import PLACEHOLDER, EditingDictionary, UnknownWords
from lev_plugins.edits.requests import KEEP, SPAN
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    UNK,
    tensor_to_rows,
    toy_dictionary,
    toy_model,
    toy_task,
)
from tests.unit.test_text_correction import correction_task


@pytest.mark.parametrize("left", [True, False])
def test_typed_lines_reach_the_generator_as_source_and_draft(left: bool) -> None:
    """As ``fairseq-interactive`` calls the task: of a batch, it hands on these three tensors."""
    task = toy_task(left_pad_source=left)
    seen = {}

    class Recorder:
        def generate(self, models: object, sample: dict, **kwargs: object) -> list:
            assert kwargs == {"prefix_tokens": None, "constraints": None}
            seen.update(sample["net_input"])
            return []

    rows, lengths = task.get_interactive_tokens_and_lengths(["w1\tw3 ⟦!w5⟧", "w4 w6", "w2\t Zürich"], str.strip)
    assert lengths == [3, 4, 3]
    dataset = task.build_dataset_for_inference(rows, lengths)
    batch = dataset.collater([dataset[i] for i in range(3)])
    sample = {"net_input": {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}}
    task.inference_step(Recorder(), [], sample, constraints=batch["constraints"])
    assert batch["id"].tolist() == [1, 0, 2]
    short = [[PAD, BOS, 5, EOS], [PAD, BOS, 6, EOS]] if left else [[BOS, 5, EOS, PAD], [BOS, 6, EOS, PAD]]
    assert seen["src_tokens"].tolist() == [[BOS, 8, 10, EOS], *short]
    assert tensor_to_rows(seen["draft"]) == [[BOS, EOS], [BOS, 7, 9, EOS], [BOS, task.tgt_dict.size + 1, EOS]]
    assert seen["requests"].tolist() == [[0] * 4, [0, 0, KEEP + SPAN, 0], [0] * 4]


def test_nothing_of_lines_that_are_printed_is_kept() -> None:
    """``fairseq-interactive`` makes a dataset for each buffer, and asks for its batches."""
    correction = correction_task(required_seq_len_multiple=1)
    for line in ("w1 w2", "w3"):
        typed = correction.get_interactive_tokens_and_lengths([line], str.strip)
        dataset = correction.build_dataset_for_inference(*typed)
        assert len(correction.get_batch_iterator(dataset, max_sentences=1).next_epoch_itr()) == 1
    assert not correction.dataset_to_epoch_iter
    task = toy_task()
    for word in ("Zürich", "Genf"):
        dataset = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths([f"w1\t{word}"], str.strip))
        assert len(task.get_batch_iterator(dataset, max_sentences=1).next_epoch_itr()) == 1
        assert dataset.numbered.spelt == [word]
    assert not task.dataset_to_epoch_iter


def test_sources_alone_have_empty_drafts() -> None:
    """As ``from_pretrained`` of fairseq's models calls the task."""
    task = toy_task()
    dataset = task.build_dataset_for_inference([torch.tensor([5, 6, EOS])], [3])
    net_input = dataset.collater([dataset[0]])["net_input"]
    assert net_input["src_tokens"].tolist() == [[BOS, 5, 6, EOS]] and net_input["draft"].tolist() == [[BOS, EOS]]


def test_an_unknown_word_of_a_draft_is_printed_as_it_was_written() -> None:
    dictionary = toy_dictionary()
    words = UnknownWords(dictionary.size, UNK)
    rows = words.rows(dictionary.draft(["w1", "Zürich", "</s>", "<unk>", "Zürich"]))
    dictionary.printed = words.spelt
    assert dictionary.string(rows.int()) == "w1 Zürich </s> <unk> Zürich"
    assert dictionary.known(rows).tolist() == [BOS, 5, UNK, UNK, UNK, UNK, EOS]
    assert rows[2] == rows[5]
    assert len(dictionary) == len(toy_dictionary())


def test_a_loaded_dictionary_prints_the_placeholder_of_the_model(tmp_path: object) -> None:
    path = f"{tmp_path}/dict.txt"
    toy_dictionary().save(path)
    loaded = EditingDictionary.load(path)
    size = len(loaded)
    assert loaded[toy_model(toy_task(loaded)).placeholder] == PLACEHOLDER
    assert len(loaded) == size and PLACEHOLDER not in loaded.symbols
    assert loaded.string(torch.tensor([5, size, 6])) == f"w1 {PLACEHOLDER} w2"
    loaded.add_symbol("later")  # as fairseq-generate --remove-bpe does
    assert loaded[len(toy_dictionary())] == PLACEHOLDER
