"""The files of drafts: binarised text, and notes with what ids cannot express.

Ids express neither the marks on a draft nor the spelling of unknown words. ``lev-plugins prepare`` writes both to
``test.DRAFT-TARGET.DRAFT.notes.jsonl``, one line per draft that has any, for ``fairseq-generate``.
The targets that ``--noise-kind`` makes drafts of have such notes, too.

    {"line": 7, "tokens": ["in", "Zürich"], "requests": [0, 0, 17]}

The requests are the bits (``lev_plugins.text.mark_bits``) of <s> and of each token. A note must agree with the ids.
"""

import json
import logging
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

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

from lev_plugins.edits.batch_words import EditingDictionary, SpeltRow
from lev_plugins.text import marks
from lev_plugins.text.lines import read_lines, write_lines
from lev_plugins.utils.errors import UserError, at_line, require
from lev_plugins.utils.json_schema import from_entries, parse_object

logger = logging.getLogger(__name__)

SUFFIX = ".notes.jsonl"


# ---- from texts ------------------------------------------------------------------------------------------------------


def refuse_marks(line: str, drafts: str = "drafts for training", remedy: str = "remove it") -> str:
    """Returns the text of a draft; raises a ``UserError`` if it has marks."""
    text, marks_of_line = marks.parse_marks(line)
    if marks_of_line:
        mark = marks_of_line[0]
        raise UserError(
            f"⟦{mark.kind}{text[mark.start : mark.end]}⟧ is a mark, but {drafts} must not have marks: {remedy}, "
            "or write \\⟦ and \\⟧ if the brackets belong to the text"
        )
    return text


def read_drafts(path: Path) -> Iterator[str]:
    """Yields the drafts of a file without their marks."""
    return (marks.parse_marks(line)[0] for line in read_lines(path))


def read_mark_bits(path: Path, encode: Callable[[str], str]) -> dict[int, list[int]]:
    """Returns the mark bits by line number, from 1, of drafts that have marks."""
    by_line = {}
    for number, line in enumerate(read_lines(path), 1):
        if marks.MARKED.search(line):
            with at_line(path, number):
                bits = marks.tokenize(line, encode)[1]
            if any(bits):
                by_line[number] = bits
    return by_line


def write_notes(tokens: Path, bits_by_line: dict[int, list[int]], dictionary: Dictionary, path: Path) -> int:
    """Writes the notes of a file of tokens, unless there are none; returns the number of drafts with unknown words."""
    notes, unknown = [], 0
    for number, line in enumerate(read_lines(tokens), 1):
        words = line.split()
        has_unknown = any(dictionary.index(word) < dictionary.nspecial for word in words)
        unknown += has_unknown
        if has_unknown or number in bits_by_line:
            note = {"line": number, "tokens": words, "requests": bits_by_line.get(number, [0] * (len(words) + 1))}
            notes.append(json.dumps(note, ensure_ascii=False))
    if notes:
        write_lines(path, notes)
    return unknown


# ---- to drafts -------------------------------------------------------------------------------------------------------


class NotedDrafts(BaseWrapperDataset):
    """Drafts with <s> as ids, except for those with a note, which are a ``SpeltRow``."""

    def __init__(self, prefix: str, dataset: FairseqDataset, dictionary: EditingDictionary) -> None:
        """
        Args:
            prefix: the names of the files of the dataset begin with it, and so does that of the notes, if there are any
            dataset: the drafts as ids without <s>
            dictionary: the dictionary of the drafts
        """
        super().__init__(PrependTokenDataset(dataset, dictionary.bos()))
        self.notes: dict[int, SpeltRow] = {}
        path = Path(prefix + SUFFIX)
        for number, text in enumerate(read_lines(path) if path.exists() else [], 1):
            try:
                index, draft = read_note(text, self.dataset, dictionary)
                require(index not in self.notes, "this row has two notes")
            except UserError as error:  # the file is not written by hand
                raise UserError(f"{path}, line {number} is damaged: run lev-plugins prepare again") from error
            self.notes[index] = draft

    def __getitem__(self, index: int) -> Tensor | SpeltRow:
        return self.notes[index] if index in self.notes else self.dataset[index]


@dataclass
class Note:
    """A line of the file."""

    line: int
    tokens: list[str]
    requests: list[int]  # the marks on <s> and on each token (``text.mark_bits``); 0: none


