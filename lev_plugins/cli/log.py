"""Read the output of ``fairseq-generate --retain-iter-history --print-step``.

A sentence is a run of lines ``KIND-NUMBER<TAB>...``: ``S`` source, ``T`` reference, and for each hypothesis ``H`` its
score and text, ``D`` the same detokenised, ``P`` the score of each piece, ``I`` the number of its last iteration,
counted from 0, and ``E-NUMBER_STEP`` its history: the start, then three states per iteration. Sentences come batch by
batch, so their numbers are not in order. All other lines are ignored.
"""

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from lev_plugins.utils.errors import require

LOG_LINE = re.compile(rb"([STHDPIEW])-(\d{1,18})(?:_(\d{1,9}))?\t(.*)", re.DOTALL)
# what tqdm draws between or within lines if the log includes standard error and that was a terminal, as with script(1)
PROGRESS_BAR = re.compile(rb"\r(?:[^\r%]{0,999}%\|[^\r\[]{0,999}\[[^\r\]]{0,999}\]| *\r)")
STEPS = 3  # states per iteration: after deleting, opening placeholders, filling them
HISTORY_FLAGS = "--retain-iter-history --print-step"


class LoggedHypothesis(NamedTuple):
    score: float  # mean log-probability of its pieces, base 2
    text: str  # detokenised, if fairseq did so
    states: list[list[str]]  # pieces: the start, then STEPS per iteration


class LoggedSentence(NamedTuple):
    number: int
    source: str | None
    reference: str | None
    hypotheses: list[LoggedHypothesis]


class LogLine(NamedTuple):
    kind: str
    number: int
    step: int
    text: bytes


@dataclass
class Log:
    """Yields the sentences of a log one by one and keeps count.

    >>> start = b"S-7\\tw1\\nH-7\\t-0.5\\tv1\\nI-7\\t0\\nE-7_0\\t\\nE-7_1\\t\\nE-7_2\\t<plh>\\nE-7_3\\tv1\\n"
    >>> log = Log("the log")
    >>> [sentence] = log.read([*start.splitlines(keepends=True), b"S-9\\tw2\\n", b"H-9\\t-0.2"])
    >>> sentence.number, sentence.hypotheses
    (7, [LoggedHypothesis(score=-0.5, text='v1', states=[[], [], ['<plh>'], ['v1']])])
    >>> log.sentences, log.incomplete
    (2, [9])
    """

    name: str
    sentences: int = 0
    history: bool = False  # whether there are any E- lines
    incomplete: list[int] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)  # numbers to read that the log lacks

    def read(self, lines: Iterable[bytes], numbers: Collection[int] | None = None) -> Iterator[LoggedSentence]:
        """Yield the complete sentences with these ``numbers`` (``None``: all); others are not held in memory."""
        self.missing = set(numbers or ())
        # a line without a line feed may be cut short
        parsed = filter(None, (parse_line(line) for line in lines if line.endswith(b"\n")))
        for group in lines_by_sentence(parsed):
            number = group[0].number
            self.sentences += 1
            self.history |= any(line.kind == "E" for line in group)
            self.missing.discard(number)
            if numbers is None or number in numbers:
                sentence = sentence_of(group)
                if sentence is None:
                    self.incomplete.append(number)
                else:
                    yield sentence

    def check(self) -> None:
        """Raises an error if the log, which has been read, has nothing to show."""
        require(
            self.history,
            f"{self.name} has no E- lines with the history of the iterations: give the output of fairseq-generate "
            f"{HISTORY_FLAGS}, without --quiet (fairseq-interactive prints no history)",
        )
        require(
            len(self.incomplete) < self.sentences,
            f"{self.name} has no sentence with a complete history (E- lines for the start and {STEPS} states per "
            "iteration): use a complete log of a levt with --task text_editing",
        )


def parse_line(line: bytes) -> LogLine | None:
    """A line of a sentence; ``None`` for any other line.

    >>> parse_line(b"E-12_3\\tw1 w2\\n")
    LogLine(kind='E', number=12, step=3, text=b'w1 w2')
    >>> parse_line(b"Generate test with beam=5: BLEU4 = 82.74\\n") is None
    True
    """
    if b"\r" in line:
        line = PROGRESS_BAR.sub(b"", line).lstrip(b" ")
    match = LOG_LINE.match(line)
    if match is None:
        return None
    kind, number, step, text = match.groups()
    return LogLine(kind.decode(), int(number), int(step or 0), text.rstrip(b"\r\n"))


def lines_by_sentence(lines: Iterable[LogLine]) -> Iterator[list[LogLine]]:
    """The lines of each sentence; a source always begins a new one, whatever its number."""
    group: list[LogLine] = []
    for line in lines:
        if group and (line.kind == "S" or line.number != group[0].number):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def sentence_of(group: list[LogLine]) -> LoggedSentence | None:
    """The sentence of these lines; None if some are missing."""
    starts = [i for i, line in enumerate(group) if line.kind == "H"]
    hypotheses = [hypothesis_of(group[start:end]) for start, end in pairwise([*starts, len(group)])]
    complete = [hypothesis for hypothesis in hypotheses if hypothesis is not None]
    if not complete or len(complete) < len(hypotheses):
        return None
    shared = {line.kind: decode(line.text) for line in group[: starts[0]]}
    return LoggedSentence(group[0].number, shared.get("S"), shared.get("T"), complete)


def hypothesis_of(lines: list[LogLine]) -> LoggedHypothesis | None:
    fields = {line.kind: decode(line.text) for line in lines if line.kind != "E"}
    score, tab, text = fields.get("D", fields["H"]).partition("\t")
    history = [line for line in lines if line.kind == "E"]
    iterations, rest = divmod(len(history) - 1, STEPS)
    in_order = [line.step for line in history] == list(range(len(history)))
    if not tab or iterations < 1 or rest or not in_order or fields.get("I", str(iterations - 1)) != str(iterations - 1):
        return None
    return LoggedHypothesis(float(score), text, [to_pieces(decode(line.text)) for line in history])


def decode(text: bytes) -> str:
    """The text, with bytes that are not UTF-8 shown by number."""
    return text.decode(errors="backslashreplace")


def to_pieces(text: str) -> list[str]:
    """Split only at spaces: pieces in a dictionary may contain any other white space."""
    return [sys.intern(piece) for piece in text.split(" ") if piece]  # saves memory: few distinct pieces, long logs
