"""Reads the formats of published sets as rows of columns; sets.json names these functions."""

import csv
import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, pairwise, starmap
from pathlib import Path
from typing import Any

from lev_plugins.labelling.text import CONLLU_COLUMNS, read_conllu
from lev_plugins.noise.draws import shuffled, stream
from lev_plugins.scoring import m2
from lev_plugins.text.sentences import sentences

Rows = Iterator[tuple[str, ...]]
Sources = list[list[Path]]  # the files of each source
MARKUP = re.compile(r"<br\s*/?>|</?t>")
SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>")
SIGNS = {"0": "", '"0"': "0"}
# the lines of an ICDAR text with the scan and the truth, which have the same length: @ is a gap, # is unknown
ICDAR = re.compile(r"^\[\s*(OCR_aligned|GS_aligned)\] ?(.*)$", re.MULTILINE)
# Markdown and HTML, in the order of their removal: what is no prose; what surrounds words; what parts paragraphs
HIDDEN = re.compile(
    r"\A---\n.*?\n---\n|<!--.*?-->|```.*?```|<(script|style|pre)\b.*?</\1>|^[ >]*(?:#|\||[=-]+$)[^\n]*",
    re.DOTALL | re.MULTILINE,
)
IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
LINK = re.compile(r"\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])")
INLINE_TAG = re.compile(r"</?(?:a|abbr|b|cite|code|em|i|q|small|span|strong|sub|sup|time|u)\b[^<>]*>|\u2060")
BREAK = re.compile(r"\n[ >]*\n|\n(?=[\s>]*(?:[-*+]|\d{1,2}[.)])\s)|</?\w[^<>]*>|^\s*\{[{%].*\}\s*$", re.MULTILINE)
MARK = re.compile(
    r"^[\s>]*(?:(?:[-*+]|\d{1,2}[.)])\s)?|\*+|`+|(?<!\w)__?(?![\s_])|(?<![\s_])__?(?!\w)|\\(?=[^\w\s])", re.MULTILINE
)
# without signs of markup, codes and addresses
SENTENCE = re.compile(r"(?!.*(?:://|[\[\]{}<>|*_`\\\ufffd]))[\"(\u201c\u2018\u2019 ]*[A-Z].*[.?!][\")\u201d\u2019 ]*")
SENTENCE_WORDS = range(3, 61)


def text_lines(*paths: Path) -> Iterator[str]:
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            yield from (line.rstrip("\r\n") for line in file)


def plain(text: str) -> str:
    """Returns a text without markup and with single blanks.

    >>> plain("<t> The cat . </t> <t> It  sat . </t>")
    'The cat . It sat .'
    """
    return " ".join(MARKUP.sub(" ", text).split())


def aligned_lines(sources: Sources) -> Rows:
    return zip(*(text_lines(*paths) for paths in sources), strict=True)


def pairs(sources: Sources) -> Rows:
    """Reads parallel text, without lines that are empty on one side."""
    return nonempty(aligned_lines(sources))


def documents(sources: Sources, part: str) -> Rows:
    """Reads the sentences of documents, N.src.txt, and of their corrections, N.ANNOTATOR.txt.

    Where the two are not cut into equally many sentences, they are left out. Of each tenth document, the sentences are
    for "valid", of the others for "train".
    """
    originals = {path.name.partition(".")[0]: path for path in sources[0]}
    for corrected in sources[1]:
        number = corrected.name.partition(".")[0]
        sides = [list(text_lines(path)) for path in (originals[number], corrected)]
        if len(sides[0]) == len(sides[1]) and part in ("all", "train" if int(number) % 10 else "valid"):
            yield from nonempty(zip(*sides, strict=True))


def nonempty(rows: Rows) -> Rows:
    return (row for row in (tuple(map(plain, row)) for row in rows) if all(row))


def segments(sources: Sources) -> Rows:
    """Reads SGML, in which a text stands between <seg> and </seg>."""
    return zip(*(map(plain, SEGMENT.findall("\n".join(text_lines(*paths)))) for paths in sources), strict=True)


def columns(sources: Sources, *numbers: str) -> Rows:
    for line in text_lines(*sources[0]):
        cells = line.split("\t")
        yield tuple(cells[int(number)].strip() for number in numbers)


def headed_columns(sources: Sources, *numbers: str) -> Rows:
    """Reads columns below a header."""
    return islice(columns(sources, *numbers), 1, None)


def tables(sources: Sources, number: str) -> Rows:
    """Reads a column of parallel CSV files with headers; a text may have several lines."""
    files = (csv.reader(f"{line}\n" for line in text_lines(*paths)) for paths in sources)
    rows = islice(zip(*files, strict=True), 1, None)
    return nonempty(tuple(row[int(number)] for row in aligned) for aligned in rows)


def mrpc(sources: Sources, split: str) -> Rows:
    """Splits the training set as GLUE does: the development set has the pairs whose numbers are in the second file."""
    development = set(columns(sources[1:], "0", "1"))
    for first, second, *row in headed_columns(sources, "1", "2", "3", "4", "0"):
        if ((first, second) in development) == (split == "dev"):
            yield tuple(row)


