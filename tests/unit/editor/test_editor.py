"""The editor of texts: confidences by brute force, and nothing else changed. tests/parity has what it writes."""

import math
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq.data import Dictionary
from fairseq.data.indexed_dataset import MMapIndexedDataset
from fairseq.models import BaseFairseqModel
from hypothesis import given, settings
from hypothesis import strategies as st

import lev_plugins
from lev_plugins.correction.gated import GatedTrans
from lev_plugins.correction.pbd import PBD
from lev_plugins.editor.editor import Editor
from lev_plugins.editor.options import EditOptions, EditRequest
from lev_plugins.editor.session import CPU, CUDA
from lev_plugins.levt.model import LevT
from lev_plugins.text.edited import Edited
from lev_plugins.text.segments import Segment, WordEdits
from lev_plugins.text.tokenise import SentencePiece
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.commands import ROOT
from tests.pretrained import sentencepieces
from tests.slow_refinement import probabilities
from tests.systems import SYSTEMS, System

GOLDEN = ROOT / "tests" / "golden" / "0.1"
LEVT, NOISY = GOLDEN / "levt" / "data", GOLDEN / "noisy" / "data"
FOLDERS = ROOT / "tests" / "golden" / "folders" / "0.2"


def rows(data: Path, part: str, side: str) -> list[str]:
    dictionary, dataset = Dictionary.load(str(data / f"dict.{part}.txt")), MMapIndexedDataset(str(data / side))
    return [dictionary.string(dataset[i]) for i in range(len(dataset))]


def characters(text: str) -> str:
    return text.replace(" ", "").replace("▁", " ")


SOURCES = rows(LEVT, "src", "test.src-tgt.src")
DRAFTS = rows(LEVT, "tgt", "test.mt-tgt.mt")
NOISES = [characters(row) for row in rows(NOISY, "noisy", "test.noisy-clean.noisy")]


def generated(name: str) -> list[str]:
    """What fairseq-generate makes of the test set, which tests/parity/test_golden.py holds it to."""
    lines = (GOLDEN / f"{name}.txt").read_text("utf-8").splitlines()
    found = {int(name[2:]): text for name, _, text in (line.split("\t") for line in lines if line.startswith("H-"))}
    return [found[i] for i in range(len(found))]


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, System]:
    """A corrector, and a levt with random weights, which edits much, in one iteration."""
    return {name: SYSTEMS[name](tmp_path_factory.mktemp(name)) for name in ("pbd", "levt")}


@pytest.fixture(scope="module")
def folders(systems: dict[str, System]) -> dict[str, Path]:
    """The model folders of the systems."""
    return {name: system.export(system.checkpoint.parent / "out") for name, system in systems.items()}


@pytest.fixture(scope="module")
def pbd(folders: dict[str, Path]) -> Editor:
    return Editor.load(folders["pbd"])


@pytest.fixture(scope="module")
def lively(systems: dict[str, System]) -> Editor:
    """The levt in torch."""
    return systems["levt"].load()


@pytest.fixture(scope="module")
def drafter(folders: dict[str, Path]) -> Editor:
    return Editor.load(folders["levt"])


# ---- confidence ------------------------------------------------------------------------------------------------------


@torch.no_grad()
def log_probability(editor: Editor, source: str, text: str) -> float:
    """Of a whole text, alone."""
    ids = {}
    for side, line in (("source", source), ("target", text)):
        words = getattr(editor.model.decoder.task, f"{side}_dictionary")
        ids[side] = words.encode_line(editor.tokeniser(line), add_if_not_exist=False).long()
    eos = torch.tensor([editor.model.decoder.task.target_dictionary.eos()])
    before, model = torch.cat([eos, ids["target"][:-1]]), editor.model.decoder.models[0]
    logits, _ = model(ids["source"][None], torch.tensor([len(ids["source"])]), before[None])[:2]
    return float(logits[0].log_softmax(-1).gather(1, ids["target"][:, None]).sum())


