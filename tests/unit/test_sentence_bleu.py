"""Sentence BLEU beside nltk's."""

from __future__ import annotations

import random
import warnings

import pytest

from lev_plugins.errors import UserError
from lev_plugins.scoring.sentence_bleu import mean_sentence_bleu, sentence_bleu


def test_it_is_that_of_nltk() -> None:
    nltk = pytest.importorskip("nltk.translate.bleu_score")
    draw, positive = random.Random(1), 0
    for _ in range(500):
        references = [draw.choices("abcde", k=draw.randint(1, 12)) for _ in range(draw.randint(1, 3))]
        words = [word if draw.random() < 0.8 else draw.choice("abcde") for word in references[0]][: draw.randint(1, 12)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = nltk.sentence_bleu(references, words)
        assert sentence_bleu(references, words) == pytest.approx(expected, abs=1e-15)
        positive += expected > 0.01
    assert positive > 50


def test_the_mean_is_over_texts() -> None:
    assert mean_sentence_bleu(["a b c d", ["x", "a b c d"], ""], ["a b c d", "a b c d", ""]) == pytest.approx(200 / 3)
    with pytest.raises(UserError, match="every reference needs one text, but there are 1 references and 0 texts"):
        mean_sentence_bleu(["a"], [])
