"""``Labeller`` with untrained models: scores of selected labels, thresholds and refused texts."""

import json
from collections.abc import Callable
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

FEELINGS = [f"feeling {number}" for number in range(28)]
SELECTED = ["feeling 20", "feeling 3", "feeling 11"]
TEXTS = ["sun rain", "snow", "fog ice hail storm wind"]


@pytest.fixture(scope="module")
def multilabel_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a multilabel data set with 28 labels."""
    here = tmp_path_factory.mktemp("sets")
    (here / "labels.txt").write_text("".join(f"{name}\n" for name in FEELINGS), "utf-8")
    rows = [f"{text}\t{i % 28},{i * 5 % 28}" for i, text in enumerate(TEXTS * 20)]
    (here / "train.tsv").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    words = ["prepare-labels", "--label-kind", "multilabel"]
    words += ["--train", here / "train.tsv", "--valid", here / "train.tsv"]
    words += ["--labels", here / "labels.txt", "--numbered-labels", "--dest", here / "data", "--bpe", "characters"]
    assert main([str(word) for word in words]) == 0
    return here / "data"


def torch_labeller(multilabel_folder: Path, batch_size: int = 32, **options: Any) -> Labeller:
    task = task_of(multilabel_folder)
    return Labeller(TorchScorer(task, model_of(task, **options)), LabelOptions(batch_size=batch_size))


@pytest.mark.parametrize("options", [{"no_label_interaction": True}, {"latents": "one"}])
def test_labels_without_interaction_score_alike_in_any_selection(
    multilabel_folder: Path, options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    labeller = torch_labeller(multilabel_folder, **options)
    every = labeller.label(TEXTS, scores=True)
    some = labeller.label(TEXTS, SELECTED, scores=True)
    for complete, selected in zip(every, some, strict=True):
        assert list(complete["all_scores"]) == FEELINGS and list(selected["all_scores"]) == SELECTED
        expected = {name: complete["all_scores"][name] for name in SELECTED}
        assert selected["all_scores"] == pytest.approx(expected, abs=1.1e-4)  # of numbers with four digits
    assert "the scores differ from those among all labels" not in caplog.text


def test_a_score_that_depends_on_the_selection_is_warned_of_once(
    multilabel_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    labeller = torch_labeller(multilabel_folder)
    every = labeller.label(TEXTS, scores=True)[0]["all_scores"]
    for _ in range(2):
        some = labeller.label(TEXTS, SELECTED, scores=True)[0]["all_scores"]
    assert max(abs(some[name] - every[name]) for name in SELECTED) > 1e-3
    assert caplog.text.count("the scores differ from those among all labels") == 1
    labeller.warned = False
    labeller.label(TEXTS, FEELINGS)  # all of them
    assert caplog.text.count("the scores differ from those among all labels") == 1


def test_thresholds_compare_unrounded_scores(multilabel_folder: Path) -> None:
    """The scores of a rare label may differ only after the fourth digit."""
    labeller = torch_labeller(multilabel_folder, no_label_interaction=True)
    scores = np.full((2, 28), 0.00012, dtype=np.float32)
    scores[1] += np.float32(0.00001)
    gold = np.stack([np.zeros(28), np.ones(28)])
    limits = dict(zip(FEELINGS, best_thresholds(gold, scores), strict=True))
    labeller.thresholds = json.loads(json.dumps(limits))
    low, high = (labeller.answer(Scored(["x"], row, False)) for row in scores)
    assert low["labels"] == [] and sorted(high["labels"]) == sorted(FEELINGS)
    assert set(high["scores"]) == {0.0001}
    labeller.thresholds = {}
    near = labeller.answer(Scored(["x"], np.full(28, 0.49999), False))
    assert near["labels"] == []


def test_empty_or_repeated_labels_of_interest_are_refused(multilabel_folder: Path) -> None:
    labeller = torch_labeller(multilabel_folder, no_label_interaction=True)
    with pytest.raises(ValueError, match=r"--labels-of-interest .*empty"):
        labeller.names_in("feeling 1,")
    with pytest.raises(ValueError, match=r"--labels-of-interest .*twice"):
        labeller.label(TEXTS, ["feeling 1"] * 2)


def test_unusable_texts_are_refused(multilabel_folder: Path, tmp_path: Path) -> None:
    for data in (multilabel_folder, folder_of(tmp_path, "tagging")):
        labeller = torch_labeller(data)
        plain, marked = labeller.label(["sun rain", "\ufeffsun rain"], scores=True)
        assert plain == marked
        with pytest.raises(UserError, match=r"\\ud800"):
            labeller.label(["a\ud800b"])
        for wrong, message in (
            ("sun rain", "texts .*'sun rain'"),
            (None, "texts .*None"),
            (["sun rain", 1], "line 2 .* 1"),
            ([["sun", None]], "text .*None"),
        ):
            with pytest.raises(UserError, match=message):
                labeller.label(wrong)


def test_an_answer_to_a_truncated_text_is_marked(tmp_path: Path) -> None:
    data = folder_of(tmp_path, "classification", "--bpe", "characters", "--longest", 40, "--longer", "cut")
    labeller = torch_labeller(data)
    whole, cut = labeller.label(["a b", "a" * 50])
    assert cut["cut"] is True and "cut" not in whole


def test_a_threshold_above_1_is_refused(multilabel_folder: Path) -> None:
    labeller = torch_labeller(multilabel_folder)
    with pytest.raises(UserError, match=f"threshold .*'{FEELINGS[0]}' .* 2"):
        labeller.label(["a"], thresholds={FEELINGS[0]: 2})


def test_a_line_without_words_has_no_tags(tmp_path: Path) -> None:
    """An empty line must not end a long run."""
    labeller = torch_labeller(folder_of(tmp_path, "tagging"))
    (empty, tagged), (alone,) = labeller.label(["", "a word"], scores=True), labeller.label([" "])
    assert empty == {"words": [], "labels": [], "scores": [], "all_scores": []}
    assert alone == {"words": [], "labels": [], "scores": []} and tagged["words"] == ["a", "word"]


@pytest.mark.parametrize("size", [0, 1.5, "a"])
def test_a_batch_size_that_is_no_size_is_refused(size: Any, golden_folder: Callable[[str], Path]) -> None:
    with pytest.raises(UserError, match=f"--batch-size .*{size}"):
        Labeller.load(golden_folder("labels"), LabelOptions(batch_size=size))
