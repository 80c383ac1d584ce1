"""The files of drafts: binarised text, and notes beside it with what ids cannot express.

Ids express neither the marks on a draft nor the spelling of unknown words. ``lev-plugins prepare`` writes both to
``test.DRAFT-TARGET.DRAFT.notes.jsonl``, one line per draft that has any, so that ``fairseq-generate`` treats the draft
as ``fairseq-interactive`` does. The targets that ``--noise-kind`` makes drafts of have such notes, too.

    {"line": 7, "tokens": ["in", "Zürich"], "requests": [0, 0, 17]}

There is one request (``lev_plugins.edits.mark_bits``) for <s> and one per token. A note must agree with the ids.
"""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fairseq.data import (
    BaseWrapperDataset,
    ConcatDataset,
    Dictionary,
    FairseqDataset,
    LanguagePairDataset,
    ListDataset,
    PrependTokenDataset,
    data_utils,
)
from torch import Tensor

from lev_plugins.data.drafts import marks
from lev_plugins.edits import mark_bits
from lev_plugins.errors import UserError, at_line, require
from lev_plugins.spelling.batch_words import EditingDictionary, SpeltRow
from lev_plugins.text.lines import read_lines

logger = logging.getLogger(__name__)

SUFFIX = ".notes.jsonl"
TOKEN = re.compile(r"[^\s\ud800-\udfff]+")  # no white space, and no surrogates, which UTF-8 cannot encode
KINDS = (0, mark_bits.KEEP, mark_bits.PREFER, mark_bits.DELETE)


# ---- from texts ------------------------------------------------------------------------------------------------------


def refuse_marks(line: str) -> None:
    """For training sets: a model cannot learn from marks."""
    text, marked = marks.parse_marks(line)
    if marked:
        mark = marked[0]
        raise UserError(
            f"⟦{mark.kind}{text[mark.start : mark.end]}⟧ is a mark, but drafts for training must not have marks: "
            "remove it, or write \\⟦ and \\⟧ if the brackets belong to the text"
        )


def read_drafts(path: Path) -> Iterator[str]:
    """Their text without marks."""
    return (marks.parse_marks(line)[0] for line in read_lines(path))


def read_requests(path: Path, encode: Callable[[str], str]) -> dict[int, list[int]]:
    """Requests by line number, from 1, for drafts that have any."""
    by_line = {}
    for number, line in enumerate(read_lines(path), 1):
        if marks.MARKED.search(line):
            with at_line(path, number):
                requested = marks.tokenize(line, encode)[1]
            if any(requested):
                by_line[number] = requested
    return by_line


def write_notes(tokens: Path, requested: dict[int, list[int]], dictionary: Dictionary, path: Path) -> int:
    """For drafts that were cut into ``tokens``; writes no file if there is nothing to note.

    Returns the number of drafts with unknown words.
    """
    notes, unknown = [], 0
    for number, line in enumerate(read_lines(tokens), 1):
        words = line.split()
        strange = any(dictionary.index(word) < dictionary.nspecial for word in words)
        unknown += strange
        if strange or number in requested:
            note = {"line": number, "tokens": words, "requests": requested.get(number, [0] * (len(words) + 1))}
            notes.append(json.dumps(note, ensure_ascii=False))
    if notes:
        path.write_text("".join(f"{note}\n" for note in notes), "utf-8")
    return unknown


# ---- to drafts -------------------------------------------------------------------------------------------------------


class NotedDrafts(BaseWrapperDataset):
    """Drafts as ids, except for those with a note, which are a ``SpeltRow``."""

    def __init__(self, dataset: FairseqDataset, notes: dict[int, SpeltRow]):
        super().__init__(dataset)
        self.notes = notes

    def __getitem__(self, index: int) -> Tensor | SpeltRow:
        return self.notes[index] if index in self.notes else self.dataset[index]


def with_notes(prefix: str, dataset: FairseqDataset, dictionary: EditingDictionary) -> FairseqDataset:
    """``dataset`` already has <s>; ``prefix`` is that of its files."""
    found = read_notes(prefix, dataset, dictionary)
    return NotedDrafts(dataset, found) if found else dataset


def read_notes(prefix: str, rows: FairseqDataset, dictionary: EditingDictionary) -> dict[int, SpeltRow]:
    """Notes by index of the row, none without a file.

    The file is not written by hand, so any error means that it is damaged.
    """
    path = Path(prefix + SUFFIX)
    by_index: dict[int, SpeltRow] = {}
    for number, text in enumerate(read_lines(path) if path.exists() else [], 1):
        index, note = read_note(text, rows, dictionary) or (-1, None)
        if note is None or index in by_index:
            raise UserError(f"{path}, line {number} is damaged: run lev-plugins prepare again")
        by_index[index] = note
    return by_index


def read_note(text: str, rows: FairseqDataset, dictionary: EditingDictionary) -> tuple[int, SpeltRow] | None:
    """The index of a row, and the row as a draft; None if this is not a note, or does not agree with the row."""
    try:
        note = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not is_note(note) or note["line"] > len(rows):
        return None
    index, draft = note["line"] - 1, dictionary.draft(note["tokens"], note["requests"])
    return (index, draft) if torch.equal(draft.ids, rows[index].long()) else None


