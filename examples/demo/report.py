"""Results of the editor on the held-out sentences: a table, and three of them step by step.

    python examples/demo/report.py CLEAN NOISY GENERATED TRAINING

CLEAN and NOISY are parallel text; GENERATED is the output of fairseq-generate --retain-iter-history.
TRAINING is the noisy training text: a typo that occurs there counts as known.
"""

from __future__ import annotations

import argparse
from collections.abc import Container
from pathlib import Path
from typing import NamedTuple

from lev_plugins.errors import require
from lev_plugins.scoring.wrr import recognised_words
from lev_plugins.traces import terminal
from lev_plugins.traces.log import Sentence, read_log
from lev_plugins.traces.rows import SPELLINGS, layout

TRACES = 3
TRACE_WORDS = range(6, 15)  # sentences that fit on one line


class Word(NamedTuple):
    """A word of the clean text, and whether the noisy and the edited text have it."""

    before: bool
    after: bool
    known: bool  # the training text has the same typo


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
    # typos do not change the number of words
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


def report(clean: list[str], noisy: list[str], generated: list[Sentence], known: Container[str] = ()) -> str:
    require(
        len(clean) == len(noisy) == len(generated),
        f"CLEAN, NOISY and GENERATED must have the same sentences, but have {len(clean)}, {len(noisy)} and "
        f"{len(generated)}",
    )
    triples = list(zip(clean, noisy, generated, strict=True))
    outcomes = [outcome(right, wrong, sentence.hypotheses[0].text, known) for right, wrong, sentence in triples]
    shown = [
        sentence
        for sentence, words in zip(generated, outcomes, strict=True)
        if len(words) in TRACE_WORDS and sum(not word.before for word in words) > 1
    ]
    blocks = [block for sentence in shown[:TRACES] for block in layout(sentence, SPELLINGS["sentencepiece"])]
    parts = [
        table(len(clean), [word for words in outcomes for word in words]),
        f"The first {TRACES} of these with several typos: an iteration deletes [-so-], inserts placeholders "
        "{ } and fills them {+so+}.",
        "\n".join(terminal.lines(blocks, terminal.PLAIN)),
    ]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("clean", "noisy", "generated", "training"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    clean, noisy = (path.read_text(encoding="utf-8").splitlines() for path in (args.clean, args.noisy))
    known = set(args.training.read_text(encoding="utf-8").split())
    print(report(clean, noisy, read_log(args.generated), known))


if __name__ == "__main__":
    main()
