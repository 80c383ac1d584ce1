"""What the editor made of the held-out sentences: a table, and how it went about three of them.

    python examples/demo/report.py CLEAN NOISY GENERATED TRAINING

CLEAN and NOISY are text, line for line; GENERATED is what fairseq-generate printed with --retain-iter-history.
TRAINING is the noisy text of the training: a typo that occurs there counts as known.
"""

from __future__ import annotations

import argparse
from collections.abc import Container
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lev_plugins.errors import require
from lev_plugins.scoring import recognised_words

TRACES = 3
TRACE_WORDS = range(6, 15)  # sentences that fit into a line
SPACE = "\u2581"  # how sentencepiece writes the space before a word
HOLE = "<plh>"


class Word(NamedTuple):
    """A word of the clean text, and whether the noisy and the edited text have it."""

    before: bool
    after: bool
    known: bool  # misspelt in a way that the training had


class Generated(NamedTuple):
    text: str
    states: list[list[str]]  # pieces: the draft, then per iteration after deleting, with holes, and filled


def outcome(clean: str, noisy: str, edited: str, known: Container[str] = ()) -> list[Word]:
    """
    >>> for word in outcome("sort all rows", "srot all rwos", "sort tall rwos", known={"rwos"}):
    ...     print(word)
    Word(before=False, after=True, known=False)
    Word(before=True, after=False, known=False)
    Word(before=False, after=False, known=True)
    """
    reference = clean.split()
    before, after = recognised_words(reference, noisy.split()), recognised_words(reference, edited.split())
    # typos keep the number of words
    seen = [typo in known for typo in noisy.split()]
    return [Word(*word) for word in zip(before, after, seen, strict=True)]


def table(sentences: int, words: list[Word]) -> str:
    """
    >>> repaired, kept = Word(before=False, after=True, known=True), Word(before=True, after=True, known=True)
    >>> missed, broken = Word(before=False, after=False, known=False), Word(before=True, after=False, known=True)
    >>> print(table(2, [repaired, repaired, missed, missed, broken, kept, kept, kept, kept, kept]))
    held-out sentences               2
    words                           10
    word recognition before     60.0 %
    word recognition after      70.0 %
    misspelt words repaired     50.0 %  (2 of 4)
      typos seen in training   100.0 %  (2 of 2)
      typos never seen           0.0 %  (0 of 2)
    correct words broken        16.7 %  (1 of 6)
    """
    wrong = [word for word in words if not word.before]
    right = [word for word in words if word.before]
    rows = [
        ("held-out sentences", f"{sentences:8,}"),
        ("words", f"{len(words):8,}"),
        ("word recognition before", percent(len(right), len(words))),
        ("word recognition after", percent(sum(word.after for word in words), len(words))),
        ("misspelt words repaired", share([word.after for word in wrong])),
        ("  typos seen in training", share([word.after for word in wrong if word.known])),
        ("  typos never seen", share([word.after for word in wrong if not word.known])),
        ("correct words broken", share([not word.after for word in right])),
    ]
    return "\n".join(f"{name:<26}{value}" for name, value in rows)


def share(of: list[bool]) -> str:
    return f"{percent(sum(of), len(of))}  ({sum(of):,} of {len(of):,})"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):6.1f} %"


def show(pieces: list[str], chosen: list[bool], marks: tuple[str, str]) -> str:
    """Pieces as text, runs of chosen ones between marks, the space before them outside.

    >>> show([SPACE + "so", "rt", SPACE + "it"], [False, True, True], ("[-", "-]"))
    'so[-rt it-]'
    """
    text = ""
    for inside, run in groupby(zip(pieces, chosen, strict=True), key=lambda pair: pair[1]):
        words = "".join(piece for piece, _ in run).replace(SPACE, " ")
        bare = words.lstrip()
        text += words[: len(words) - len(bare)] + marks[0] + bare + marks[1] if inside else words
    return text.strip()


def lost(before: list[str], after: list[str]) -> list[bool]:
    """Which pieces of ``before`` are not in ``after``, which is ``before`` without them.

    >>> lost(["a", "b", "c"], ["a", "c"])
    [False, True, False]
    """
    left = list(reversed(after))
    return [not (left and left[-1] == piece and left.pop()) for piece in before]


def iterations(states: list[list[str]]) -> list[str]:
    """Per iteration that changed something, two lines: its deletions, its insertions.

    >>> a, b, c = SPACE + "srot", SPACE + "it", SPACE + "sort"
    >>> iterations([[a, b], [b], [HOLE, b], [c, b], [c, b], [c, b], [c, b]])
    ['[-srot-] it', '{+sort+} it']
    """
    lines = []
    for i in range(0, len(states) - 3, 3):
        given, left, opened, filled = states[i : i + 4]
        if filled != given:
            lines.append(show(given, lost(given, left), ("[-", "-]")))
            lines.append(show(filled, [piece == HOLE for piece in opened], ("{+", "+}")))
    return lines


def trace(clean: str, noisy: str, generated: Generated) -> str:
    lines = iterations(generated.states)
    steps = [f"{kind} {i}" for i in range(1, len(lines) // 2 + 1) for kind in ("delete", "insert")]
    rows = [("draft", noisy), *zip(steps, lines, strict=True), ("result", generated.text), ("clean", clean)]
    return "\n".join(f"  {name:>8}  {line}" for name, line in rows)


def read_generated(path: Path) -> list[Generated]:
    """What fairseq-generate printed, in the order of its input: D- lines are results, E- lines the states."""
    found: dict[int, Generated] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, *fields = line.split("\t")
        kind, _, number = name.partition("-")
        if kind == "S":
            found[int(number)] = Generated("", [])
        elif kind == "D":
            found[int(number)] = found[int(number)]._replace(text=fields[-1])
        elif kind == "E":
            found[int(number.partition("_")[0])].states.append(fields[-1].split())
    return [found[i] for i in sorted(found)]


def report(clean: list[str], noisy: list[str], generated: list[Generated], known: Container[str] = ()) -> str:
    require(
        len(clean) == len(noisy) == len(generated),
        f"CLEAN, NOISY and GENERATED must have the same sentences, but have {len(clean)}, {len(noisy)} and "
        f"{len(generated)}",
    )
    triples = list(zip(clean, noisy, generated, strict=True))
    outcomes = [outcome(c, n, g.text, known) for c, n, g in triples]
    shown = [
        triple
        for triple, words in zip(triples, outcomes, strict=True)
        if len(words) in TRACE_WORDS and sum(not word.before for word in words) > 1
    ]
    parts = [table(len(clean), [word for words in outcomes for word in words])]
    parts.append(f"The first {TRACES} of these with several typos: an iteration deletes [-so-], then inserts {{+so+}}.")
    return "\n\n".join(parts + [trace(*triple) for triple in shown[:TRACES]])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("clean", "noisy", "generated", "training"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    clean, noisy = (path.read_text(encoding="utf-8").splitlines() for path in (args.clean, args.noisy))
    known = set(args.training.read_text(encoding="utf-8").split())
    print(report(clean, noisy, read_generated(args.generated), known))


if __name__ == "__main__":
    main()
