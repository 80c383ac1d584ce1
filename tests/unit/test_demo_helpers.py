"""The Python helpers of examples/demo."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.tables import tables_in
from tests.examples import load_script
from tests.helpers import thorough

corpus, typos, report = map(load_script, ("english/corpus", "english/typos", "demo/report"))
KINDS = "insert,delete,substitute,swap,keyboard"
WORDS = ["Sort", "the", "values", "of", "a", "matrix,", "all", "right."]
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join)


# corpus


def test_docstrings_are_read_without_running_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        '"""Module."""\nraise SystemExit(1)\nclass A:\n    """Class."""\n    async def f():\n        "Method."\n'
    )
    assert sorted(filter(None, corpus.docstrings(file))) == ["Class.", "Method.", "Module."]
    for content in (b"def f(:", b"\xff\xfe\x00", b"x = 1\x00"):  # passed over
        file.write_bytes(content)
        assert list(corpus.docstrings(file)) == []


def test_tests_and_installed_packages_are_left_out(tmp_path: Path) -> None:
    for name in ("b.py", "a/c.py", "a/tests/d.py", "site-packages/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert corpus.python_files(tmp_path) == [tmp_path / "a/c.py", tmp_path / "b.py"]


@pytest.mark.parametrize(
    "text",
    [
        "Return x.",  # too short
        "Return the mean of x_1 here.",
        "Return the numpy.mean of values.",
        "Return the readOnly flag of values.",
        "Return the value of f(x) here.",
        "the first letter is a small one.",
        "There is no full stop here",
        "Use any of these, such as e.g.",
        "Return 3 of the values here.",
        "THIS SOFTWARE IS PROVIDED AS IT IS.",
    ],
)
def test_what_is_no_prose(text: str) -> None:
    assert not corpus.is_prose(text)


def test_split_is_by_the_words_alone_and_about_as_large_as_asked() -> None:
    texts = [f"Sort {'a' * i} and {'b' * j}." for i in range(1, 41) for j in range(1, 51)]
    splits = [corpus.split_of(text) for text in texts]
    assert splits == [corpus.split_of(text.upper().replace(" ", " (").replace(".", ").")) for text in texts]
    assert 20 <= splits.count("test") <= 60 and 8 <= splits.count("valid") <= 34


# typos


@thorough
@given(SENTENCE, st.integers(0, 99))
def test_typos_keep_the_number_of_words_and_short_words(text: str, seed: int) -> None:
    corrupt = typos.noise(KINDS, 1.0, seed)
    (noisy,) = typos.misspelt([text], corrupt, corrupt, set())
    assert len(noisy.split()) == len(text.split())
    for clean, word in zip(text.split(), noisy.split(), strict=True):
        assert (word == clean) == (clean in {"of", "a"})


def test_no_typo_is_one_of_training() -> None:
    lines = ["sort the values of the matrix"] * 50
    train = typos.noise("swap", 0.5, typos.TRAINING_SEED)
    seen = typos.typos_of_training(lines, train, epochs=2)
    assert set(zip(lines[0].split(), train(lines[0], 0, 2).split(), strict=True)) <= seen
    held_out = typos.misspelt(lines, typos.noise(KINDS, 0.5, typos.SEED), typos.noise(KINDS, 1.0, typos.SEED), seen)
    pairs = {pair for line in held_out for pair in zip(lines[0].split(), line.split(), strict=True)}
    new = {(word, typo) for word, typo in pairs if word != typo}
    assert len(new) > 50 and not new & seen


# report


def edited(text: str, *edits: tuple[int, int, str]) -> dict[str, Any]:
    names = ("start", "end", "replacement")
    return {"text": text, "edits": [dict(zip(names, edit, strict=True)) for edit in edits]}


CLEAN = ["sort it now and then stop form", "sort it now and then stop it", "the end"]
NOISY = ["sort it now and then stop from", "srot it now and then stop it", "teh end"]
EDITED = [edited(CLEAN[0], (26, 30, "form")), edited(CLEAN[1], (0, 4, "sort")), edited("teh end")]


def test_report_has_a_row_for_each_way_and_shows_first_what_only_context_tells() -> None:
    text = report.report(CLEAN, NOISY, EDITED, NOISY, {"from", "form"})
    ((head, *rows),) = tables_in(text)  # as the run records them
    assert head == ["", "word recognition", "typos repaired", "right words broken"]
    assert [row[1:] for row in rows] == [["81.2 %", "0.0 %", "0.0 %"]] * 2 + [["93.8 %", "66.7 %", "0.0 %"]]
    shown = text.splitlines()[-2:]
    assert shown == ["sort it now and then stop [-from-]{+form+}", "[-srot-]{+sort+} it now and then stop it"]
    without = report.report(CLEAN, NOISY, EDITED, None, set())
    assert "SymSpell is not installed: pip install 'lev-plugins[baselines]'" in without
