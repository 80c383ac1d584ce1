"""The Python helpers of examples/demo."""

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lev_plugins.errors import UserError
from lev_plugins.traces.log import read_log
from tests.examples import load_script

DEMO = Path(__file__).parents[2] / "examples" / "demo"


corpus, typos, report, pieces = (load_script(f"demo/{name}") for name in ("corpus", "typos", "report", "pieces"))
WORDS = ["Sort", "the", "values", "of", "a", "matrix,", "all", "right."]
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1).map(" ".join)


# corpus


def test_docstrings_are_read_without_running_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        '"""Module."""\nraise SystemExit(1)\nclass A:\n    """Class."""\n    async def f():\n        "Method."\n'
    )
    assert sorted(filter(None, corpus.docstrings(file))) == ["Class.", "Method.", "Module."]


@pytest.mark.parametrize("content", [b"def f(:", b"\xff\xfe\x00", b"x = 1\x00"])
def test_files_that_are_no_python_are_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.py").write_bytes(content)
    assert list(corpus.docstrings(tmp_path / "a.py")) == []


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


@given(SENTENCE, st.integers(0, 99), st.integers(0, 2))
def test_typos_keep_the_number_of_words_and_whatever_is_no_long_word(text: str, seed: int, slips: int) -> None:
    noisy = typos.corrupt(text, 1.0, slips, random.Random(seed))
    assert noisy == typos.corrupt(text, 1.0, slips, random.Random(seed))
    assert len(noisy.split()) == len(text.split())
    for clean, word in zip(text.split(), noisy.split(), strict=True):
        assert (word == clean) == (clean in {"of", "a"})


def test_rate_of_typos() -> None:
    text = "matrix " * 2000
    changed = sum(word != "matrix" for word in typos.corrupt(text, 0.2, 0, random.Random(1)).split())
    assert 340 <= changed <= 460
    assert typos.corrupt(text, 0.0, 4, random.Random(1)) == text


def test_slips_are_the_same_few_in_every_text() -> None:
    seen = [set(typos.corrupt("matrix " * 200, 1.0, 4, random.Random(seed)).split()) for seed in (1, 2)]
    assert seen[0] == seen[1] and 2 <= len(seen[0]) <= 4
    assert len(set(typos.corrupt("matrix " * 200, 1.0, 0, random.Random(1)).split())) > 50


def test_every_kind_of_typo_at_every_letter_of_the_alphabet() -> None:
    for letter in typos.LETTERS:
        assert letter not in typos.neighbours(letter) and len(typos.neighbours(letter)) >= 2
        for kind, change in zip(typos.KINDS, (1, -1, 0, 0, 0), strict=True):
            for at in range(3):
                assert len(typos.one_typo(letter * 2 + "x", kind, at, random.Random(at))) == 3 + change


# report

OUTPUT = """\
S-1\t▁teh ▁end
H-1\t-0.1\t▁the ▁end
D-1\t-0.1\tthe end
E-1_0\t▁teh ▁end
E-1_1\t▁end
E-1_2\t<plh> ▁end
E-1_3\t▁the ▁end
S-0\t▁srot ▁it ▁nwo ▁and ▁then ▁stop
H-0\t-0.1\t▁sort ▁it ▁now ▁and ▁then ▁stop
D-0\t-0.1\tsort it now and then stop
E-0_0\t▁srot ▁it ▁nwo ▁and ▁then ▁stop
E-0_1\t▁it ▁and ▁then ▁stop
E-0_2\t<plh> ▁it <plh> ▁and ▁then ▁stop
E-0_3\t▁sort ▁it ▁now ▁and ▁then ▁stop
Generate test with beam=5: BLEU4 = 1
"""


def test_report_puts_sentences_back_into_their_order(tmp_path: Path) -> None:
    (tmp_path / "out").write_text(OUTPUT)
    clean, noisy = ["sort it now and then stop", "the end"], ["srot it nwo and then stop", "teh end"]
    text = report.report(clean, noisy, read_log(tmp_path / "out"))
    assert "word recognition before     62.5 %" in text and "word recognition after     100.0 %" in text
    shown = text.splitlines()
    assert " delete 1  [-srot-] it [-nwo-] and then stop" in shown
    assert "   fill 1  {+sort+} it {+now+} and then stop" in shown
    assert text.count("sentence ") == 1  # the other is too short to be worth showing


def test_report_refuses_texts_that_do_not_belong_together() -> None:
    with pytest.raises(UserError, match="must have the same sentences, but have 2, 1 and 0"):
        report.report(["a", "b"], ["a"], [])
