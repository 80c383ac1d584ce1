"""Read the output of ``fairseq-generate --retain-iter-history --print-step``.

A sentence is a run of lines ``KIND-NUMBER<TAB>...``: ``S`` source, ``T`` reference, and for each hypothesis ``H`` its
score and text, ``D`` the same detokenised, ``P`` the score of each piece, ``I`` the number of its last iteration,
counted from 0, and ``E-NUMBER_STEP`` its history: the start, then three states per iteration. Sentences come batch by
batch, so their numbers are not in order. All other lines are ignored. ``fairseq-interactive``, recognised by its ``W``
lines, never prints a history.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lev_plugins.errors import require

LINE = re.compile(rb"([STHDPIEW])-(\d{1,18})(?:_(\d{1,9}))?\t(.*)", re.DOTALL)
# what tqdm draws between or within lines if the log includes standard error and that was a terminal, as with script(1)
PROGRESS_BAR = re.compile(rb"\r(?:[^\r%]{0,999}%\|[^\r\[]{0,999}\[[^\r\]]{0,999}\]| *\r)")
TRANSLATED = re.compile(r"Translated ([\d,]+) sentences \([\d,]+ tokens\) in ([\d.]+)s \(([\d.]+) sentences/s")
STEPS = 3  # states per iteration: after deleting, opening holes, filling them
FLAGS = "--retain-iter-history --print-step"


class Hypothesis(NamedTuple):
    score: float  # mean log-probability of its pieces, base 2
    text: str  # detokenised, if fairseq did so
    states: list[list[str]]  # pieces: the start, then STEPS per iteration


class Sentence(NamedTuple):
    number: int
    source: str | None
    reference: str | None
    hypotheses: list[Hypothesis]


class Line(NamedTuple):
    kind: str
    number: int
    step: int
    text: bytes


class Incomplete(Exception):
    """Lines of a sentence are missing."""


@dataclass
class Log:
    """Yields the sentences of a log one by one and keeps count.

    >>> start = b"S-7\\tw1\\nH-7\\t-0.5\\tv1\\nI-7\\t0\\nE-7_0\\t\\nE-7_1\\t\\nE-7_2\\t<plh>\\nE-7_3\\tv1\\n"
    >>> log = Log("the log")
    >>> [sentence] = log.read([*start.splitlines(keepends=True), b"S-9\\tw2\\n", b"H-9\\t-0.2"])
    >>> sentence.number, sentence.hypotheses
    (7, [Hypothesis(score=-0.5, text='v1', states=[[], [], ['<plh>'], ['v1']])])
    >>> log.sentences, log.incomplete
    (2, [9])
    """

    name: str
    lines: int = 0  # of any kind
    sentences: int = 0
    first: int = 0  # the lowest and the highest of their numbers
    last: int = 0
    with_history: int = 0  # sentences with any E- lines
    interactive: bool = False
    incomplete: list[int] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)  # wanted sentences not found

    def read(self, lines: Iterable[bytes], wanted: Collection[int] | None = None) -> Iterator[Sentence]:
        """Yield the complete sentences among those ``wanted`` (``None``: all); others are not kept in memory."""
        self.missing = set(wanted or ())
        for group in grouped(self._known(lines)):
            number = group[0].number
            self.first = min(number, self.first) if self.sentences else number
            self.last = max(number, self.last)
            self.sentences += 1
            self.with_history += any(line.kind == "E" for line in group)
            self.missing.discard(number)
            if wanted is None or number in wanted:
                try:
                    yield sentence(group)
                except Incomplete:
                    self.incomplete.append(number)

    def _known(self, lines: Iterable[bytes]) -> Iterator[Line]:
        for line in lines:
            self.lines += 1
            known = parse_line(line) if line.endswith(b"\n") else None  # without it, the line may be cut short
            if known is not None:
                self.interactive |= known.kind == "W"
                yield known

    def check(self) -> None:
        """After reading, raise an error if there is nothing to show."""
        name = self.name
        require(self.lines > 0, f"{name} is empty: provide the output of fairseq-generate {FLAGS}")
        require(
            self.sentences > 0,
            f"{name} is not a fairseq-generate log: no line ({self.lines:,} read) starts with S-, H- or E-, a "
            f"number and a TAB; run it without --quiet and with {FLAGS}",
        )
        require(
            self.with_history > 0 or not self.interactive,
            f"{name} is from fairseq-interactive, which never prints the history: use fairseq-generate {FLAGS}",
        )
        require(
            self.with_history > 0,
            f"{name} has no E- lines with the history of the iterations: run fairseq-generate with {FLAGS}",
        )
        require(
            len(self.incomplete) < self.sentences,
            f"{name} has no sentence with a complete history (E- lines for the start and {STEPS} states per "
            "iteration): use a complete log of a levt with --task text_editing",
        )


def read_log(path: str | Path) -> list[Sentence]:
    """All sentences, in the order of the input; none may be incomplete."""
    log = Log(str(path))
    with open(path, "rb") as file:
        sentences = sorted(log.read(file), key=lambda sentence: sentence.number)
    log.check()
    require(
        not log.incomplete,
        f"{path}: the history of {len(log.incomplete):,} of {log.sentences:,} sentences is incomplete, first of "
        f"sentence {log.incomplete[0] if log.incomplete else ''}: give the whole output, or decode again",
    )
    return sentences


def parse_line(line: bytes) -> Line | None:
    """A line of a sentence; ``None`` for any other line.

    >>> parse_line(b"E-12_3\\tw1 w2\\n")
    Line(kind='E', number=12, step=3, text=b'w1 w2')
    >>> parse_line(b"Generate test with beam=5: BLEU4 = 82.74\\n") is None
    True
    """
    if b"\r" in line:
        line = PROGRESS_BAR.sub(b"", line).lstrip(b" ")
    match = LINE.match(line)
    if match is None:
        return None
    kind, number, step, text = match.groups()
    return Line(kind.decode(), int(number), int(step or 0), text.rstrip(b"\r\n"))


def grouped(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """The lines of each sentence; a source always begins a new one, whatever its number."""
    group: list[Line] = []
    for line in lines:
        if group and (line.kind == "S" or line.number != group[0].number):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def sentence(group: list[Line]) -> Sentence:
    starts = [i for i, line in enumerate(group) if line.kind == "H"]
    if not starts:
        raise Incomplete
    head = {line.kind: line.text.decode() for line in group[: starts[0]]}
    ends = [*starts[1:], len(group)]
    hypotheses = [hypothesis(group[start:end]) for start, end in zip(starts, ends, strict=True)]
    return Sentence(group[0].number, head.get("S"), head.get("T"), hypotheses)


def hypothesis(lines: list[Line]) -> Hypothesis:
    fields = {line.kind: line.text.decode() for line in lines if line.kind != "E"}
    score, tab, text = fields.get("D", fields["H"]).partition("\t")
    history = [line for line in lines if line.kind == "E"]
    last, missing = divmod(len(history) - 1 - STEPS, STEPS)
    whole = last >= 0 and not missing and fields.get("I", str(last)) == str(last)
    if not (tab and whole and [line.step for line in history] == list(range(len(history)))):
        raise Incomplete
    return Hypothesis(to_number(score), text, [to_pieces(line.text.decode()) for line in history])


def to_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Incomplete from None


def to_pieces(text: str) -> list[str]:
    """Split only at spaces: pieces in a dictionary may contain any other white space."""
    return [sys.intern(piece) for piece in text.split(" ") if piece]  # saves memory: few distinct pieces, long logs


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
