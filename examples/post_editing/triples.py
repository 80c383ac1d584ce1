"""Triples of a source, its draft and the corrected draft, as plain text: their splits, edits and recurring changes.

    python triples.py split DATA OUT          DATA/{train,dev}.{src,pert,tgt}, as examples/data.py aced writes them
    python triples.py words <TEXT             words and marks, separated by blanks
    python triples.py gold DRAFTS TARGETS     the edits from each draft to its target, as an M2 file of words and marks

``split`` writes OUT/{train,valid,test}.{src,draft,noisy,clean}: valid is held out of train, in runs of neighbours, as
these resemble each other; test is dev; noisy is the draft again, for an editor that reads no source.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines, finish, read_parallel, write_lines

WORD = re.compile(r"\w+|[^\w\s]")
RUN, PARTS = 20, 10  # one run of neighbouring lines in ten is held out


class Change(NamedTuple):
    """Words ``start`` up to ``end`` of a draft become ``text``."""

    start: int
    end: int
    text: str


def changes(draft: str, target: str) -> list[Change]:
    """
    >>> changes("128GB, ohne Karte", "128 GB ohne Karte")
    [Change(start=0, end=2, text='128 GB')]
    """
    words, target_words = [[*WORD.finditer(line)] for line in (draft, target)]
    matcher = SequenceMatcher(None, [match[0] for match in words], [match[0] for match in target_words], autojunk=False)
    return [
        Change(start, end, target[target_words[first].start() : target_words[last - 1].end()] if last > first else "")
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


def applied(line: str, made: Iterable[Change]) -> str:
    """Makes changes that do not overlap and each replace a word or more.

    >>> applied("Ein Punkt, SDD", [Change(3, 4, "SSD"), Change(1, 3, "Kanal,")])
    'Ein Kanal, SSD'
    """
    words = [*WORD.finditer(line)]
    for start, end, text in sorted(made, reverse=True):
        line = line[: words[start].start()] + text + line[words[end - 1].end() :]
    return line


def m2(draft: str, target: str) -> Iterator[str]:
    """Yields the lines of a sentence of an M2 file.

    >>> list(m2("a, b", "a b"))
    ['S a , b', 'A 1 2|||M||||||REQUIRED|||-NONE-|||0', '']
    """
    yield f"S {words(draft)}"
    for start, end, text in changes(draft, target):
        yield f"A {start} {end}|||M|||{words(text)}|||REQUIRED|||-NONE-|||0"
    yield ""


def words(line: str) -> str:
    return " ".join(WORD.findall(line))


def split(folder: Path, out: Path) -> None:
    train, dev = (
        read_parallel([folder / f"{part}.{side}" for side in ("src", "pert", "tgt")]) for part in ("train", "dev")
    )
    rows = {"train": [], "valid": [], "test": [*zip(*dev, strict=True)]}
    for number, row in enumerate(zip(*train, strict=True)):
        rows["valid" if number // RUN % PARTS == PARTS // 2 else "train"].append(row)
    for part, triples in rows.items():
        for side, column in (("src", 0), ("draft", 1), ("noisy", 1), ("clean", 2)):
            write_lines(out / f"{part}.{side}", (triple[column] for triple in triples))


def printed(args: argparse.Namespace) -> Iterable[str]:
    if args.command == "gold":
        return (line for pair in zip(*read_parallel(args.files), strict=True) for line in m2(*pair))
    return map(words, arriving_lines(sys.stdin.buffer))


def run(args: argparse.Namespace) -> None:
    if args.command == "split":
        split(*args.files)
        return
    for line in printed(args):
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["split", "words", "gold"])
    parser.add_argument("files", type=Path, nargs="*")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
