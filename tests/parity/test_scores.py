"""Scores against sacrebleu, rouge-score and ERRANT, of whole texts and of resamples, and against plain Python."""

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF, TER

from lev_plugins.scoring import bleu, chrf, gleu, m2, rouge, ter
from tests.helpers import licensed_data, thorough, write_lines

JFLEG_FOLDER = licensed_data("JFLEG", "gec-jfleg")

SCORED_WORDS = ["The", "the", "cats", "cat", "sat", "sitting", "on", "mat", ",", ".", "Ähre", "42"]
lines = st.lists(st.sampled_from(SCORED_WORDS), max_size=9).map(" ".join)
Columns = tuple[list[str], list[str], list[str]]
# a text and its two references, of which one is not empty, so that scores are defined
rows = st.lists(st.tuples(lines, lines.filter(bool), lines), min_size=1, max_size=6)


def columns(rows: list[tuple[str, str, str]]) -> Columns:
    texts, first_references, second_references = (list(column) for column in zip(*rows, strict=True))
    return texts, first_references, second_references


FIXED_OPTIONS = {BLEU: {"force": True}, TER: {"case_sensitive": True}, CHRF: {}}  # lev-plugins always uses these


def metrics(metric: Any, module: Any, **flags: Any) -> tuple[Any, Any, Any]:
    """Returns sacrebleu's metric for texts, its metric for sentences, and our function, with the same flags."""
    options, order = {**FIXED_OPTIONS[metric], **flags}, {"effective_order": True} if metric is BLEU else {}
    return metric(**options), metric(**options, **order), partial(module.evaluate, **flags)


yes_or_no = st.booleans()
METRICS = {
    "BLEU": st.builds(
        partial(metrics, BLEU, bleu), tokenize=st.sampled_from(["13a", "none", "char"]), lowercase=yes_or_no
    ),
    "TER": st.builds(partial(metrics, TER, ter), normalized=yes_or_no, no_punct=yes_or_no),
    "chrF": st.builds(
        partial(metrics, CHRF, chrf), char_order=st.integers(1, 7), word_order=st.integers(0, 2), lowercase=yes_or_no
    ),
}


@pytest.mark.parametrize("name", METRICS)
@thorough
@given(rows, st.data(), st.randoms(use_true_random=False))
def test_scores_match_sacrebleu(
    name: str, rows: list[tuple[str, str, str]], data: st.DataObject, draw: random.Random
) -> None:
    """Compares scores of texts, of each sentence, and of a resample of the sentences."""
    metric, by_sentence, evaluate = data.draw(METRICS[name])
    texts, *references = columns(rows)
    evaluation, total = evaluate(list(zip(*references, strict=True)), texts), metric.corpus_score(texts, references)
    assert (evaluation.name, evaluation.score) == (total.name, pytest.approx(total.score, abs=1e-9))
    assert evaluation.signature == f"sacrebleu {metric.get_signature()}"
    expected = [by_sentence.sentence_score(text, list(pair)).score for text, *pair in rows]
    assert evaluation.sentences.tolist() == pytest.approx(expected)
    counts = [draw.randint(0, 2) for _ in texts]
    counts[0] += 1
    texts, *references = (
        [row for row, n in zip(column, counts, strict=True) for _ in range(n)] for column in columns(rows)
    )
    expected = metric.corpus_score(texts, references).score
    assert evaluation.scores_of(np.array([counts]))[0] == pytest.approx(expected, abs=1e-9)


def test_ter_of_asian_text_counts_characters() -> None:
    text, reference = "今天天气很好。", "今天天气真好。"
    metric = TER(normalized=True, asian_support=True, case_sensitive=True)
    score = ter.evaluate([reference], [text], normalized=True, asian_support=True).score
    assert score == pytest.approx(metric.corpus_score([text], [[reference]]).score) == pytest.approx(100 / 7)
    assert ter.evaluate([reference], [text]).score == 100.0


