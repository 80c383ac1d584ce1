"""Reads the output of fairseq-generate in the order of the input, and checks that no sentence is missing."""

import re
from collections.abc import Iterable
from pathlib import Path

from lev_plugins.errors import UserError

HYPOTHESIS = re.compile(r"H-(\d+)\t([^\t]+)\t(.*)", re.S)
TRANSLATED = re.compile(r"Translated ([\d,]+) sentences \([\d,]+ tokens\) in ([\d.]+)s \(([\d.]+) sentences/s")
STEPS = re.compile(r"I-(\d+)\t(\d+)\n?")
LAST_LINE = "Generate "  # fairseq's summary, printed after all decoding
SHOWN = 10  # ids named in a message


def read_log(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = list(file)
    if not any(line.startswith(LAST_LINE) for line in lines[-3:]):
        raise UserError(
            f"{path} is cut short, it does not end with a line '{LAST_LINE}...': delete it and decode again"
        )
    return lines


def hypotheses(lines: Iterable[str]) -> dict[int, str]:
    """The hypothesis of each sentence id.

    >>> hypotheses(["S-1\\tx\\n", "H-1\\t-0.5\\t▁a b\\n", "H-0\\t-0.1\\t\\n"])
    {1: '▁a b', 0: ''}
    """
    found: dict[int, str] = {}
    for line in lines:
        match = HYPOTHESIS.fullmatch(line.removesuffix("\n"))
        if match is None:
            continue
        number = int(match[1])
        if number in found:
            raise UserError(f"the log has two hypotheses of sentence {number}: decode with --nbest 1, each part once")
        found[number] = match[3]
    return found


def steps(lines: Iterable[str]) -> dict[int, int]:
    """
    >>> steps(["I-1\\t2\\n", "H-0\\t-0.1\\tx\\n", "I-0\\t1\\n"])
    {1: 2, 0: 1}
    """
    return {int(match[1]): int(match[2]) for line in lines if (match := STEPS.fullmatch(line))}


def some(ids: list[int]) -> str:
    """
    >>> some([3, 5]), some(list(range(12)))
    ('3, 5', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    rest = len(ids) - SHOWN
    return ", ".join(map(str, ids[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")


def in_order(found: dict[int, str], lines: int) -> list[str]:
    """The texts of 0 .. lines - 1; an error if one is missing."""
    beyond = sorted(number for number in found if number >= lines)
    if beyond:
        raise UserError(
            f"the text has {lines:,} lines, but the log has sentence {some(beyond)}: give the log of this text"
        )
    missing = [number for number in range(lines) if number not in found]
    if missing:
        raise UserError(f"{len(missing):,} of {lines:,} sentences were not decoded: {some(missing)}; decode again")
    return [found[number] for number in range(lines)]


def tokens(line: str) -> int:
    """The number of tokens as fairseq counts them, including the end of the sentence."""
    return len(line.split()) + 1


def decoding_seconds(lines: Iterable[str]) -> tuple[int, float]:
    """Sentences and seconds of all decodings in the log, as fairseq timed them: without loading.

    >>> decoding_seconds(["INFO | Translated 1,000 sentences (9,300 tokens) in 2.0s (512.00 sentences/s, 1 tokens/s)"])
    (1000, 1.953125)
    """
    sentences, seconds = 0, 0.0
    for match in filter(None, map(TRANSLATED.search, lines)):
        count, printed, rate = int(match[1].replace(",", "")), float(match[2]), float(match[3])
        sentences += count
        seconds += count / rate if printed < 10 and rate else printed  # it is rounded to tenths
    return sentences, seconds
