"""Parsing logs of ``fairseq-generate``."""

import io
import re

import pytest
from tqdm import tqdm

from lev_plugins.cli.log import Log, LoggedHypothesis, LoggedSentence, parse_line
from tests.logs import LOG


def read_log(text: str | bytes, **options: object) -> tuple[list[LoggedSentence], Log]:
    log = Log("the log")
    data = text.encode() if isinstance(text, str) else text
    return list(log.read(io.BytesIO(data), **options)), log  # type: ignore[arg-type]


def test_a_log_is_parsed_into_sentences() -> None:
    (eleven, three, twenty), log = read_log(LOG)
    assert (eleven.number, eleven.source, eleven.reference) == (11, "ein Haus", "a house")
    assert len(eleven.hypotheses[0].states) == 10 and eleven.hypotheses[0].states[2] == ["<plh>", "<plh>"]
    assert three.hypotheses == [LoggedHypothesis(0.0, "the cat", [["the", "cat"]] * 4)]
    assert [hypothesis.score for hypothesis in twenty.hypotheses] == [-1.0, -2.0]
    assert (log.sentences, log.incomplete) == (3, [])


def test_truncated_logs_lose_at_most_their_last_sentence() -> None:
    whole, data = read_log(LOG)[0], LOG.encode()
    for end in range(len(data)):
        sentences, log = read_log(data[:end])
        assert len(sentences) + len(log.incomplete) == log.sentences and len(log.incomplete) <= 1
        for sentence, expected in zip(sentences, whole, strict=False):
            assert sentence[:3] == expected[:3] and sentence.hypotheses
            assert (
                sentence.hypotheses == expected.hypotheses[: len(sentence.hypotheses)]
            )  # some candidates may be cut off


@pytest.mark.parametrize(
    ("original", "replacement"),
    [
        ("E-11_4\thouse\n", ""),  # a state is missing
        ("E-11_4", "E-11_5"),
        ("I-11\t2", "I-11\t3"),
        ("D-11\t-0.5\ta house", "D-11\ta house"),
        ("H-11\t-0.5\ta house\n", ""),
    ],
)
def test_damaged_sentences_are_skipped(original: str, replacement: str) -> None:
    assert original in LOG
    sentences, log = read_log(LOG.replace(original, replacement))
    assert [sentence.number for sentence in sentences] == [3, 20] and log.incomplete == [11]


def test_logs_without_print_step_are_complete() -> None:
    short = re.sub(r"^I-.*\n", "", LOG, flags=re.MULTILINE)
    assert read_log(short)[0] == read_log(LOG)[0]


def test_two_concatenated_logs_are_parsed() -> None:
    sentences, _ = read_log(LOG + LOG)
    assert [sentence.number for sentence in sentences] == [11, 3, 20] * 2


def test_only_spaces_separate_pieces() -> None:
    odd = LOG.replace("house house", "house\u00a0\u3000\u2028 house\x0b\x1c\x85")
    assert read_log(odd)[0][0].hypotheses[0].states[3] == ["house\u00a0\u3000\u2028", "house\x0b\x1c\x85"]


def test_progress_bars_are_removed() -> None:
    """tqdm draws between lines and within a line."""
    screen = io.StringIO()
    with tqdm(total=3, file=screen, leave=False, mininterval=0, ascii=False) as bar:
        bar.update()
        bar.set_postfix({"wps": "120"})
    bar_bytes = screen.getvalue().encode()
    assert bar_bytes.count(b"\r") > 2 and b"wps=120]" in bar_bytes
    data = LOG.encode()
    for at in (data.index(b"S-11"), data.index(b"E-11_4"), data.index(b"E-11_6") + 9, data.index(b"S-3") + 6):
        assert read_log(data[:at] + bar_bytes + data[at:])[0] == read_log(LOG)[0]


@pytest.mark.parametrize("line", [b"A-1\t0-0", b"S-\t", b"S-1 w1", b" S-1\tw1", b"XS-1\tw1", b"\r" * 5000])
def test_other_lines_are_ignored(line: bytes) -> None:
    assert parse_line(line + b"\n") is None