@thorough
@given(rows, st.sampled_from(list(rouge.ROUGE_KINDS)), st.booleans())
def test_rouge_matches_rouge_score(rows: list[tuple[str, str, str]], kind: str, stem: bool) -> None:
    texts, references, _ = columns(rows)
    scorer = RougeScorer([kind], use_stemmer=stem)
    evaluation = rouge.evaluate(references, texts, kind, not stem)
    expected = [scorer.score(reference, text)[kind].fmeasure for reference, text in zip(references, texts, strict=True)]
    assert evaluation.sentences.tolist() == pytest.approx(expected)
    assert evaluation.score == pytest.approx(sum(expected) / len(expected))
    pairs = [(text, pair) for text, *pair in rows if text or all(pair)]
    if pairs:
        multi_reference = rouge.evaluate([pair for _, pair in pairs], [text for text, _ in pairs], kind, not stem)
        best = [scorer.score_multi(pair, text)[kind].fmeasure for text, pair in pairs]
        assert multi_reference.sentences.tolist() == pytest.approx(best)


def test_rouge_with_tokenize_space_scores_every_script() -> None:
    assert rouge.evaluate(["ähre öl"], ["ähre Öl"], "rouge1", tokenize="space").score == 0.5
    assert rouge.evaluate(["犬 猫"], ["犬 猫"], "rouge2", tokenize="space").score == 1.0
    assert rouge.evaluate(["犬 猫"], ["犬 猫"], "rouge1").score == 0.0  # like rouge-score, which removes such letters


# ---- GLEU ----------------------------------------------------------------------------------------------------------


def slow_gleu_statistics(source: list[str], reference: list[str], text: list[str]) -> list[int]:
    """Counts matching n-grams by removing them from lists."""
    row = [len(text), len(reference)]
    for n in (1, 2, 3, 4):
        text_grams, reference_grams, source_grams = (
            [tuple(x[i : i + n]) for i in range(len(x) - n + 1)] for x in (text, reference, source)
        )
        unmatched, stale = list(reference_grams), [gram for gram in source_grams if gram not in reference_grams]
        matches = 0
        for gram in text_grams:
            if gram in unmatched:
                unmatched.remove(gram)
                matches += 1
            elif gram in stale:
                stale.remove(gram)
                matches -= 1
        row += [max(matches, 0), len(text_grams)]
    return row


def slow_gleu(rows: list[list[int]]) -> float:
    total = [sum(column) for column in zip(*rows, strict=True)]
    if 0 in total:
        return 0.0
    product = 1.0
    for matches, ngrams in zip(total[2::2], total[3::2], strict=True):
        product *= (matches / ngrams) ** 0.25
    return product * min(1.0, 2.718281828459045 ** (1 - total[1] / total[0]))


@thorough
@given(rows)
def test_gleu_matches_its_definition(rows: list[tuple[str, str, str]]) -> None:
    texts, references, sources = columns(rows)
    slow = [slow_gleu_statistics(source.split(), reference.split(), text.split()) for text, reference, source in rows]
    evaluation = gleu.evaluate(sources, references, texts)
    assert evaluation.score == pytest.approx(slow_gleu(slow))
    smoothed = [slow_gleu([[value or 1 for value in row]]) for row in slow]
    assert evaluation.sentences.tolist() == pytest.approx(smoothed)


def long_lines(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(SCORED_WORDS[:6], k=draw.randint(5, 12))) for _ in range(count)]


def test_gleu_of_several_references_is_the_mean_over_draws() -> None:
    sources, first_column, second_column, texts = (long_lines(seed, 3) for seed in (1, 2, 3, 2))
    texts[1] = second_column[1]
    both = [
        [slow_gleu_statistics(source.split(), reference.split(), text.split()) for reference in pair]
        for source, pair, text in zip(sources, zip(first_column, second_column, strict=True), texts, strict=True)
    ]
    scores = []
    for draw in range(500):
        generator = random.Random(draw * 101)
        scores.append(slow_gleu([pair[0 if generator.random() < 0.5 else 1] for pair in both]))
    expected = np.mean([slow_gleu([a, b, c]) for a in both[0] for b in both[1] for c in both[2]])  # all 8 choices
    score = gleu.evaluate(sources, list(zip(first_column, second_column, strict=True)), texts).score
    assert score == pytest.approx(np.mean(scores))
    assert score == pytest.approx(expected, rel=0.05)


