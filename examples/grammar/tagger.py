"""A tagger as GECToR is one (Omelianchuk et al., 2020): a word is kept, deleted, replaced, or followed by another.

    python tagger.py tags OUT A.m2 B.m2 ...
    python tagger.py correct CHECKPOINT <SOURCE >OUTPUT

``tags`` writes OUT/{train,valid}.tsv for lev-plugins prepare-labels: words, and what the first annotator does with
each, by the most frequent tags; the other words are kept. ``correct`` labels its own output again, up to --passes
times. A text begins with START, behind which a word can be put.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.grammar.texts import MOST_VALID, VALID_EVERY
from examples.shared import arriving_lines, finish, hold_out, write_lines
from lev_plugins.cli.edit import device_of
from lev_plugins.inference.labeller import Labeller
from lev_plugins.inference.options import LabelOptions
from lev_plugins.scoring import m2

START, KEEP, DELETE, REPLACE, APPEND = "START", "KEEP", "DELETE", "REPLACE_", "APPEND_"


def tags(sentence: m2.Gold) -> list[str]:
    """Those of START and of the words; of several that a word should have, the first. Later passes do the rest.

    >>> edits = [m2.GoldEdit(0, 1, ("He",)), m2.GoldEdit(1, 3, ("goes",)), m2.GoldEdit(4, 4, (", too",))]
    >>> tags(m2.Gold("they go by home".split(), [edits]))
    ['KEEP', 'REPLACE_He', 'REPLACE_goes', 'DELETE', 'APPEND_,']
    """
    found = [KEEP] * (len(sentence.source) + 1)
    for start, end, (text, *_), *_ in sentence.annotators[0]:
        old, new = sentence.source[start:end], text.split()
        for place, word in enumerate(old):
            tag = KEEP if new[place : place + 1] == [word] else f"{REPLACE}{new[place]}" if place < len(new) else DELETE
            found[start + place + 1] = tag
        if len(new) > len(old) and found[end] == KEEP:
            found[end] = f"{APPEND}{new[len(old)]}"
    return found


def changed(words: list[str], tags: list[str]) -> list[str]:
    """
    >>> changed("they go by home".split(), ["KEEP", "REPLACE_He", "REPLACE_goes", "DELETE", "APPEND_,"])
    ['He', 'goes', 'home', ',']
    """
    found: list[str] = []
    for word, tag in zip([START, *words], tags, strict=True):
        kept = [] if tag == DELETE else [tag.removeprefix(REPLACE) if tag.startswith(REPLACE) else word]
        found += [*kept, *([tag.removeprefix(APPEND)] if tag.startswith(APPEND) else [])]
    return found[1:] if found[:1] == [START] else found


def write(args: argparse.Namespace) -> None:
    rows = [(s.source, tags(s)) for path in args.files for s in m2.read(path) if s.source]
    counts = Counter(tag for _, row in rows for tag in row)
    common = {tag for tag, _ in counts.most_common(args.most)}
    for name, part in zip(("train", "valid"), hold_out(rows, VALID_EVERY, MOST_VALID), strict=True):
        lines = (
            f"{' '.join([START, *words])}\t{' '.join(tag if tag in common else KEEP for tag in row)}"
            for words, row in part
        )
        write_lines(args.out / f"{name}.tsv", lines)


def correct(args: argparse.Namespace) -> None:
    labeller = Labeller.load(args.checkpoint, options=LabelOptions(device=device_of(args)))
    texts = [line.split() for line in arriving_lines(sys.stdin.buffer)]
    active = [number for number, words in enumerate(texts) if words]
    for _ in range(args.passes):
        answers = labeller.label([" ".join([START, *texts[number]]) for number in active])
        before = {number: texts[number] for number in active}
        for number, answer in zip(active, answers, strict=True):
            sure = [
                tag if score >= args.least else KEEP
                for tag, score in zip(answer["labels"], answer["scores"], strict=True)
            ]
            texts[number] = changed(texts[number], sure)
        active = [number for number in active if texts[number] and texts[number] != before[number]]
        if not active:
            break
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stdout.writelines(f"{' '.join(words)}\n" for words in texts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("tags")
    one.add_argument("out", type=Path)
    one.add_argument("files", type=Path, nargs="+", metavar="M2")
    one.add_argument("--most", type=int, default=1000, help="number of tags (default: 1000)")
    one.set_defaults(run=write)
    one = commands.add_parser("correct")
    one.add_argument("checkpoint")
    one.add_argument("--passes", type=int, default=3, help="at most (default: 3)")
    one.add_argument("--least", type=float, default=0.0, help="least probability of a tag that changes a word")
    one.add_argument("--cpu", action="store_true", help="use no GPU")
    one.set_defaults(run=correct)
    return finish(parser, lambda args: args.run(args))


if __name__ == "__main__":
    sys.exit(main())
