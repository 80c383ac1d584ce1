"""Checkpoints and model folders that an earlier version made give the same text and scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import lev_plugins
from lev_plugins.editor.editor import Editor
from lev_plugins.export import load_model
from lev_plugins.text.protected import parse_kinds
from lev_plugins.utils.errors import UserError
from tests.commands import ROOT, succeed

GOLDEN = ROOT / "tests" / "golden"
WRITING = ["levt/data", "--task", "text_editing", "-s", "src", "-t", "tgt"]
EDITING = [*WRITING, "--draft-lang", "mt"]
CORRECTION = ["noisy/data", "--task", "text_correction", "-s", "noisy", "-t", "clean", "--beam", "3"]
RUNS = {  # what was decoded, the checkpoint, the flags
    "levt/expected": ("levt", EDITING),
    "levt/expected-from-nothing": ("levt", WRITING),
    "post_edit/expected": ("post_edit", [*EDITING, "--beam", "3"]),
    "pbd/expected": ("pbd", CORRECTION),
    "gated/expected": ("gated", CORRECTION),
}
SCORED_OTHERWISE = {"levt/expected"}  # since 0.2.0 the score of an edited draft counts what was kept of it
GONE = "gated-spelling"  # an experiment of version 0.2
FOLDERS = sorted(path.parent for path in (GOLDEN / "folders").glob("*/*/model") if path.parent.name != GONE)
VERSIONS = sorted(path.parent.name for path in GOLDEN.glob("*/levt"))


def parts(line: str) -> tuple[str, str, list[float]]:
    """An H- or P- line: its name, the text it holds, and its numbers."""
    name, *rest = line.split("\t")
    if name.startswith("P-"):
        return name, "", [float(number) for number in rest[0].split()]
    score, text = rest
    return name, text, [float(score)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("run", RUNS)
def test_text_and_scores_are_the_same(version: str, run: str) -> None:
    folder = GOLDEN / version
    system, data = RUNS[run]
    flags = ["--path", f"{system}/checkpoint.pt", "--gen-subset", "test", "--batch-size", "8", "--cpu"]
    log = succeed("fairseq-generate", *data, "--user-dir", ROOT / "lev_plugins", *flags, cwd=folder).out
    found = {row[0]: row for row in map(parts, re.findall("^[HP]-.*", log, re.M))}
    expected = [parts(line) for line in (folder / f"{run}.txt").read_text("utf-8").splitlines()]
    assert len(found) == len(expected) == 40
    for name, text, numbers in expected:
        assert found[name][:2] == (name, text)
        if run not in SCORED_OTHERWISE:
            assert found[name][2] == pytest.approx(numbers, abs=2e-4)


@pytest.mark.parametrize("version", VERSIONS)
def test_labels_are_the_same(version: str, tmp_path: Path) -> None:
    folder = GOLDEN / version
    texts = re.sub(r"\t.*", "", (folder / "labels" / "test.tsv").read_text("utf-8"))
    succeed("lev-plugins", "export", "labels/checkpoint.pt", tmp_path / "out", cwd=folder)
    printed = succeed("lev-plugins", "label", tmp_path / "out", stdin=texts).out
    expected = Path(folder, "labels", "expected.txt").read_text("utf-8")
    for line, wanted in zip(printed.splitlines(), expected.splitlines(), strict=True):
        answer, before = json.loads(line), json.loads(wanted)
        assert answer["label"] == before["label"]
        assert answer["score"] == pytest.approx(before["score"], abs=2e-4)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: "-".join(folder.parts[-2:]))
def test_a_model_folder_answers_as_before(folder: Path, tmp_path: Path) -> None:
    given, expected = (json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("given", "expected"))
    if not (folder / "model" / "graphs").is_dir():
        succeed("lev-plugins", "export", folder / "model", tmp_path / "out")
    model = lev_plugins.load(tmp_path / "out" if (tmp_path / "out").is_dir() else folder / "model")
    if isinstance(model, Editor):
        model.edit_also = parse_kinds("all")  # those versions did not leave anything alone
        found = [edited.as_dict() for edited in model.edit(given["texts"], given["drafts"])]
        for edit in (edit for each in found for edit in each["edits"]):
            del edit["others"]
    else:
        found = model.label(given["texts"], scores=True)
    assert len(found) == len(expected) > 0
    for answer, before in zip(found, expected, strict=True):
        assert_alike(answer, before)


def test_a_gated_model_that_spells_is_refused() -> None:
    with pytest.raises(UserError, match="trained with --spelling, which only --arch levt and enct5 have now"):
        load_model.read_model(GOLDEN / "folders" / "0.2" / GONE / "model", {})


def assert_alike(one: Any, other: Any) -> None:
    """Numbers up to rounding, all else exactly."""
    if isinstance(other, float):
        assert one == pytest.approx(other, abs=2e-4)
    elif isinstance(other, (dict, list)):
        assert len(one) == len(other) and type(one) is type(other)
        for key in other if isinstance(other, dict) else range(len(other)):
            assert_alike(one[key], other[key])
    else:
        assert one == other
