"""A sentence laid out for reading: labelled rows of text with marked edits.

Edits apply to pieces, even after pieces are joined into words: a mark covers exactly the deleted or inserted pieces,
which may be the middle of a word. Neighbours share one mark; spaces at its ends stay outside. The piece that fills a
placeholder may begin or continue a word, so a placeholder has a space on both sides.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from lev_plugins.text.control import visible
from lev_plugins.traces.log import Hypothesis, LoggedSentence, to_pieces
from lev_plugins.traces.script import EditKind, Script, iterations

BLANK = "\u2423"  # an edited piece that is only a space


class Joining(NamedTuple):
    """How pieces form words."""

    mark: str = ""
    continues: bool = True  # True: the mark ends a piece that the next one continues; False: it stands for a space

    def write(self, piece: str) -> str:
        """A piece with its spaces.

        >>> Joining("@@").write("ex@@"), Joining("@@").write("tra"), Joining("_", continues=False).write("_life")
        ('ex', 'tra ', ' life')
        """
        if not self.continues:
            return piece.replace(self.mark, " ")
        return piece[: -len(self.mark)] if self.mark and piece.endswith(self.mark) else f"{piece} "

    def join(self, pieces: Iterable[str]) -> str:
        return "".join(map(self.write, pieces)).strip(" ")


# by their names in fairseq's --remove-bpe
JOININGS = {
    "none": Joining(),
    "sentencepiece": Joining("\u2581", continues=False),
    "subword_nmt": Joining("@@"),
    "@@": Joining("@@"),
    "@@ ": Joining("@@"),
    "wordpiece": Joining("_", continues=False),
    "letter": Joining("|", continues=False),
    "_EOW": Joining("_EOW", continues=False),
}


class Run(NamedTuple):
    kind: EditKind
    text: str  # empty for a placeholder


class TraceRow(NamedTuple):
    label: str
    runs: list[Run]
    note: str = ""  # replaces the text


class TraceBlock(NamedTuple):
    heading: str
    rows: list[TraceRow]


def layout(sentence: LoggedSentence, joining: Joining) -> list[TraceBlock]:
    """One block per printed hypothesis; the first also has the shared texts.

    >>> right = ["sort", "it"]
    >>> states = [["srot", "it"], ["it"], ["<plh>", "it"], right, right, right, right]
    >>> logged = LoggedSentence(3, "srot it", None, [Hypothesis(-0.5, "sort it", states)])
    >>> [block] = layout(logged, JOININGS["none"])
    >>> block.heading, [row.label for row in block.rows]
    ('sentence 3', ['source', 'draft', 'delete 1', 'open 1', 'fill 1', 'keep 2', 'result', 'score'])
    """
    shared = {"source": sentence.source, "reference": sentence.reference}
    texts = {name: written(text, sentence.hypotheses[0], joining) for name, text in shared.items() if text is not None}
    number = len(sentence.hypotheses)
    blocks = []
    for i, hypothesis in enumerate(sentence.hypotheses, 1):
        heading = f"sentence {sentence.number}" + (f", candidate {i} of {number}" if number > 1 else "")
        rows = [text_row(*entry) for entry in texts.items()] if i == 1 else []
        draft = joining.join(hypothesis.states[0])
        if draft == texts.get("source") != "":
            rows.append(TraceRow("draft", [], "the source"))
        else:
            rows.append(text_row("draft" if draft else "start", draft))
        rows += step_rows(hypothesis, joining)
        rows.append(text_row("result", written(hypothesis.text, hypothesis, joining)))
        rows.append(text_row("score", f"{hypothesis.score:.4f}"))
        blocks.append(TraceBlock(heading, rows))
    return blocks


def written(text: str, hypothesis: Hypothesis, joining: Joining) -> str:
    """Join the pieces of a text, unless fairseq has joined them, as a result that is not in pieces shows."""
    in_pieces = to_pieces(hypothesis.text) == hypothesis.states[-1]
    return joining.join(to_pieces(text)) if in_pieces and joining.mark and joining.mark in text else text


def text_row(label: str, text: str) -> TraceRow:
    return TraceRow(label, [Run(EditKind.KEPT, visible(text))]) if text else TraceRow(label, [], "nothing")


def step_rows(hypothesis: Hypothesis, joining: Joining) -> list[TraceRow]:
    rows = []
    for number, iteration in enumerate(iterations(hypothesis.states), 1):
        if iteration == (None, None, None):
            rows.append(TraceRow(f"keep {number}", [], "nothing to delete, nothing to insert"))
        labels = ("delete", "open", "fill" if iteration.opening else "undo")
        steps = zip(labels, iteration, strict=True)
        rows += [
            TraceRow(f"{label} {number}", marked(script, joining)) for label, script in steps if script is not None
        ]
    return rows


def marked(script: Script, joining: Joining) -> list[Run]:
    """
    >>> from lev_plugins.traces.script import PieceEdit
    >>> edits = [(EditKind.KEPT, "_so"), (EditKind.DELETED, "rt"), (EditKind.DELETED, "_al"), (EditKind.KEPT, "_it")]
    >>> runs = marked([PieceEdit(*edit) for edit in edits], JOININGS["wordpiece"])
    >>> [(run.kind.value, run.text) for run in runs]
    [('kept', 'so'), ('deleted', 'rt al'), ('kept', ' it')]
    """
    runs: list[Run] = []

    def add(kind: EditKind, text: str) -> None:
        """Kept neighbours are joined, with one space where two meet."""
        if kind is EditKind.KEPT and runs and runs[-1].kind is kind:
            before = runs.pop().text
            text = before + (text.lstrip(" ") if before.endswith(" ") else text)
        runs.append(Run(kind, text))

    for kind, edits in groupby(script, key=lambda edit: edit.kind):
        pieces = [edit.piece for edit in edits]
        if kind is EditKind.PLACEHOLDER:
            for _ in pieces:
                add(EditKind.KEPT, " ")
                add(kind, "")
                add(EditKind.KEPT, " ")
            continue
        text = visible("".join(map(joining.write, pieces)))
        if kind is EditKind.KEPT or not text.strip(" "):
            add(kind, text if kind is EditKind.KEPT else BLANK)
            continue
        if text.startswith(" "):
            add(EditKind.KEPT, " ")
        add(kind, text.strip(" "))
        if text.endswith(" "):
            add(EditKind.KEPT, " ")
    runs[0] = Run(runs[0].kind, runs[0].text.lstrip(" "))
    runs[-1] = Run(runs[-1].kind, runs[-1].text.rstrip(" "))
    return [run for run in runs if run.text or run.kind is EditKind.PLACEHOLDER]
