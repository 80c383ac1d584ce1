"""``Labeller`` with models that nothing was trained for: which scores, which labels, how many passes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lev_plugins.cli.main import main
from lev_plugins.editor.labeller import Labeller, Scored
from lev_plugins.editor.options import LabelOptions
from lev_plugins.labelling.scores import best_thresholds
from lev_plugins.utils.errors import UserError
from tests.labelling import folder_of, model_of, task_of
from tests.torch_models import TorchScorer

LABELS = [f"feeling {number}" for number in range(28)]
ASKED = ["feeling 20", "feeling 3", "feeling 11"]
TEXTS = ["sun rain", "snow", "fog ice hail storm wind"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of 28 labels."""
    here = tmp_path_factory.mktemp("sets")
    (here / "labels.txt").write_text("".join(f"{name}\n" for name in LABELS), "utf-8")
    rows = [f"{text}\t{i % 28},{i * 5 % 28}" for i, text in enumerate(TEXTS * 20)]
    (here / "train.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    words = ["prepare-labels", "--label-kind", "multilabel"]
    words += ["--train", here / "train.tsv", "--valid", here / "train.tsv"]
    words += ["--labels", here / "labels.txt", "--numbered-labels", "--dest", here / "data", "--bpe", "characters"]
    assert main([str(word) for word in words]) == 0
    return here / "data"


def labeller_of(folder: Path, batch_size: int = 32, **options: Any) -> Labeller:
    task = task_of(folder)
    return Labeller(TorchScorer(task, model_of(task, **options)), LabelOptions(batch_size=batch_size))


@pytest.mark.parametrize("options", [{"no_label_interaction": True}, {"latents": "one"}])
def test_three_of_28_labels_score_as_among_all(
    folder: Path, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    labeller = labeller_of(folder, **options)
    every = labeller.label(TEXTS, scores=True)
    some = labeller.label(TEXTS, ASKED, scores=True)
    for one, other in zip(every, some, strict=True):
        assert list(one["all_scores"]) == LABELS and list(other["all_scores"]) == ASKED
        wanted = {name: one["all_scores"][name] for name in ASKED}
        assert other["all_scores"] == pytest.approx(wanted, abs=1.1e-4)  # of numbers with four digits
    assert "the scores differ from those among all labels" not in caplog.text


def test_else_it_is_said_and_only_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    labeller = labeller_of(folder)
    every = labeller.label(TEXTS, scores=True)[0]["all_scores"]
    for _ in range(2):
        some = labeller.label(TEXTS, ASKED, scores=True)[0]["all_scores"]
    assert max(abs(some[name] - every[name]) for name in ASKED) > 1e-3
    assert caplog.text.count("the scores differ from those among all labels") == 1
    labeller.warned = False
    labeller.label(TEXTS, LABELS)  # all of them
    assert caplog.text.count("the scores differ from those among all labels") == 1


def test_thresholds_are_of_scores_not_of_what_is_printed_of_them(folder: Path) -> None:
    """Of a rare label the scores that are told apart may be the same in four digits."""
    labeller = labeller_of(folder, no_label_interaction=True)
    found = np.full((2, 28), 0.00012, dtype=np.float32)
    found[1] += np.float32(0.00001)
    gold = np.stack([np.zeros(28), np.ones(28)])
    limits = dict(zip(LABELS, best_thresholds(gold, found), strict=True))
    labeller.thresholds = json.loads(json.dumps(limits))
    low, high = (labeller.answer(Scored(["x"], row, False)) for row in found)
    assert low["labels"] == [] and sorted(high["labels"]) == sorted(LABELS)
    assert set(high["scores"]) == {0.0001}
    labeller.thresholds = {}
    near = labeller.answer(Scored(["x"], np.full(28, 0.49999), False))
    assert near["labels"] == []


def test_labels_of_interest_that_are_empty_or_named_twice(folder: Path) -> None:
    labeller = labeller_of(folder, no_label_interaction=True)
    with pytest.raises(ValueError, match="--labels-of-interest contains an empty label"):
        labeller.names_in("feeling 1,")
    with pytest.raises(ValueError, match="--labels-of-interest contains a label twice"):
        labeller.label(TEXTS, ["feeling 1"] * 2)


def test_what_is_no_text(folder: Path, tmp_path: Path) -> None:
    for each in (folder, folder_of(tmp_path, "tagging")):
        labeller = labeller_of(each)
        plain, marked = labeller.label(["sun rain", "\ufeffsun rain"], scores=True)
        assert plain == marked
        with pytest.raises(UserError, match="half of a character"):
            labeller.label(["a\ud800b"])
        for wrong, message in (
            ("sun rain", r"texts must be a list, but is 'sun rain': put a single text in brackets"),
            (None, "texts must be a list, but is None"),
            (["sun rain", 1], "line 2 must be a string or a list of strings, but is 1"),
            ([["sun", None]], "a text must be a string, but is None"),
        ):
            with pytest.raises(UserError, match=message):
                labeller.label(wrong)


def test_an_answer_to_a_text_that_was_cut_says_so(tmp_path: Path) -> None:
    data = folder_of(tmp_path, "classification", "--bpe", "characters", "--longest", 40, "--longer", "cut")
    labeller = labeller_of(data)
    whole, cut = labeller.label(["a b", "a" * 50])
    assert cut["cut"] is True and "cut" not in whole


def test_thresholds_that_are_refused(folder: Path) -> None:
    labeller = labeller_of(folder)
    with pytest.raises(UserError, match=f"the threshold for '{LABELS[0]}' must be between 0 and 1, but is 2"):
        labeller.label(["a"], thresholds={LABELS[0]: 2})


def test_a_line_without_words_has_no_tags(tmp_path: Path) -> None:
    """It must not end a long run."""
    labeller = labeller_of(folder_of(tmp_path, "tagging"))
    (empty, tagged), (alone,) = labeller.label(["", "a word"], scores=True), labeller.label([" "])
    assert empty == {"words": [], "labels": [], "scores": [], "all_scores": []}
    assert alone == {"words": [], "labels": [], "scores": []} and tagged["words"] == ["a", "word"]
