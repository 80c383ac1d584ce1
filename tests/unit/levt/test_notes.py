"""Notes files of binarised drafts, which store marks and unknown words, and lines typed in ``fairseq-interactive``."""

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary, FairseqDataset

from lev_plugins.cli.main import main
from lev_plugins.edits.batch_words import PLACEHOLDER, EditingDictionary
from lev_plugins.levt import notes
from lev_plugins.levt.task import TextEditingTask
from lev_plugins.text import marks
from lev_plugins.text.mark_bits import INSERT, KEEP, SPAN
from lev_plugins.text.tokenise import Tokeniser
from lev_plugins.training.batch import Batch
from lev_plugins.utils.errors import UserError
from tests import spelling as spelled
from tests.helpers import (
    BOS,
    EOS,
    PAD,
    UNK,
    Refusal,
    collated,
    list_dataset,
    lively_model,
    mentions,
    tensor_to_rows,
    toy_criterion,
    toy_dictionary,
    toy_model,
    toy_post_editor,
    toy_task,
)
from tests.unit.correction.test_task import correction_task

PHRASE = ["ein", "hund", "läuft", "über", "die", "wiese"]
MARKED_DRAFTS = [
    "ein hund läuft",
    "ein ⟦!hund läuft⟧ über",
    "  ⟦+⟧ ein Zürich hund ⟦+⟧ ",
    "Zürich",
    "",
    "⟦+⟧",
    "⟦~die wi⟧ese ⟦-über⟧ <unk> hund⟦+⟧",
    "\\⟦ein\\⟧ \\⟦!hund\\⟧ läuft",
    "ein⟦! hund läuft ⟧⟦-über⟧",
    "[0, n⟧ ist kein ⟦ Zeichen",
]


@pytest.fixture()
def text(tmp_path: Path) -> Path:
    folder = tmp_path / "text"
    folder.mkdir()
    for part, lines in (("train", [" ".join(PHRASE), *PHRASE] * 20), ("test", [" ".join(PHRASE)] * len(MARKED_DRAFTS))):
        for side in ("en", "de", "mt"):
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / "test.mt").write_text("".join(f"{line}\n" for line in MARKED_DRAFTS), "utf-8")
    return folder


PREPARE_FLAGS: dict[str, list[object]] = {
    "words": [],
    "characters": ["--bpe", "characters", "--workers", 2],
    "sentencepiece": ["--learn-sentencepiece", 24],
}


def prepare_drafts_command(text: Path, *flags: object) -> list[object]:
    words = ["prepare", "-s", "en", "-t", "de", "-d", "mt", "--train-prefix", text / "train", "--joined-dictionary"]
    return [*words, "--test-prefix", text / "test", "--dest", text.parent / "data", *flags]


def prepare_drafts(text: Path, *flags: object) -> int:
    return main([str(word) for word in prepare_drafts_command(text, *flags)])


def editing_task_of(text: Path) -> TextEditingTask:
    data = text.parent / "data"
    source, target = (EditingDictionary.load(str(data / f"dict.{side}.txt")) for side in ("en", "de"))
    return toy_task(source, target, data=str(data), source_lang="en", target_lang="de", draft_lang="mt")


def test_a_dictionary_can_be_made_with_the_arguments_of_fairseq_0_12_2(monkeypatch: pytest.MonkeyPatch) -> None:
    today = Dictionary.__init__

    def without_add_special_symbols(self: Dictionary, *, bos: str = "<s>", pad: str = "<pad>") -> None:
        today(self, bos=bos, pad=pad)

    monkeypatch.setattr(Dictionary, "__init__", without_add_special_symbols)
    assert len(EditingDictionary()) == 4


def loaded(task: TextEditingTask, split: str = "test") -> Any:
    task.load_dataset(split)
    return task.datasets[split]


def tokeniser(text: Path, bpe: str) -> Tokeniser:
    model = str(text.parent / "data" / "sentencepiece.model")
    options = {"sentencepiece_model": model} if bpe == "sentencepiece" else {}
    return Tokeniser(None if bpe == "words" else Namespace(bpe=bpe, **options))


class Recorder:
    def generate(self, models: object, sample: dict[str, Any], **kwargs: object) -> list:
        self.sample, self.options = sample, kwargs
        return []


def typed_tensors(task: TextEditingTask, lines: list[str], encode: Callable[[str], str] = str.strip) -> dict[str, Any]:
    """Returns the tensors that ``fairseq-interactive`` passes to the task for typed lines."""
    dataset = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths(lines, encode))
    batch = collated(dataset)
    net_input = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    return {"sample": {"net_input": net_input}, "constraints": batch["constraints"], "id": batch["id"]}


