"""``Editor``: confidences are compared with brute force; tests/parity compares the texts with fairseq's."""

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
from tests.systems import GOLDEN, SYSTEMS, System

LEVT, NOISY = GOLDEN / "levt" / "data", GOLDEN / "noisy" / "data"
MODEL_FOLDERS = ROOT / "tests" / "golden" / "folders" / "0.2"


def binarised_lines(data: Path, part: str, side: str) -> list[str]:
    dictionary, dataset = Dictionary.load(str(data / f"dict.{part}.txt")), MMapIndexedDataset(str(data / side))
    return [dictionary.string(dataset[i]) for i in range(len(dataset))]


def characters(text: str) -> str:
    return text.replace(" ", "").replace("▁", " ")


INPUT = binarised_lines(LEVT, "src", "test.src-tgt.src")
TEST_DRAFTS = binarised_lines(LEVT, "tgt", "test.mt-tgt.mt")
TYPOS = [characters(row) for row in binarised_lines(NOISY, "noisy", "test.noisy-clean.noisy")]


def expected_texts(name: str) -> list[str]:
    """Returns the stored outputs of fairseq-generate for the test set, which tests/parity/test_golden.py checks."""
    lines = (GOLDEN / f"{name}.txt").read_text("utf-8").splitlines()
    texts = {int(name[2:]): text for name, _, text in (line.split("\t") for line in lines if line.startswith("H-"))}
    return [texts[i] for i in range(len(texts))]


@pytest.fixture(scope="module")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, System]:
    """Returns a corrector and a levt with random weights, which makes many edits in one iteration."""
    return {name: SYSTEMS[name](tmp_path_factory.mktemp(name)) for name in ("pbd", "levt")}


@pytest.fixture(scope="module")
def exports(systems: dict[str, System]) -> dict[str, Path]:
    """Returns the model folders of the systems."""
    return {name: system.export(system.checkpoint.parent / "out") for name, system in systems.items()}


@pytest.fixture(scope="module")
def pbd(exports: dict[str, Path]) -> Editor:
    return Editor.load(exports["pbd"])


@pytest.fixture(scope="module")
def torch_levt(systems: dict[str, System]) -> Editor:
    """Returns the levt computed by torch instead of its graphs."""
    return systems["levt"].load()


@pytest.fixture(scope="module")
def levt(exports: dict[str, Path]) -> Editor:
    return Editor.load(exports["levt"])


# ---- confidence ------------------------------------------------------------------------------------------------------


@torch.no_grad()
def log_probability(editor: Editor, source: str, text: str) -> float:
    """Returns the log-probability of a whole text, computed without other texts."""
    ids = {}
    for side, line in (("source", source), ("target", text)):
        words = getattr(editor.model.decoder.task, f"{side}_dictionary")
        ids[side] = words.encode_line(editor.tokeniser(line), add_if_not_exist=False).long()
    eos = torch.tensor([editor.model.decoder.task.target_dictionary.eos()])
    prefix, model = torch.cat([eos, ids["target"][:-1]]), editor.model.decoder.models[0]
    logits, _ = model(ids["source"][None], torch.tensor([len(ids["source"])]), prefix[None])[:2]
    return float(logits[0].log_softmax(-1).gather(1, ids["target"][:, None]).sum())


def test_confidence_of_a_corrector_compares_the_sentence_with_and_without_the_edit(
    pbd: Editor, systems: dict[str, System]
) -> None:
    compared, checkpoint = 0, systems["pbd"].load()
    for edited in pbd.edit(TYPOS):
        whole = log_probability(checkpoint, edited.original, edited.text)
        for edit in edited.edits:
            other_edits = tuple(candidate for candidate in edited.edits if candidate != edit)
            undone = log_probability(checkpoint, edited.original, Edited(edited.original, other_edits).text)
            assert edit.confidence == pytest.approx(1 / (1 + math.exp(undone - whole)), abs=1e-4)
            assert edit.iteration == 1
            compared += 1
    assert compared > 20


