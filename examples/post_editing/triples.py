"""Triples of a source, its draft and the corrected draft, as plain text: their splits, edits and recurring changes.

    python triples.py DATA OUT CLIENT ...

reads DATA/CLIENT/{train,dev}.{src,pert,tgt}, as examples/data.py aced writes them, and writes
OUT/CLIENT/{train,valid,test}.{src,draft,clean}, and the lines of all clients as OUT/all. Valid is held out of train, in
runs of neighbours, as these resemble each other; test is dev.
"""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel, write_lines

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


def split(folder: Path) -> dict[str, list[tuple[str, ...]]]:
    """Returns the triples of train, valid and test."""
    train, dev = (
        zip(*read_parallel([folder / f"{part}.{side}" for side in ("src", "pert", "tgt")]), strict=True)
        for part in ("train", "dev")
    )
    rows: dict[str, list[tuple[str, ...]]] = {"train": [], "valid": [], "test": [*dev]}
    for number, row in enumerate(train):
        rows["valid" if number // RUN % PARTS == PARTS // 2 else "train"].append(row)
    return rows


def run(args: argparse.Namespace) -> None:
    texts = {client: split(args.data / client) for client in args.clients}
    texts["all"] = {part: [row for rows in texts.values() for row in rows[part]] for part in ("train", "valid", "test")}
    for client, rows in texts.items():
        for part, triples in rows.items():
            for side, lines in zip(("src", "draft", "clean"), zip(*triples, strict=True), strict=True):
                write_lines(args.out / client / f"{part}.{side}", lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("clients", nargs="+", metavar="CLIENT")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
