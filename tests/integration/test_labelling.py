"""EncT5 on the command line: prepare, train, validate and label toy texts."""

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
LABELLING = ["--user-dir", USER_DIR, "--task", "text_labelling"]
SCHEDULE = ["--lr-scheduler", "polynomial_decay", "--total-num-update", 120, "--max-update", 120, "--max-tokens", 400]
ADAFACTOR = ["--optimizer", "adafactor", "--scale-parameter", "--lr", 0.01]
GOOD_ENOUGH = {"classification": 80, "regression": 70, "multilabel": 90, "tagging": 98}


def train_labeller(folder: Path, kind: str, *flags: object) -> list[object]:
    best = ["--best-checkpoint-metric", KINDS[kind], "--maximize-best-checkpoint-metric"]
    return [
        *("fairseq-train", folder / "data", *LABELLING, "--label-kind", kind, "--arch", "enct5_tiny"),
        *("--criterion", "labelling", "--cpu", "--save-dir", folder / "checkpoints", "--dropout", 0),
        *(*ADAFACTOR, *SCHEDULE, *best, *QUIET, "--no-epoch-checkpoints", "--validate-interval", 5, *flags),
    ]


@pytest.fixture(scope="module", params=list(KINDS))
def trained_labeller(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The kind of labels, and the folder of a trained checkpoint, its data and its text."""
    folder = tmp_path_factory.mktemp(request.param)
    write_text(folder, request.param, 300, 100)
    prepare(folder, request.param)
    state = checkpoints.load(TRAINED / f"{request.param}.pt")
    state["cfg"]["task"]["data"] = str(folder / "data")
    checkpoints.save(state, folder / "checkpoint.pt")
    return request.param, folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_training_learns_labels(kind: str, tmp_path: Path) -> None:
    write_text(tmp_path, kind, 300, 100)
    prepare(tmp_path, kind)
    pack = ["--pack", "--pack-length", 64] if kind in ("multilabel", "tagging") else []
    log = succeed(*train_labeller(tmp_path, kind, *pack, *(["--cpu-bf16"] if kind == "classification" else [])))
    assert best(log, KINDS[kind]) >= GOOD_ENOUGH[kind]


def test_two_processes_validate_like_one(tmp_path: Path) -> None:
    """There are more answers than fairseq gathers, and only one process has the last batch."""
    write_text(tmp_path, "tagging", valid=700)
    prepare(tmp_path, "tagging")
    flags = ["--max-update", 2, "--validate-interval", 1, "--batch-size-valid", 100, "--max-tokens-valid", 100_000]
    one_process = succeed(*train_labeller(tmp_path, "tagging", *flags, "--update-freq", 2, "--no-save"))
    two_processes, _ = two_ranks(lambda *ranks: train_labeller(tmp_path, "tagging", *flags, *ranks, "--no-save"))
    assert best(two_processes, "tag_accuracy") == pytest.approx(
        best(one_process, "tag_accuracy"), abs=0.1
    )  # in per cent


def best(log: Result, name: str) -> float:
    return max(float(value) for value in re.findall(rf"\| {name} ([-\d.]+)", log.both))


def exported(folder: Path) -> Path:
    """Returns the model folder of the checkpoint, which is exported once."""
    out = folder / "out"
    if not out.exists():
        succeed("lev-plugins", "export", folder / "checkpoint.pt", out, "--data", folder / "data")
    return out


def test_a_trained_labeller_validates_and_labels(trained_labeller: tuple[str, Path]) -> None:
    kind, folder = trained_labeller
    checkpoint = folder / "checkpoint.pt"
    flags = ["--path", checkpoint, "--valid-subset", "valid", "--cpu", "--max-tokens", 400, *QUIET]
    assert best(succeed("fairseq-validate", folder / "data", *LABELLING, *flags), KINDS[kind]) >= GOOD_ENOUGH[kind]
    lines = (folder / "valid.tsv").read_text("utf-8").splitlines()
    texts = [line.split("\t")[0] for line in lines]
    model = exported(folder)
    answers = Labeller.load(model).label(texts)
    assert share_correct(kind, answers, lines) >= 0.6
    if kind == "multilabel":
        done = run("lev-plugins", "label", model, stdin="".join(f"{text}\n" for text in texts))
        assert [json.loads(line)["labels"] for line in done.out.splitlines()] == [a["labels"] for a in answers]


def share_correct(kind: str, answers: list[dict[str, Any]], lines: list[str]) -> float:
    gold = [line.split("\t")[1] for line in lines]
    if kind == "regression":
        near = [abs(answer["score"] - float(number)) < 0.8 for answer, number in zip(answers, gold, strict=True)]
        return sum(near) / len(near)
    format_answer = {
        "classification": lambda answer: answer["label"],
        "multilabel": lambda answer: ",".join(sorted(answer["labels"])),
        "tagging": lambda answer: " ".join(answer["labels"]),
    }[kind]
    return sum(format_answer(answer) == text for answer, text in zip(answers, gold, strict=True)) / len(gold)


def test_thresholds_and_texts_that_do_not_fit_are_refused(trained_labeller: tuple[str, Path]) -> None:
    kind, folder = trained_labeller
    labeller = Labeller.load(exported(folder))
    multilabel = kind == "multilabel"
    wrong = "threshold for 'x'" if multilabel else f"thresholds are for multilabel models, not for {kind}"
    with pytest.raises(ValueError, match=wrong):
        Labeller(labeller.scorer, LabelOptions(thresholds={"x": 0.5}))
    with pytest.raises(ValueError, match="--labels-of-interest" + (": 'x'" if multilabel else " is for multilabel")):
        labeller.label(["sun"], labels_of_interest=["x"])
    if kind == "tagging":
        assert len(labeller.label(["sun " * 600])[0]["labels"]) == 600  # in parts
        return
    with pytest.raises(ValueError, match=r"line 2 has 2 columns.* 1"):
        labeller.label(["sun", "a\tb"])
    with pytest.raises(ValueError, match=r"line 1 has 601 tokens.*--longest"):
        labeller.label(["sun " * 600])


def test_a_thresholds_file_with_wrong_values_is_refused(tmp_path: Path) -> None:
    for text, reason in (("[]", "JSON object"), ('{"a": 2}', "'a' must be between 0 and 1.* 2")):
        (tmp_path / "t.json").write_text(text)
        with pytest.raises(ValueError, match=reason):
            read_thresholds(tmp_path / "t.json")
