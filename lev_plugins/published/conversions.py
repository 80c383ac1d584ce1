"""The formats in which sets are published, as rows of columns: sets.json has the names of these functions."""

import json
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from lev_plugins.data.labels.text import CONLLU_COLUMNS, read_conllu
from lev_plugins.scoring import m2

Rows = Iterator[tuple[str, ...]]
Sources = list[list[Path]]  # the files of each source
MARKUP = re.compile(r"<br\s*/?>|</?t>")
SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>")
SIGNS = {"0": "", '"0"': "0"}
# a text of ICDAR: what the scanner read, the same with @ for gaps, and the truth with @ for gaps and # for unknown
ICDAR = re.compile(r"\[(OCR_toInput|OCR_aligned|\s*GS_aligned)\] ?(.*)")


def read(*paths: Path) -> Iterator[str]:
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            yield from (line.rstrip("\r\n") for line in file)


def plain(text: str) -> str:
    """
    >>> plain("<t> The cat . </t> <t> It  sat . </t>")
    'The cat . It sat .'
    """
    return " ".join(MARKUP.sub(" ", text).split())


def lines(sources: Sources) -> Rows:
    return zip(*(read(*paths) for paths in sources), strict=True)


def pairs(sources: Sources) -> Rows:
    """Parallel text, without what is empty on a side."""
    return (row for row in (tuple(map(plain, row)) for row in lines(sources)) if all(row))


def segments(sources: Sources) -> Rows:
    """SGML: a text stands between <seg> and </seg>."""
    return zip(*(map(plain, SEGMENT.findall("\n".join(read(*paths)))) for paths in sources), strict=True)


def columns(sources: Sources, *numbers: str) -> Rows:
    for line in read(*sources[0]):
        cells = line.split("\t")
        yield tuple(cells[int(number)].strip() for number in numbers)


def table(sources: Sources, *numbers: str) -> Rows:
    """Columns below a head."""
    return islice(columns(sources, *numbers), 1, None)


def mrpc(sources: Sources, split: str) -> Rows:
    """GLUE's development set: the pairs of the training set whose numbers are in the second file."""
    chosen = set(columns(sources[1:], "0", "1"))
    for first, second, *row in table(sources, "1", "2", "3", "4", "0"):
        if ((first, second) in chosen) == (split == "dev"):
            yield tuple(row)


def corrections(sources: Sources) -> Rows:
    """The sentences of an M2 file, and what each annotator makes of them."""
    for sentence in m2.read(sources[0][0]):
        corrected = [m2.corrected(sentence, annotator) for annotator in range(len(sentence.annotators))]
        yield tuple(map(" ".join, [sentence.source, *corrected]))


def tags(sources: Sources) -> Rows:
    for row in read_conllu(sources[0][0], CONLLU_COLUMNS["upos"]):
        yield " ".join(row.texts), " ".join(row.labels)


def characters(sources: Sources) -> Rows:
    """Words with a line for each character, ``misread : right``, where 0 is none and "0" a zero; then an empty line.

    The lines ``m : n``, ``0 : a`` and ``x : x`` are the word that reads "m x", but should be "n a x".
    """
    for word in re.split("\n\n+", "\n".join(read(*sources[0])).strip("\n")):
        signs = [[SIGNS.get(sign, sign) for sign in line.split(" : ")] for line in word.split("\n")]
        yield tuple(" ".join("".join(side)) for side in zip(*signs, strict=True))


def scans(sources: Sources) -> Rows:
    """Texts of ICDAR without those that have unknown parts (#)."""
    for path in sources[0]:
        sides = {match[1].strip(): match[2] for match in map(ICDAR.match, read(path)) if match}
        if len(sides) == 3 and "#" not in sides["GS_aligned"]:
            yield plain(sides["OCR_toInput"]), plain(sides["GS_aligned"].replace("@", ""))


def reviews(sources: Sources) -> Rows:
    """Clean text on both sides."""
    return ((plain(" ".join(read(path))),) * 2 for path in sources[0])


def documents(sources: Sources) -> Iterator[dict[str, Any]]:
    return (json.loads("\n".join(read(path))) for path in chain.from_iterable(sources))


def laws(sources: Sources) -> Rows:
    for law in documents(sources):
        yield plain(" ".join([law["header"], law["recitals"], *law["main_body"]])), ",".join(law["concepts"])


def concepts(sources: Sources) -> Rows:
    return ((name,) for name in sorted({name for law in documents(sources) for name in law["concepts"]}))