@torch.no_grad()
def test_confidence_of_a_levt_follows_from_its_policies(torch_levt: Editor) -> None:
    models = torch_levt.model.decoder.models
    source, target = torch_levt.model.decoder.task.source_dictionary, torch_levt.model.decoder.task.target_dictionary
    plh = torch_levt.model.decoder.models[0].placeholder
    deletions = insertions = 0
    for text, draft, edited in zip(INPUT, TEST_DRAFTS, torch_levt.edit(INPUT, TEST_DRAFTS), strict=True):
        row = source.encode_line(f"<s> {text}", add_if_not_exist=False).tolist()
        canvas = target.encode_line(f"<s> {draft}", add_if_not_exist=False).long()
        deletion = probabilities(models, "deletion", canvas.tolist(), row)
        rest = canvas[~(deletion[:, 1] > deletion[:, 0]) | canvas.eq(target.bos()) | canvas.eq(target.eos())]
        count_probs = probabilities(models, "placeholder", rest.tolist(), row)
        count_probs[:, 0] *= math.exp(-torch_levt.model.decoder.generator.options.gamma)
        counts = count_probs.argmax(1)
        filled = torch.cat([torch.tensor([word, *[plh] * n]) for word, n in zip(rest, [*counts, 0], strict=True)])
        token_probs = probabilities(models, "token", filled.tolist(), row) if plh in filled else None
        for edit in edited.edits:
            words = range(1 + len(draft[: edit.start].split()), 1 + len(draft[: edit.end].split()))
            if edit.replacement == "":  # words that are deleted, and nothing comes in their place
                deletions += 1
                go, stay = (math.prod(float(deletion[i, column]) for i in words) for column in (1, 0))
                assert edit.confidence == pytest.approx(go / (go + stay), abs=1e-4)
            elif edit.start == edit.end and len(rest) == len(
                canvas
            ):  # nothing is deleted: the draft has the same slots
                insertions += 1
                slot = words.start - 1
                none, some = float(count_probs[slot, 0]), float(count_probs[slot, 1:].sum())
                first_place = int(counts[:slot].sum())
                for place, word in enumerate(edit.replacement.split(), first_place):
                    some *= float(token_probs[place, target.index(word)])
                assert edit.confidence == pytest.approx(some / (some + none), abs=1e-4)
            assert 0 <= edit.confidence <= 1
            assert edit.iteration == 1
    assert deletions >= 3 and insertions >= 10


def test_an_inserted_word_has_the_alternatives_of_its_placeholder(torch_levt: Editor) -> None:
    words = torch_levt.model.decoder.task.target_dictionary
    offers = [(words.index(word), choice) for word, choice in [("v3", -0.2), ("v2", -2.0), ("v4", -2.5), ("v5", -9.0)]]
    edits = WordEdits([1, -1, 3], [0, 1, 0], [0.0] * 3, [0.0, -0.2, 0.0], [0, 0, 1, 0], [0.0, 0.0, 3.0, 0.0], [])
    edits = replace(edits, alternatives=[[], offers, []])
    tokens = [words.index("v1"), offers[0][0], words.eos()]
    segment = Segment("v1  v2", torch_levt.offsets)
    (edit,) = torch_levt.model.edits(segment, tokens, edits)
    assert (edit.start, edit.end, edit.replacement) == (4, 6, "v3")
    # v2 would leave the text as it is, and v5 is too unlikely
    assert [(option.start, option.end, option.replacement) for option in edit.alternatives] == [(4, 6, "v4")]
    assert edit.alternatives[0].confidence == pytest.approx(1 / (1 + math.exp(-(3.0 - 2.5))))


# ---- all else stays --------------------------------------------------------------------------------------------------


UNUSUAL_CHARACTERS = " \t\r\n\u00a0\u2028abcdef.,é\u0301😀ﬁ½日\u200b"


@given(st.lists(st.text(st.sampled_from(UNUSUAL_CHARACTERS), max_size=40), min_size=1, max_size=3))
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
def test_line_breaks_and_text_around_sentences_stay(pbd: Editor, texts: list[str]) -> None:
    for text, edited in zip(texts, pbd.edit(texts), strict=True):
        assert edited.original == text and "<unk>" not in edited.text
        for edit in edited.edits:
            for part in (text[edit.start : edit.end], edit.replacement):
                assert len(f"{part}.".splitlines()) == 1
        assert len(f"{edited.text}.".splitlines()) == len(f"{text}.".splitlines())