def read_note(text: str, rows: FairseqDataset, dictionary: EditingDictionary) -> tuple[int, SpeltRow]:
    """Returns the index of a row, and the row as a draft; raises a ``UserError`` if this is not a note of the row."""
    note = from_entries(Note, parse_object(text.encode(), "the note"), "the note")
    require(0 < note.line <= len(rows) and " ".join(note.tokens).split() == note.tokens, "this is not a draft")
    require(len(note.requests) == len(note.tokens) + 1, "each token needs its marks")
    draft = dictionary.draft(note.tokens, note.requests)
    require(torch.equal(draft.ids, rows[note.line - 1].long()), "the row has other tokens")
    return note.line - 1, draft


def warn_of_unread_drafts(folder: str, split: str, source: str, target: str) -> None:
    """Warns of drafts that ``lev-plugins prepare`` has written for a split; ``source`` and ``target`` are suffixes."""
    file = re.compile(rf"{re.escape(split)}\.(.+)-{re.escape(target)}\.\1\.idx")
    suffixes = {match[1] for name in os.listdir(folder) if (match := file.fullmatch(name))} - {source}
    # other languages in the same folder have dictionaries of their own
    unread = sorted(name for name in suffixes if not os.path.exists(os.path.join(folder, f"dict.{name}.txt")))
    if unread:
        advice = f"for a model that edits them, add --draft-lang {' or '.join(unread)}"
        logger.warning(f"{folder} has drafts of {split}, which are not read: {advice}")


# ---- of a split ------------------------------------------------------------------------------------------------------


def load_drafts(
    pair: LanguagePairDataset, folder: str, split: str, draft: str, target: str, impl: str | None
) -> FairseqDataset:
    """Returns one draft for each example of ``pair``, whose sides already begin with <s>.

    fairseq joins the parts train, train1, train2, ... and repeats the first --upsample-primary times; the drafts follow
    it. A part without drafts has empty ones, but at least one part must have drafts. ``draft`` and ``target`` are
    suffixes: the files come from fairseq-preprocess -s DRAFT -t TARGET --only-source, or from lev-plugins prepare,
    which may add notes.
    """
    (parts, ratios), words = concatenated_parts(pair.src), pair.tgt_dict
    # fairseq-preprocess writes a dictionary for the drafts, lev-plugins prepare only that of the target
    own_words = os.path.join(folder, f"dict.{draft}.txt")
    require(
        not os.path.exists(own_words) or Dictionary.load(own_words) == words,
        f"--draft-lang {draft}: the drafts were binarised with {own_words}, but must use the dictionary of the target, "
        f"dict.{target}.txt: use lev-plugins prepare, or fairseq-preprocess with that as --srcdict",
    )
    names = [f"{split}{number or ''}" for number in range(len(parts))]
    prefixes = [os.path.join(folder, f"{name}.{draft}-{target}.{draft}") for name in names]
    drafts_of_parts = [data_utils.load_indexed_dataset(prefix, words, impl) for prefix in prefixes]
    require(
        any(part is not None for part in drafts_of_parts), f"--draft-lang {draft}: there is no file {prefixes[0]}.bin"
    )
    noted = []
    for name, prefix, drafts, part in zip(names, prefixes, drafts_of_parts, parts, strict=True):
        lines = len(part)
        if drafts is None:
            logger.info(f"{name} has no drafts: its {lines:,} examples start from nothing")
            drafts = ListDataset([torch.tensor([words.eos()])] * lines, np.ones(lines, dtype=np.int32))
        require(
            len(drafts) == lines,
            f"every source line needs one draft line, but {name} has {lines:,} source lines and {len(drafts):,} drafts",
        )
        noted.append(NotedDrafts(prefix, drafts, words))
    return ConcatDataset(noted, ratios)


def load_spelt_targets(pair: LanguagePairDataset, folder: str, split: str, source: str, target: str) -> FairseqDataset:
    """Returns the targets of ``pair``, with the spelling of unknown words that ``lev-plugins prepare`` noted."""
    (parts, ratios), words = concatenated_parts(pair.tgt), pair.tgt_dict
    prefixes = (os.path.join(folder, f"{split}{i or ''}.{source}-{target}.{target}") for i in range(len(parts)))
    return ConcatDataset([NotedDrafts(*files, words) for files in zip(prefixes, parts, strict=True)], ratios)


def concatenated_parts(side: FairseqDataset) -> tuple[list[FairseqDataset], list[int]]:
    """Returns the parts of a split without <s>, and how often each is repeated."""
    dataset = side.dataset
    return (dataset.datasets, dataset.sample_ratios) if isinstance(dataset, ConcatDataset) else ([dataset], [1])