@pytest.mark.skipif(not JFLEG_FOLDER.is_dir(), reason="JFLEG is not the folder of its dev.src and dev.ref0 to dev.ref3")
def test_gleu_of_jflegs_source_is_the_published_score() -> None:
    source, *references = (
        (JFLEG_FOLDER / f"dev.{side}").read_text("utf-8").splitlines()
        for side in ("src", "ref0", "ref1", "ref2", "ref3")
    )
    score = gleu.evaluate(source, list(zip(*references, strict=True)), source).score
    assert round(100 * score, 2) == 38.21


# ---- ERRANT ----------------------------------------------------------------------------------------------------------

TAGS = {  # word -> tag of Penn, tag of Universal Dependencies, and the lemma if it differs
    **dict.fromkeys(("a", "an", "the", "This"), ("DT", "DET", None)),
    **dict.fromkeys(("cat", "sentence", "gramamtical"), ("NN", "NOUN", None)),
    **{"cats": ("NNS", "NOUN", "cat"), "Anna": ("NNP", "PROPN", None), "grammatical": ("JJ", "ADJ", None)},
    **{"is": ("VBZ", "AUX", "be"), "are": ("VBP", "AUX", "be"), "watch": ("VBP", "VERB", None)},
    **{"look": ("VBP", "VERB", None), "looks": ("VBZ", "VERB", "look"), "at": ("IN", "ADP", None)},
    **{"'s": ("POS", "PART", None), "to": ("TO", "PART", None), ",": (",", "PUNCT", None), ".": (".", "PUNCT", None)},
}


@pytest.fixture
def annotator(monkeypatch: pytest.MonkeyPatch) -> Any:
    """ERRANT in a pipeline of spaCy whose tags come from a table instead of a trained model."""
    spacy, _ = pytest.importorskip("spacy"), pytest.importorskip("errant")

    def tag(doc: Any) -> Any:
        for token in doc:
            token.tag_, token.pos_, lemma = TAGS[token.text]
            token.lemma_ = lemma or token.text
        return doc

    spacy.language.Language.component("tags_of_a_table", func=tag)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("tags_of_a_table")
    monkeypatch.setattr(spacy, "load", lambda name, **options: {"en_core_web_sm": pipeline}[name])
    monkeypatch.setattr(m2, "load_errant", m2.load_errant.__wrapped__)
    return m2.load_errant()


def test_m2_with_errant_matches_errant_compare(
    annotator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """ERRANT's commands score random texts of two annotators."""
    from errant.commands import compare_m2, parallel_to_m2

    draw = random.Random(1)
    sources = [draw.choices(list(TAGS), k=draw.randint(3, 9)) for _ in range(60)]

    def edit_words(words: list[str]) -> list[str]:
        """Drops, replaces or inserts one word in four."""
        replacements = draw.choices(list(TAGS), k=len(words))
        corrections = [
            draw.choice([[word]] * 9 + [[], [replacement], [replacement, word]])
            for word, replacement in zip(words, replacements, strict=True)
        ]
        return [word for correction in corrections for word in correction]

    gold_1, gold_2 = (list(map(edit_words, sources)) for _ in range(2))
    system = list(map(edit_words, gold_1))  # has some of the first annotator's edits
    for name, texts in (("source", sources), ("first", gold_1), ("second", gold_2), ("system", system)):
        write_lines(tmp_path / name, map(" ".join, texts))

    def run(command: Any, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", ["errant", *map(str, arguments)])
        command.main()

    for name, corrections in (("gold", ["first", "second"]), ("edits", ["system"])):
        files = [tmp_path / correction for correction in corrections]
        run(parallel_to_m2, "-orig", tmp_path / "source", "-cor", *files, "-out", tmp_path / name)
    capsys.readouterr()
    run(compare_m2, "-hyp", tmp_path / "edits", "-ref", tmp_path / "gold")
    correct, wrong, missed, *shares = capsys.readouterr().out.split("F0.5\n")[1].split()[:6]
    evaluation = m2.evaluate(m2.read_m2(tmp_path / "gold"), list(map(" ".join, system)), errant=True)
    counts = [int(correct), int(correct) + int(wrong), int(correct) + int(missed)]
    assert counts == [evaluation.details[name] for name in ("correct", "proposed", "gold")] and counts[0] > 9
    assert [float(share) for share in shares] == [
        round(number, 4) for number in (evaluation.details["precision"], evaluation.details["recall"], evaluation.score)
    ]
