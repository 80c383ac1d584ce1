"""Notes on drafts: what their ids cannot hold, in a file beside the binarised ones.

Ids know neither the marks that a person put on a draft nor how a word is spelt that the dictionary does not know.
``lev-plugins prepare`` writes both to ``test.DRAFT-TARGET.DRAFT.notes.jsonl``, a line for each draft that has any, so
that ``fairseq-generate`` does to it what ``fairseq-interactive`` does:

    {"line": 7, "tokens": ["in", "Zürich"], "requests": [0, 0, 17]}

The requests (``lev_plugins.edits.requests``) are one for <s> and one for each token. What the file says is used only
where it fits the ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from fairseq.data import BaseWrapperDataset, Dictionary, FairseqDataset
from torch import Tensor

from lev_plugins.data.drafts import marks
from lev_plugins.data.drafts.dictionary import Draft, EditingDictionary
from lev_plugins.edits import requests
from lev_plugins.errors import UserError
from lev_plugins.text.lines import at_line, read_lines

SUFFIX = ".notes.jsonl"
TOKEN = re.compile(r"[^\s\ud800-\udfff]+")  # no white space, and nothing that UTF-8 cannot write
KINDS = (0, requests.KEEP, requests.PREFER, requests.DELETE)


# ---- from texts ------------------------------------------------------------------------------------------------------


def refuse_marks(line: str) -> None:
    """For drafts of a training set, from which a model could not learn what to do about marks."""
    text, found = marks.parse(line)
    if found:
        mark = found[0]
        raise UserError(
            f"⟦{mark.kind}{text[mark.start : mark.end]}⟧ is a mark, and a model learns from drafts without marks: "
            "take it out, or write \\⟦ and \\⟧ where the brackets belong to the text"
        )


def read_drafts(path: Path) -> Iterator[str]:
    """Their text alone."""
    return (marks.parse(line)[0] for line in read_lines(path))


def read_requests(path: Path, encode: Callable[[str], str]) -> dict[int, list[int]]:
    """By the number of the line, from 1, where something is asked."""
    found = {}
    for number, line in enumerate(read_lines(path), 1):
        if marks.MARKED.search(line):
            with at_line(path, number):
                asked = marks.tokenize(line, encode)[1]
            if any(asked):
                found[number] = asked
    return found


@dataclass(frozen=True)
class Noted:
    """How many drafts have each kind of note."""

    marked: int
    unknown: int


def write_notes(tokens: Path, asked: dict[int, list[int]], dictionary: Dictionary, path: Path) -> Noted:
    """Of drafts that were cut into ``tokens``; no file where there is nothing to note."""
    notes, unknown = [], 0
    for number, line in enumerate(read_lines(tokens), 1):
        words = line.split()
        strange = any(dictionary.index(word) < dictionary.nspecial for word in words)
        unknown += strange
        if strange or number in asked:
            note = {"line": number, "tokens": words, "requests": asked.get(number, [0] * (len(words) + 1))}
            notes.append(json.dumps(note, ensure_ascii=False))
    if notes:
        path.write_text("".join(f"{note}\n" for note in notes), "utf-8")
    return Noted(len(asked), unknown)


# ---- to drafts -------------------------------------------------------------------------------------------------------


class NotedDrafts(BaseWrapperDataset):
    """Drafts of ids, but for those with a note, which are a ``Draft``."""

    def __init__(self, dataset: FairseqDataset, notes: dict[int, Draft]):
        super().__init__(dataset)
        self.notes = notes

    def __getitem__(self, index: int) -> Tensor | Draft:
        return self.notes[index] if index in self.notes else self.dataset[index]


def with_notes(prefix: str, dataset: FairseqDataset, dictionary: EditingDictionary) -> FairseqDataset:
    """``dataset`` has <s> already; ``prefix`` says where it lies."""
    path = Path(prefix + SUFFIX)
    return NotedDrafts(dataset, read_notes(path, dataset, dictionary)) if path.exists() else dataset


def read_notes(path: Path, drafts: FairseqDataset, dictionary: EditingDictionary) -> dict[int, Draft]:
    """By the index of the draft. Nobody writes such a file by hand, so a line that is wrong in any way is damage."""
    found: dict[int, Draft] = {}
    for number, text in enumerate(read_lines(path), 1):
        index, note = read_note(text, drafts, dictionary) or (-1, None)
        if note is None or index in found:
            raise UserError(f"{path}, line {number}: damaged: run lev-plugins prepare again")
        found[index] = note
    return found


def read_note(text: str, drafts: FairseqDataset, dictionary: EditingDictionary) -> tuple[int, Draft] | None:
    """The index of a draft and the draft; None if this is not a note, or not one about that draft."""
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not is_note(note) or note["line"] > len(drafts):
        return None
    index, draft = note["line"] - 1, dictionary.draft(note["tokens"], note["requests"])
    same = torch.equal(dictionary.known(draft.ids), drafts[index].long())
    return (index, draft) if same else None


def is_note(value: Any) -> bool:
    """
    >>> is_note({"line": 7, "tokens": ["in", "Zürich"], "requests": [0, 0, 17]})
    True
    >>> is_note({"line": 7, "tokens": ["in Zürich"], "requests": [0, 17]})
    False
    """
    match value:
        case {"line": line, "tokens": [*tokens], "requests": [*asked], **more}:
            return (
                not more
                and type(line) is int
                and line >= 1
                and all(isinstance(token, str) and TOKEN.fullmatch(token) for token in tokens)
                and len(asked) == len(tokens) + 1
                and all(is_request(request, place, len(tokens)) for place, request in enumerate(asked))
            )
    return False


def is_request(value: Any, place: int, tokens: int) -> bool:
    """Nothing but an insertion is asked of <s>, at ``place`` 0, and there are at most as many spans as tokens.

    >>> is_request(17, 1, tokens=1), is_request(17, 0, tokens=1), is_request(33, 1, tokens=1)
    (True, False, False)
    """
    if type(value) is not int or not 0 <= value < (tokens + 1) * requests.SPAN:
        return False
    kind = value % requests.SPAN & ~requests.INSERT
    return kind in KINDS if place else value in (0, requests.INSERT)
