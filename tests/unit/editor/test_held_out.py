"""The calibration of confidences, the threshold that ``--promise-broken`` chooses, and ``lev-plugins sweep``."""

import json
import random
from collections.abc import Callable
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import lev_plugins
from lev_plugins.cli.main import main
from lev_plugins.editor import calibration
from lev_plugins.editor.calibration import CONSTANT, WEIGHTS, Evidence
from lev_plugins.editor.held_out import calibrate_texts, edit_held_out, is_within_budget, lowest_harmless
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.rewrites import rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, thorough
from tests.systems import GOLDEN, ROOT, SYSTEMS

LEVT = ROOT / "tests" / "golden" / "folders" / "0.2" / "levt-spelling-graphs" / "model"
NOTHING = Evidence(*[0.0] * len(Evidence._fields))
words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5)


def test_what_is_known_of_an_edit() -> None:
    counts = {"the": 9, "in": 4, "Paris": 2}
    segment, written = Segment("in Paaris teh 2nd", offsets_of()), ["in", "Paris", "the"]
    changes = rewrites(segment, written, [0, None, None])
    assert len(changes) == 1
    known = calibration.evidence(segment, changes[0], written, lambda word: counts.get(word, 0), 99, -1)
    assert known == Evidence(30, -1, pytest.approx(0.001, abs=1e-4), 1, pytest.approx(np.log(3)), 6 / 14, 0, 0, 1, 1, 0)


@thorough
@given(words, words, words)
def test_an_edit_is_right_if_nothing_of_it_must_be_undone(before: list[str], old: list[str], new: list[str]) -> None:
    start = sum(len(word) + 1 for word in before)
    text, clean = (" ".join([*before, *middle, "d"]) for middle in (old, new))
    edit = Edit(start, start + len(" ".join(old)), " ".join(new))
    assert calibration.is_right(text, edit, clean)
    assert not calibration.is_right(clean, Edit(start, start, "wrong "), clean)
    assert not calibration.is_right(text, Edit(edit.start, edit.end, f"{edit.replacement} x"), clean)


def known_edits(count: int) -> tuple[list[Evidence], list[bool]]:
    """Those whose odds are half of what they claim."""
    draw = random.Random(1)
    known = [NOTHING._replace(odds=draw.uniform(-6, 6), distance=draw.random()) for _ in range(count)]
    return known, [draw.random() < 1 / (1 + exp(-each.odds / 2)) for each in known]


def test_the_weights_are_those_of_a_general_optimiser() -> None:
    known, labels = known_edits(300)
    rows, wanted = np.array(known), np.array(labels)
    deviation = rows.std(0)
    used = deviation > 0
    scaled = (rows - rows.mean(0))[:, used] / deviation[used]

    def loss(weights: Any) -> float:
        odds = weights[0] + scaled @ weights[1:]
        ridge = calibration.RIDGE / 2 * (weights[1:] ** 2).sum()
        return float(np.logaddexp(0, np.where(wanted, -odds, odds)).sum() + ridge)

    slopes = minimize(loss, np.zeros(1 + used.sum())).x[1:] / deviation[used]
    found = calibration.fit(known, labels)
    assert [found["odds"], found["distance"]] == pytest.approx(slopes, abs=1e-2)
    assert found["odds"] == pytest.approx(0.5, abs=0.1) and found["signs"] == 0
    assert found.keys() == set(WEIGHTS)


class Editor:
    """Makes known edits."""

    def __init__(self, **edits: list[Edit]):
        self.edits = edits

    def of_document(self, document: str) -> "Editor":
        return self

    def edit(self, texts: list[str]) -> list[Edited]:
        return [Edited(text, tuple(self.edits.get(text.split()[0], ()))) for text in texts]