def is_note(value: Any) -> bool:
    """
    >>> is_note({"line": 7, "tokens": ["in", "Zürich"], "requests": [0, 0, 17]})
    True
    >>> is_note({"line": 7, "tokens": ["in Zürich"], "requests": [0, 17]})
    False
    """
    match value:
        case {"line": line, "tokens": [*tokens], "requests": [*requested], **more}:
            return (
                not more
                and type(line) is int
                and line >= 1
                and all(isinstance(token, str) and TOKEN.fullmatch(token) for token in tokens)
                and len(requested) == len(tokens) + 1
                and all(is_request(request, place, len(tokens)) for place, request in enumerate(requested))
            )
    return False


def is_request(value: Any, place: int, tokens: int) -> bool:
    """The only request for <s>, at ``place`` 0, is an insertion; there cannot be more spans than tokens.

    >>> is_request(17, 1, tokens=1), is_request(17, 0, tokens=1), is_request(33, 1, tokens=1)
    (True, False, False)
    """
    if type(value) is not int or not 0 <= value < (tokens + 1) * mark_bits.SPAN:
        return False
    kind = value % mark_bits.SPAN & ~mark_bits.INSERT
    return kind in KINDS if place else value in (0, mark_bits.INSERT)


# ---- of a split ------------------------------------------------------------------------------------------------------


def load_drafts(
    pair: LanguagePairDataset, folder: str, split: str, draft: str, target: str, impl: str | None
) -> FairseqDataset:
    """One draft for each example of ``pair``, whose sides already begin with <s>.

    fairseq joins the parts train, train1, train2, ... and repeats the first --upsample-primary times; so are the
    drafts. A part without drafts starts from nothing, but at least one part must have drafts. ``draft`` and ``target``
    are suffixes: the files come from fairseq-preprocess -s DRAFT -t TARGET --only-source, or from lev-plugins prepare,
    which may add notes.
    """
    (parts, ratios), words = parts_of(pair.src), pair.tgt_dict
    check_dictionary(folder, draft, target, words)
    names = [f"{split}{number or ''}" for number in range(len(parts))]
    prefixes = [os.path.join(folder, f"{name}.{draft}-{target}.{draft}") for name in names]
    drafts_of_parts = [data_utils.load_indexed_dataset(prefix, words, impl) for prefix in prefixes]
    require(
        any(part is not None for part in drafts_of_parts), f"--draft-lang {draft}: there is no file {prefixes[0]}.bin"
    )
    fitted = [
        with_notes(prefix, PrependTokenDataset(fitting(name, drafts, len(part), words.eos()), words.bos()), words)
        for name, prefix, drafts, part in zip(names, prefixes, drafts_of_parts, parts, strict=True)
    ]
    return ConcatDataset(fitted, ratios) if len(fitted) > 1 else fitted[0]


def load_spelt_targets(pair: LanguagePairDataset, folder: str, split: str, source: str, target: str) -> FairseqDataset:
    """The targets of ``pair``, where ``lev-plugins prepare`` has noted how unknown words of theirs are spelt."""
    (parts, ratios), words = parts_of(pair.tgt), pair.tgt_dict
    prefixes = (os.path.join(folder, f"{split}{i or ''}.{source}-{target}.{target}") for i in range(len(parts)))
    rows = (PrependTokenDataset(part, words.bos()) for part in parts)
    return ConcatDataset([with_notes(prefix, row, words) for prefix, row in zip(prefixes, rows, strict=False)], ratios)


def parts_of(side: FairseqDataset) -> tuple[list[FairseqDataset], list[int]]:
    """The parts of a split without <s>, and how often each is repeated."""
    below = side.dataset
    return (below.datasets, below.sample_ratios) if isinstance(below, ConcatDataset) else ([below], [1])


def fitting(name: str, drafts: FairseqDataset | None, lines: int, eos: int) -> FairseqDataset:
    if drafts is None:
        logger.info(f"{name} has no drafts: its {lines:,} examples start from nothing")
        return ListDataset([torch.tensor([eos])] * lines, np.ones(lines, dtype=np.int32))
    require(
        len(drafts) == lines,
        f"every source line needs one draft line, but {name} has {lines:,} source lines and {len(drafts):,} drafts",
    )
    return drafts


def check_dictionary(folder: str, draft: str, target: str, words: Dictionary) -> None:
    """``fairseq-preprocess`` writes a dictionary for the drafts, ``lev-plugins prepare`` only that of the target."""
    path = os.path.join(folder, f"dict.{draft}.txt")
    if os.path.exists(path):
        require(
            Dictionary.load(path) == words,
            f"--draft-lang {draft}: the drafts were binarised with {path}, but must use the dictionary of the target, "
            f"dict.{target}.txt: use lev-plugins prepare, or fairseq-preprocess with that as --srcdict",
        )
