"""Notes beside binarised drafts, with their marks and unknown words; and lines that are typed at the prompt."""

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
    tensor_to_rows,
    toy_criterion,
    toy_dictionary,
    toy_model,
    toy_post_editor,
    toy_task,
)
from tests.unit.correction.test_task import correction_task

KNOWN = ["ein", "hund", "läuft", "über", "die", "wiese"]
DRAFTS = [
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
    for part, lines in (("train", [" ".join(KNOWN), *KNOWN] * 20), ("test", [" ".join(KNOWN)] * len(DRAFTS))):
        for side in ("en", "de", "mt"):
            (folder / f"{part}.{side}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / "test.mt").write_text("".join(f"{line}\n" for line in DRAFTS), "utf-8")
    return folder


FLAGS: dict[str, list[object]] = {
    "words": [],
    "characters": ["--bpe", "characters", "--workers", 2],
    "sentencepiece": ["--learn-sentencepiece", 24],
}


def command(text: Path, *flags: object) -> list[object]:
    words = ["prepare", "-s", "en", "-t", "de", "-d", "mt", "--train-prefix", text / "train", "--joined-dictionary"]
    return [*words, "--test-prefix", text / "test", "--dest", text.parent / "data", *flags]


def prepare(text: Path, *flags: object) -> int:
    return main([str(word) for word in command(text, *flags)])


def task_of(text: Path) -> TextEditingTask:
    data = text.parent / "data"
    source, target = (EditingDictionary.load(str(data / f"dict.{side}.txt")) for side in ("en", "de"))
    return toy_task(source, target, data=str(data), source_lang="en", target_lang="de", draft_lang="mt")


def loaded(task: TextEditingTask, split: str = "test") -> Any:
    task.load_dataset(split)
    return task.datasets[split]


def tokeniser(text: Path, bpe: str) -> Tokeniser:
    model = str(text.parent / "data" / "sentencepiece.model")
    given = {"sentencepiece_model": model} if bpe == "sentencepiece" else {}
    return Tokeniser(None if bpe == "words" else Namespace(bpe=bpe, **given))


class Recorder:
    def generate(self, models: object, sample: dict[str, Any], **kwargs: object) -> list:
        self.sample, self.options = sample, kwargs
        return []


def typed_tensors(task: TextEditingTask, lines: list[str], encode: Callable[[str], str] = str.strip) -> dict[str, Any]:
    """The tensors of typed lines that ``fairseq-interactive`` hands on."""
    dataset = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths(lines, encode))
    batch = collated(dataset)
    net_input = {name: batch["net_input"][name] for name in ("src_tokens", "src_lengths")}
    return {"sample": {"net_input": net_input}, "constraints": batch["constraints"], "id": batch["id"]}


def decoded_rows(
    task: TextEditingTask, id: torch.Tensor, sample: Batch, constraints: torch.Tensor | None = None
) -> list[tuple[list[int], str, list[int]]]:
    """The source, the text of the draft and the marks of each sentence of a batch, as a generator gets them."""
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


@pytest.mark.parametrize("bpe", FLAGS)
def test_a_file_is_read_as_at_the_prompt(text: Path, bpe: str) -> None:
    assert prepare(text, *FLAGS[bpe]) == 0
    task, encode = task_of(text), tokeniser(text, bpe).encode
    dataset = loaded(task)
    batch = collated(dataset)
    from_file = decoded_rows(task, batch["id"], batch)
    noted = [i for i in range(len(DRAFTS)) if dataset[i]["draft"].marks is not None]
    assert noted == [1, 2, 3, 5, 6, 7, 8, 9]
    plain = [" ".join(encode(marks.parse_marks(draft)[0].strip()).split()) for draft in DRAFTS]
    assert [draft for _, draft, _ in from_file] == plain
    unmarked = [i for i, draft in enumerate(DRAFTS) if not marks.parse_marks(draft)[1]]
    lines = [f"{' '.join(KNOWN)}\t{DRAFTS[i]}".strip() for i in unmarked]  # fairseq-interactive strips what it reads
    assert decoded_rows(task, **typed_tensors(task, lines, encode)) == [from_file[i] for i in unmarked]


def test_what_learns_from_drafts_sees_ids_alone(text: Path) -> None:
    assert prepare(text) == 0
    task = task_of(text)
    dataset = loaded(task)
    batch = collated(dataset)
    assert "marks" not in batch["net_input"]
    loss, _, _ = toy_criterion(task)(lively_model(task), batch)
    assert bool(torch.isfinite(loss))
    assert "marks" not in collated(dataset, [0, 4])


def test_no_file_where_there_is_nothing_to_note(text: Path, capsys: pytest.CaptureFixture) -> None:
    assert prepare(text, "--valid-prefix", text / "train") == 0
    made = {path.name for path in (text.parent / "data").iterdir() if path.suffix not in (".bin", ".idx", ".txt")}
    assert made == {"test.mt-de.mt.notes.jsonl"}
    said = capsys.readouterr().out
    assert "Drafts of test: 5 with marks, 5 with unknown words, for fairseq-generate" in said
    assert "Drafts of valid" not in said


def test_an_oracle_takes_an_unknown_word_for_that_of_the_reference(text: Path) -> None:
    """Their spelling is no id of the model's, and a reference has none but <unk>."""
    (text / "test.de").write_text("Zürich\n" * len(DRAFTS), "utf-8")
    assert prepare(text) == 0
    task = task_of(text)
    task.cfg.oracle = "delete"
    model, dataset = lively_model(task), loaded(task)
    generator = task.build_generator([model], Namespace(iter_decode_max_iter=0, retain_iter_history=True))
    hypothesis = task.inference_step(generator, [model], collated(dataset, [3]))[0][0]
    assert task.tgt_dict.string(hypothesis["history"][1]["tokens"].int()) == "Zürich"


def test_a_post_editor_reads_unknown_words_and_keeps_to_no_marks(text: Path) -> None:
    assert prepare(text) == 0
    task = task_of(text)
    task.system = "PostEditTransformer"
    model, dataset = toy_post_editor(task), loaded(task)
    generator = task.build_generator([model], Namespace(beam=2, max_len_b=6))
    noted, plain = collated(dataset, [3, 0]), collated(dataset, [3, 0])
    plain["net_input"]["draft"] = task.tgt_dict.unknown_to_unk(plain["net_input"]["draft"])
    with_notes, without = (task.inference_step(generator, [model], batch) for batch in (noted, plain))
    for one, other in zip(with_notes, without, strict=True):
        assert one[0]["tokens"].tolist() == other[0]["tokens"].tolist()
    with pytest.raises(UserError, match="a post_edit_transformer rewrites the whole text and ignores marks"):
        task.inference_step(generator, [model], collated(dataset, [1]))


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "line", "message"),
    [
        ("test", "ein ⟦!hund", "the mark at character 5 of the draft 'ein ⟦!hund' is not closed: add ⟧ where it ends"),
        ("test", "h⟦!un⟧⟦-d⟧", "two marks of the draft 'h⟦!un⟧⟦-d⟧' touch the same token 'hund'"),
        (
            "test",
            "⟦!ein h⟧⟦+⟧und",
            "asks for an insertion inside a protected span, between ['ein', 'hund']",
        ),
        ("test", "ein\thund", "contains a TAB"),
        ("train", "ein ⟦!hund⟧", "⟦!hund⟧ is a mark, but drafts for training must not have marks: remove it"),
    ],
)
def test_drafts_that_cannot_be_prepared(text: Path, part: str, line: str, message: str, refusal: Refusal) -> None:
    lines = (text / f"{part}.mt").read_text("utf-8").splitlines()
    lines[1] = line
    (text / f"{part}.mt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    error = refusal(*command(text))
    assert f"{text}/{part}.mt, line 2" in error and message in error
    assert [path.name for path in text.parent.iterdir()] == ["text"]


def test_brackets_of_the_text_in_a_training_draft(text: Path) -> None:
    (text / "train.mt").write_text("\\⟦-1, 1\\⟧ ⟦0\n" * 140, "utf-8")
    assert prepare(text) == 0
    dictionary = Dictionary.load(str(text.parent / "data" / "dict.de.txt"))
    assert "⟦-1," in dictionary and "⟦0" in dictionary and "\\⟦-1," not in dictionary


NOTE = {"line": 4, "tokens": ["Zürich"], "requests": [INSERT, KEEP + SPAN]}
SPOILED: dict[str, str] = {
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
def noted(tmp_path_factory: pytest.TempPathFactory) -> tuple[FairseqDataset, EditingDictionary]:
    dictionary = EditingDictionary()
    for word in KNOWN:
        dictionary.add_symbol(word)
    rows = [[4, EOS]] * 3 + [[UNK, EOS]] + [[4, EOS]] * 6
    return list_dataset(rows), dictionary


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_file_is_refused(noted: tuple[FairseqDataset, EditingDictionary], tmp_path: Path, name: str) -> None:
    content = SPOILED[name]
    path = tmp_path / "test.mt-de.mt.notes.jsonl"
    path.write_text(f"{content}\n", "utf-8")
    with pytest.raises(UserError) as refused:
        notes.NotedDrafts(str(path).removesuffix(notes.SUFFIX), *noted)
    line = content.count("\n") + 1
    assert str(refused.value) == f"{path}, line {line} is damaged: run lev-plugins prepare again"


# ---- drafts that are typed, and the words that a dictionary prints ---------------------------------------------------


@pytest.mark.parametrize("left", [True, False])
def test_typed_lines_reach_the_generator_as_source_and_draft(left: bool) -> None:
    task = toy_task(left_pad_source=left)
    batch, recorder = typed_tensors(task, ["w1\tw3 w5", "w4 w6", "w2\t Zürich"]), Recorder()
    assert batch["id"].tolist() == [1, 0, 2]
    task.inference_step(recorder, [], batch["sample"], constraints=batch["constraints"])
    assert recorder.options == {"prefix_tokens": None, "constraints": None}
    seen = recorder.sample["net_input"]
    short = [[PAD, BOS, 5, EOS], [PAD, BOS, 6, EOS]] if left else [[BOS, 5, EOS, PAD], [BOS, 6, EOS, PAD]]
    assert seen["src_tokens"].tolist() == [[BOS, 8, 10, EOS], *short]
    assert tensor_to_rows(seen["draft"]) == [[BOS, EOS], [BOS, 7, 9, EOS], [BOS, task.tgt_dict.size + 1, EOS]]
    assert recorder.sample["unknown_words"] == ["Zürich"]


def test_unknown_words_are_printed_when_other_lines_have_been_decoded() -> None:
    """fairseq prints the results of a buffer when it has decoded all of its batches."""
    task, model = toy_task(keep_bias=1000.0), lively_model()
    generator, hypotheses = task.build_generator([model], Namespace()), []
    batches = [typed_tensors(task, [f"w1\t{draft}"]) for draft in ("Zürich w2 </s>", "w3 Genf <unk>", "Genf Zürich")]
    for batch in batches:
        hypotheses += task.inference_step(generator, [model], batch["sample"], constraints=batch["constraints"])
    texts = [task.tgt_dict.string(best["tokens"].int()) for best, *_ in hypotheses]
    assert texts == ["Zürich w2 </s>", "w3 Genf <unk>", "Genf Zürich"]


def test_with_spelling_source_and_draft_have_their_own_unknown_words() -> None:
    words = spelled.dictionary()
    task = toy_task(words)
    task.word_index = spelled.index_of(words)
    batch, recorder = typed_tensors(task, ["▁teh ▁form\t▁hte ▁form"]), Recorder()
    task.inference_step(recorder, [], batch["sample"], constraints=batch["constraints"])
    seen, size = recorder.sample["net_input"], words.size
    assert seen["src_tokens"][0, 1] == size + 1 and seen["draft"][0, 1] == size + 2
    assert recorder.sample["unknown_words"] == ["▁teh", "▁hte"] and "words" in seen


def test_marks_are_refused_at_the_prompt() -> None:
    with pytest.raises(UserError, match="⟦!w4⟧ is a mark, but typed drafts must not have marks: use lev-plugins edit"):
        toy_task().get_interactive_tokens_and_lengths(["w1 w2\tw3 ⟦!w4⟧"], str.strip)


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
    assert not task.dataset_to_epoch_iter


def test_sources_alone_have_no_drafts() -> None:
    """As ``from_pretrained`` of fairseq's models calls the task."""
    task = toy_task()
    batch, recorder = collated(task.build_dataset_for_inference([torch.tensor([5, 6, EOS])], [3])), Recorder()
    task.inference_step(recorder, [], batch)
    net_input = recorder.sample["net_input"]
    assert net_input["src_tokens"].tolist() == [[BOS, 5, 6, EOS]] and "draft" not in net_input


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