def test_an_edit_does_not_depend_on_the_other_texts(pbd: Editor) -> None:
    assert pbd.edit([]) == [] and [edited.text for edited in pbd.edit(["", " \n\t"])] == ["", " \n\t"]
    together = pbd.edit(TYPOS)
    alone = [pbd.edit([text])[0] for text in TYPOS]
    assert [edited.text for edited in together] == [edited.text for edited in alone]
    for batched, single in zip(together, alone, strict=True):
        confidences = [[edit.confidence for edit in result.edits] for result in (batched, single)]
        assert confidences[0] == pytest.approx(confidences[1], abs=1e-4)


def test_threads_do_not_share_unknown_words(levt: Editor) -> None:
    drafts = [[f"⟦!{word}⟧ v8 {word}"] for word in ("Zürich", "Genf", "Bern", "Basel")]
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda draft: levt.edit(INPUT[:1], draft)[0].text, drafts * 5)
        for text, (draft,) in zip(texts, drafts * 5, strict=True):
            assert text.startswith(draft[2 : draft.index("⟧")])


def test_a_paragraph_is_cut_into_sentences_and_joined_again(pbd: Editor) -> None:
    lines = [text.strip() for text in TYPOS[:4]]
    paragraph = f"  {lines[0]}\r\n\r\n{lines[1]}\t\n{lines[2]}\u2028{lines[3]} "
    edited = pbd.edit([paragraph])[0]
    parts = [pbd.edit([line])[0].text for line in lines]
    assert edited.text == f"  {parts[0]}\r\n\r\n{parts[1]}\t\n{parts[2]}\u2028{parts[3]} "


