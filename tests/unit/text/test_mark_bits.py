"""Marks on a draft, from the notation to the decoding loop, and the oracle of Figure 5."""

import random
import time
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.text import marks
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, PREFER, SPAN
from lev_plugins.utils.errors import UserError
from tests.helpers import BOS, EOS, UNK, lively_model, random_rows, rows_to_tensor, thorough, toy_dictionary
from tests.slow_refinement import assert_refined, refine

SOURCES = random_rows(24, seed=5, shortest=1)
DRAFTS = random_rows(24, seed=6, shortest=1)
TARGETS = random_rows(24, seed=7, shortest=1)

text = st.text(alphabet="ab \\⟦⟧!~-+", max_size=14)


# ---- the notation ----


@thorough
@given(text)
def test_text_that_was_escaped_is_read_as_it_was(line: str) -> None:
    assert marks.parse_marks(marks.escape(line)) == (line, [])


@pytest.mark.parametrize(
    ("line", "plain", "marked"),
    [
        *((line, line, 0) for line in ("f: ⟦0, 1⟧ → ⟦n⟧", "⟧0, n⟦", "\\x \\", "[!a] ~b~ -c- +d+", "", "⟦ !a⟧")),
        ("v1 \\⟦Zürich\\⟧ v2", "v1 ⟦Zürich⟧ v2", 0),
        ("v1 \\⟦Zürich⟧ v2", "v1 ⟦Zürich⟧ v2", 0),
        ("\\\\⟦Zürich\\\\⟧ \\", "\\⟦Zürich\\⟧ \\", 0),
        ("\\⟦!Zürich⟧", "⟦!Zürich⟧", 0),
        ("\\⟦Zürich\\⟧ ⟦!v2⟧", "⟦Zürich⟧ v2", 1),
        ("\\\\⟦!v2⟧", "\\v2", 1),
    ],
)
def test_an_escaped_bracket_is_text_in_every_line(line: str, plain: str, marked: int) -> None:
    """With and without a mark in it; brackets that begin no mark are text as well."""
    found, spans = marks.parse_marks(line)
    assert (found, len(spans)) == (plain, marked)


@thorough
@given(
    st.lists(st.tuples(st.sampled_from(["", "!", "~", "-"]), st.sampled_from(["a", "a b", "⟦c⟧", "\\ x"])), max_size=5)
)
def test_marks_are_found_where_they_were_put(parts: list[tuple[str, str]]) -> None:
    line, expected, plain = "", [], ""
    marked = any(kind for kind, _ in parts)
    for kind, words in parts:
        quoted = marks.escape("⟦!" + words)[3:] if marked else words  # escaped as a part of a line with marks
        line += f"⟦{kind}{quoted} ⟧" if kind else quoted
        if kind:
            expected.append((kind, words + " "))
        plain += words + " " if kind else words
    found, spans = marks.parse_marks(line)
    assert found == plain
    assert [(mark.kind, found[mark.start : mark.end]) for mark in spans] == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ⟦!b", r"the mark at character 3 of the draft 'a ⟦!b' is not closed"),
        ("⟦+⟧ b⟧", r"character 6 of the draft '⟦\+⟧ b⟧' closes nothing: write \\⟧ if it belongs to the text"),
        ("⟦!a ⟦-b⟧⟧", r"character 5 .* is inside another mark: close that one with ⟧ first"),
        ("a ⟦-  ⟧", r"character 3 .* contains no word"),
        ("a ⟦+b⟧", r"character 3 .* means that something is missing and must not contain text"),
    ],
)
def test_marks_that_do_not_add_up_are_refused(line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        marks.parse_marks(line)


def test_backslashes_of_a_marked_draft_take_no_more_time_than_letters() -> None:
    slashes = "⟦!a⟧ " + "\\" * 100_000 + " cat"
    start = time.process_time()
    found, spans = marks.parse_marks(slashes)
    assert found == "a " + "\\" * 100_000 + " cat" and len(spans) == 1
    assert marks.parse_marks(marks.escape(slashes)) == (slashes, [])
    assert time.process_time() - start < 5  # squared, it is over a minute


# ---- tokens ----


def pieces(line: str) -> str:
    """A tokenizer that cuts words into syllables of two letters, the first of each word marked."""
    words = [["_" + word[:2], *(word[i : i + 2] for i in range(2, len(word), 2))] for word in line.split()]
    return " ".join(piece for word in words for piece in word)


def whole_line(line: str) -> str:
    """A tokenizer for text without blanks, one character a token, whose first token is marked."""
    return " ".join("_" + line) if line else ""


@pytest.mark.parametrize("encode", [pieces, whole_line, lambda line: line])
@pytest.mark.parametrize("line", ["abcd efgh ij", "abcdef", "ab cdefgh"])
def test_marks_never_change_the_tokens(encode: Any, line: str) -> None:
    for start in range(len(line)):
        for end in range(start + 1, len(line) + 1):
            if line[start:end].strip():
                marked = f"{line[:start]}⟦!{line[start:end]}⟧{line[end:]}"
                tokens, asked = marks.tokenize(marked, encode)
                assert tokens == encode(line).split()
                assert any(asked) and asked[0] == 0


def test_a_mark_covers_the_tokens_that_it_touches() -> None:
    assert marks.tokenize("⟦!abcd⟧ efgh", pieces)[1] == [0, KEEP + SPAN, KEEP + SPAN, 0, 0]
    assert marks.tokenize("ab⟦-cd efg⟧h", pieces)[1] == [0, 0, *[DELETE + SPAN] * 3]
    assert marks.tokenize("xy⟦~z⟧uv", whole_line)[1] == [0, 0, 0, 0, PREFER + SPAN, 0, 0]
    # an insertion is asked for behind the token before it
    assert marks.tokenize("⟦+⟧ ab cd", pieces) == (["_ab", "_cd"], [INSERT, 0, 0])
    assert marks.tokenize("ab ⟦+⟧ cd", pieces) == (["_ab", "_cd"], [0, INSERT, 0])
    assert marks.tokenize("ab ⟦!cd⟧⟦+⟧", pieces) == (["_ab", "_cd"], [0, 0, KEEP + INSERT + SPAN])


def test_requests_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UserError, match=r"two marks of the draft .* touch the same token 'cd'"):
        marks.tokenize("ab⟦!c⟧⟦-d⟧", pieces)


