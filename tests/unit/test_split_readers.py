"""What a trained model says about a split: teacher-forced tokens, and how suspect the words of drafts are."""

from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, matthews_corrcoef

from examples.denoising.forced import forced_tokens
from examples.post_editing.quality import best_cut, deletion_odds, judge, of_words
from lev_plugins.errors import UserError
from lev_plugins.inference.decoder import CheckpointDecoder
from tests.examples import load_script
from tests.teachers import LEVT, TRANSFORMER, random_triples, write_teacher

LENGTHS = ["--max-source-positions", 12, "--max-target-positions", 12]
LONG = 3  # the test's line that is too long


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_triples(tmp_path_factory.mktemp("split"), {"train": 20, "test": 8}, ("test", LONG))


def test_forced_tokens_follow_the_right_ones(data: Path) -> None:
    """The slow way: one token after another, each after the reference's."""
    teacher = write_teacher(data / "teacher.pt", data, *TRANSFORMER, *LENGTHS, "-s", "en", "-t", "de")
    decoder = CheckpointDecoder([teacher], {"data": str(data)}, {}, "cpu")
    found = forced_tokens(decoder, "test")
    dataset, (model,) = decoder.dataset("test"), decoder.models
    eos, different = decoder.task.target_dictionary.eos(), set()
    assert [row is None for row in found] == [number == LONG for number in range(8)]
    for number, row in enumerate(found):
        if row is None:
            continue
        source, target = dataset[number]["source"], dataset[number]["target"].tolist()
        said = []
        for place in range(len(target) - 1):
            read = torch.tensor([[eos, *target[:place]]])
            logits = model(source[None], torch.tensor([len(source)]), read)[0]
            said.append(int(logits[0, -1].argmax()))
        assert row == said
        different.update(said)
    assert len(different) > 3


def test_odds_of_each_word_of_a_draft(data: Path) -> None:
    flags = ["-s", "en", "-t", "de", "--draft-lang", "mt"]
    levt = write_teacher(data / "levt.pt", data, *LEVT, *LENGTHS, *flags)
    decoder = CheckpointDecoder([levt], {"data": str(data)}, {}, "cpu")
    found = deletion_odds(decoder, "test", max_tokens=30)
    alone = deletion_odds(decoder, "test", max_tokens=1)
    drafts = (data.parent / "test.mt").read_text().splitlines()
    for number, (row, other, draft) in enumerate(zip(found, alone, drafts, strict=True)):
        assert (row is None) == (number == LONG)
        if row is not None:
            assert len(row) == len(draft.split()) and row == pytest.approx(other, abs=1e-5)
    undrafted = CheckpointDecoder([levt], {"data": str(data), "draft_lang": None}, {}, "cpu")
    with pytest.raises(UserError, match="the data has no drafts: train the levt with --draft-lang"):
        deletion_odds(undrafted, "test")


# ---- word-level quality estimation, beside scikit-learn --------------------------------------------------------------


DRAW = np.random.default_rng(1)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.7, 1.0])
def test_scores_are_those_of_scikit_learn(share: float) -> None:
    bad, suspicion = DRAW.random(200) < share, DRAW.normal(size=200).round(1)
    for cut in (-9.0, -0.5, 0.0, 1.0, 9.0):
        found = judge(suspicion, bad, cut)
        assert found.matthews == pytest.approx(matthews_corrcoef(bad, suspicion >= cut))
        assert found.f1_bad == pytest.approx(f1_score(bad, suspicion >= cut, zero_division=0))
        assert found.f1_ok == pytest.approx(f1_score(~bad, suspicion < cut, zero_division=0))


def test_the_best_cut_is_the_best_of_all() -> None:
    bad = DRAW.random(100) < 0.3
    suspicion = (DRAW.normal(size=100) + bad).round(1)
    best = max(judge(suspicion, bad, cut).matthews for cut in suspicion)
    assert judge(suspicion, bad, best_cut(suspicion, bad)).matthews == pytest.approx(best)
    assert best > 0.1


def test_official_labels_say_which_words_are_bad(tmp_path: Path) -> None:
    module = load_script("post_editing/quality")
    args = Namespace(drafts=tmp_path, test="test", draft="mt", target="pe", tags="tags")
    (tmp_path / "test.mt").write_text("Haus alt\nda\n", encoding="utf-8")
    (tmp_path / "test.pe").write_text("Haus\nda\n", encoding="utf-8")
    (tmp_path / "test.tags").write_text("OK BAD OK OK BAD\nOK OK OK\n", encoding="utf-8")
    assert module.split_text(args, "test") == ([["Haus", "alt"], ["da"]], [[True, False], [False]])
    args.tags = ""
    assert module.split_text(args, "test")[1] == [[False, True], [False]]
    args.tags = "tags"
    for wrong in ("OK BAD", "OK GOOD OK"):
        (tmp_path / "test.tags").write_text(f"OK BAD OK OK BAD\n{wrong}\n", encoding="utf-8")
        with pytest.raises(
            UserError, match=r"test\.tags, line 2: a draft of 1 words has 3 tags, OK or BAD, but these are OK"
        ):
            module.split_text(args, "test")


def test_lines_that_are_left_out_do_not_count(capsys: pytest.CaptureFixture[str]) -> None:
    module = load_script("post_editing/quality")
    bad = [[True, False], [True, True, True], [False, False]]
    assert of_words([0.0, 1.0, 2.0], [1, 1]) is None and of_words([0.0, 1.0, 2.0], [1, 2]) == [0.0, 2.0]
    kept, tags = module.judged([[0.5, -1.0], None, [-2.0, -3.0]], bad, "test")
    assert kept == [0.5, -1.0, -2.0, -3.0] and tags == [True, False, False, False]
    assert "1 of 3 drafts of test left out" in capsys.readouterr().err
    with pytest.raises(UserError, match="give the sentencepiece model that the data was made from"):
        module.judged([None, None, [0.0, 0.0]], bad, "test")
    assert module.rates([["a", "b"], ["a"]], [[True, False], [True]])["b"] < 0.6
