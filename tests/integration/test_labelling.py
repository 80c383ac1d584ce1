"""EncT5 on the command line: prepare, train, validate, label, tune; toy texts whose labels can be learned."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lev_plugins.editor.labeller import Labeller, read_thresholds
from lev_plugins.editor.options import LabelOptions
from lev_plugins.training import checkpoints
from tests.commands import QUIET, TRAINED, USER_DIR, Result, run, succeed, two_ranks
from tests.labelling import prepare, write_text

KINDS = {"classification": "accuracy", "regression": "spearman", "multilabel": "micro_f1", "tagging": "tag_accuracy"}
TASK = ["--user-dir", USER_DIR, "--task", "text_labelling"]
SCHEDULE = ["--lr-scheduler", "polynomial_decay", "--total-num-update", 120, "--max-update", 120, "--max-tokens", 400]
ADAFACTOR = ["--optimizer", "adafactor", "--scale-parameter", "--lr", 0.01]
GOOD_ENOUGH = {"classification": 80, "regression": 70, "multilabel": 90, "tagging": 98}


def train(folder: Path, kind: str, *flags: object) -> list[object]:
    best = ["--best-checkpoint-metric", KINDS[kind], "--maximize-best-checkpoint-metric"]
    return [
        *("fairseq-train", folder / "data", *TASK, "--label-kind", kind, "--arch", "enct5_tiny"),
        *("--criterion", "labelling", "--cpu", "--save-dir", folder / "checkpoints", "--dropout", 0),
        *(*ADAFACTOR, *SCHEDULE, *best, *QUIET, "--no-epoch-checkpoints", "--validate-interval", 5, *flags),
    ]


@pytest.fixture(scope="module", params=list(KINDS))
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The kind, and the folder of its checkpoint, data and text."""
    folder = tmp_path_factory.mktemp(request.param)
    write_text(folder, request.param, 300, 100)
    prepare(folder, request.param)
    state = checkpoints.load(TRAINED / f"{request.param}.pt")
    state["cfg"]["task"]["data"] = str(folder / "data")
    checkpoints.save(state, folder / "checkpoint.pt")
    return request.param, folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_learned(kind: str, tmp_path: Path) -> None:
    write_text(tmp_path, kind, 300, 100)
    prepare(tmp_path, kind)
    pack = ["--pack", "--pack-length", 64] if kind in ("multilabel", "tagging") else []
    log = succeed(*train(tmp_path, kind, *pack, *(["--cpu-bf16"] if kind == "classification" else [])))
    assert best_of(log, KINDS[kind]) >= GOOD_ENOUGH[kind]


def test_two_processes_validate_on_all_answers(tmp_path: Path) -> None:
    """More of them than fairseq gathers, and the last batch is one process's alone."""
    write_text(tmp_path, "tagging", valid=700)
    prepare(tmp_path, "tagging")
    flags = ["--max-update", 2, "--validate-interval", 1, "--batch-size-valid", 100, "--max-tokens-valid", 100_000]
    one = succeed(*train(tmp_path, "tagging", *flags, "--update-freq", 2, "--no-save"))
    first, _ = two_ranks(lambda *ranks: train(tmp_path, "tagging", *flags, *ranks, "--no-save"))
    assert best_of(first, "tag_accuracy") == pytest.approx(best_of(one, "tag_accuracy"), abs=0.1)  # in per cent


def best_of(log: Result, name: str) -> float:
    return max(float(found) for found in re.findall(rf"\| {name} ([-\d.]+)", log.both))


def exported(folder: Path) -> Path:
    """Returns the model folder of the checkpoint, which is exported once."""
    out = folder / "out"
    if not out.exists():
        succeed("lev-plugins", "export", folder / "checkpoint.pt", out, "--data", folder / "data")
    return out


def test_labels_have_been_learned(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    checkpoint = folder / "checkpoint.pt"
    flags = ["--path", checkpoint, "--valid-subset", "valid", "--cpu", "--max-tokens", 400, *QUIET]
    assert best_of(succeed("fairseq-validate", folder / "data", *TASK, *flags), KINDS[kind]) >= GOOD_ENOUGH[kind]
    lines = (folder / "valid.tsv").read_text("utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    model = exported(folder)
    answers = Labeller.load(model).label(texts)
    assert right(kind, answers, lines) >= 0.6
    if kind == "multilabel":
        done = run("lev-plugins", "label", model, stdin="".join(f"{text}\n" for text in texts))
        assert [json.loads(line)["labels"] for line in done.out.splitlines()] == [a["labels"] for a in answers]


def right(kind: str, answers: list[dict[str, Any]], lines: list[str]) -> float:
    gold = [line.split("\t")[1] for line in lines]
    if kind == "regression":
        near = [abs(answer["score"] - float(number)) < 0.8 for answer, number in zip(answers, gold, strict=True)]
        return sum(near) / len(near)
    said = {
        "classification": lambda answer: answer["label"],
        "multilabel": lambda answer: ",".join(sorted(answer["labels"])),
        "tagging": lambda answer: " ".join(answer["labels"]),
    }[kind]
    return sum(said(answer) == text for answer, text in zip(answers, gold, strict=True)) / len(gold)


def test_bad_input_to_label(trained: tuple[str, Path]) -> None:
    kind, folder = trained
    labeller = Labeller.load(exported(folder))
    known = kind == "multilabel"
    wrong = "there is a threshold for 'x'" if known else f"thresholds are for multilabel models, not for {kind}"
    with pytest.raises(ValueError, match=wrong):
        Labeller(labeller.scorer, LabelOptions(thresholds={"x": 0.5}))
    wrong = ": 'x' is not a known label" if known else " is for multilabel"
    with pytest.raises(ValueError, match=f"--labels-of-interest{wrong}"):
        labeller.label(["sun"], labels_of_interest=["x"])
    if kind == "tagging":
        assert len(labeller.label(["sun " * 600])[0]["labels"]) == 600  # in parts
        return
    with pytest.raises(ValueError, match="line 2 has 2 columns, but the model was trained on 1"):
        labeller.label(["sun", "a\tb"])
    with pytest.raises(ValueError, match="line 1 has 601 tokens, including </s>, but --longest of prepare-labels is"):
        labeller.label(["sun " * 600])


def test_bad_thresholds(tmp_path: Path) -> None:
    for text, reason in (("[]", "is not a JSON object"), ('{"a": 2}', "'a' must be between 0 and 1, but is 2")):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(ValueError, match=reason):
            read_thresholds(tmp_path / "t.json")