def decoded_rows(
    task: TextEditingTask, id: torch.Tensor, sample: Batch, constraints: torch.Tensor | None = None
) -> list[tuple[list[int], str, list[int]]]:
    """Returns the source, the text of the draft and the marks of each sentence as the generator receives them."""
    recorder = Recorder()
    task.inference_step(recorder, [], sample, constraints=constraints)
    seen, unknown, size = recorder.sample["net_input"], recorder.sample["unknown_words"], task.tgt_dict.size
    marks_of_batch = seen.get("marks", torch.zeros_like(seen["draft"]))
    rows = []
    for i in id.argsort():
        draft = [token for token in seen["draft"][i].tolist() if token not in (BOS, PAD, EOS)]
        words = [unknown[token - size - 1] if token > size else task.tgt_dict[token] for token in draft]
        rows.append((seen["src_tokens"][i].tolist(), " ".join(words), marks_of_batch[i].tolist()[: len(draft) + 2]))
    return rows


def test_drafts_that_are_not_read_are_named(text: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert prepare_drafts(text) == 0
    task = editing_task_of(text)
    loaded(task)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    task.cfg.draft_lang = None
    loaded(task)
    (warning,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert mentions(warning, "test --draft-lang mt")
    (text.parent / "data" / "dict.mt.txt").touch()  # of another language in the same folder
    loaded(task)
    assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1


@pytest.mark.parametrize("bpe", PREPARE_FLAGS)
def test_binarised_drafts_are_read_like_typed_ones(text: Path, bpe: str) -> None:
    assert prepare_drafts(text, *PREPARE_FLAGS[bpe]) == 0
    task, encode = editing_task_of(text), tokeniser(text, bpe).encode
    dataset = loaded(task)
    batch = collated(dataset)
    from_file = decoded_rows(task, batch["id"], batch)
    noted = [i for i in range(len(MARKED_DRAFTS)) if dataset[i]["draft"].marks is not None]
    assert noted == [1, 2, 3, 5, 6, 7, 8, 9]
    plain = [" ".join(encode(marks.parse_marks(draft)[0].strip()).split()) for draft in MARKED_DRAFTS]
    assert [draft for _, draft, _ in from_file] == plain
    unmarked = [i for i, draft in enumerate(MARKED_DRAFTS) if not marks.parse_marks(draft)[1]]
    lines = [f"{' '.join(PHRASE)}\t{MARKED_DRAFTS[i]}".strip() for i in unmarked]  # like fairseq-interactive
    assert decoded_rows(task, **typed_tensors(task, lines, encode)) == [from_file[i] for i in unmarked]


def test_training_batches_have_no_marks(text: Path) -> None:
    assert prepare_drafts(text) == 0
    task = editing_task_of(text)
    dataset = loaded(task)
    batch = collated(dataset)
    assert "marks" not in batch["net_input"]
    loss, _, _ = toy_criterion(task)(lively_model(task), batch)
    assert bool(torch.isfinite(loss))
    assert "marks" not in collated(dataset, [0, 4])


def test_only_marks_and_unknown_words_are_noted(text: Path, capsys: pytest.CaptureFixture) -> None:
    assert prepare_drafts(text, "--valid-prefix", text / "train") == 0
    notes_files = {
        path.name for path in (text.parent / "data").iterdir() if path.suffix not in (".bin", ".idx", ".txt")
    }
    assert notes_files == {"test.mt-de.mt.notes.jsonl"}
    out = capsys.readouterr().out
    assert "test: 5 with marks, 5 with unknown words" in out and "Drafts of valid" not in out


def test_the_oracle_keeps_an_unknown_word_that_the_reference_has(text: Path) -> None:
    """An unknown word of a draft has an id of its own, but in the reference it is <unk>."""
    (text / "test.de").write_text("Zürich\n" * len(MARKED_DRAFTS), "utf-8")
    assert prepare_drafts(text) == 0
    task = editing_task_of(text)
    task.cfg.oracle = "delete"
    model, dataset = lively_model(task), loaded(task)
    generator = task.build_generator([model], Namespace(iter_decode_max_iter=0, retain_iter_history=True))
    hypothesis = task.inference_step(generator, [model], collated(dataset, [3]))[0][0]
    assert task.tgt_dict.string(hypothesis["history"][1]["tokens"].int()) == "Zürich"


def test_a_post_editor_reads_unknown_words_as_unk_and_refuses_marks(text: Path) -> None:
    assert prepare_drafts(text) == 0
    task = editing_task_of(text)
    task.system = "PostEditTransformer"
    model, dataset = toy_post_editor(task), loaded(task)
    generator = task.build_generator([model], Namespace(beam=2, max_len_b=6))
    noted, plain = collated(dataset, [3, 0]), collated(dataset, [3, 0])
    plain["net_input"]["draft"] = task.tgt_dict.unknown_to_unk(plain["net_input"]["draft"])
    with_notes, without = (task.inference_step(generator, [model], batch) for batch in (noted, plain))
    for spelled_hypotheses, unk_hypotheses in zip(with_notes, without, strict=True):
        assert spelled_hypotheses[0]["tokens"].tolist() == unk_hypotheses[0]["tokens"].tolist()
    with pytest.raises(UserError, match=r"post_edit_transformer .*marks"):
        task.inference_step(generator, [model], collated(dataset, [1]))


# ---- refused drafts and damaged notes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "line", "message"),
    [
        ("test", "ein ⟦!hund", "character 5 of the draft 'ein ⟦!hund' is not closed"),
        ("test", "h⟦!un⟧⟦-d⟧", "'h⟦!un⟧⟦-d⟧' touch the same token 'hund'"),
        ("test", "⟦!ein h⟧⟦+⟧und", "inside a protected span, between ['ein', 'hund']"),
        ("test", "ein\thund", "contains a TAB"),
        ("train", "ein ⟦!hund⟧", "⟦!hund⟧ is a mark"),
    ],
)
def test_wrong_drafts_are_refused(text: Path, part: str, line: str, message: str, refusal: Refusal) -> None:
    lines = (text / f"{part}.mt").read_text("utf-8").splitlines()
    lines[1] = line
    (text / f"{part}.mt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    error = refusal(*prepare_drafts_command(text))
    assert f"{text}/{part}.mt, line 2" in error and message in error
    assert [path.name for path in text.parent.iterdir()] == ["text"]


def test_escaped_brackets_of_a_training_draft_are_text(text: Path) -> None:
    (text / "train.mt").write_text("\\⟦-1, 1\\⟧ ⟦0\n" * 140, "utf-8")
    assert prepare_drafts(text) == 0
    dictionary = Dictionary.load(str(text.parent / "data" / "dict.de.txt"))
    assert "⟦-1," in dictionary and "⟦0" in dictionary and "\\⟦-1," not in dictionary


NOTE = {"line": 4, "tokens": ["Zürich"], "requests": [INSERT, KEEP + SPAN]}
DAMAGED_NOTES: dict[str, str] = {
    "no JSON": "{",
    "deep": "[" * 100_000,
    "an empty line": "",
    "a key more": json.dumps({**NOTE, "x": 1}),
    "no line": json.dumps({**NOTE, "line": True}),
    "line 11": json.dumps({**NOTE, "line": 11}),
    "twice": f"{json.dumps(NOTE)}\n{json.dumps(NOTE)}",
    "another draft": json.dumps({**NOTE, "line": 1}),
    "a token more": json.dumps({**NOTE, "tokens": ["a", "b"], "requests": [0] * 3}),
    "a known word": json.dumps({**NOTE, "tokens": ["hund"]}),
    "a line feed": json.dumps({**NOTE, "tokens": ["a\nH-0"]}),
    "half a character": json.dumps({**NOTE, "tokens": ["\ud800"]}),
    "a request less": json.dumps({**NOTE, "requests": [0]}),
}


@pytest.fixture(scope="module")
def drafts(tmp_path_factory: pytest.TempPathFactory) -> tuple[FairseqDataset, EditingDictionary]:
    dictionary = EditingDictionary()
    for word in PHRASE:
        dictionary.add_symbol(word)
    rows = [[4, EOS]] * 3 + [[UNK, EOS]] + [[4, EOS]] * 6
    return list_dataset(rows), dictionary


@pytest.mark.parametrize("name", DAMAGED_NOTES)
def test_damaged_notes_are_refused(drafts: tuple[FairseqDataset, EditingDictionary], tmp_path: Path, name: str) -> None:
    content = DAMAGED_NOTES[name]
    path = tmp_path / "test.mt-de.mt.notes.jsonl"
    path.write_text(f"{content}\n", "utf-8")
    with pytest.raises(UserError) as error:
        notes.NotedDrafts(str(path).removesuffix(notes.SUFFIX), *drafts)
    line = content.count("\n") + 1
    assert f"{path}, line {line} " in str(error.value)


# ---- typed drafts, and the words that a dictionary prints ------------------------------------------------------------


@pytest.mark.parametrize("left_pad", [True, False])
def test_typed_lines_are_split_into_source_and_draft(left_pad: bool) -> None:
    task = toy_task(left_pad_source=left_pad)
    batch, recorder = typed_tensors(task, ["w1\tw3 w5", "w4 w6", "w2\t Zürich"]), Recorder()
    assert batch["id"].tolist() == [1, 0, 2]
    task.inference_step(recorder, [], batch["sample"], constraints=batch["constraints"])
    assert recorder.options == {"prefix_tokens": None, "constraints": None}
    seen = recorder.sample["net_input"]
    short = [[PAD, BOS, 5, EOS], [PAD, BOS, 6, EOS]] if left_pad else [[BOS, 5, EOS, PAD], [BOS, 6, EOS, PAD]]
    assert seen["src_tokens"].tolist() == [[BOS, 8, 10, EOS], *short]
    assert tensor_to_rows(seen["draft"]) == [[BOS, EOS], [BOS, 7, 9, EOS], [BOS, task.tgt_dict.size + 1, EOS]]
    assert recorder.sample["unknown_words"] == ["Zürich"]


def test_unknown_words_of_a_buffer_are_printed_after_all_its_batches() -> None:
    """fairseq prints the results of a buffer only after decoding all of its batches."""
    task, model = toy_task(keep_bias=1000.0), lively_model()
    generator, hypotheses = task.build_generator([model], Namespace()), []
    batches = [typed_tensors(task, [f"w1\t{draft}"]) for draft in ("Zürich w2 </s>", "w3 Genf <unk>", "Genf Zürich")]
    for batch in batches:
        hypotheses += task.inference_step(generator, [model], batch["sample"], constraints=batch["constraints"])
    texts = [task.tgt_dict.string(best["tokens"].int()) for best, *_ in hypotheses]
    assert texts == ["Zürich w2 </s>", "w3 Genf <unk>", "Genf Zürich"]


def test_with_spelling_unknown_words_of_source_and_draft_have_different_ids() -> None:
    words = spelled.dictionary()
    task = toy_task(words)
    task.word_index = spelled.index_of(words)
    batch, recorder = typed_tensors(task, ["▁teh ▁form\t▁hte ▁form"]), Recorder()
    task.inference_step(recorder, [], batch["sample"], constraints=batch["constraints"])
    seen, size = recorder.sample["net_input"], words.size
    assert seen["src_tokens"][0, 1] == size + 1 and seen["draft"][0, 1] == size + 2
    assert recorder.sample["unknown_words"] == ["▁teh", "▁hte"] and "words" in seen


def test_marks_in_typed_drafts_are_refused() -> None:
    with pytest.raises(UserError, match=r"⟦!w4⟧ is a mark.* lev-plugins edit"):
        toy_task().get_interactive_tokens_and_lengths(["w1 w2\tw3 ⟦!w4⟧"], str.strip)


def test_batch_iterators_of_typed_lines_are_not_cached() -> None:
    """``fairseq-interactive`` builds a data set and its batch iterator for each buffer."""
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
    assert not task.dataset_to_epoch_iter


def test_inference_without_drafts_has_only_sources() -> None:
    """``from_pretrained`` of fairseq's models calls the task in this way."""
    task = toy_task()
    batch, recorder = collated(task.build_dataset_for_inference([torch.tensor([5, 6, EOS])], [3])), Recorder()
    task.inference_step(recorder, [], batch)
    net_input = recorder.sample["net_input"]
    assert net_input["src_tokens"].tolist() == [[BOS, 5, 6, EOS]] and "draft" not in net_input


def test_a_loaded_dictionary_prints_the_models_placeholder(tmp_path: object) -> None:
    path = f"{tmp_path}/dict.txt"
    toy_dictionary().save(path)
    loaded = EditingDictionary.load(path)
    size = len(loaded)
    assert loaded[toy_model(toy_task(loaded)).placeholder] == PLACEHOLDER
    assert len(loaded) == size and PLACEHOLDER not in loaded.symbols
    assert loaded.string(torch.tensor([5, size, 6])) == f"w1 {PLACEHOLDER} w2"
    loaded.add_symbol("later")  # as fairseq-generate --remove-bpe does
    assert loaded[len(toy_dictionary())] == PLACEHOLDER
