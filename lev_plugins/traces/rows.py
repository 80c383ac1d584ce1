"""A sentence laid out for reading: labelled rows of text with marked edits.

Edits apply to pieces, even after pieces are joined into words: a mark covers exactly the deleted or inserted pieces,
which may be the middle of a word. Neighbours share one mark; spaces at its ends stay outside. The piece that fills a
placeholder may begin or continue a word, so a placeholder has a space on both sides.
"""

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from lev_plugins.text.control import visible
from lev_plugins.traces.log import LoggedHypothesis, LoggedSentence, to_pieces
from lev_plugins.traces.script import EditKind, Script, iterations

SPACE_MARK = "\u2581"  # how sentencepiece writes a space
VISIBLE_SPACE = "\u2423"  # shown for an edited piece that is only a space

Spacing = Callable[[str], str]  # a piece with its spaces


def separate(piece: str) -> str:
    return f"{piece} "


def sentencepiece(piece: str) -> str:
    return piece.replace(SPACE_MARK, " ")


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


def layout(sentence: LoggedSentence, spacing: Spacing) -> list[TraceBlock]:
    """One block per printed hypothesis; the first also has the source and the reference.

    >>> right = ["sort", "it"]
    >>> states = [["srot", "it"], ["it"], ["<plh>", "it"], right, right, right, right]
    >>> logged = LoggedSentence(3, "srot it", None, [LoggedHypothesis(-0.5, "sort it", states)])
    >>> [block] = layout(logged, separate)
    >>> block.heading, [row.label for row in block.rows]
    ('sentence 3', ['source', 'draft', 'delete 1', 'open 1', 'fill 1', 'keep 2', 'result', 'score'])
    """
    shared = {"source": sentence.source, "reference": sentence.reference}
    texts = {name: join(to_pieces(text), spacing) for name, text in shared.items() if text is not None}
    number = len(sentence.hypotheses)
    blocks = []
    for i, hypothesis in enumerate(sentence.hypotheses, 1):
        heading = f"sentence {sentence.number}" + (f", candidate {i} of {number}" if number > 1 else "")
        rows = [text_row(*entry) for entry in texts.items()] if i == 1 else []
        draft = join(hypothesis.states[0], spacing)
        if draft == texts.get("source") != "":
            rows.append(TraceRow("draft", [], "the source"))
        else:
            rows.append(text_row("draft" if draft else "start", draft))
        rows += iteration_rows(hypothesis, spacing)
        rows.append(text_row("result", join(to_pieces(hypothesis.text), spacing)))
        rows.append(text_row("score", f"{hypothesis.score:.4f}"))
        blocks.append(TraceBlock(heading, rows))
    return blocks


def join(pieces: list[str], spacing: Spacing) -> str:
    """The text of some pieces; a text without any mark of sentencepiece consists of words already.

    >>> join(["\u2581so", "rt", "\u2581it"], sentencepiece), join(["sort", "it"], sentencepiece)
    ('sort it', 'sort it')
    """
    if not any(SPACE_MARK in piece for piece in pieces):
        spacing = separate
    return "".join(map(spacing, pieces)).strip(" ")


def text_row(label: str, text: str) -> TraceRow:
    return TraceRow(label, [Run(EditKind.KEPT, visible(text))]) if text else TraceRow(label, [], "nothing")


def iteration_rows(hypothesis: LoggedHypothesis, spacing: Spacing) -> list[TraceRow]:
    rows = []
    for number, iteration in enumerate(iterations(hypothesis.states), 1):
        if iteration == (None, None, None):
            rows.append(TraceRow(f"keep {number}", [], "nothing to delete, nothing to insert"))
        labels = ("delete", "open", "fill" if iteration.opening else "undo")
        for label, script in zip(labels, iteration, strict=True):
            if script is not None:
                rows.append(TraceRow(f"{label} {number}", mark_edits(script, spacing)))
    return rows


def mark_edits(script: Script, spacing: Spacing) -> list[Run]:
    """Runs of neighbouring pieces with the same kind of edit.

    >>> from lev_plugins.traces.script import PieceEdit
    >>> kept, deleted = EditKind.KEPT, EditKind.DELETED
    >>> script = [PieceEdit(kept, "\u2581so"), PieceEdit(deleted, "rt"), PieceEdit(kept, "\u2581it")]
    >>> [(run.kind.value, run.text) for run in mark_edits(script, sentencepiece)]
    [('kept', 'so'), ('deleted', 'rt'), ('kept', ' it')]
    """
    runs: list[Run] = []

    def add(kind: EditKind, text: str) -> None:
        """Append a run; two runs of unedited text become one, with one space where two meet."""
        if kind is EditKind.KEPT and runs and runs[-1].kind is kind:
            left = runs.pop().text
            text = left + (text.lstrip(" ") if left.endswith(" ") else text)
        runs.append(Run(kind, text))

    for kind, edits in groupby(script, key=lambda edit: edit.kind):
        pieces = [edit.piece for edit in edits]
        if kind is EditKind.PLACEHOLDER:
            for _ in pieces:
                add(EditKind.KEPT, " ")
                add(kind, "")
                add(EditKind.KEPT, " ")
            continue
        text = visible("".join(map(spacing, pieces)))
        if kind is EditKind.KEPT or not text.strip(" "):
            add(kind, text if kind is EditKind.KEPT else VISIBLE_SPACE)
            continue
        if text.startswith(" "):
            add(EditKind.KEPT, " ")
        add(kind, text.strip(" "))
        if text.endswith(" "):
            add(EditKind.KEPT, " ")
    runs[0] = Run(runs[0].kind, runs[0].text.lstrip(" "))
    runs[-1] = Run(runs[-1].kind, runs[-1].text.rstrip(" "))
    return [run for run in runs if run.text or run.kind is EditKind.PLACEHOLDER]
