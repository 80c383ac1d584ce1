"""``--scoring``: what fairseq prints of our metrics."""

from typing import Any

import pytest
from fairseq.scoring import build_scorer
from omegaconf import OmegaConf

REFERENCES = ["the cat sat on the mat .", "He runs", "yes"]


TEXTS = ["the cat sat on a mat .", "he ran", "yes"]


def scorer(name: str, **flags: Any) -> Any:
    built = build_scorer(OmegaConf.create({"_name": name, **flags}), None)
    for reference, text in zip(REFERENCES, TEXTS, strict=True):
        built.add_string(reference, text)
    return built


@pytest.mark.parametrize(
    ("name", "flags", "expected", "line"),
    [
        ("ter", {}, 30.0, "TER = 30.00 (edits 3, reference words 10)"),
        ("ter", {"ter_no_punct": True}, 100 / 3, "TER = 33.33 (edits 3, reference words 9)"),
        ("ter", {"ter_normalized": True, "ter_asian_support": True}, 30.0, "TER = 30.00 (edits 3, reference words 10)"),
        ("rouge", {}, None, "ROUGE-L = 0.7778 (ROUGE-1 0.7778, ROUGE-2 0.2000)"),
        ("rouge", {"rouge_kind": "rouge2"}, None, "ROUGE-2 = 0.2000 (ROUGE-1 0.7778, ROUGE-L 0.7778)"),
        ("rouge", {"rouge_tokenize": "space"}, None, "ROUGE-L = 0.6190 (ROUGE-1 0.6190, ROUGE-2 0.2222)"),
        ("wrr", {}, 0.7, "WRR = 0.7000 (recognised 7, reference words 10)"),
        ("exact_match", {}, 1 / 3, "exact match = 0.3333 (matches 1, sentences 3)"),
    ],
)
def test_what_scoring_prints(name: str, flags: dict[str, Any], expected: float | None, line: str) -> None:
    found = scorer(name, **flags)
    assert found.result_string() == line
    if expected is not None:
        assert found.score() == pytest.approx(expected)


def test_stems_match_unless_told_otherwise() -> None:
    for flags, expected in (({}, 1.0), ({"rouge_no_stemming": True}, 0.0)):
        found = build_scorer(OmegaConf.create({"_name": "rouge", **flags}), None)
        found.add_string("cats", "cat")
        assert found.score() == expected


def test_a_scorer_by_its_name_alone() -> None:
    for name in ("ter", "rouge", "wrr", "exact_match"):
        found = build_scorer(name, None)
        found.add_string("a b", "a b")
        assert found.score() == (0 if name == "ter" else 1)
