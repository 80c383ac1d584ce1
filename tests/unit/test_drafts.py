"""A draft's way through one row of source tokens."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.data.drafts import packing as drafts
from lev_plugins.data.drafts.dictionary import PLACEHOLDER, EditingDictionary
from lev_plugins.edits.requests import KEEP, SPAN
from lev_plugins.errors import UserError
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    UNK,
    rows_to_tensor,
    tensor_to_rows,
    thorough,
    toy_dictionary,
    toy_model,
    toy_task,
)

words = st.lists(st.integers(4, 23), max_size=6)


def test_a_line_without_tab_has_no_draft() -> None:
    assert drafts.split_line("ein Haus") == ("ein Haus", None)


def test_a_line_with_a_tab_has_a_draft_even_if_empty() -> None:
    assert drafts.split_line("ein Haus\t") == ("ein Haus", "")


def test_a_second_tab_is_refused() -> None:
    with pytest.raises(UserError, match=r"`source<TAB>draft`, but this one has 2 TABs: 'a\\tb\\tc'"):
        drafts.split_line("a\tb\tc")


def packed(words: list[int]) -> list[int]:
    return drafts.pack(torch.tensor([BOS, *words, EOS]), torch.zeros(len(words) + 2, dtype=torch.long)).tolist()


def unpacked_rows(draft: torch.Tensor) -> list[list[int]]:
    return tensor_to_rows(drafts.unpack(draft)[0])


@thorough
@given(st.lists(st.tuples(words, st.none() | words), min_size=1, max_size=4), st.booleans())
def test_what_travels_together_is_split_again(pairs: list[tuple[list[int], list[int] | None]], left: bool) -> None:
    joined = [[BOS, *source, EOS, *([] if draft is None else packed(draft))] for source, draft in pairs]
    batch = rows_to_tensor([row[::-1] for row in joined]).flip(1) if left else rows_to_tensor(joined)
    sources, found = drafts.split(batch, BOS, EOS, PAD, left)
    assert tensor_to_rows(sources) == [[BOS, *source, EOS] for source, _ in pairs]
    if all(draft is None for _, draft in pairs):
        assert found is None
    else:
        assert found is not None
        assert unpacked_rows(found) == [[BOS, *(draft or []), EOS] for _, draft in pairs]


@thorough
@given(st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**20)), min_size=1))
def test_ids_and_requests_are_packed_without_loss(pairs: list[tuple[int, int]]) -> None:
    ids, asked = torch.tensor(pairs).T
    together = drafts.pack(ids, asked)
    assert bool(drafts.is_packed(together).all()) and not bool(drafts.is_packed(ids).any())
    assert [part.tolist() for part in drafts.unpack(together)] == [ids.tolist(), asked.tolist()]


def test_sources_are_padded_on_the_side_they_came() -> None:
    row, short = [BOS, 5, 6, EOS, *packed([7])], [BOS, 5, EOS]
    batch = torch.tensor([row, [PAD] * 4 + short])
    sources, found = drafts.split(batch, BOS, EOS, PAD, left_pad=True)
    assert sources.tolist() == [[BOS, 5, 6, EOS], [PAD, BOS, 5, EOS]]
    assert found is not None and drafts.unpack(found)[0].tolist() == [[BOS, 7, EOS], [BOS, EOS, PAD]]


def test_interactive_lines_reach_the_generator_as_source_and_draft() -> None:
    task = toy_task()
    seen = {}

    class Recorder:
        def generate(self, models: object, sample: dict, **kwargs: object) -> list:
            seen.update(sample["net_input"])
            return []

    rows, lengths = task.get_interactive_tokens_and_lengths(["w1 w2\tw3 ⟦!w5⟧", "w4"], lambda line: line)
    assert lengths == [4, 3]
    dataset = task.build_dataset_for_inference(rows, lengths)
    task.inference_step(Recorder(), [], dataset.collater([dataset[0], dataset[1]]))
    assert tensor_to_rows(seen["src_tokens"]) == [[BOS, 5, 6, EOS], [BOS, 8, EOS]]
    assert tensor_to_rows(seen["draft"]) == [[BOS, 7, 9, EOS], [BOS, EOS]]
    assert seen["requests"].tolist() == [[0, 0, KEEP + SPAN, 0], [0, 0, 0, 0]]


def test_the_source_line_is_printed_without_the_draft_that_travels_with_it() -> None:
    task = toy_task()
    rows, lengths = task.get_interactive_tokens_and_lengths(["w1 w2\tw3"], lambda line: line)
    row = task.build_dataset_for_inference(rows, lengths)[0]["source"]
    assert task.src_dict.string(row) == "w1 w2"


def test_an_unknown_word_of_a_draft_is_printed_as_it_was_written() -> None:
    dictionary = toy_dictionary()
    ids = dictionary.ids(["w1", "Zürich", "</s>", "<unk>", "Zürich"])
    assert dictionary.string(torch.tensor([BOS, *ids, EOS]).int()) == "w1 Zürich </s> <unk> Zürich"
    assert dictionary.known(torch.tensor(ids)).tolist() == [5, UNK, UNK, UNK, UNK]
    assert ids[1] == ids[4]
    assert len(dictionary) == len(toy_dictionary())


def test_the_placeholder_has_a_name_and_is_no_entry() -> None:
    dictionary = toy_dictionary()
    size = len(dictionary)
    assert dictionary[size] == PLACEHOLDER
    assert len(dictionary) == size and PLACEHOLDER not in dictionary.symbols
    assert dictionary.string(torch.tensor([5, size, 6])) == f"w1 {PLACEHOLDER} w2"


def test_a_loaded_dictionary_prints_the_placeholder_of_the_model(tmp_path: object) -> None:
    path = f"{tmp_path}/dict.txt"
    toy_dictionary().save(path)
    loaded = EditingDictionary.load(path)
    assert loaded[toy_model(toy_task(loaded)).placeholder] == PLACEHOLDER
    loaded.add_symbol("later")  # as fairseq-generate --remove-bpe does
    assert loaded[len(toy_dictionary())] == PLACEHOLDER
