"""Marks on a draft, from the notation to the decoding loop, and the oracle of Figure 5."""

import random
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
from tests.helpers import BOS, EOS, UNK, growth, lively_model, random_rows, rows_to_tensor, thorough, toy_dictionary
from tests.slow_refinement import assert_refined, refine

SRC = random_rows(24, seed=5, shortest=1)
MT = random_rows(24, seed=6, shortest=1)
REF = random_rows(24, seed=7, shortest=1)

text = st.text(alphabet="ab \\⟦⟧!~-+", max_size=14)


# ---- the notation ----


@thorough
@given(text)
def test_escaped_text_is_parsed_unchanged(line: str) -> None:
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
def test_escaped_brackets_are_text(line: str, plain: str, marked: int) -> None:
    """The line has a mark or not; brackets that begin no mark are text as well."""
    parsed_text, spans = marks.parse_marks(line)
    assert (parsed_text, len(spans)) == (plain, marked)


@thorough
@given(
    st.lists(st.tuples(st.sampled_from(["", "!", "~", "-"]), st.sampled_from(["a", "a b", "⟦c⟧", "\\ x"])), max_size=5)
)
def test_marks_are_parsed_with_their_text(parts: list[tuple[str, str]]) -> None:
    line, expected, plain = "", [], ""
    marked = any(kind for kind, _ in parts)
    for kind, words in parts:
        quoted = marks.escape("⟦!" + words)[3:] if marked else words  # escaped as a part of a line with marks
        line += f"⟦{kind}{quoted} ⟧" if kind else quoted
        if kind:
            expected.append((kind, words + " "))
        plain += words + " " if kind else words
    parsed_text, spans = marks.parse_marks(line)
    assert parsed_text == plain
    assert [(mark.kind, parsed_text[mark.start : mark.end]) for mark in spans] == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ⟦!b", r"the mark at character 3 of the draft 'a ⟦!b' is not closed"),
        ("⟦+⟧ b⟧", r"character 6 of the draft '⟦\+⟧ b⟧' closes nothing"),
        ("⟦!a ⟦-b⟧⟧", r"character 5 .* is inside another mark"),
        ("a ⟦-  ⟧", r"character 3 .* contains no word"),
        ("a ⟦+b⟧", r"character 3 .* must not contain text"),
    ],
)
def test_malformed_marks_are_refused(line: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        marks.parse_marks(line)


def test_backslashes_are_parsed_in_linear_time() -> None:
    slashes = "⟦!a⟧ " + "\\" * 1000 + " cat"
    assert marks.parse_marks(slashes)[0] == "a " + "\\" * 1000 + " cat"
    assert marks.parse_marks(marks.escape(slashes)) == (slashes, [])
    assert growth(lambda size: marks.parse_marks("⟦!a⟧ " + "\\" * size), 5_000) < 8


# ---- tokens ----


def syllables(line: str) -> str:
    """Cuts words into syllables of two letters and marks the first of each word."""
    words = [["_" + word[:2], *(word[i : i + 2] for i in range(2, len(word), 2))] for word in line.split()]
    return " ".join(piece for word in words for piece in word)


def whole_line(line: str) -> str:
    """Cuts a line into characters and marks the first one."""
    return " ".join("_" + line) if line else ""


@pytest.mark.parametrize("encode", [syllables, whole_line, lambda line: line])
@pytest.mark.parametrize("line", ["abcd efgh ij", "abcdef", "ab cdefgh"])
def test_marks_never_change_the_tokens(encode: Any, line: str) -> None:
    for start in range(len(line)):
        for end in range(start + 1, len(line) + 1):
            if line[start:end].strip():
                marked = f"{line[:start]}⟦!{line[start:end]}⟧{line[end:]}"
                tokens, bits = marks.tokenize(marked, encode)
                assert tokens == encode(line).split()
                assert any(bits) and bits[0] == 0


def test_marks_cover_the_tokens_they_touch() -> None:
    assert marks.tokenize("⟦!abcd⟧ efgh", syllables)[1] == [0, KEEP + SPAN, KEEP + SPAN, 0, 0]
    assert marks.tokenize("ab⟦-cd efg⟧h", syllables)[1] == [0, 0, *[DELETE + SPAN] * 3]
    assert marks.tokenize("xy⟦~z⟧uv", whole_line)[1] == [0, 0, 0, 0, PREFER + SPAN, 0, 0]
    # an insertion is asked for behind the token before it
    assert marks.tokenize("⟦+⟧ ab cd", syllables) == (["_ab", "_cd"], [INSERT, 0, 0])
    assert marks.tokenize("ab ⟦+⟧ cd", syllables) == (["_ab", "_cd"], [0, INSERT, 0])
    assert marks.tokenize("ab ⟦!cd⟧⟦+⟧", syllables) == (["_ab", "_cd"], [0, 0, KEEP + INSERT + SPAN])


def test_two_marks_of_one_token_are_refused() -> None:
    with pytest.raises(UserError, match=r"two marks of the draft .* touch the same token 'cd'"):
        marks.tokenize("ab⟦!c⟧⟦-d⟧", syllables)


# ---- decoding ----


def random_mark_bits(row: list[int], seed: int) -> list[int]:
    """Returns random spans of one to three words with a mark each, and insertions between them."""
    draw = random.Random(seed)
    bits, span = [0] * len(row), 0
    i = 1
    while i < len(row) - 1:
        kind, span = draw.choice([0, 0, KEEP, PREFER, DELETE]), span + 1
        end = min(i + draw.randint(1, 3), len(row) - 1)
        bits[i:end] = [kind and kind + span * SPAN] * (end - i)
        if draw.random() < 0.3:
            bits[end - 1] |= INSERT
        i = end
    return bits


MARK_BITS = [random_mark_bits(row, seed) for seed, row in enumerate(MT)]
REFINEMENT_VARIANTS: dict[str, dict[str, Any]] = {
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


@pytest.mark.parametrize("mark_bits", [None, MARK_BITS], ids=["unmarked", "marked"])
@pytest.mark.parametrize("options", REFINEMENT_VARIANTS.values(), ids=REFINEMENT_VARIANTS.keys())
def test_marks_and_oracles_match_algorithm_2(options: dict[str, Any], mark_bits: list[list[int]] | None) -> None:
    assert_refined([lively_model(seed=5)], SRC, MT, mark_bits, REF, retain_history=True, **options)


def holds(tokens: list[int], span: list[int]) -> bool:
    return any(tokens[i : i + len(span)] == span for i in range(len(tokens)))


def spans_of(row: list[int], mark_bits: list[int]) -> list[list[int]]:
    """Returns the tokens of each protected span."""
    numbers = {bits // SPAN for bits in mark_bits if bits & KEEP}
    pairs = list(zip(row, mark_bits, strict=True))
    return [[token for token, bits in pairs if bits & KEEP and bits // SPAN == number] for number in numbers]


def test_protected_spans_are_in_the_output() -> None:
    results = refine([lively_model(seed=6)], SRC, MT, MARK_BITS)
    spans = [spans_of(*pair) for pair in zip(MT, MARK_BITS, strict=True)]
    for result, of_row in zip(results, spans, strict=True):
        assert all(holds(result["tokens"].tolist(), span) for span in of_row)
    assert sum(map(len, spans)) > 10


def test_a_higher_keep_bias_keeps_more_drafts() -> None:
    unchanged = []
    for bias in (-2.0, 0.0, 2.0, 1000.0):
        results = refine([lively_model(seed=5)], SRC, MT, keep_bias=bias)
        unchanged.append(sum(result["tokens"].tolist() == row[1:] for result, row in zip(results, MT, strict=True)))
    assert unchanged == sorted(unchanged) and unchanged[1] < unchanged[3] == len(MT)


def test_an_oracle_without_references_is_refused() -> None:
    with pytest.raises(UserError, match="--oracle delete requires references"):
        refine([lively_model()], SRC, oracle="delete")


@pytest.mark.parametrize("placeholder", ["plh", "unk"])
def test_unknown_words_of_a_draft_are_kept(placeholder: str) -> None:
    """It is read as <unk>, is never a placeholder, and keeps its spelling when it moves."""
    model, dictionary = lively_model(seed=5, placeholder=placeholder), toy_dictionary()
    generator = RefinementGenerator([model], dictionary, RefinementOptions())
    unknown = dictionary.size + 1
    drafts = [[BOS, 5, unknown, 6, unknown, EOS] for _ in SRC]
    mark_bits = [[0, 0, KEEP + SPAN, 0, 0, 0] for _ in SRC]
    net_input = {
        "src_tokens": rows_to_tensor(SRC),
        "draft": rows_to_tensor(drafts),
        "marks": torch.tensor(mark_bits),
    }
    results = [
        best[0]["tokens"] for best in generator.generate([model], {"net_input": net_input, "unknown_words": ["Zürich"]})
    ]
    assert all("Zürich" in dictionary.string(tokens.int()).split() for tokens in results)
    if placeholder == "plh":
        twin = {**net_input, "draft": rows_to_tensor([[UNK if t == unknown else t for t in row] for row in drafts])}
        results_of_unk = [best[0]["tokens"] for best in generator.generate([model], {"net_input": twin})]
        assert dictionary.unknown_to_unk(results[0]).tolist() == results_of_unk[0].tolist()
