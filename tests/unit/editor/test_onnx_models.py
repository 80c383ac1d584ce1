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
from lev_plugins.editor.onnx_refinement import GraphPolicies, Graphs
from lev_plugins.editor.options import EditOptions, LabelOptions
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.refinement import Refiner
from lev_plugins.export import export as graphs
from lev_plugins.export import load_model
from lev_plugins.labelling.text import LABEL_KINDS
from lev_plugins.text.edited import Edit
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, PREFER, SPAN
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, lively_model, random_rows, toy_dictionary
from tests.slow_refinement import slow_refine
from tests.systems import GOLDEN, SYSTEMS, System
from tests.unit.editor.test_untrusted_graphs import Change, changed_folder
from tests.unit.editor.test_without_torch import HEAVY, run
from tests.unit.levt.test_generator import VARIANTS


@pytest.fixture(scope="module", params=[name for name in SYSTEMS if name.startswith("levt")])
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[System, Path]:
    place = tmp_path_factory.mktemp(request.param)
    system = SYSTEMS[request.param](place)
    return system, system.export(place / "out", "--trainable")


def rounded(edited: list[Any]) -> list[Any]:
    def told(edit: Edit) -> Any:
        others = [told(other) for other in edit.alternatives]
        return edit.start, edit.end, edit.replacement, edit.iteration, round(edit.confidence, 3), others

    return [[told(edit) for edit in one.edits] for one in edited]


def test_edits_are_those_of_the_checkpoint(exported: tuple[System, Path]) -> None:
    system, folder = exported
    expected = system.answers(system.load())
    assert rounded(system.answers(lev_plugins.load(folder))) == rounded(expected) and any(
        each.edits for each in expected
    )
    for flags in ({"keep_bias": 2.0}, {"iter_decode_eos_penalty": 3.0}):
        ours = lev_plugins.load(folder, options=EditOptions(**flags))
        assert rounded(system.answers(ours)) == rounded(system.answers(system.load(**flags)))


def test_without_graphs_a_folder_is_less_than_half_as_large(exported: tuple[System, Path]) -> None:
    """As docs/models.md says."""
    _, folder = exported
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    rest = sum(size for path, size in sizes.items() if path.parent.name != "graphs" and path.name != "index.npz")
    assert 0 < rest < sum(sizes.values()) / 2


def test_the_command_loads_neither_torch_nor_fairseq(exported: tuple[System, Path]) -> None:
    system, folder = exported
    for flags in ([], ["--cpu-int8"]):
        assert not HEAVY & run("edit", str(folder), *flags, stdin="".join(f"{text}\n" for text in system.texts))[0]


WRITERS = [name for name in SYSTEMS if name in ("pbd", "transformer") or name.startswith("gated")]


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_that_of_the_checkpoint(name: str, tmp_path: Path) -> None:
    system = SYSTEMS[name](tmp_path)
    folder = system.export(tmp_path / "out")
    texts = [*system.texts, f"{system.texts[0]} {system.texts[1]}", "Qq"]
    for flags in ({}, {"keep_bias": 1.5}):
        ours = lev_plugins.load(folder, options=EditOptions(**flags))
        theirs = system.load(**flags).edit(texts)
        assert rounded(ours.edit(texts)) == rounded(theirs) and (flags or any(one.edits for one in theirs))
    lines = "".join(f"{text}\n" for text in system.texts)
    assert not HEAVY & run("edit", str(folder), "--cpu-int8", stdin=lines)[0]


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


def test_each_model_can_be_exported_but_for_the_baseline_of_post_editing(tmp_path: Path, refusal: Refusal) -> None:
    ours = {name for name, kind in MODEL_REGISTRY.items() if kind.__module__.startswith("lev_plugins.")}
    exported = {name for names in load_model.ARCHITECTURES.values() for name in names}
    assert ours - exported == {"post_edit_transformer"} and exported - ours == {"transformer"}
    assert {name for name in exported if not any(system.startswith(name) for system in SYSTEMS)} == set()
    baseline = GOLDEN / "post_edit" / "checkpoint.pt"
    said = refusal("export", baseline, tmp_path / "out", "--data", GOLDEN / "levt" / "data")
    assert "--arch post_edit_transformer" in said and "fairseq-generate" in said


