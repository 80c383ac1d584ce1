"""The helpers of examples/labelling."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from examples.labelling.frequency import by_frequency
from lev_plugins.cli.main import main
from tests.commands import readme
from tests.examples import load_script, run_script
from tests.helpers import write_lines


def write(folder: Path, kind: str) -> None:
    rows = {
        "classification": ["good film\t1", "bad film\t0", "so good\t1", "so bad\t0"] * 10,
        "multilabel": ["good film\tjoy", "bad film\tanger", "so so\t", "good bad\tanger,joy"] * 10,
        "tagging": ["a cat sleeps\tD N V", "the cats sleep\tD N V"] * 10,
        "regression": ["good film\t0.93", "bad film\t0.12", "so good\t0.91", "so bad\t0.08"] * 10,
    }[kind]
    for part in ("train", "valid", "test"):
        write_lines(folder / f"{part}.tsv", rows)


@pytest.mark.parametrize(
    ("text", "flags", "score"),
    [
        ("classification", [], "accuracy"),
        ("multilabel", [], "micro_f1"),
        ("tagging", [], "tag_accuracy"),
        ("regression", [], "pearson"),
        ("regression", ["--round-labels", "0.1", "--label-kind", "classification"], "pearson"),
    ],
)
def test_baselines(tmp_path: Path, text: str, flags: list[str], score: str) -> None:
    write(tmp_path, text)
    flags = [*flags, *([] if text == "regression" else ["--numbered-labels"])]
    words = [tmp_path, "--label-kind", text, "--output", tmp_path / "scores.json", *flags]
    assert run_script("labelling/baselines", *words) == 0
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert found["linear"]["scores"][""][score] > 95
    assert found["majority"]["scores"][""][score] < 70
    by_frequency = {"few": {"rp_at_5": 100.0, "ndcg_at_5": 100.0}} if text == "multilabel" else {}
    assert found["linear"]["by_frequency"] == by_frequency


def test_edit_rates_come_from_three_files(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        for suffix, text in (("src", "a b"), ("mt", "x"), ("hter", "0.25")):
            (tmp_path / f"{split}.{suffix}").write_text(f"{text}\n" * 20, encoding="utf-8")
    assert run_script("labelling/texts", tmp_path, "--rated", "--test", "valid", "--output", tmp_path) == 0
    assert (tmp_path / "test.tsv").read_text("utf-8") == "a b\tx\t0.25\n" * 20
    assert (tmp_path / "valid.tsv").read_text("utf-8") == "a b\tx\t0.25\n"


def test_labels_by_frequency() -> None:
    counts = np.array([200, 51, 50, 1, 0, 0])  # of the training text
    gold = np.array([[1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1]])
    found = np.array([[9, 0, 0, 2, 0, 0], [8, 3, 0, 0, 0, 0], [0, 0, 0, 0, 2, 1], [0, 0, 7, 0, 9, 0]]) / 10
    answer = by_frequency(gold, found, counts, at=1)
    one_of_two, right = {"rp_at_1": 50.0, "ndcg_at_1": 50.0}, {"rp_at_1": 100.0, "ndcg_at_1": 100.0}
    assert answer == {"frequent": one_of_two, "few": right, "zero": one_of_two}
    assert answer["few"] == by_frequency(gold[:, 2:4], found[:, 2:4], counts[2:4], at=1)["few"]
    assert by_frequency(gold[:2], found[:2], counts, at=1).keys() == {"frequent", "few"}  # none is new


def test_the_report_of_what_is_there(tmp_path: Path) -> None:
    few, frequent = {"rp_at_5": 73.6, "ndcg_at_5": 69.6}, {"rp_at_5": 84.9, "ndcg_at_5": 85.9}
    scored: dict[str, Any] = {"examples": 100, "seconds": 0.5}
    tags = scored | {"scores": {"": {"tag_accuracy": 91.25, "macro_f1": 80.0}}}
    emotions = scored | {"scores": {"": {"micro_f1": 50.0}, "thresholds tuned": {"micro_f1": 51.0}}}
    emotions |= {"by_frequency": {"frequent": frequent, "few": few}}
    for name, found in (("pos", tags), ("emotions", emotions)):
        (tmp_path / f"test_{name}").mkdir()
        (tmp_path / f"test_{name}" / "scores.json").write_text(json.dumps(found))
    assert run_script("labelling/report", tmp_path) == 0
    page = (tmp_path / "report.md").read_text("utf-8")
    assert "| EncT5 | 91.2 | 80.0 | | 200 |" in page
    assert "| EncT5, spelling-aware words | not yet run |" in page and "SST-2" not in page
    assert " | frequent rp_at_5 | frequent ndcg_at_5 | few rp_at_5 | few ndcg_at_5 | " in page
    assert "| EncT5, one latent per label | 50.0 | | | | 84.9 | 85.9 | 73.6 | 69.6 | | 200 |" in page
    assert "| ... thresholds tuned | 51.0 |" in page


def test_updates_of_some_epochs(folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = folders["tagging"]
    examples = json.loads((folder / "info.json").read_text("utf-8"))["train_examples"]
    assert run_script("labelling/paper/updates", folder, "--epochs", 3, "--batch", examples - 1) == 0
    assert capsys.readouterr().out == "6\n"


def test_what_t5_wrote_is_read_back(tmp_path: Path) -> None:
    def scores(kind: str, rows: list[str], said: list[str], *flags: str) -> dict[str, float]:
        write_lines(tmp_path / "gold.tsv", rows)
        lines = [f"D-{number}\t-0.1\t{text}\n" for number, text in reversed(list(enumerate(said)))]
        (tmp_path / "generated").write_text("S-0\tx\n" + "".join(lines), "utf-8")
        words = [tmp_path / "gold.tsv", "--label-kind", kind, "--output", tmp_path / "o", *flags]
        status = run_script("labelling/text_to_text", *words, "--generated", tmp_path / "generated")
        assert status == (0 if len(rows) == len(said) else 2)
        return json.loads((tmp_path / "o.scores.json").read_text("utf-8"))

    assert scores("classification", ["a\tno", "b\tyes", "c\tyes"], ["no", "maybe", "yes"])["f1"] == pytest.approx(
        200 / 3
    )
    # the F1 is that of label 1, though its word comes first in the alphabet; the number itself is no answer
    mrpc = ["--label-words", "not_equivalent", "equivalent"]
    said = ["equivalent", "1", "equivalent", "not_equivalent"]
    assert scores("classification", ["a\t1", "b\t1", "c\t0", "d\t0"], said, *mrpc)["f1"] == pytest.approx(50.0)
    found = scores("regression", ["a\t1", "b\t2", "c\t3"], ["1.0", "2.2", "three"])
    assert found["mse"] == pytest.approx((0.04 + 16) / 3)
    found = scores("multilabel", ["a\tx,y", "b\t", "c\tz"], ["y, x", "unheard of", ""])
    assert found == {"micro_f1": pytest.approx(100 * 2 * 2 / (3 + 3))}
    found = scores("tagging", ["a b\tN V", "c\tN"], ["<0> N <1> N", "<1> N"])
    assert found == {"tag_accuracy": pytest.approx(100 / 3)}
    scores("tagging", ["a b\tN V", "c\tN"], ["<0> N"])  # refused


def test_what_t5_learns_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(tmp_path / "pairs.tsv", ["a\tb\t1", "c\td\t0"])
    words = [tmp_path / "pairs.tsv", "--label-kind", "classification", "--text-columns", 2, "--output", tmp_path / "o"]
    template = ["--template", "mnli hypothesis: {1} premise: {0}"]
    assert run_script("labelling/text_to_text", *words, *template, "--label-words", "no", "yes") == 0
    assert (tmp_path / "o.src").read_text("utf-8") == "mnli hypothesis: b premise: a\nmnli hypothesis: d premise: c\n"
    assert (tmp_path / "o.tgt").read_text("utf-8") == "yes\nno\n"
    assert run_script("labelling/text_to_text", *words, "--label-words", "no") == 2
    assert "line 1: --label-words has a word for the labels 0 to 0, but the label is '1'" in capsys.readouterr().err


# ---- pretrain: T5's span corruption ----------------------------------------------------------------------------------
def test_hidden_spans_are_what_the_sentinels_stand_for() -> None:
    module = load_script("labelling/pretrain")
    row = np.arange(10, 138)
    source, target = module.corrupt(row, list(range(200, 300)), np.random.default_rng(3))
    assert source[-1] == target[-1] == module.END
    spans: dict[int, list[int]] = {}
    for piece in target[:-1]:
        if piece >= 200:
            spans[piece] = []
        else:
            spans[max(spans)].append(piece)
    assert len(spans) == 6 and sum(map(len, spans.values())) == 19  # 15 % of 128, in spans of three
    restored = [each for piece in source[:-1] for each in spans.get(piece, [piece])]
    assert restored == row.tolist()


def test_a_small_t5_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped and continued, it has the weights of a run without a stop; EncT5 can begin with them."""
    transformers = pytest.importorskip("transformers")
    module = load_script("labelling/pretrain")
    monkeypatch.setattr(module, "STEPS", 2)
    words = [f"{a}{b}" for a in "bdfgklmn" for b in "aeiou"]
    lines = [" ".join(words[(i * k) % 40] for k in range(1, 12)) for i in range(60)]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sizes = ["--vocab", "40", "--width", "16", "--ffn", "8", "--heads", "2", "--layers", "1", "--decoder-layers", "2"]

    def run(output: str, updates: int, stop: int | None = None) -> dict[str, torch.Tensor]:
        flags = [*sizes, "--length", "20", "--rows", "4", "--updates", str(updates)]
        (printed,) = re.findall(r"^python (\S+/pretrain.py .*)$", readme("labelling"), re.M)
        ours = {"comments.txt": str(tmp_path / "text"), "runs/small-t5": str(tmp_path / output)}
        monkeypatch.setattr(sys, "argv", [*(ours.get(word, word) for word in printed.split()), *flags])
        if stop is None:
            assert module.main() == 0
            return transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / output).state_dict()
        with monkeypatch.context() as patch:  # stopped by the user
            patch.setattr(module, "loss_of", counting(module.loss_of, stop))
            with pytest.raises(KeyboardInterrupt):
                module.main()
        return {}

    with pytest.raises(AssertionError):
        run("stopped", 0)  # refused, and so is what sentencepiece cannot make: nothing of it remains
    run("stopped", 4, stop=3)
    with monkeypatch.context() as patch:  # the updates after the two that were saved, and the held-out text
        patch.setattr(module, "loss_of", counting(module.loss_of, 2 + 1))
        stopped = run("stopped", 4)
    whole = run("whole", 4)
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--seed", "2"])
    assert module.main() == 2  # begun with other settings
    monkeypatch.setattr(sys, "argv", [*sys.argv[:-2], "--length", "3000"])
    assert module.main() == 2  # more spans than sentinels
    assert all(torch.equal(stopped[name], whole[name]) for name in whole)
    assert main(["import-pretrained", str(tmp_path / "whole"), str(tmp_path / "backbone")]) == 0
    rows = (tmp_path / "backbone" / "dict.txt").read_text("utf-8").splitlines()
    assert len(rows) == 40 + 100 - 3 and rows[-1] == "<extra_id_0> 1"
    encoder = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "backbone").encoder
    assert len(encoder.block) == 1 and encoder.config.feed_forward_proj == "gated-gelu"


def counting(function: Callable[..., torch.Tensor], most: int) -> Callable[..., torch.Tensor]:
    """Stopped, as by the user, at one call more."""
    calls = iter(range(most))

    def until(*args: Any) -> torch.Tensor:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return function(*args)

    return until