def test_confidence_of_a_corrector_is_that_of_the_sentence_against_it_without_the_edit(
    pbd: Editor, systems: dict[str, System]
) -> None:
    compared, theirs = 0, systems["pbd"].load()
    for edited in pbd.edit(NOISES):
        whole = log_probability(theirs, edited.original, edited.text)
        for edit in edited.edits:
            others = tuple(each for each in edited.edits if each != edit)
            undone = log_probability(theirs, edited.original, Edited(edited.original, others).text)
            assert edit.confidence == pytest.approx(1 / (1 + math.exp(undone - whole)), abs=1e-4)
            assert edit.iteration == 1
            compared += 1
    assert compared > 20


@torch.no_grad()
def test_confidence_of_a_levt_is_that_of_its_policies(lively: Editor) -> None:
    models = lively.model.decoder.models
    source, target = lively.model.decoder.task.source_dictionary, lively.model.decoder.task.target_dictionary
    hole = lively.model.decoder.models[0].placeholder
    deletions = insertions = 0
    for text, draft, edited in zip(SOURCES, DRAFTS, lively.edit(SOURCES, DRAFTS), strict=True):
        row = source.encode_line(f"<s> {text}", add_if_not_exist=False).tolist()
        canvas = target.encode_line(f"<s> {draft}", add_if_not_exist=False).long()
        going = probabilities(models, "deletion", canvas.tolist(), row)
        left = canvas[~(going[:, 1] > going[:, 0]) | canvas.eq(target.bos()) | canvas.eq(target.eos())]
        opened = probabilities(models, "placeholder", left.tolist(), row)
        opened[:, 0] *= math.exp(-lively.model.decoder.generator.options.gamma)
        counts = opened.argmax(1)
        filled = torch.cat([torch.tensor([word, *[hole] * n]) for word, n in zip(left, [*counts, 0], strict=True)])
        chosen = probabilities(models, "token", filled.tolist(), row) if hole in filled else None
        for edit in edited.edits:
            words = range(1 + len(draft[: edit.start].split()), 1 + len(draft[: edit.end].split()))
            if edit.replacement == "":  # words that are deleted, and nothing comes in their place
                deletions += 1
                go, stay = (math.prod(float(going[i, column]) for i in words) for column in (1, 0))
                assert edit.confidence == pytest.approx(go / (go + stay), abs=1e-4)
            elif edit.start == edit.end and len(left) == len(canvas):  # nothing is deleted: the slots are the draft's
                insertions += 1
                slot = words.start - 1
                none, some = float(opened[slot, 0]), float(opened[slot, 1:].sum())
                first = int(counts[:slot].sum())
                for place, word in enumerate(edit.replacement.split(), first):
                    some *= float(chosen[place, target.index(word)])
                assert edit.confidence == pytest.approx(some / (some + none), abs=1e-4)
            assert 0 <= edit.confidence <= 1
            assert edit.iteration == 1
    assert deletions >= 3 and insertions >= 10


def test_an_edit_that_puts_one_word_in_tells_what_else_its_hole_was_offered(lively: Editor) -> None:
    words = lively.model.decoder.task.target_dictionary
    offers = [(words.index(word), choice) for word, choice in [("v3", -0.2), ("v2", -2.0), ("v4", -2.5), ("v5", -9.0)]]
    edits = WordEdits([1, -1, 3], [0, 1, 0], [0.0] * 3, [0.0, -0.2, 0.0], [0, 0, 1, 0], [0.0, 0.0, 3.0, 0.0], [])
    edits = replace(edits, alternatives=[[], offers, []])
    tokens = [words.index("v1"), offers[0][0], words.eos()]
    segment = Segment("v1  v2", lively.offsets)
    (edit,) = lively.model.edits(segment, tokens, edits)
    assert (edit.start, edit.end, edit.replacement) == (4, 6, "v3")
    # v2 would leave the text as it is, and v5 is too unlikely
    assert [(other.start, other.end, other.replacement) for other in edit.alternatives] == [(4, 6, "v4")]
    assert edit.alternatives[0].confidence == pytest.approx(1 / (1 + math.exp(-(3.0 - 2.5))))


# ---- all else stays --------------------------------------------------------------------------------------------------


ODD = " \t\r\n\u00a0\u2028abcdef.,é\u0301😀ﬁ½日\u200b"