LABELLERS = [name for name in SYSTEMS if name in LABEL_KINDS or "label" in name or "enct5" in name]


@pytest.mark.parametrize("name", LABELLERS)
def test_labels_are_those_of_the_checkpoint(name: str, tmp_path: Path) -> None:
    system = SYSTEMS[name](tmp_path)
    folder = system.export(tmp_path / "out")
    theirs, ours = system.load(), lev_plugins.load(folder)
    rounded = lev_plugins.load(folder, options=LabelOptions(cpu_int8=True))
    texts = [*system.texts, "snow wind Zürich", "ice " * 9]
    asked = theirs.names[::-2] if theirs.kind == "multilabel" else []
    for interest in ([], asked):
        ids = theirs.ids_of(interest)
        for one, other, rough in zip(*(model.scored(texts, ids) for model in (theirs, ours, rounded)), strict=True):
            np.testing.assert_allclose(other.scores, one.scores, atol=1e-5)
            np.testing.assert_allclose(rough.scores, one.scores, atol=0.1)
            expected, answer = theirs.answer(one, ids), ours.answer(other, ids)
            assert answer.keys() == expected.keys()
            for part, value in expected.items():
                assert answer[part] == (value if part == "words" else pytest.approx(value))
    lines = "".join(f"{text}\n" for text in system.texts)
    assert not HEAVY & run("label", str(folder), stdin=lines)[0]


@pytest.mark.parametrize("name", VARIANTS)
def test_refinement_is_that_of_the_slow_reference(name: str, tmp_path: Path) -> None:
    model = lively_model(**VARIANTS[name])
    dictionary = toy_dictionary()
    graphs.write(model, tmp_path)
    exported = Graphs(tmp_path, 32, len(dictionary), model.placeholder)
    sources, drafts = random_rows(16, seed=5, shortest=1), random_rows(16, seed=6)
    draw = random.Random(1)
    kinds = [0, 0, 0, KEEP + SPAN, PREFER + 2 * SPAN, DELETE, INSERT]
    asked = [[0, *(draw.choice(kinds) for _ in draft[1:-1]), 0] for draft in drafts]
    for marks in ([[0] * len(draft) for draft in drafts], asked):
        for given in ({}, {"gamma": 2.0, "min_length": 4}, {"keep_bias": 1.0, "max_iter": 2}):
            options = RefinementOptions(**given)
            refiner = Refiner(options, model.placeholder, model.max_positions()[1])
            found = refiner.refine(GraphPolicies(exported, sources), map(len, sources), drafts, marks)
            for source, draft, mark, sentence in zip(sources, drafts, marks, found, strict=True):
                expected = slow_refine([model], source, draft, options, mark)
                assert sentence.tokens == expected.tokens
                scores = zip(sentence.words, expected.scores, strict=True)
                assert all(word.score == pytest.approx(score, abs=1e-4) for word, score in scores if word.origin < 0)


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
    "incomplete": index(lambda arrays: arrays.pop("numbers")),
    "damaged": lambda folder: os.truncate(folder / "index.npz", 100),
    "header": bad_header,
}


@pytest.mark.parametrize("change", UNFIT)
def test_what_does_not_fit_is_refused(change: str, exported: tuple[System, Path], tmp_path: Path) -> None:
    _, original = exported
    if change != "weights" and not (original / "index.npz").is_file():
        pytest.skip("without --spelling, there is no index")
    folder = changed_folder(original, tmp_path / "model", UNFIT[change])
    with pytest.raises(UserError, match="export it again"):
        lev_plugins.load(folder)