# ---- decoding ----


def random_requests(row: list[int], seed: int) -> list[int]:
    """Spans of one to three words, each asked for something, with blanks and insertions between them."""
    draw = random.Random(seed)
    asked, span = [0] * len(row), 0
    i = 1
    while i < len(row) - 1:
        kind, span = draw.choice([0, 0, KEEP, PREFER, DELETE]), span + 1
        end = min(i + draw.randint(1, 3), len(row) - 1)
        asked[i:end] = [kind and kind + span * SPAN] * (end - i)
        if draw.random() < 0.3:
            asked[end - 1] |= INSERT
        i = end
    return asked


REQUESTS = [random_requests(row, seed) for seed, row in enumerate(DRAFTS)]
VARIANTS: dict[str, dict[str, Any]] = {
    "marks": {},
    "gamma": {"gamma": 1.0},
    "no-room": {"max_ratio": 0.0, "max_ratio_floor": 0},
    "min-words": {"min_length": 12},
    "short-but-min-words": {"gamma": -8.0, "min_length": 12},
    "not-adaptive": {"adaptive": False, "max_iter": 3},
    "no-soft-protection": {"soft_protection": 0.0},
    "keep": {"keep_bias": 1.0},
    "dare": {"keep_bias": -1.0, "gamma": 1.0},
    "oracle-delete-keep": {"oracle": "delete", "keep_bias": 1.0},
    "oracle-delete": {"oracle": "delete"},
    "oracle-both": {"oracle": "delete+placeholder"},
}


@pytest.mark.parametrize("asked", [None, REQUESTS], ids=["unmarked", "marked"])
@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_batch_with_marks_and_oracle_gives_what_algorithm_2_gives_each(
    options: dict[str, Any], asked: list[list[int]] | None
) -> None:
    assert_refined([lively_model(seed=5)], SOURCES, DRAFTS, asked, TARGETS, retain_history=True, **options)


def holds(tokens: list[int], span: list[int]) -> bool:
    return any(tokens[i : i + len(span)] == span for i in range(len(tokens)))


def spans_of(row: list[int], asked: list[int]) -> list[list[int]]:
    """The tokens of each hard span."""
    numbers = {each // SPAN for each in asked if each & KEEP}
    pairs = list(zip(row, asked, strict=True))
    return [[token for token, each in pairs if each & KEEP and each // SPAN == number] for number in numbers]


def test_hard_spans_come_through_whole() -> None:
    results = refine([lively_model(seed=6)], SOURCES, DRAFTS, REQUESTS)
    spans = [spans_of(*pair) for pair in zip(DRAFTS, REQUESTS, strict=True)]
    for result, of_row in zip(results, spans, strict=True):
        assert all(holds(result["tokens"].tolist(), span) for span in of_row)
    assert sum(map(len, spans)) > 10


def test_a_draft_is_kept_the_more_the_higher_the_bias() -> None:
    kept = []
    for bias in (-2.0, 0.0, 2.0, 1000.0):
        results = refine([lively_model(seed=5)], SOURCES, DRAFTS, keep_bias=bias)
        kept.append(sum(result["tokens"].tolist() == row[1:] for result, row in zip(results, DRAFTS, strict=True)))
    assert kept == sorted(kept) and kept[1] < kept[3] == len(DRAFTS)


def test_an_oracle_needs_references() -> None:
    with pytest.raises(UserError, match="--oracle delete requires references, but the input has no targets"):
        refine([lively_model()], SOURCES, oracle="delete")


@pytest.mark.parametrize("placeholder", ["plh", "unk"])
def test_an_unknown_word_of_a_draft_is_kept_as_a_word_of_its_own(placeholder: str) -> None:
    """It is read as <unk>, is never a hole, and stays itself when it moves."""
    model, dictionary = lively_model(seed=5, placeholder=placeholder), toy_dictionary()
    generator = RefinementGenerator([model], dictionary, RefinementOptions())
    dictionary.unknown_words, unknown = ["Zürich"], dictionary.size + 1
    drafts = [[BOS, 5, unknown, 6, unknown, EOS] for _ in SOURCES]
    asked = [[0, 0, KEEP + SPAN, 0, 0, 0] for _ in SOURCES]
    net_input = {"src_tokens": rows_to_tensor(SOURCES), "draft": rows_to_tensor(drafts), "marks": torch.tensor(asked)}
    results = [best[0]["tokens"] for best in generator.generate([model], {"net_input": net_input})]
    assert all("Zürich" in dictionary.string(tokens.int()).split() for tokens in results)
    if placeholder == "plh":
        twin = {**net_input, "draft": rows_to_tensor([[UNK if t == unknown else t for t in row] for row in drafts])}
        known = [best[0]["tokens"] for best in generator.generate([model], {"net_input": twin})]
        assert dictionary.unknown_to_unk(results[0]).tolist() == known[0].tolist()
