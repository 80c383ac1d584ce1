"""The curve of a corrector's dial: its edits, and that every threshold is what a decoding with it would score."""

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from lev_plugins.cli import main, sweep
from lev_plugins.errors import explain
from lev_plugins.figures import check_figures
from lev_plugins.scoring import m2
from lev_plugins.scoring.threshold_curve import Point, curve, edits_between, judge
from lev_plugins.tasks.text_correction import TextCorrectionConfig, TextCorrectionTask
from tests.helpers import EOS, Refusal, thorough, toy_dictionary

words = st.lists(st.sampled_from("abcd"), max_size=6)
sentence = st.tuples(words, words, words, st.sampled_from([0.2, 0.5, 0.8]))
DIAL = [0.0, 0.2, 0.5, 0.6, 1.0]


@thorough
@given(words, words)
def test_edits_lead_from_one_to_the_other_at_the_least_cost(source: list[str], text: list[str]) -> None:
    edited: list[str] = []
    done = cost = 0
    for edit in edits_between(source, text):
        new = edit.corrections[0].split()
        assert done <= edit.start and source[edit.start : edit.end] != new
        edited += source[done : edit.start] + new
        cost += max(edit.end - edit.start, len(new))
        done = edit.end
    assert edited + source[done:] == text
    assert cost == Levenshtein.distance(source, text)


@thorough
@given(st.lists(sentence, min_size=1, max_size=4))
def test_a_point_is_the_score_of_the_texts_at_its_threshold(found: list[Any]) -> None:
    gold = [m2.Gold(source, [edits_between(source, target)]) for source, _, target, _ in found]
    judged = [judge(*each[:3], 1.0 if each[0] == each[1] else each[3]) for each in found]
    for least, point in zip(DIAL, curve(judged, DIAL), strict=True):
        texts = [text if confidence >= least else source for source, text, _, confidence in found]
        score = m2.evaluate(gold, [" ".join(text) for text in texts], max_unchanged_words=0)
        expected = [score.details[name] for name in ("precision", "recall", "correct", "gold")]
        assert [point.precision, point.recall, point.correct, point.gold] == pytest.approx(expected)
        assert point.f_score == pytest.approx(score.score)
        pairs = list(zip(texts, found, strict=True))
        assert point.lines_changed == pytest.approx(sum(text != one[0] for text, one in pairs) / len(found))
        assert point.lines_right == pytest.approx(sum(text == one[2] for text, one in pairs) / len(found))


def point(least: float, score: float, changed: float) -> Point:
    return Point(least, 0.5, 0.5, score, changed, 0.75, 1, 2, 2)


def test_the_best_is_the_highest_and_then_the_most_careful() -> None:
    curves = [(0.0, [point(0, 0.5, 0.4), point(0.5, 0.6, 0.3)]), (1.0, [point(0, 0.6, 0.2), point(0.5, 0.1, 0.1)])]
    assert sweep.best_of(curves) == (1.0, curves[1][1][0])
    assert sweep.as_text(curves).splitlines()[-1] == "best F0.5: --keep-bias 1 --min-edit-confidence 0"
    args = Namespace(path="a.pt", split="valid", beam=5, lenpen=1.0, post_process=None)
    found = json.loads(sweep.as_json(args, curves))
    assert found["best"] == {"keep_bias": 1.0, "min_edit_confidence": 0}
    assert [row["lines_changed"] for row in found["points"]] == [0.4, 0.3, 0.2, 0.1]


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure")
    precise, complete = (replace(point(0, 0.5, 0.4), precision=p, recall=r) for p, r in ((0.9, 0.1), (0.2, 0.7)))
    with pytest.MonkeyPatch.context() as patch:
        drawn = []
        patch.setattr(figure.Figure, "savefig", lambda self, file, **_: drawn.append(self))
        sweep.draw([(0.0, [complete, precise]), (-1.0, [complete])], tmp_path / "curve.svg")
    (axes,) = drawn[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("recall of edits", "precision of edits")
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0.7, 0.2], [0.1, 0.9]], [[0.7, 0.2]]]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "-1"]
    for kind in ("svg", "png", "pdf"):
        files = [tmp_path / f"{name}.{kind}" for name in ("first", "second")]
        for file in files:
            sweep.draw([(0.0, [complete, precise])], file)
        assert files[0].stat().st_size > 1000 and files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--min-edit-confidence", "0,1.2"], "--min-edit-confidence must be between 0 and 1, but is 1.2"),
        (["--min-edit-confidence", "all"], "must be numbers separated by commas, such as 0,0.5, but is 'all'"),
        (["--keep-bias", "0,inf"], "--keep-bias must be a finite number, but is inf"),
        (["--plot", "curve.doc"], "--plot curve.doc must end in one of .png, .svg, .pdf"),
    ],
)
def test_what_is_refused(flags: list[str], message: str, tmp_path: Path, refusal: Refusal) -> None:
    if "--plot" in flags:
        pytest.importorskip("matplotlib")
    checkpoint = tmp_path / "a.pt"
    checkpoint.touch()
    assert message in refusal("sweep", tmp_path, "--path", checkpoint, *flags)


class Corrector:
    """Stands in for a model that has room for ``most`` of three sentences, and keeps them."""

    most = 2

    def __init__(self, *options: Any):
        dictionary = toy_dictionary()
        cfg = TextCorrectionConfig(data=".", source_lang="noisy", target_lang="clean")
        self.task = TextCorrectionTask(cfg, dictionary, dictionary)

    def dataset(self, split: str) -> list[dict[str, Any]]:
        if split != "valid":
            raise FileNotFoundError("Dataset not found")
        return [{"source": torch.tensor([4, 5, EOS]), "target": torch.tensor([4, 6, EOS])}] * 3

    def best(self, dataset: list[dict[str, Any]], *options: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        for index in range(self.most):
            yield index, {"tokens": dataset[index]["source"], "confidence": 1.0}


def test_what_is_too_long_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, caplog: Any, refusal: Refusal
) -> None:
    monkeypatch.setattr("lev_plugins.cli.sweep.CheckpointDecoder", Corrector)
    (tmp_path / "a.pt").touch()
    flags = ["sweep", str(tmp_path), "--path", str(tmp_path / "a.pt"), "--keep-bias", "0,1", "--json"]
    sweep.warn_of_length.cache_clear()
    assert main.main(flags) == 0
    assert [point["gold"] for point in json.loads(capsys.readouterr().out)["points"][:2]] == [2, 2]
    assert caplog.messages == ["1 of the 3 sentences of valid are too long for the model and left out"]
    monkeypatch.setattr(Corrector, "most", 0)
    assert "all 3 sentences of valid are too long for the model" in refusal(*flags)
    assert f"--split: {tmp_path} has no split dev" in refusal(*flags, "--split", "dev")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError) as caught:
        check_figures("--plot", [Path("a.png")])
    needs = "this needs the package matplotlib, which is not installed: pip install 'lev-plugins[plot]'"
    assert explain(caught.value) == needs
