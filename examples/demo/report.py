"""Results of the editor on held-out sentences: a table beside simpler ways, and some of its edits.

    python examples/demo/report.py CLEAN NOISY EDITED TRAIN --editor FOLDER [--symspell FILE]

CLEAN and NOISY are parallel text; EDITED is what ``lev-plugins edit --json`` made of NOISY, and FILE what SymSpell did.
TRAIN is the clean training text, whose words are the editor's dictionary.
"""

import argparse
import json
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

from examples.shared import recognised_words
from lev_plugins.cli.reporting import table
from lev_plugins.errors import require
from lev_plugins.text.edited import Edit
from lev_plugins.text.lines import read_lines
from lev_plugins.traces.terminal import diff_line

SHOWN = 3
SHORT = range(6, 15)  # words of sentences that fit on one line
MISSING = "SymSpell is not installed: pip install 'lev-plugins[baselines]'"
HOW_TO_GO_ON = """
In the environment of make setup (source .venv/bin/activate), edit a sentence of your own, and see all about the editor:

  echo 'Retrun the vlaues of the functoin.' | lev-plugins edit {editor}
  lev-plugins info {editor}

In the browser, and in editors that speak LanguageTool's protocol:

  lev-plugins serve {editor}"""


class Word(NamedTuple):
    """A word of the clean text, and whether the noisy and the edited text have it."""

    before: bool
    after: bool


def outcome(clean: str, noisy: str, edited: str) -> list[Word]:
    """
    >>> outcome("sort all rows", "srot all rwos", "sort tall rwos")
    [Word(before=False, after=True), Word(before=True, after=False), Word(before=False, after=False)]
    """
    reference = clean.split()
    before, after = recognised_words(reference, noisy.split()), recognised_words(reference, edited.split())
    return [Word(*word) for word in zip(before, after, strict=True)]


def row(system: str, words: list[Word]) -> list[str]:
    """
    >>> repaired, kept = Word(before=False, after=True), Word(before=True, after=True)
    >>> missed, broken = Word(before=False, after=False), Word(before=True, after=False)
    >>> row("editor", [repaired, missed, missed, missed, broken, kept, kept, kept, kept, kept])
    ['editor', '60.0 %', '25.0 %', '16.7 %']
    """
    wrong = [word.after for word in words if not word.before]
    right = [not word.after for word in words if word.before]
    return [system, *map(share, ([word.after for word in words], wrong, right))]


def share(of: list[bool]) -> str:
    return f"{100 * sum(of) / max(len(of), 1):.1f} %"


def real_words(clean: str, noisy: str, known: Container[str]) -> bool:
    """Whether a typo is a word of the dictionary: only its context tells that it is one.

    >>> real_words("the form of it", "the from of it", {"the", "from"}), real_words("form", "fomr", {"form"})
    (True, False)
    """
    pairs = zip(clean.split(), noisy.split(), strict=True)
    return any(typo != word and typo in known for word, typo in pairs)


def shown(clean: list[str], noisy: list[str], edited: list[dict[str, Any]], known: Container[str]) -> list[str]:
    """Sentences that were repaired, first those in which a typo is a word."""
    repaired = [
        (right, wrong, each["edits"])
        for right, wrong, each in zip(clean, noisy, edited, strict=True)
        if each["text"] == right != wrong and len(right.split()) in SHORT
    ]
    repaired.sort(key=lambda triple: not real_words(*triple[:2], known))
    return [diff_line(wrong, map(edit_of, edits)) for _, wrong, edits in repaired[:SHOWN]]


def edit_of(entry: dict[str, Any]) -> Edit:
    return Edit(entry["start"], entry["end"], entry["replacement"])


def report(clean: list[str], noisy: list[str], edited: list[dict], symspell: list[str] | None, known: set[str]) -> str:
    texts = {"do nothing": noisy, "SymSpell": symspell, "this editor": [each["text"] for each in edited]}
    rows = [["", "word recognition", "typos repaired", "right words broken"]]
    for system, lines in texts.items():
        if lines is not None:
            require(len(lines) == len(clean), f"{system} has {len(lines)} lines, but CLEAN has {len(clean)}")
            every = [outcome(*each) for each in zip(clean, noisy, lines, strict=True)]
            rows.append(row(system, [word for words in every for word in words]))
    words = sum(len(line.split()) for line in clean)
    head = f"{len(clean):,} held-out sentences, {words:,} words; no typo in them was made in training"
    blocks = [head, "\n".join(table(rows)), *([MISSING] if symspell is None else [])]
    examples = shown(clean, noisy, edited, known)
    if examples:
        blocks.append(
            "\n".join(["Some of its edits; where a typo is a word itself, only the context tells:", *examples])
        )
    return "\n\n".join(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("clean", "noisy", "edited", "train"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--symspell", type=Path)
    parser.add_argument("--editor", required=True, help="model folder, for the commands that are shown")
    args = parser.parse_args()
    clean, noisy, edited, train = (list(read_lines(path)) for path in (args.clean, args.noisy, args.edited, args.train))
    baseline = list(read_lines(args.symspell)) if args.symspell else None
    known = {word for line in train for word in line.split()}
    print(report(clean, noisy, [json.loads(line) for line in edited], baseline, known))
    print(HOW_TO_GO_ON.format(editor=args.editor))


if __name__ == "__main__":
    main()