def files(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_confidences_are_the_share_that_is_right(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    known, labels = known_edits(3000)
    edits = {f"w{i}": [Edit(0, len(f"w{i}"), f"r{i}", 0.9, evidence=each)] for i, each in enumerate(known)}
    wanted = [f"r{i}" if label else "other" for i, label in enumerate(labels)]
    noisy, clean = files(tmp_path, noisy="\n".join(edits) + "\n", clean="\n".join(wanted) + "\n")
    texts = edit_held_out(Editor(**edits), [(noisy, clean)], [])
    assert calibrate_texts(texts).keys() == {*WEIGHTS}
    confidences = np.array([edit.confidence for edited in texts[0].edited for edit in edited.edits])
    tenths, right = np.floor(confidences * 10), np.array(texts[0].labels)
    for tenth, count in zip(*np.unique(tenths, return_counts=True), strict=True):
        assert count < 200 or abs(confidences[tenths == tenth].mean() - right[tenths == tenth].mean()) < 0.07
    few = edit_held_out(Editor(w1=[Edit(0, 2, "x")]), [(noisy, clean)], [])
    assert calibrate_texts(few) == {} and few[0].edited[1].edits[0].confidence == 1
    assert "takes 100 edits, some right and some wrong, but of the 1 edits of the held-out texts, 0 are" in caplog.text


def test_an_unknown_word_that_recurs_is_noted_also_for_its_alternatives() -> None:
    unknown, known = NOTHING._replace(unknown=1.0), NOTHING
    other = Edit(0, 3, "Sam", evidence=unknown)
    edits = (Edit(0, 3, "Tom", evidence=unknown, alternatives=(other,)), Edit(4, 7, "mat", evidence=unknown))
    edited = Edited("Tam met Ada", (*edits, Edit(8, 11, "Eva", evidence=known)))
    tam, met, ada = calibration.with_recurring(edited, {"Tam", "Ada", " "}).edits
    assert [Evidence(*edit.evidence).recurring for edit in (tam, *tam.alternatives, met, ada)] == [1, 1, 0, 0]


def test_a_promise_is_kept_by_the_least_confidence_or_refused(tmp_path: Path) -> None:
    edits = {f"w{i}": [Edit(0, len(f"w{i}"), "x", confidence=i / 200)] for i in range(200)}
    (clean,) = files(tmp_path, clean="".join(f"{word} b c d e\n" for word in edits))
    texts = edit_held_out(Editor(**edits), [], [clean])
    lowest = lowest_harmless(texts, 50)  # the point estimate would be 0.75: 50 of 1,000 words
    stricter, laxer = (texts[0].harm(value).statistics for value in (lowest, lowest - 0.01))
    assert 0.75 < lowest < 1 and is_within_budget(stricter, 50) and not is_within_budget(laxer, 50)
    assert lowest_harmless(texts, 500) == 0
    with pytest.raises(UserError, match=r"--promise-broken 2 cannot be kept: edits that are 0.999 sure break 0.0 of 1"):
        lowest_harmless(texts, 2)
    sure = edit_held_out(Editor(w1=[Edit(0, 2, "x")]), [], [clean])
    with pytest.raises(UserError, match=r"1.0 of 1,000 right words in the 200 lines of .*; give about 1,\d00 such"):
        lowest_harmless(sure, 5)
    with pytest.raises(UserError, match="train on more text of this kind, or promise less"):
        lowest_harmless(sure, 0.5)


@pytest.mark.parametrize(
    ("lines", "max_broken", "draws"),
    [(300, 20, 200), (1000, 10, 200), pytest.param(800, 10, 1000, marks=pytest.mark.slow)],
)
def test_a_promise_is_broken_in_few_draws_of_lines(lines: int, max_broken: float, draws: int) -> None:
    draw = np.random.default_rng(1)
    words = draw.integers(3, 40, size=20_000)
    confidences = 1 - draw.random(20_000) ** 2  # of a line's edits; some lines have many
    edits = draw.binomial(words, draw.choice([0.02, 0.3], p=[0.97, 0.03], size=20_000))
    thresholds = np.linspace(1, 0, 51)
    broken = np.where(confidences[:, None] >= thresholds, edits[:, None], 0).astype(float)
    true = 1000 * broken.sum(0) / words.sum()

    def share_beyond_budget(keeps: Callable[..., bool]) -> float:
        count = 0
        for _ in range(draws):
            sample = draw.integers(20_000, size=lines)
            passes = [
                keeps(np.stack([broken[sample, i], words[sample]], 1), max_broken) for i in range(len(thresholds))
            ]
            lowest = passes.index(False) - 1 if False in passes else -1
            count += lowest != -1 and true[lowest] > max_broken
        return count / draws

    assert share_beyond_budget(lambda counts, most: 1000 * np.divide(*counts.sum(0)) <= most) > 0.2
    assert share_beyond_budget(is_within_budget) <= 0.05


# ---- the commands ----------------------------------------------------------------------------------------------------


@pytest.fixture()
def texts(tmp_path: Path) -> dict[str, Path]:
    draw = random.Random(3)
    clean = ["".join(draw.choices("abcdef  ", k=12)).strip() or "a" for _ in range(200)]
    noisy = ["".join(sign.upper() if draw.random() < 0.2 else sign for sign in line) for line in clean]
    named = {"noisy": noisy, "clean": clean}
    paths = files(tmp_path, **{name: "".join(f"{line}\n" for line in lines) for name, lines in named.items()})
    return dict(zip(named, paths, strict=True))


def test_export_and_sweep(texts: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "editor"
    flags = ["--beam", 1, "--calibrate", *texts.values(), "--clean", texts["clean"]]
    SYSTEMS["pbd"](tmp_path).export(out, *flags, "--promise-broken", 100)
    said, config = capsys.readouterr().out, model_folder.read(out)
    setting = f"with --min-confidence {config.decoding.min_confidence:g}"
    broken = config.scores[f"clean: right words broken, of 1,000, {setting}"]
    promise = "clean: right words broken, of 1,000, in text like its 200 lines, at most, with 95% confidence"
    assert broken <= 100 == config.scores[promise] and f"noisy: typos repaired, %, {setting}" in config.scores
    assert config.calibration.keys() == {*WEIGHTS} and config.decoding.min_confidence is not None
    assert said.splitlines()[0].split() == ["min-confidence", f"{config.decoding.min_confidence:g}"]
    card = (out / "README.md").read_text("utf-8")
    assert "| confidence of an edit | calibrated on held-out text |" in card
    assert f"| clean: right words broken, of 1,000, {setting} | {broken:g} |" in card
    editor = lev_plugins.load(out, options=EditOptions(min_confidence=0.0))
    line = texts["noisy"].read_text("utf-8").splitlines()
    raw = lev_plugins.load(out, options=EditOptions(min_confidence=0.0, calibrated=False)).edit(line)
    assert [each.text for each in editor.edit(line)] == [each.text for each in raw]
    assert editor.edit(line) != raw
    sweep = ["sweep", out, "--clean", texts["clean"], "--pairs", *texts.values(), "--min-edit-confidence"]
    assert main([*map(str, sweep), f"0,{config.decoding.min_confidence}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pair, clean = found["texts"]
    assert clean["points"][-1]["broken of 1,000"] == pytest.approx(broken, abs=0.01)
    assert pair["points"][0]["% of typos repaired"] >= pair["points"][1]["% of typos repaired"]
    assert main([*map(str, sweep), "0.5"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0] == str(texts["noisy"]) and table[1].startswith("min-confidence  broken of 1,000  % of lines ")


def test_words_in_the_folder_stay_beside_those_of_the_user(texts: dict[str, Path], tmp_path: Path) -> None:
    out, lines = tmp_path / "editor", [line for line in texts["noisy"].read_text("utf-8").splitlines() if " " in line]
    system = SYSTEMS["pbd"](tmp_path)
    system.export(out)

    def changed(**options: Any) -> set[str]:
        edits = lev_plugins.load(out, options=EditOptions(min_confidence=0.0, **options)).edit(lines)
        both = [(edited.original.split(), edited.text.split()) for edited in edits]
        same_length = [zip(*pair, strict=True) for pair in both if len(pair[0]) == len(pair[1])]
        return {word for pairs in same_length for word, other in pairs if word != other}

    first, second, *_ = sorted(changed())
    words, mine = files(tmp_path, words=f"{first}\n", mine=f"{second}\n")
    system.export(out, "--overwrite", "--words", words)
    assert (out / "words.txt").read_text("utf-8") == f"{first}\n"
    assert changed().isdisjoint({first}) and second in changed()
    assert changed(words=mine).isdisjoint({first, second})


def test_a_levt_is_swept(texts: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(LEVT), "--clean", str(texts["clean"]), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["texts"][0]["points"]
    assert len(points) == 12 and points[0]["broken of 1,000"] > points[-1]["broken of 1,000"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["export", "--promise-broken", "2"], "--promise-broken needs --clean FILE"),
        (["export", "--promise-broken", "0", "--clean", "{clean}"], "--promise-broken must be above 0"),
        (["export", "--clean", "{clean}", "--promise-broken", "2", "--min-confidence", "0.5"], "give one of them"),
        (["export", "--clean", "none"], "none: No such file or directory"),
        (["export", "--calibrate", "{noisy}", "{short}"], "both files must be parallel, but"),
        (["sweep"], "edits text: give --pairs NOISY CLEAN, --clean FILE, or both"),
        (["sweep", "--min-edit-confidence", "0,1.2"], "--min-confidence must be between 0 and 1, but is 1.2"),
        (["sweep", "--min-confidence", "all"], "must be numbers separated by commas, such as 0,0.5, but is 'all'"),
        (["sweep", "--clean", "{empty}"], "is empty"),
    ],
)
def test_refused(flags: list[str], message: str, texts: dict[str, Path], tmp_path: Path, refusal: Refusal) -> None:
    short, empty = files(tmp_path, short="a\n", empty="")
    command, *rest = (flag.format(**texts, short=short, empty=empty) for flag in flags)
    data = ["--data", str(GOLDEN / "noisy" / "data"), "--bpe", "chars"]
    given = {
        "export": [str(GOLDEN / "pbd" / "checkpoint.pt"), str(tmp_path / "out"), *data],
        "sweep": [str(LEVT)],
    }
    assert message in refusal(command, *given[command], *rest)
    assert not (tmp_path / "out").exists()


def test_weights_of_a_stranger_do_no_more_than_others() -> None:
    assert calibration.confidence({CONSTANT: 1e15, "odd": 1.0}, NOTHING) < 1


def test_of_the_replacements_for_a_word_only_one_is_right() -> None:
    others = tuple(Edit(0, 1, new, evidence=NOTHING) for new in "cd")
    edit = Edit(0, 1, "b", evidence=NOTHING._replace(distance=1), alternatives=others)
    (made,) = calibration.calibrate(Edited("a", (edit,)), {CONSTANT: -2.0, "distance": 4.0}).edits
    assert made.confidence == pytest.approx(0.881, abs=0.001)
    assert [other.confidence for other in made.alternatives] == pytest.approx([0.119, 0.0], abs=0.001)
    rare, usual = (Edit(0, 1, new, evidence=NOTHING._replace(distance=far)) for new, far in (("c", 0), ("d", 0.3)))
    edit = Edit(0, 1, "b", evidence=NOTHING, alternatives=(rare, usual))
    (made,) = calibration.calibrate(Edited("a", (edit,)), {CONSTANT: -2.0, "distance": 4.0}).edits
    assert [other.replacement for other in made.alternatives] == ["d", "c"]  # the likeliest first
