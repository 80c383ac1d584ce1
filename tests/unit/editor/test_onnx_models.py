"""Graphs in ONNX Runtime: the edits of torch and of the slow reference, and neither torch nor fairseq is loaded."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fairseq.models import MODEL_REGISTRY
from torch.onnx.errors import OnnxExporterError

import lev_plugins
from lev_plugins.editor.known_words import KnownWords
from lev_plugins.editor.onnx_refinement import GraphPolicies, Graphs
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.refinement import Refiner
from lev_plugins.export import export as graphs
from lev_plugins.export import load_model
from lev_plugins.labelling.text import LABEL_KINDS
from lev_plugins.text.edited import Edit
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, PREFER, SPAN
from lev_plugins.text.rewrites import Rewrite
from lev_plugins.text.segments import Segment
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, lively_model, random_rows, toy_dictionary
from tests.slow_refinement import slow_refine
from tests.systems import GOLDEN, SYSTEMS, System
from tests.unit.editor.test_untrusted_graphs import Change, changed_folder
from tests.unit.editor.test_without_torch import HEAVY, loaded_modules
from tests.unit.levt.test_generator import VARIANTS


@pytest.fixture(scope="module", params=[name for name in SYSTEMS if name.startswith("levt")])
def levt_export(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[System, Path]:
    place = tmp_path_factory.mktemp(request.param)
    system = SYSTEMS[request.param](place)
    return system, system.export(place / "out", "--trainable")


def rounded(edited: list[Any]) -> list[Any]:
    def round_edit(edit: Edit) -> Any:
        alternatives = [round_edit(alternative) for alternative in edit.alternatives]
        return edit.start, edit.end, edit.replacement, edit.iteration, round(edit.confidence, 3), alternatives

    return [[round_edit(edit) for edit in result.edits] for result in edited]


def test_graphs_of_a_levt_make_the_edits_of_its_checkpoint(levt_export: tuple[System, Path]) -> None:
    system, folder = levt_export
    expected = system.answers(system.load())
    assert rounded(system.answers(lev_plugins.load(folder))) == rounded(expected) and any(
        edited.edits for edited in expected
    )
    for flags in ({"keep_bias": 2.0}, {"iter_decode_eos_penalty": 3.0}):
        editor = lev_plugins.load(folder, options=EditOptions(**flags))
        assert rounded(system.answers(editor)) == rounded(system.answers(system.load(**flags)))


def test_a_folder_without_graphs_is_less_than_half_as_large(levt_export: tuple[System, Path]) -> None:
    _, folder = levt_export
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    rest = sum(size for path, size in sizes.items() if path.parent.name != "graphs" and path.name != "index.npz")
    assert 0 < rest < sum(sizes.values()) / 2


def test_edit_loads_neither_torch_nor_fairseq(levt_export: tuple[System, Path]) -> None:
    system, folder = levt_export
    for flags in ([], ["--cpu-int8"]):
        assert not HEAVY & loaded_modules("edit", str(folder), *flags, stdin="\n".join(system.texts))


WRITERS = [name for name in SYSTEMS if name in ("pbd", "transformer") or name.startswith("gated")]


@pytest.mark.parametrize("name", WRITERS)
def test_graphs_of_a_corrector_make_the_edits_of_its_checkpoint(name: str, tmp_path: Path) -> None:
    system = SYSTEMS[name](tmp_path)
    folder = system.export(tmp_path / "out")
    texts = [*system.texts, f"{system.texts[0]} {system.texts[1]}", "Qq"]
    for flags in ({}, {"keep_bias": 1.5}):
        editor = lev_plugins.load(folder, options=EditOptions(**flags))
        expected = system.load(**flags).edit(texts)
        assert rounded(editor.edit(texts)) == rounded(expected) and (flags or any(edited.edits for edited in expected))
    lines = "".join(f"{text}\n" for text in system.texts)
    assert not HEAVY & loaded_modules("edit", str(folder), "--cpu-int8", stdin=lines)


CANNOT = {
    OnnxExporterError("no such operator"): "--arch pbd (no such operator)",
    ModuleNotFoundError("No module named 'onnx'", name="onnx"): "pip install 'lev-plugins[train]'",
}


@pytest.mark.parametrize("error", CANNOT, ids=lambda error: type(error).__name__)
def test_export_refuses_a_model_whose_graphs_cannot_be_written(
    error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Refusal
) -> None:
    def fail(*args: object) -> None:
        raise error

    system = SYSTEMS["pbd"](tmp_path)
    monkeypatch.setattr("lev_plugins.export.export.write", fail)
    assert CANNOT[error] in refusal("export", system.checkpoint, tmp_path / "out", "--data", system.data)
    assert not (tmp_path / "out").exists()


def test_every_architecture_but_post_edit_transformer_can_be_exported(tmp_path: Path, refusal: Refusal) -> None:
    architectures = {name for name, kind in MODEL_REGISTRY.items() if kind.__module__.startswith("lev_plugins.")}
    exportable = {name for names in load_model.ARCHITECTURES.values() for name in names}
    assert architectures - exportable == {"post_edit_transformer"} and exportable - architectures == {"transformer"}
    assert {name for name in exportable if not any(system.startswith(name) for system in SYSTEMS)} == set()
    baseline = GOLDEN / "post_edit" / "checkpoint.pt"
    message = refusal("export", baseline, tmp_path / "out", "--data", GOLDEN / "levt" / "data")
    assert "--arch post_edit_transformer" in message and "fairseq-generate" in message


LABELLERS = [name for name in SYSTEMS if name in LABEL_KINDS or "label" in name or "enct5" in name]


@pytest.mark.parametrize("name", LABELLERS)
def test_graphs_of_a_labeller_make_the_labels_of_its_checkpoint(name: str, tmp_path: Path) -> None:
    system = SYSTEMS[name](tmp_path)
    folder = system.export(tmp_path / "out")
    checkpoint, labeller = system.load(), lev_plugins.load(folder)
    int8_labeller = lev_plugins.load(folder, options=LabelOptions(cpu_int8=True))
    texts = [*system.texts, "snow wind Zürich", "ice " * 9]
    selection = checkpoint.names[::-2] if checkpoint.kind == "multilabel" else []
    for interest in ([], selection):
        ids = checkpoint.ids_of(interest)
        for reference, computed, approximate in zip(
            *(model.scored(texts, ids) for model in (checkpoint, labeller, int8_labeller)), strict=True
        ):
            np.testing.assert_allclose(computed.scores, reference.scores, atol=1e-5)
            np.testing.assert_allclose(approximate.scores, reference.scores, atol=0.1)
            expected, answer = checkpoint.answer(reference, ids), labeller.answer(computed, ids)
            assert answer.keys() == expected.keys()
            for part, value in expected.items():
                assert answer[part] == (value if part == "words" else pytest.approx(value))
    lines = "".join(f"{text}\n" for text in system.texts)
    assert not HEAVY & loaded_modules("label", str(folder), stdin=lines)


@pytest.mark.parametrize("name", VARIANTS)
def test_refinement_by_graphs_equals_the_slow_reference(name: str, tmp_path: Path) -> None:
    model = lively_model(**VARIANTS[name])
    dictionary = toy_dictionary()
    graphs.write(model, tmp_path)
    policies = Graphs(tmp_path, 32, len(dictionary), model.placeholder)
    sources, drafts = random_rows(16, seed=5, shortest=1), random_rows(16, seed=6)
    draw = random.Random(1)
    kinds = [0, 0, 0, KEEP + SPAN, PREFER + 2 * SPAN, DELETE, INSERT]
    random_marks = [[0, *(draw.choice(kinds) for _ in draft[1:-1]), 0] for draft in drafts]
    for marks in ([[0] * len(draft) for draft in drafts], random_marks):
        for options in ({}, {"gamma": 2.0, "min_length": 4}, {"keep_bias": 1.0, "max_iter": 2}):
            options = RefinementOptions(**options)
            refiner = Refiner(options, model.placeholder, model.max_positions()[1])
            sentences = refiner.refine(GraphPolicies(policies, sources), map(len, sources), drafts, marks)
            for source, draft, mark, sentence in zip(sources, drafts, marks, sentences, strict=True):
                expected = slow_refine([model], source, draft, options, mark)
                assert sentence.tokens == expected.tokens
                scores = zip(sentence.words, expected.scores, strict=True)
                assert all(word.score == pytest.approx(score, abs=1e-4) for word, score in scores if word.origin < 0)


def test_what_an_editor_knows_of_words_of_its_lexicon(tmp_path: Path) -> None:
    editor = lev_plugins.load(SYSTEMS["levt with a lexicon"](tmp_path).export(tmp_path / "out"))
    model: Any = editor.model
    pieces = ["▁Teh", "▁lexica", "▁values"]
    segment = Segment("Teh lexica values", editor.offsets)
    assert segment.pieces == pieces and [*map(model.count, pieces)] == [0, 1, 0]

    def is_listed(place: int, word: str) -> bool:
        one = range(place, place + 1)
        output = [*pieces[:place], word, *pieces[place + 1 :]]
        return model.is_listed(segment, Rewrite(Edit(0, 1, ""), one, one), output)

    assert is_listed(0, "▁Of") and not is_listed(0, "▁the") and not is_listed(1, "▁of")
    assert not model.is_listed(segment, Rewrite(Edit(0, 1, ""), range(2), range(1)), ["▁of", "▁values"])
    text = "the commmand and soooo"  # the lexicon lists one of the two words with a letter three times
    assert [text[start:end] for start, end in editor.untouchable(text, ())] == ["soooo"]
    knows = KnownWords.load(tmp_path / "out")
    assert [knows(word) for word in ("Lexica", "teh", "The", "value", "etcd")] == [True, False, False, True, False]


def index(change: Callable[[dict[str, Any]], object]) -> Change:
    def rewrite(folder: Path) -> None:
        with np.load(folder / "index.npz") as file:
            arrays = dict(file)
        change(arrays)
        np.savez(folder / "index.npz", **arrays)

    return rewrite


def bad_header(folder: Path) -> None:
    """A TokenError of Python's, which NumPy asks."""
    path = folder / "index.npz"
    stored = path.read_bytes()
    end = stored.index(b"}", stored.index(b"{'descr'"))
    path.write_bytes(stored[:end] + b" " + stored[end + 1 :])


UNFIT: dict[str, Change] = {
    "weights": lambda folder: os.truncate(folder / "graphs" / "weights.bin", 0),
    "other shapes": index(lambda arrays: arrays.update(shapes=np.zeros(3, dtype=np.int64))),
    "other types": index(lambda arrays: arrays.update(sizes=arrays["sizes"].astype(str))),
    "incomplete": index(lambda arrays: arrays.pop("sizes")),
    "damaged": lambda folder: os.truncate(folder / "index.npz", 100),
    "header": bad_header,
}


@pytest.mark.parametrize("change", UNFIT)
def test_damaged_weights_or_index_are_refused(change: str, levt_export: tuple[System, Path], tmp_path: Path) -> None:
    _, original = levt_export
    if change != "weights" and not (original / "index.npz").is_file():
        pytest.skip("without --spelling, there is no index")
    folder = changed_folder(original, tmp_path / "model", UNFIT[change])
    with pytest.raises(UserError, match="export it again"):
        lev_plugins.load(folder)
