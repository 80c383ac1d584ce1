"""Triples of a source, its draft and the corrected draft, as plain text: their splits, edits and recurring changes.

    python triples.py split DATA OUT          DATA/{train,dev}.{src,pert,tgt}, as lev-plugins data aced writes them
    python triples.py words <TEXT             words and marks, separated by blanks
    python triples.py gold DRAFTS TARGETS     the edits from each draft to its target, as an M2 file of words and marks
    python triples.py rules DRAFTS TARGETS <TEXT     the peer: TEXT with the changes that recur in DRAFTS

``split`` writes OUT/{train,valid,test}.{src,draft,noisy,clean}: valid is held out of train, in runs of neighbours, as
these resemble each other; test is dev; noisy is the draft again, for an editor that reads no source.
"""

import argparse
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines, finish, read_parallel, write_lines

WORD = re.compile(r"\w+|[^\w\s]")
RUN, PARTS = 20, 10  # one run of neighbouring lines in ten is held out
MIN_COUNT, MIN_SHARE = 2, 0.5  # of a change among the places of its words


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


def recurring(drafts: Sequence[str], targets: Sequence[str]) -> dict[tuple[str, ...], str]:
    """Returns the replacements that recur and are made at most places where their words stand.

    >>> recurring(["der Punkt", "ein Punkt", "kein Punkt"], ["der Kanal", "ein Kanal", "kein Punkt"])
    {('Punkt',): 'Kanal'}
    """
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    split = [WORD.findall(draft) for draft in drafts]
    for words, draft, target in zip(split, drafts, targets, strict=True):
        for start, end, text in changes(draft, target):
            counts[tuple(words[start:end])][text] += 1
    counts.pop((), None)  # insertions have no words to recognise their place by
    lengths = {len(words) for words in counts}
    places = Counter(
        run
        for words in split
        for length in lengths
        for run in zip(*(words[shift:] for shift in range(length)), strict=False)
        if run in counts
    )
    best = {words: texts.most_common(1)[0] for words, texts in counts.items()}
    return {
        words: text
        for words, (text, count) in best.items()
        if count >= MIN_COUNT and count >= MIN_SHARE * places[words]
    }


def replaced(line: str, rules: dict[tuple[str, ...], str]) -> str:
    """Makes the replacements, the longest that fits at each word.

    >>> replaced("Ein Punkt, SDD", {("Punkt", ","): "Kanal,", ("SDD",): "SSD", ("Punkt",): "Kanal"})
    'Ein Kanal, SSD'
    """
    words, longest = [*WORD.finditer(line)], max(map(len, rules), default=0)
    pieces, place, index = [], 0, 0
    while index < len(words):
        runs = (tuple(match[0] for match in words[index : index + length]) for length in range(longest, 0, -1))
        run = next((run for run in runs if run in rules), None)
        if run is not None:
            pieces += [line[place : words[index].start()], rules[run]]
            place = words[index + len(run) - 1].end()
        index += len(run) if run else 1
    return "".join([*pieces, line[place:]])


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
    lines = arriving_lines(sys.stdin.buffer)
    if args.command == "words":
        return map(words, lines)
    rules = recurring(*read_parallel(args.files))
    return (replaced(line, rules) for line in lines)


def run(args: argparse.Namespace) -> None:
    if args.command == "split":
        split(*args.files)
        return
    for line in printed(args):
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("command", choices=["split", "words", "gold", "rules"])
    parser.add_argument("files", type=Path, nargs="*")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