@given(st.lists(st.text(st.sampled_from(ODD), max_size=40), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
def test_lines_and_what_is_around_sentences_stay(pbd: Editor, texts: list[str]) -> None:
    for text, edited in zip(texts, pbd.edit(texts), strict=True):
        assert edited.original == text and "<unk>" not in edited.text
        for edit in edited.edits:
            for part in (text[edit.start : edit.end], edit.replacement):
                assert len(f"{part}.".splitlines()) == 1
        assert len(f"{edited.text}.".splitlines()) == len(f"{text}.".splitlines())


def test_order_and_company_change_nothing(pbd: Editor) -> None:
    assert pbd.edit([]) == [] and [edited.text for edited in pbd.edit(["", " \n\t"])] == ["", " \n\t"]
    together = pbd.edit(NOISES)
    alone = [pbd.edit([text])[0] for text in NOISES]
    assert [edited.text for edited in together] == [edited.text for edited in alone]
    for one, other in zip(together, alone, strict=True):
        sure = [[edit.confidence for edit in each.edits] for each in (one, other)]
        assert sure[0] == pytest.approx(sure[1], abs=1e-4)


def test_threads_do_not_take_each_others_unknown_words(drafter: Editor) -> None:
    drafts = [[f"⟦!{word}⟧ v8 {word}"] for word in ("Zürich", "Genf", "Bern", "Basel")]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda draft: drafter.edit(SOURCES[:1], draft)[0].text, drafts * 5)
        for text, (draft,) in zip(found, drafts * 5, strict=True):
            assert text.startswith(draft[2 : draft.index("⟧")])


def test_a_paragraph_is_cut_into_sentences_and_joined_again(pbd: Editor) -> None:
    lines = [text.strip() for text in NOISES[:4]]
    paragraph = f"  {lines[0]}\r\n\r\n{lines[1]}\t\n{lines[2]}\u2028{lines[3]} "
    found = pbd.edit([paragraph])[0]
    parts = [pbd.edit([line])[0].text for line in lines]
    assert found.text == f"  {parts[0]}\r\n\r\n{parts[1]}\t\n{parts[2]}\u2028{parts[3]} "


def test_long_texts_are_cut_at_blanks_and_long_words_left_alone(pbd: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pbd.model.longest == 1022  # of 1024 positions
    monkeypatch.setattr(pbd.model, "longest", 20)
    long = "ab cd " * 20
    word = "x" * 21
    found = pbd.edit([f"{long}{word}"])[0]
    assert found.text.endswith(word) and found.edits
    assert all(edit.end <= len(long) for edit in found.edits)


def test_unknown_words_and_blanks_of_a_draft_stay(drafter: Editor) -> None:
    draft = " \t⟦!Zürich  \u00a0</s>⟧\t⟦-v8⟧ v9 "
    found = drafter.edit([SOURCES[0]], [draft])[0]
    assert found.original == " \tZürich  \u00a0</s>\tv8 v9 "
    assert "Zürich  \u00a0</s>" in found.text and "v8" not in found.text
    assert found.text[:2] == " \t" and found.text[-1] == " "
    place = found.original.index("v8")
    assert [edit.confidence for edit in found.edits if edit.start <= place < edit.end] == [1.0]  # it was asked for


def test_a_draft_of_nothing(lively: Editor) -> None:
    assert lively.edit(SOURCES[:1]) == lively.edit(SOURCES[:1], SOURCES[:1])  # a text is its own draft
    (found,), task = lively.edit(SOURCES[:1], [""]), lively.model.decoder.task
    assert found.original == "" and all(edit.start == edit.end == 0 for edit in found.edits)
    dataset = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths([f"{SOURCES[0]}\t"], str.strip))
    ((_, written),) = lively.model.decoder.best(dataset, range(1), 1000)
    assert found.text == task.target_dictionary.string(written["tokens"]) != ""


def test_a_draft_that_is_too_long_is_refused_before_its_marks_are_placed(
    drafter: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes the time of the tokens times that of the marks."""
    monkeypatch.setattr("lev_plugins.editor.editor.marks.tokenize", None)
    with pytest.raises(UserError, match=r"a draft has 2,000 tokens, but the model takes at most"):
        drafter.edit(SOURCES[:1], ["⟦+⟧ v8 " * 2000])


def test_a_draft_may_begin_with_a_byte_order_mark(drafter: Editor) -> None:
    plain, marked = drafter.edit(SOURCES[:1] * 2, ["v8 v9", "\ufeffv8 v9"])
    assert marked.text == f"\ufeff{plain.text}" and marked.original == "\ufeffv8 v9"
    assert drafter.edit([f"\ufeff{SOURCES[0]}"], ["v8 v9"]) == [plain]


def test_half_a_character_is_refused(pbd: Editor, lively: Editor) -> None:
    for editor, texts in ((pbd, (["fine", "a \ud83d"],)), (lively, ([SOURCES[0]], ["\ud83d"]))):
        with pytest.raises(UserError, match=r"has \\ud83d at \d, half of a character"):
            editor.edit(*texts)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_refusals(pbd: Editor, lively: Editor) -> None:
    with pytest.raises(UserError, match="drafts are for a levt: a model of text_correction edits the text itself"):
        pbd.edit(["a"], ["b"])
    with pytest.raises(UserError, match="--min-confidence must be between 0 and 1"):
        EditOptions(min_confidence=50).check()
    with pytest.raises(UserError, match="line 2: min_confidence must be between 0 and 1, but is 50"):
        pbd.edit(["a", EditRequest("a", min_confidence=50)])
    with pytest.raises(UserError, match="words must be a list, but is 'ab'"):
        pbd.edit([EditRequest("a", words="ab")])
    with pytest.raises(UserError, match="there are 2 texts, but 1 drafts"):
        lively.edit(["a", "b"], ["c"])
    with pytest.raises(UserError, match="a source has 2,000 tokens, but the model takes at most 1,022: shorten it"):
        lively.edit(["v1 " * 2000], ["v1"])
    with pytest.raises(UserError, match=r"^none is no model folder: .* lev-plugins export CHECKPOINT OUT$"):
        Editor.load("none")


def test_what_has_no_graphs_is_refused_with_the_command_that_makes_them(tmp_path: Path) -> None:
    checkpoint = Path(shutil.copy(GOLDEN / "pbd" / "checkpoint.pt", tmp_path / "my model.pt"))
    weights = FOLDERS / "pbd" / "model"
    for path in (checkpoint, weights):
        with pytest.raises(UserError) as refused:
            lev_plugins.load(path)
        (command,) = re.findall(r"lev-plugins export '?\S.*-folder'?", str(refused.value))
        assert shlex.split(command)[2:] == [str(path), str(path.with_name(f"{path.stem}-folder"))]


def test_a_device_that_is_not_there_is_refused(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, package in (("gpu", "cpu or cuda"), ("cuda", "onnxruntime-gpu")):
        with pytest.raises(UserError, match=f"--device.*{package}"):
            Editor.load(folders["levt"], EditOptions(device=name))
    with pytest.raises(UserError, match="--cpu-int8"):
        Editor.load(folders["levt"], EditOptions(device="cuda", cpu_int8=True))
    # a library that was built for a GPU, but does not find those of CUDA
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [CUDA, CPU])
    with pytest.raises(UserError, match="onnxruntime-gpu"):
        Editor.load(folders["levt"], EditOptions(device="cuda"))


# ---- requests --------------------------------------------------------------------------------------------------------


def test_each_request_has_its_own_settings(pbd: Editor) -> None:
    text, words = NOISES[0], NOISES[0].split()
    requests = [text, EditRequest(text, min_confidence=1.0), EditRequest(text, words=words), EditRequest(text)]
    plain, unsure, kept, same = pbd.edit(requests)
    assert plain.edits and plain == same == pbd.edit([text])[0]
    assert all(edit.confidence == 1 for edit in unsure.edits)
    assert len(kept.protected) == len(words)


def test_a_draft_of_a_request_is_one_of_the_list(drafter: Editor) -> None:
    requests = [EditRequest(*pair) for pair in zip(SOURCES, DRAFTS, strict=True)]
    assert drafter.edit(requests) == drafter.edit(SOURCES, DRAFTS) == drafter.edit(map(EditRequest, SOURCES), DRAFTS)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"beam": 2}, "--beam has no effect on a model of --task text_editing: leave it out"),
        ({"iter_decode_max_iter": 1.5}, "--iter-decode-max-iter must be a whole number, but is 1.5"),
        ({"max_tokens": 0}, "--max-tokens must be at least 1, but is 0"),
        ({"edit_also": ["numbers"]}, r"--edit-also must be text such as a,b, but is \['numbers'\]"),
        ({"document": "none"}, "--document: there is no file none"),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], rule: str, folders: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=rule):
        Editor.load(folders["levt"], EditOptions(**options))


def test_a_list_of_words_is_left_alone(pbd: Editor) -> None:
    free, bound = (
        Editor(pbd.model, pbd.tokeniser, EditOptions(words=each)).edit([NOISES[0]])[0]
        for each in (None, NOISES[0].split())
    )
    assert any(edit.end > edit.start for edit in free.edits) and all(edit.end == edit.start for edit in bound.edits)
    assert pbd.edit([EditRequest(NOISES[0], words=NOISES[0].split())])[0].edits == bound.edits


# ---- tokenisers ------------------------------------------------------------------------------------------------------


def test_the_sentencepiece_model_of_the_data_is_used(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(NOISY, data)
    sentencepieces(data / "sentencepiece", NOISES * 3, 30, hard_vocab_limit=False)
    system = System(GOLDEN / "gated" / "checkpoint.pt", data, [])
    editor = Editor.load(system.export(tmp_path / "out"))
    text = "\u3000\uff44  \uff42\tc  "
    (found,) = editor.edit([text])
    assert isinstance(editor.tokeniser.bpe, SentencePiece) and found.original == text
    assert found.text.startswith("\u3000") and found.text.endswith("  ")
    other = replace(system, bpe={"bpe": "chars"}).export(tmp_path / "other", "--no-graphs")
    assert model_folder.read(other).tokeniser == "chars"


def test_a_tokeniser_that_makes_unknown_words_is_warned_of_once(
    pbd: Editor, systems: dict[str, System], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert pbd.edit(["abc def", "d"])[1].original == "d"
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    wrong = Editor.load(replace(systems["pbd"], bpe={}).export(tmp_path / "out"))
    for _ in range(2):
        wrong.edit(["abc def"])
    (said,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert said.startswith("2 of the first 2 tokens are not in the model's dictionary") and "--bpe" in said


# ---- fairseq's own way to a model in Python, ``from_pretrained`` -----------------------------------------------------


def test_a_levt_translates() -> None:
    model = LevT.from_pretrained(str(GOLDEN / "levt"), "checkpoint.pt", str(LEVT))
    assert model.translate(SOURCES) == generated("levt/expected-from-nothing")


def test_a_draft_is_not_read_as_a_source() -> None:
    model = LevT.from_pretrained(str(GOLDEN / "levt"), "checkpoint.pt", str(LEVT))
    says = r"translate reads no drafts, but 'v1\\tv2' has a TAB: use lev_plugins\.load"
    for texts in (["v1", "v1\tv2"], "v1\tv2"):
        with pytest.raises(UserError, match=says):
            model.translate(texts)
    with pytest.raises(UserError, match="a text must be a string, but is 1"):
        model.translate([1])
    assert model.translate(SOURCES[0]) == model.translate(SOURCES[:1])[0]  # as fairseq's own models do


@pytest.mark.parametrize(("name", "kind"), [("pbd", PBD), ("gated", GatedTrans)])
def test_a_corrector_translates(name: str, kind: type[BaseFairseqModel]) -> None:
    model = kind.from_pretrained(str(GOLDEN / name), "checkpoint.pt", str(NOISY), bpe="chars")
    assert model.translate(NOISES, beam=3) == [characters(text).strip() for text in generated(f"{name}/expected")]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """For fairseq, each may be an address."""
    for folder, data in (("none", "."), (str(tmp_path), "none")):
        with pytest.raises(UserError, match=r"^there is no folder none$"):
            LevT.from_pretrained(folder, "checkpoint.pt", data)


def test_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    """fairseq would write where its members say, and delete it."""
    archive = tmp_path / "model.tar.gz"
    archive.write_bytes(b"")
    with pytest.raises(UserError, match="is a file, but a folder is needed: unpack it"):
        LevT.from_pretrained(str(archive), "checkpoint_best.pt", str(tmp_path))
    assert archive.exists()
