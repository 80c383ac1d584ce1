"""What is read from a log of ``fairseq-generate``."""

import io
import re

import pytest
from tqdm import tqdm

from lev_plugins.cli.log import Log, LoggedHypothesis, LoggedSentence, parse_line
from tests.logs import LOG


def read(text: str | bytes, **options: object) -> tuple[list[LoggedSentence], Log]:
    log = Log("the log")
    data = text.encode() if isinstance(text, str) else text
    return list(log.read(io.BytesIO(data), **options)), log  # type: ignore[arg-type]


def test_sentences_of_a_log() -> None:
    (eleven, three, twenty), log = read(LOG)
    assert (eleven.number, eleven.source, eleven.reference) == (11, "ein Haus", "a house")
    assert len(eleven.hypotheses[0].states) == 10 and eleven.hypotheses[0].states[2] == ["<plh>", "<plh>"]
    assert three.hypotheses == [LoggedHypothesis(0.0, "the cat", [["the", "cat"]] * 4)]
    assert [hypothesis.score for hypothesis in twenty.hypotheses] == [-1.0, -2.0]
    assert (log.sentences, log.incomplete) == (3, [])


def test_a_log_cut_anywhere_loses_its_last_sentence_at_most() -> None:
    whole, data = read(LOG)[0], LOG.encode()
    for end in range(len(data)):
        found, log = read(data[:end])
        assert len(found) + len(log.incomplete) == log.sentences and len(log.incomplete) <= 1
        for one, other in zip(found, whole, strict=False):
            assert one[:3] == other[:3] and one.hypotheses
            assert one.hypotheses == other.hypotheses[: len(one.hypotheses)]  # some candidates may be cut off


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("E-11_4\thouse\n", ""),  # a state is missing
        ("E-11_4", "E-11_5"),
        ("I-11\t2", "I-11\t3"),
        ("D-11\t-0.5\ta house", "D-11\ta house"),
        ("H-11\t-0.5\ta house\n", ""),
    ],
)
def test_a_damaged_sentence_is_left_out(old: str, new: str) -> None:
    assert old in LOG
    found, log = read(LOG.replace(old, new))
    assert [sentence.number for sentence in found] == [3, 20] and log.incomplete == [11]


def test_without_print_step_the_history_alone_counts() -> None:
    short = re.sub(r"^I-.*\n", "", LOG, flags=re.MULTILINE)
    assert read(short)[0] == read(LOG)[0]


def test_a_source_begins_a_sentence_even_if_its_number_was_there() -> None:
    """Two logs one after the other."""
    found, _ = read(LOG + LOG)
    assert [sentence.number for sentence in found] == [11, 3, 20] * 2


def test_white_space_other_than_a_space_is_part_of_a_piece() -> None:
    odd = LOG.replace("house house", "house\u00a0\u3000\u2028 house\x0b\x1c\x85")
    assert read(odd)[0][0].hypotheses[0].states[3] == ["house\u00a0\u3000\u2028", "house\x0b\x1c\x85"]


def test_a_progress_bar_in_the_log_is_no_part_of_it() -> None:
    """What tqdm draws as fairseq has it draw, between lines and in the middle of one."""
    screen = io.StringIO()
    with tqdm(total=3, file=screen, leave=False, mininterval=0, ascii=False) as bar:
        bar.update()
        bar.set_postfix({"wps": "120"})
    drawn = screen.getvalue().encode()
    assert drawn.count(b"\r") > 2 and b"wps=120]" in drawn
    data = LOG.encode()
    for at in (data.index(b"S-11"), data.index(b"E-11_4"), data.index(b"E-11_6") + 9, data.index(b"S-3") + 6):
        assert read(data[:at] + drawn + data[at:])[0] == read(LOG)[0]


@pytest.mark.parametrize("line", [b"A-1\t0-0", b"S-\t", b"S-1 w1", b" S-1\tw1", b"XS-1\tw1", b"\r" * 5000])
def test_lines_that_belong_to_nobody(line: bytes) -> None:
    assert parse_line(line + b"\n") is None