def corrections(sources: Sources) -> Rows:
    """Reads the sentences of an M2 file, each with the corrections of all annotators."""
    for sentence in m2.read_m2(sources[0][0]):
        versions = [m2.corrected(sentence, annotator) for annotator in range(len(sentence.annotators))]
        yield tuple(map(" ".join, [sentence.source, *versions]))


def tags(sources: Sources) -> Rows:
    for row in read_conllu(sources[0][0], CONLLU_COLUMNS["upos"]):
        yield " ".join(row.texts), " ".join(row.labels)


def misread_words(sources: Sources) -> Rows:
    """Reads words with a line for each character, ``misread : right``; 0 is no character, "0" is a zero.

    An empty line ends a word.
    The lines ``m : n``, ``0 : a`` and ``x : x`` are the word that reads "m x", but should be "n a x".
    """
    for word in re.split("\n\n+", "\n".join(text_lines(*sources[0])).strip("\n")):
        signs = [[SIGNS.get(sign, sign) for sign in line.split(" : ")] for line in word.split("\n")]
        yield tuple(" ".join("".join(side)) for side in zip(*signs, strict=True))


def mistyped_words(sources: Sources, start: str, stop: str) -> Rows:
    """Reads typos and words as letters, from ``start`` to ``stop`` of a random order that never changes."""
    rows = list(columns(sources, "0", "1"))
    order = islice(shuffled(range(len(rows)), stream(seed=1, epoch=1, index=0)), int(start), int(stop))
    return (tuple(map(" ".join, rows[index])) for index in order)


def scans(sources: Sources) -> Rows:
    """Reads ICDAR texts, without the parts (between blanks of both sides) whose truth is unknown."""
    for path in sources[0]:
        sides = dict(ICDAR.findall("\n".join(text_lines(path))))
        scan, truth = (sides.get(f"{side}_aligned", "") for side in ("OCR", "GS"))
        blanks = [index for index, pair in enumerate(zip(scan, truth, strict=False)) if pair == (" ", " ")]
        parts = [part for part in starmap(slice, pairwise([0, *blanks, None])) if "#" not in truth[part]]
        row = tuple(plain("".join(side[part] for part in parts).replace("@", "")) for side in (scan, truth))
        if all(row) and (len(scan) == len(truth) or "#" not in truth):
            yield row


def reviews(sources: Sources) -> Rows:
    """Reads clean text, for both sides."""
    return ((plain(" ".join(text_lines(path))),) * 2 for path in sources[0])


def json_documents(sources: Sources) -> Iterator[Any]:
    return (json.loads("\n".join(text_lines(path))) for path in chain.from_iterable(sources))


def laws(sources: Sources) -> Rows:
    for law in json_documents(sources):
        yield (
            plain(" ".join([law["header"] or "", law["recitals"] or "", *law["main_body"]])),
            ",".join(law["concepts"]),
        )


def concepts(sources: Sources) -> Rows:
    return ((name,) for name in sorted({name for law in json_documents(sources) for name in law["concepts"]}))


def paragraphs(text: str) -> Iterator[str]:
    """Takes the prose out of Markdown or HTML; a heading, a table and code are none.

    >>> list(paragraphs("# A\\nSee [the *map*](/map).\\nIt is <b>big</b>.\\n* One\\n* Two<p>Three</p>"))
    ['See the map. It is big.', 'One', 'Two', 'Three']
    """
    shown = INLINE_TAG.sub("", LINK.sub(r"\1", IMAGE.sub("", HIDDEN.sub("\n\n", text))))
    blocks = BREAK.sub("\0", shown).split("\0")
    return filter(None, (" ".join(html.unescape(MARK.sub("", block)).split()) for block in blocks))


def distinct_sentences(texts: Iterable[str]) -> Rows:
    """Yields the whole sentences of paragraphs that are neither short nor long, each once.

    >>> list(distinct_sentences(["Yes, I do. I agree with Mr. Bell!", "and so on. Yes, I do."]))
    [('Yes, I do.',), ('I agree with Mr. Bell!',)]
    """
    cut = (text[start:end] for text in texts for start, end in sentences(text, "en"))
    return (
        (sentence,)
        for sentence in dict.fromkeys(cut)
        if SENTENCE.fullmatch(sentence) and len(sentence.split()) in SENTENCE_WORDS
    )


def prose(sources: Sources) -> Rows:
    texts = (path.read_text("utf-8", errors="replace") for path in chain.from_iterable(sources))
    return distinct_sentences(chain.from_iterable(map(paragraphs, texts)))


def dialogues(sources: Sources) -> Rows:
    turns = (turn for dialogue in chain.from_iterable(json_documents(sources)) for turn in dialogue["utterances"])
    return distinct_sentences(plain(turn["text"]) for turn in turns)
