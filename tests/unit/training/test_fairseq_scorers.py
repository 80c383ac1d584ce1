"""``--scoring``: our metrics in fairseq."""

from typing import Any

import pytest
from fairseq.scoring import build_scorer
from omegaconf import OmegaConf

REFERENCES = ["the cat sat on the mat .", "He runs", "yes"]
HYPOTHESES = ["the cat sat on a mat .", "he run", "yes"]


@pytest.mark.parametrize(
    ("name", "flags", "line"),
    [
        ("ter", {}, "TER = 30.00 (edits 3, reference words 10)"),
        ("ter", {"ter_no_punct": True}, "TER = 33.33 (edits 3, reference words 9)"),
        ("ter", {"ter_normalized": True, "ter_asian_support": True}, "TER = 30.00 (edits 3, reference words 10)"),
        ("rouge", {}, "ROUGE-L = 0.9444 (ROUGE-1 0.9444, ROUGE-2 0.5333)"),
        ("rouge", {"rouge_kind": "rouge2"}, "ROUGE-2 = 0.5333 (ROUGE-1 0.9444, ROUGE-L 0.9444)"),
        ("rouge", {"rouge_tokenize": "space"}, "ROUGE-L = 0.6190 (ROUGE-1 0.6190, ROUGE-2 0.2222)"),
        ("rouge", {"rouge_no_stemming": True}, "ROUGE-L = 0.7778 (ROUGE-1 0.7778, ROUGE-2 0.2000)"),
        ("wrr", {}, "WRR = 0.7000 (recognised 7, reference words 10)"),
        ("exact_match", {}, "exact match = 0.3333 (matches 1, sentences 3)"),
    ],
)
def test_scorers_of_fairseq_print_scores(name: str, flags: dict[str, Any], line: str) -> None:
    scorer = build_scorer(OmegaConf.create({"_name": name, **flags}) if flags else name, None)
    for reference, text in zip(REFERENCES, HYPOTHESES, strict=True):
        scorer.add_string(reference, text)
    assert scorer.result_string() == line
    assert scorer.score() == pytest.approx(float(line.split()[line.split().index("=") + 1]), abs=0.005)
