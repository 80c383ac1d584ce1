"""The calibration of confidences, the threshold that ``--promise-broken`` chooses, and ``lev-plugins sweep``."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
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
from lev_plugins.editor.held_out import Tuning, calibrate_texts, choose_dials, edit_held_out, is_within_budget
from lev_plugins.editor.options import EditOptions
from lev_plugins.text.edited import Edit, Edited
from lev_plugins.text.offsets import offsets_of
from lev_plugins.text.rewrites import rewrites
from lev_plugins.text.segments import Segment
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError
from tests.helpers import Refusal, mentions, thorough
from tests.systems import GOLDEN, ROOT, SYSTEMS

SPELLER_GRAPHS = ROOT / "tests" / "golden" / "folders" / "0.2" / "levt-spelling-graphs" / "model"
NOTHING = Evidence(*[0.0] * len(Evidence._fields))
words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=5)


def test_evidence_of_an_edit() -> None:
    counts = {"the": 9, "in": 4, "Paris": 2}
    segment, outputs = Segment("in Paaris teh 2nd", offsets_of()), ["in", "Paris", "the"]
    changes = rewrites(segment, outputs, [0, None, None])
    assert len(changes) == 1
    facts = calibration.evidence(segment, changes[0], outputs, lambda word: counts.get(word, 0), 99, -1)
    expected = Evidence(30, -1, pytest.approx(0.001, abs=1e-4), 1, pytest.approx(np.log(3)), 6 / 14, 0, 0, 1, 1, 0)
    assert facts == expected._replace(letters=pytest.approx(np.log(15)))
    facts = calibration.evidence(segment, changes[0], outputs, lambda word: 7, 0, -1)
    assert (facts.unknown, facts.replaced_frequency) == (0, pytest.approx(np.log(8)))


@pytest.mark.parametrize(("word", "part", "affix"), [("Hats", "Hat", 1), ("unset", "set", 1), ("hta", "hat", 0)])
def test_evidence_of_an_affix(word: str, part: str, affix: int) -> None:
    segment = Segment(f"a {word}", offsets_of())
    (change,) = rewrites(segment, ["a", part], [0, None])
    assert calibration.evidence(segment, change, ["a", part], lambda word: 1, 0, 0).affix == affix


@thorough
@given(words, words, words)
def test_a_correct_edit_needs_no_further_change(prefix: list[str], original: list[str], corrected: list[str]) -> None:
    start = sum(len(word) + 1 for word in prefix)
    text, clean = (" ".join([*prefix, *middle, "d"]) for middle in (original, corrected))
    edit = Edit(start, start + len(" ".join(original)), " ".join(corrected))
    assert calibration.is_right(text, edit, clean)
    assert not calibration.is_right(clean, Edit(start, start, "wrong "), clean)
    assert not calibration.is_right(text, Edit(edit.start, edit.end, f"{edit.replacement} x"), clean)


def random_evidence(count: int) -> tuple[list[Evidence], list[bool]]:
    """Returns evidence and labels of edits whose true log-odds are half of the reported ones."""
    draw = random.Random(1)
    evidence = [NOTHING._replace(odds=draw.uniform(-6, 6), distance=draw.random()) for _ in range(count)]
    return evidence, [draw.random() < 1 / (1 + exp(-item.odds / 2)) for item in evidence]


def test_calibration_weights_equal_those_of_a_general_optimiser() -> None:
    evidence, labels = random_evidence(300)
    rows, is_right = np.array(evidence), np.array(labels)
    deviation = rows.std(0)
    varying = deviation > 0
    scaled = (rows - rows.mean(0))[:, varying] / deviation[varying]

    def loss(weights: Any) -> float:
        odds = weights[0] + scaled @ weights[1:]
        ridge = calibration.RIDGE / 2 * (weights[1:] ** 2).sum()
        return float(np.logaddexp(0, np.where(is_right, -odds, odds)).sum() + ridge)

    slopes = minimize(loss, np.zeros(1 + varying.sum())).x[1:] / deviation[varying]
    weights = calibration.fit(evidence, labels)
    assert [weights["odds"], weights["distance"]] == pytest.approx(slopes, abs=1e-2)
    assert weights["odds"] == pytest.approx(0.5, abs=0.1) and weights["signs"] == 0
    assert weights.keys() == set(WEIGHTS)


class Editor:
    """An editor whose edits are given by the first word of a text."""

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


def test_calibrated_confidences_are_accuracies(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    evidence, labels = random_evidence(3000)
    edits = {f"w{i}": [Edit(0, len(f"w{i}"), f"r{i}", 0.9, evidence=item)] for i, item in enumerate(evidence)}
    corrections = [f"r{i}" if label else "other" for i, label in enumerate(labels)]
    noisy, clean = files(tmp_path, noisy="\n".join(edits) + "\n", clean="\n".join(corrections) + "\n")
    texts = edit_held_out(Editor(**edits), [(noisy, clean)], [])
    assert calibrate_texts(texts).keys() == {*WEIGHTS}
    confidences = np.array([edit.confidence for edited in texts[0].edited for edit in edited.edits])
    tenths, right = np.floor(confidences * 10), np.array(texts[0].labels)
    for tenth, count in zip(*np.unique(tenths, return_counts=True), strict=True):
        assert count < 200 or abs(confidences[tenths == tenth].mean() - right[tenths == tenth].mean()) < 0.07
    uncalibrated = edit_held_out(Editor(w1=[Edit(0, 2, "x")]), [(noisy, clean)], [])
    assert calibrate_texts(uncalibrated) == {} and uncalibrated[0].edited[1].edits[0].confidence == 1
    assert mentions(caplog.text, "100 1 0 held-out")


def test_alternatives_of_a_recurring_unknown_word_are_marked() -> None:
    unknown, in_dictionary = NOTHING._replace(unknown=1.0), NOTHING
    alternative = Edit(0, 3, "Sam", evidence=unknown)
    edits = (Edit(0, 3, "Tom", evidence=unknown, alternatives=(alternative,)), Edit(4, 7, "mat", evidence=unknown))
    edited = Edited("Tam met Ada", (*edits, Edit(8, 11, "Eva", evidence=in_dictionary)))
    tam, met, ada = calibration.with_recurring(edited, {"Tam", "Ada", " "}).edits
    assert [Evidence(*edit.evidence).recurring for edit in (tam, *tam.alternatives, met, ada)] == [1, 1, 0, 0]
    inserted = Edited("rock'n", (Edit(6, 6, "'roll", evidence=unknown),))  # the rest of the replaced word stays
    assert calibration.with_recurring(inserted, set()).edits[0].evidence == unknown


def test_the_lowest_threshold_within_the_budget_is_chosen_or_refused(tmp_path: Path) -> None:
    edits = {f"w{i}": [Edit(0, len(f"w{i}"), "x", confidence=i / 200)] for i in range(200)}
    (clean,) = files(tmp_path, clean="".join(f"{word} b c d e\n" for word in edits))
    texts = edit_held_out(Editor(**edits), [], [clean])
    dials = choose_dials(texts, {"write": 50, "read": 500})
    lowest = dials["write"]  # the point estimate would be 0.75: 50 of 1,000 words
    stricter, laxer = (texts[0].harm(value).statistics for value in (lowest, lowest - 0.01))
    assert 0.75 < lowest < 1 and is_within_budget(stricter, 50) and not is_within_budget(laxer, 50)
    assert dials["read"] == 0
    assert choose_dials(texts, {"read": 50}) == {"read": lowest} and choose_dials(texts, {}) == {}
    with pytest.raises(UserError, match=r"--promise-broken write=2 .*0\.999"):
        choose_dials(texts, {"read": 50, "write": 2})
    sure = edit_held_out(Editor(w1=[Edit(0, 2, "x")]), [], [clean])
    with pytest.raises(UserError, match=r"1\.0 of 1,000 .* 200 lines .* 1,\d00 "):
        choose_dials(sure, {"read": 5})
    with pytest.raises(UserError, match=r"--promise-broken read=0\.5 .*promise less"):
        choose_dials(sure, {"read": 0.5})


@pytest.mark.parametrize(
    ("lines", "max_broken", "draws"),
    [(300, 20, 200), (1000, 10, 200), pytest.param(800, 10, 1000, marks=pytest.mark.slow)],
)
def test_at_most_5_percent_of_samples_exceed_the_budget(lines: int, max_broken: float, draws: int) -> None:
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

    assert share_beyond_budget(lambda counts, budget: 1000 * np.divide(*counts.sum(0)) <= budget) > 0.2
    assert share_beyond_budget(is_within_budget) <= 0.05


# ---- the commands ----------------------------------------------------------------------------------------------------


@pytest.fixture()
def corpora(tmp_path: Path) -> dict[str, Path]:
    draw = random.Random(3)
    clean = ["".join(draw.choices("abcdef  ", k=12)).strip() or "a" for _ in range(200)]
    noisy = ["".join(sign.upper() if draw.random() < 0.2 else sign for sign in line) for line in clean]
    sides = {"noisy": noisy, "clean": clean}
    paths = files(tmp_path, **{name: "".join(f"{line}\n" for line in lines) for name, lines in sides.items()})
    return dict(zip(sides, paths, strict=True))


def test_sweep_agrees_with_export(corpora: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "editor"
    flags = ["--beam", 1, "--calibrate", *corpora.values(), "--clean", corpora["clean"]]
    SYSTEMS["pbd"](tmp_path).export(out, *flags, "--promise-broken", "read=200,write=80")
    printed, config = capsys.readouterr().out, model_folder.read(out)
    read, write = config.dials["read"], config.dials["write"]
    assert config.decoding.min_confidence == "read" and config.promises == {"read": 200, "write": 80} and read <= write
    setting = f"with --min-confidence {read:g}"
    broken = config.scores[f"clean: right words broken, of 1,000, {setting}"]
    promise = (
        "clean: right words broken, of 1,000, with --min-confidence {}, in text like its 200 lines, at most, with 95% \
confidence"
    )
    assert broken <= 200 == config.scores[promise.format("read")] and config.scores[promise.format("write")] == 80
    assert {f"noisy: typos repaired, %, with --min-confidence {value:g}" for value in (read, write)} <= {*config.scores}
    assert config.calibration.keys() == {*WEIGHTS}
    rows = [["min-confidence", "read"], ["dial", "read", f"{read:g}"], ["dial", "write", f"{write:g}"]]
    assert [line.split() for line in printed.splitlines()[:3]] == rows
    card = (out / "README.md").read_text("utf-8")
    assert "| confidence of an edit | calibrated on held-out text |" in card
    assert f"| clean: right words broken, of 1,000, {setting} | {broken:g} |" in card
    assert f"| `--min-confidence write` | `{write:g}` |" in card
    editor = lev_plugins.load(out, options=EditOptions(min_confidence=0.0))
    line = corpora["noisy"].read_text("utf-8").splitlines()
    raw = lev_plugins.load(out, options=EditOptions(min_confidence=0.0, calibrated=False)).edit(line)
    assert [edited.text for edited in editor.edit(line)] == [edited.text for edited in raw]
    assert editor.edit(line) != raw
    sweep = ["sweep", out, "--clean", corpora["clean"], "--pairs", *corpora.values(), "--min-edit-confidence"]
    assert main([*map(str, sweep), "read,0", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    pair, clean = report["texts"]
    assert [point["min-confidence"] for point in clean["points"]] == [0, read]
    assert clean["points"][-1]["broken of 1,000"] == pytest.approx(broken, abs=0.01)
    assert pair["points"][0]["% of typos repaired"] >= pair["points"][1]["% of typos repaired"]
    assert main([*map(str, sweep), "0.5"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0] == str(corpora["noisy"]) and table[1].startswith("min-confidence  broken of 1,000  % of lines ")


def test_an_export_again_keeps_the_dials_unless_confidences_change(
    corpora: dict[str, Path], tmp_path: Path, refusal: Refusal
) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    clean = ["--clean", corpora["clean"]]
    calibrate = ["--calibrate", *corpora.values()]
    SYSTEMS["pbd"](tmp_path).export(first, "--beam", 1, *calibrate, *clean, "--promise-broken", 100)
    config = model_folder.read(first)
    assert main([*map(str, ["export", first, again, *clean, "--promise-broken", "write=80"])]) == 0
    with_both = model_folder.read(again)
    assert with_both.dials.items() > config.dials.items() and with_both.promises == {"read": 100, "write": 80}
    assert (with_both.calibration, with_both.decoding) == (config.calibration, config.decoding)
    assert main([*map(str, ["export", again, again, "--overwrite", "--min-confidence", "write"])]) == 0
    assert lev_plugins.load(again).min_confidence == with_both.dials["write"]
    message = refusal("export", again, tmp_path / "out", *calibrate, *clean, "--promise-broken", 100)
    assert mentions(message, "--calibrate write --promise-broken") and not (tmp_path / "out").exists()


def test_too_few_edits_leave_the_calibration_of_a_folder(tmp_path: Path) -> None:
    noisy, clean = files(tmp_path, noisy="w1\n", clean="a\n")
    config = replace(model_folder.read(SPELLER_GRAPHS), calibration={CONSTANT: -1.0})
    assert Tuning([(noisy, clean)]).apply(Editor(), config).calibration == {CONSTANT: -1.0}


def test_words_of_the_folder_and_of_the_user_are_both_protected(corpora: dict[str, Path], tmp_path: Path) -> None:
    lines = [line for line in corpora["noisy"].read_text("utf-8").splitlines() if " " in line]
    out = tmp_path / "editor"
    system = SYSTEMS["pbd"](tmp_path)
    system.export(out)

    def changed(**options: Any) -> set[str]:
        edits = lev_plugins.load(out, options=EditOptions(min_confidence=0.0, **options)).edit(lines)
        both = [(edited.original.split(), edited.text.split()) for edited in edits]
        same_length = [zip(*pair, strict=True) for pair in both if len(pair[0]) == len(pair[1])]
        return {word for pairs in same_length for word, replacement in pairs if word != replacement}

    exported_word, user_word, *_ = sorted(changed())
    exported_words, user_words = files(tmp_path, words=f"{exported_word}\n", mine=f"{user_word}\n")
    system.export(out, "--overwrite", "--words", exported_words)
    assert (out / "words.txt").read_text("utf-8") == f"{exported_word}\n"
    assert changed().isdisjoint({exported_word}) and user_word in changed()
    assert changed(words=user_words).isdisjoint({exported_word, user_word})


def test_higher_thresholds_break_fewer_words(corpora: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", str(SPELLER_GRAPHS), "--clean", str(corpora["clean"]), "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["texts"][0]["points"]
    assert len(points) == 12 and points[0]["broken of 1,000"] > points[-1]["broken of 1,000"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["export", "--promise-broken", "2"], "--promise-broken --clean"),
        (["export", "--promise-broken", "0", "--clean", "{clean}"], "--promise-broken 0"),
        (["export", "--promise-broken", "some", "--clean", "{clean}"], "--promise-broken some"),
        (["export", "--promise-broken", "read=2,hook=1", "--clean", "{clean}"], "--promise-broken 'hook' read write"),
        (["export", "--promise-broken", "read=2,write=-1", "--clean", "{clean}"], "--promise-broken -1.0"),
        (["export", "--clean", "{clean}", "--promise-broken", "2", "--min-confidence", "0.5"], "--min-confidence"),
        (["export", "--clean", "none"], "none"),
        (["export", "--calibrate", "{noisy}", "{short}"], "parallel"),
        (["sweep"], "--pairs --clean"),
        (["sweep", "--min-edit-confidence", "0,1.2"], "--min-confidence 1.2"),
        (["sweep", "--min-confidence", "0.1,all"], "--min-confidence 'all' read write"),
        (["sweep", "--clean", "{clean}", "--min-confidence", "write"], "--min-confidence write --promise-broken"),
        (["sweep", "--clean", "{empty}"], "empty"),
    ],
)
def test_unusable_flags_of_export_and_sweep_are_refused(
    flags: list[str], message: str, corpora: dict[str, Path], tmp_path: Path, refusal: Refusal
) -> None:
    short, empty = files(tmp_path, short="a\n", empty="")
    command, *rest = (flag.format(**corpora, short=short, empty=empty) for flag in flags)
    data = ["--data", str(GOLDEN / "noisy" / "data"), "--bpe", "chars"]
    arguments = {
        "export": [str(GOLDEN / "pbd" / "checkpoint.pt"), str(tmp_path / "out"), *data],
        "sweep": [str(SPELLER_GRAPHS)],
    }
    assert mentions(refusal(command, *arguments[command], *rest), message)
    assert not (tmp_path / "out").exists()


def test_a_confidence_stays_below_1_with_any_weights() -> None:
    assert calibration.confidence({CONSTANT: 1e15, "odd": 1.0}, NOTHING) < 1


def test_alternatives_share_the_confidence_of_a_word() -> None:
    alternatives = tuple(Edit(0, 1, word, evidence=NOTHING) for word in "cd")
    edit = Edit(0, 1, "b", evidence=NOTHING._replace(distance=1), alternatives=alternatives)
    (calibrated,) = calibration.calibrate(Edited("a", (edit,)), {CONSTANT: -2.0, "distance": 4.0}).edits
    assert calibrated.confidence == pytest.approx(0.881, abs=0.001)
    assert [option.confidence for option in calibrated.alternatives] == pytest.approx([0.119, 0.0], abs=0.001)
    rare, usual = (Edit(0, 1, word, evidence=NOTHING._replace(distance=far)) for word, far in (("c", 0), ("d", 0.3)))
    edit = Edit(0, 1, "b", evidence=NOTHING, alternatives=(rare, usual))
    (calibrated,) = calibration.calibrate(Edited("a", (edit,)), {CONSTANT: -2.0, "distance": 4.0}).edits
    assert [option.replacement for option in calibrated.alternatives] == ["d", "c"]  # the likeliest first