def test_long_texts_are_cut_at_blanks_and_long_words_left_alone(pbd: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pbd.model.longest == 1022  # of 1024 positions
    monkeypatch.setattr(pbd.model, "longest", 20)
    long = "ab cd " * 20
    word = "x" * 21
    edited = pbd.edit([f"{long}{word}"])[0]
    assert edited.text.endswith(word) and edited.edits
    assert all(edit.end <= len(long) for edit in edited.edits)


def test_unknown_words_and_blanks_of_a_draft_stay(levt: Editor) -> None:
    draft = " \t⟦!Zürich  \u00a0</s>⟧\t⟦-v8⟧ v9 "
    edited = levt.edit([INPUT[0]], [draft])[0]
    assert edited.original == " \tZürich  \u00a0</s>\tv8 v9 "
    assert "Zürich  \u00a0</s>" in edited.text and "v8" not in edited.text
    assert edited.text[:2] == " \t" and edited.text[-1] == " "
    place = edited.original.index("v8")
    assert [edit.confidence for edit in edited.edits if edit.start <= place < edit.end] == [1.0]  # it was asked for


def test_an_empty_draft_gets_the_output_of_generation(torch_levt: Editor) -> None:
    assert torch_levt.edit(INPUT[:1]) == torch_levt.edit(INPUT[:1], INPUT[:1])  # a text is its own draft
    (edited,), task = torch_levt.edit(INPUT[:1], [""]), torch_levt.model.decoder.task
    assert edited.original == "" and all(edit.start == edit.end == 0 for edit in edited.edits)
    dataset = task.build_dataset_for_inference(*task.get_interactive_tokens_and_lengths([f"{INPUT[0]}\t"], str.strip))
    ((_, hypothesis),) = torch_levt.model.decoder.best(dataset, range(1), 1000)
    assert edited.text == task.target_dictionary.string(hypothesis["tokens"]) != ""


def test_a_long_draft_is_refused_before_its_marks_are_placed(levt: Editor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Placing marks takes time proportional to the number of tokens times that of marks."""
    monkeypatch.setattr("lev_plugins.editor.editor.marks.tokenize", None)
    with pytest.raises(UserError, match=r"draft .*2,000 "):
        levt.edit(INPUT[:1], ["⟦+⟧ v8 " * 2000])


def test_a_draft_may_begin_with_a_byte_order_mark(levt: Editor) -> None:
    plain, marked = levt.edit(INPUT[:1] * 2, ["v8 v9", "\ufeffv8 v9"])
    assert marked.text == f"\ufeff{plain.text}" and marked.original == "\ufeffv8 v9"
    assert levt.edit([f"\ufeff{INPUT[0]}"], ["v8 v9"]) == [plain]


def test_half_a_character_is_refused(pbd: Editor, torch_levt: Editor) -> None:
    for editor, texts in ((pbd, (["fine", "a \ud83d"],)), (torch_levt, ([INPUT[0]], ["\ud83d"]))):
        with pytest.raises(UserError, match=r"\\ud83d at \d"):
            editor.edit(*texts)


# ---- refusals --------------------------------------------------------------------------------------------------------


def test_unusable_texts_and_folders_are_refused(pbd: Editor, torch_levt: Editor) -> None:
    with pytest.raises(UserError, match=r"drafts .*text_correction"):
        pbd.edit(["a"], ["b"])
    with pytest.raises(UserError, match=r"--min-confidence .* 50"):
        EditOptions(min_confidence=50).check()
    with pytest.raises(UserError, match=r"line 2: min_confidence .* 50"):
        pbd.edit(["a", EditRequest("a", min_confidence=50)])
    with pytest.raises(UserError, match=r"--min-confidence .* read or write, .*'hook'"):
        EditOptions(min_confidence="hook").check()
    with pytest.raises(UserError, match=r"line 1: min_confidence is write, .* --promise-broken write=N"):
        pbd.edit([EditRequest("a", min_confidence="write")])
    with pytest.raises(UserError, match=r"words .*'ab'"):
        pbd.edit([EditRequest("a", words="ab")])
    with pytest.raises(UserError, match=r"2 texts.* 1 drafts"):
        torch_levt.edit(["a", "b"], ["c"])
    with pytest.raises(UserError, match=r"source .*2,000 .*1,022"):
        torch_levt.edit(["v1 " * 2000], ["v1"])
    with pytest.raises(UserError, match=r"none .*lev-plugins export"):
        Editor.load("none")


def test_a_model_without_graphs_is_refused_with_the_export_command(tmp_path: Path) -> None:
    checkpoint = Path(shutil.copy(GOLDEN / "pbd" / "checkpoint.pt", tmp_path / "my model.pt"))
    weights = MODEL_FOLDERS / "pbd" / "model"
    for path in (checkpoint, weights):
        with pytest.raises(UserError) as error:
            lev_plugins.load(path)
        (command,) = re.findall(r"lev-plugins export '?\S.*-folder'?", str(error.value))
        assert shlex.split(command)[2:] == [str(path), str(path.with_name(f"{path.stem}-folder"))]


def test_an_unavailable_device_is_refused(exports: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, package in (("gpu", "cpu or cuda"), ("cuda", "onnxruntime-gpu")):
        with pytest.raises(UserError, match=f"--device.*{package}"):
            Editor.load(exports["levt"], EditOptions(device=name))
    with pytest.raises(UserError, match="--cpu-int8"):
        Editor.load(exports["levt"], EditOptions(device="cuda", cpu_int8=True))
    # a library that was built for a GPU, but does not find those of CUDA
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [CUDA, CPU])
    with pytest.raises(UserError, match="onnxruntime-gpu"):
        Editor.load(exports["levt"], EditOptions(device="cuda"))


# ---- requests --------------------------------------------------------------------------------------------------------


def test_each_request_has_its_own_settings(pbd: Editor) -> None:
    text, words = TYPOS[0], TYPOS[0].split()
    requests = [text, EditRequest(text, min_confidence=1.0), EditRequest(text, words=words), EditRequest(text)]
    plain, unsure, protected, repeated = pbd.edit(requests)
    with_dials = Editor(pbd.model, pbd.tokeniser, dials={"read": 0.0, "write": 1.0})
    assert with_dials.edit([EditRequest(text, min_confidence=name) for name in ("read", "write")]) == [plain, unsure]
    strict = Editor(pbd.model, pbd.tokeniser, EditOptions(min_confidence="write"), dials=with_dials.dials)
    assert strict.edit([text]) == [unsure] and strict.min_confidence == strict.min_confidence_of("write") == 1
    assert plain.edits and plain == repeated == pbd.edit([text])[0]
    assert all(edit.confidence == 1 for edit in unsure.edits)
    assert len(protected.protected) == len(words)


def test_drafts_in_requests_equal_a_list_of_drafts(levt: Editor) -> None:
    requests = [EditRequest(*pair) for pair in zip(INPUT, TEST_DRAFTS, strict=True)]
    assert levt.edit(requests) == levt.edit(INPUT, TEST_DRAFTS) == levt.edit(map(EditRequest, INPUT), TEST_DRAFTS)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"beam": 2}, "--beam .*text_editing"),
        ({"iter_decode_max_iter": 1.5}, r"--iter-decode-max-iter .*1\.5"),
        ({"max_tokens": 0}, "--max-tokens .* 0"),
        ({"edit_also": ["numbers"]}, "--edit-also .*'numbers'"),
        ({"document": "none"}, "--document.* none"),
    ],
)
def test_unusable_editor_options_are_refused(options: dict[str, Any], rule: str, exports: dict[str, Path]) -> None:
    with pytest.raises(UserError, match=rule):
        Editor.load(exports["levt"], EditOptions(**options))


def test_listed_words_are_not_changed(pbd: Editor) -> None:
    free, bound = (
        Editor(pbd.model, pbd.tokeniser, EditOptions(words=words)).edit([TYPOS[0]])[0]
        for words in (None, TYPOS[0].split())
    )
    assert any(edit.end > edit.start for edit in free.edits) and all(edit.end == edit.start for edit in bound.edits)
    assert pbd.edit([EditRequest(TYPOS[0], words=TYPOS[0].split())])[0].edits == bound.edits


# ---- tokenisers ------------------------------------------------------------------------------------------------------


def test_the_sentencepiece_model_of_the_data_is_used(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(NOISY, data)
    sentencepieces(data / "sentencepiece", TYPOS * 3, 30, hard_vocab_limit=False)
    system = System(GOLDEN / "gated" / "checkpoint.pt", data, [])
    editor = Editor.load(system.export(tmp_path / "out"))
    text = "\u3000\uff44  \uff42\tc  "
    (edited,) = editor.edit([text])
    assert isinstance(editor.tokeniser.bpe, SentencePiece) and edited.original == text
    assert edited.text.startswith("\u3000") and edited.text.endswith("  ")
    folder = replace(system, bpe={"bpe": "chars"}).export(tmp_path / "other", "--no-graphs")
    assert model_folder.read(folder).tokeniser == "chars"


def test_a_tokeniser_that_makes_unknown_words_warns_once(
    pbd: Editor, systems: dict[str, System], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert pbd.edit(["abc def", "d"])[1].original == "d"
    assert not [record for record in caplog.records if record.levelname == "WARNING"]
    wrong = Editor.load(replace(systems["pbd"], bpe={}).export(tmp_path / "out"))
    for _ in range(2):
        wrong.edit(["abc def"])
    (warning,) = [record.message for record in caplog.records if record.levelname == "WARNING"]
    assert warning.startswith("2 of 2 tokens ") and "--bpe" in warning


# ---- fairseq's own way to a model in Python, ``from_pretrained`` -----------------------------------------------------


def test_a_levt_translates() -> None:
    model = LevT.from_pretrained(str(GOLDEN / "levt"), "checkpoint.pt", str(LEVT))
    assert model.translate(INPUT) == expected_texts("levt/expected-from-nothing")


def test_translate_refuses_drafts() -> None:
    model = LevT.from_pretrained(str(GOLDEN / "levt"), "checkpoint.pt", str(LEVT))
    says = r"drafts.*'v1\\tv2' .*lev_plugins\.load"
    for texts in (["v1", "v1\tv2"], "v1\tv2"):
        with pytest.raises(UserError, match=says):
            model.translate(texts)
    with pytest.raises(UserError, match=r"string.* 1"):
        model.translate([1])
    assert model.translate(INPUT[0]) == model.translate(INPUT[:1])[0]  # as fairseq's own models do


@pytest.mark.parametrize(("name", "kind"), [("pbd", PBD), ("gated", GatedTrans)])
def test_a_corrector_translates(name: str, kind: type[BaseFairseqModel]) -> None:
    model = kind.from_pretrained(str(GOLDEN / name), "checkpoint.pt", str(NOISY), bpe="chars")
    assert model.translate(TYPOS, beam=3) == [characters(text).strip() for text in expected_texts(f"{name}/expected")]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """fairseq would accept both names as addresses on the web."""
    for folder, data in (("none", "."), (str(tmp_path), "none")):
        with pytest.raises(UserError, match="folder none"):
            LevT.from_pretrained(folder, "checkpoint.pt", data)


def test_an_archive_is_not_unpacked(tmp_path: Path) -> None:
    """fairseq would write to the paths that its members name and delete the archive."""
    archive = tmp_path / "model.tar.gz"
    archive.write_bytes(b"")
    with pytest.raises(UserError, match=r"model\.tar\.gz is a file"):
        LevT.from_pretrained(str(archive), "checkpoint_best.pt", str(tmp_path))
    assert archive.exists()
