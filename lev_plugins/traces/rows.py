"""A sentence laid out for reading: labelled rows of text with marked edits.

Edits apply to pieces, even after pieces are joined into words: a mark covers exactly the deleted or inserted pieces,
which may be the middle of a word. Neighbours share one mark; spaces at its ends stay outside. The piece that fills a
hole may begin or continue a word, so a hole has a space on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from lev_plugins.text.control import visible
from lev_plugins.traces.log import Hypothesis, Sentence, to_pieces
from lev_plugins.traces.script import Kind, Script, iterations

BLANK = "\u2423"  # an edited piece that is only a space


class Spelling(NamedTuple):
    """How pieces form words."""

    mark: str = ""
    continues: bool = True  # True: the mark ends a piece that the next one continues; False: it stands for a space

    def write(self, piece: str) -> str:
        """A piece with its spaces.

        >>> Spelling("@@").write("ex@@"), Spelling("@@").write("tra"), Spelling("_", continues=False).write("_life")
        ('ex', 'tra ', ' life')
        """
        if not self.continues:
            return piece.replace(self.mark, " ")
        return piece[: -len(self.mark)] if self.mark and piece.endswith(self.mark) else f"{piece} "

    def join(self, pieces: Iterable[str]) -> str:
        """
        >>> Spelling("@@").join(["ex@@", "tra", "life"])
        'extra life'
        """
        return "".join(map(self.write, pieces)).strip(" ")


# by their names in fairseq's --remove-bpe
SPELLINGS = {
    "none": Spelling(),
    "sentencepiece": Spelling("\u2581", continues=False),
    "subword_nmt": Spelling("@@"),
    "@@": Spelling("@@"),
    "@@ ": Spelling("@@"),
    "wordpiece": Spelling("_", continues=False),
    "letter": Spelling("|", continues=False),
    "_EOW": Spelling("_EOW", continues=False),
}


class Run(NamedTuple):
    kind: Kind
    text: str  # empty for a hole


SPACE = Run(Kind.KEPT, " ")
HOLE = Run(Kind.HOLE, "")


class Row(NamedTuple):
    label: str
    runs: list[Run]
    note: str = ""  # replaces the text


class Block(NamedTuple):
    heading: str
    rows: list[Row]


def layout(sentence: Sentence, spelling: Spelling) -> list[Block]:
    """One block per printed hypothesis; the first also has the shared texts.

    >>> right = ["sort", "it"]
    >>> states = [["srot", "it"], ["it"], ["<plh>", "it"], right, right, right, right]
    >>> [block] = layout(Sentence(3, "srot it", None, [Hypothesis(-0.5, "sort it", states)]), SPELLINGS["none"])
    >>> block.heading, [row.label for row in block.rows]
    ('sentence 3', ['source', 'draft', 'delete 1', 'open 1', 'fill 1', 'keep 2', 'result', 'score'])
    """
    shared = [("source", sentence.source), ("reference", sentence.reference)]
    texts = [(label, written(text, sentence.hypotheses[0], spelling)) for label, text in shared if text is not None]
    number = len(sentence.hypotheses)
    blocks = []
    for i, hypothesis in enumerate(sentence.hypotheses, 1):
        heading = f"sentence {sentence.number}" + (f", candidate {i} of {number}" if number > 1 else "")
        rows = [text_row(*text) for text in texts] if i == 1 else []
        rows.append(start_row(spelling.join(hypothesis.states[0]), dict(texts).get("source")))
        rows += step_rows(hypothesis, spelling)
        rows.append(text_row("result", written(hypothesis.text, hypothesis, spelling)))
        rows.append(text_row("score", f"{hypothesis.score:.4f}"))
        blocks.append(Block(heading, rows))
    return blocks


def written(text: str, hypothesis: Hypothesis, spelling: Spelling) -> str:
    """Join the pieces of a text, unless fairseq has joined them, as a result that is not in pieces shows."""
    in_pieces = to_pieces(hypothesis.text) == hypothesis.states[-1]
    return spelling.join(to_pieces(text)) if in_pieces and spelling.mark and spelling.mark in text else text


def text_row(label: str, text: str) -> Row:
    return Row(label, [Run(Kind.KEPT, visible(text))]) if text else Row(label, [], "nothing")


def start_row(draft: str, source: str | None) -> Row:
    if not draft:
        return Row("start", [], "nothing")
    return Row("draft", [], "the source") if draft == source else text_row("draft", draft)


def step_rows(hypothesis: Hypothesis, spelling: Spelling) -> Iterator[Row]:
    for number, iteration in enumerate(iterations(hypothesis.states), 1):
        if iteration.idle:
            yield Row(f"keep {number}", [], "nothing to delete, nothing to insert")
        labels = ("delete", "open", "undo" if iteration.put_back else "fill")
        for label, script in zip(labels, iteration, strict=True):
            if script is not None:
                yield Row(f"{label} {number}", marked(script, spelling))


def marked(script: Script, spelling: Spelling) -> list[Run]:
    """
    >>> from lev_plugins.traces.script import Edit
    >>> script = [Edit(Kind.KEPT, "_so"), Edit(Kind.DELETED, "rt"), Edit(Kind.DELETED, "_al"), Edit(Kind.KEPT, "_it")]
    >>> [(run.kind.value, run.text) for run in marked(script, SPELLINGS["wordpiece"])]
    [('kept', 'so'), ('deleted', 'rt al'), ('kept', ' it')]
    """
    groups = groupby(script, key=lambda edit: edit.kind)
    runs = [run for kind, edits in groups for run in outlined(kind, [edit.piece for edit in edits], spelling)]
    runs = merged(runs)
    runs[0] = Run(runs[0].kind, runs[0].text.lstrip(" "))
    runs[-1] = Run(runs[-1].kind, runs[-1].text.rstrip(" "))
    return [run for run in runs if run.text or run.kind is Kind.HOLE]


def outlined(kind: Kind, pieces: list[str], spelling: Spelling) -> Iterator[Run]:
    """Neighbours of one kind; spaces at the ends of an edit stay outside it, unless it is only a space."""
    text = visible("".join(map(spelling.write, pieces)))
    bare = text.strip(" ")
    if kind is Kind.HOLE:
        yield from [SPACE, HOLE, SPACE] * len(pieces)
    elif kind is Kind.KEPT:
        yield Run(kind, text)
    elif not bare:
        yield Run(kind, BLANK)
    else:
        yield from [SPACE] * text.startswith(" ")
        yield Run(kind, bare)
        yield from [SPACE] * text.endswith(" ")


def merged(runs: Iterable[Run]) -> list[Run]:
    """Join kept neighbours, with one space where two meet.

    >>> merged([Run(Kind.KEPT, "a "), SPACE, HOLE])
    [Run(kind=<Kind.KEPT: 'kept'>, text='a '), Run(kind=<Kind.HOLE: 'hole'>, text='')]
    """
    joined: list[Run] = []
    for run in runs:
        if joined and joined[-1].kind is run.kind is Kind.KEPT:
            before = joined.pop().text
            run = Run(Kind.KEPT, before + (run.text.lstrip(" ") if before.endswith(" ") else run.text))
        joined.append(run)
    return joined
