"""Checkpoints and model folders of earlier versions give the same text and scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import lev_plugins
from lev_plugins.editor.editor import Editor
from lev_plugins.text.protected import parse_kinds
from tests.commands import ROOT, succeed

GOLDEN_DIR = ROOT / "tests" / "golden"
WITHOUT_DRAFT = ["levt/data", "--task", "text_editing", "-s", "src", "-t", "tgt"]
DRAFT_FLAGS = [*WITHOUT_DRAFT, "--draft-lang", "mt"]
PARALLEL_CORRECTION = ["noisy/data", "--task", "text_correction", "-s", "noisy", "-t", "clean", "--beam", "3"]
RUNS = {  # expected output -> checkpoint and flags
    "levt/expected": ("levt", DRAFT_FLAGS),
    "levt/expected-from-nothing": ("levt", WITHOUT_DRAFT),
    "post_edit/expected": ("post_edit", [*DRAFT_FLAGS, "--beam", "3"]),
    "pbd/expected": ("pbd", PARALLEL_CORRECTION),
    "gated/expected": ("gated", PARALLEL_CORRECTION),
}
OTHER_SCORES = {"levt/expected"}  # since 0.2.0 the score of an edited draft includes its kept words
MODEL_DIRS = sorted(path.parent for path in (GOLDEN_DIR / "folders").glob("*/*/model"))
VERSIONS = sorted(path.parent.name for path in GOLDEN_DIR.glob("*/levt"))


def line_parts(line: str) -> tuple[str, str, list[float]]:
    """Splits an H- or P- line into its name, its text and its numbers."""
    name, *rest = line.split("\t")
    if name.startswith("P-"):
        return name, "", [float(number) for number in rest[0].split()]
    score, text = rest
    return name, text, [float(score)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("run", RUNS)
def test_golden_checkpoints_decode_to_the_same_text(version: str, run: str) -> None:
    folder = GOLDEN_DIR / version
    system, data = RUNS[run]
    flags = ["--path", f"{system}/checkpoint.pt", "--gen-subset", "test", "--batch-size", "8", "--cpu"]
    log = succeed("fairseq-generate", *data, "--user-dir", ROOT / "lev_plugins", *flags, cwd=folder).out
    lines = {row[0]: row for row in map(line_parts, re.findall("^[HP]-.*", log, re.M))}
    expected = [line_parts(line) for line in (folder / f"{run}.txt").read_text("utf-8").splitlines()]
    assert len(lines) == len(expected) == 40
    for name, text, numbers in expected:
        assert lines[name][:2] == (name, text)
        if run not in OTHER_SCORES:
            assert lines[name][2] == pytest.approx(numbers, abs=2e-4)


@pytest.mark.parametrize("version", VERSIONS)
def test_golden_checkpoints_give_the_same_labels(version: str, tmp_path: Path) -> None:
    folder = GOLDEN_DIR / version
    texts = re.sub(r"\t.*", "", (folder / "labels" / "test.tsv").read_text("utf-8"))
    succeed("lev-plugins", "export", "labels/checkpoint.pt", tmp_path / "out", cwd=folder)
    printed = succeed("lev-plugins", "label", tmp_path / "out", stdin=texts).out
    expected = Path(folder, "labels", "expected.txt").read_text("utf-8")
    for line, expected_line in zip(printed.splitlines(), expected.splitlines(), strict=True):
        answer, expected_answer = json.loads(line), json.loads(expected_line)
        assert answer["label"] == expected_answer["label"]
        assert answer["score"] == pytest.approx(expected_answer["score"], abs=2e-4)


@pytest.mark.parametrize("folder", MODEL_DIRS, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_golden_model_folders_give_the_same_answers(folder: Path, tmp_path: Path) -> None:
    inputs, expected = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("given", "expected"))
    if not (folder / "model" / "graphs").is_dir():
        succeed("lev-plugins", "export", folder / "model", tmp_path / "out")
    model = lev_plugins.load(tmp_path / "out" if (tmp_path / "out").is_dir() else folder / "model")
    if isinstance(model, Editor):
        model.edit_also = parse_kinds("all")  # those versions protected no spans
        answers = [edited.as_dict() for edited in model.edit(inputs["texts"], inputs["drafts"])]
        for edit in (edit for answer in answers for edit in answer["edits"]):
            del edit["alternatives"]
    else:
        answers = model.label(inputs["texts"], scores=True)
    assert len(answers) == len(expected) > 0
    for answer, expected_answer in zip(answers, expected, strict=True):
        assert_alike(answer, expected_answer)


def assert_alike(value: Any, expected: Any) -> None:
    """Asserts equality, of floats up to rounding."""
    if isinstance(expected, float):
        assert value == pytest.approx(expected, abs=2e-4)
    elif isinstance(expected, (dict, list)):
        assert len(value) == len(expected) and type(value) is type(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_alike(value[key], expected[key])
    else:
        assert value == expected
