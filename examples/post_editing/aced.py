"""Edit a client's test drafts by each system: ``python aced.py DATA/CLIENT OUT/CLIENT --editor OUT/editor``.

OUT/CLIENT has the texts that ``triples.py split`` writes. For each of the systems, NAME.out has the edited drafts, and
NAME.words their words and marks, to be scored against gold.words and gold.m2:

- nothing: the drafts;
- rules, context: what recurring.py makes, with and without --rules, and also -online, with --corrected. They learn from
  all triples of train, also those that the editor has as valid;
- every, levt: all edits of the editor, and those that reach the threshold with the most right sentences of valid. This
  is written to the file "threshold": none, if no threshold is better than no edit.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.post_editing.recurring import Reviser, revised
from examples.post_editing.triples import m2, words
from examples.shared import finish, read_lines, read_parallel, write_lines

NONE = "none"


def edited(args: argparse.Namespace, part: str, threshold: str) -> list[str]:
    """Returns the drafts of a part after the edits of the editor that are this sure."""
    drafts = args.out / f"{part}.draft"
    if threshold == NONE:
        return read_lines(drafts)
    command = ["lev-plugins", "edit", args.editor, "--drafts", drafts, "--min-confidence", threshold, "--whole-lines"]
    with open(args.out / f"{part}.src", "rb") as sources:
        done = subprocess.run(command, stdin=sources, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.decode("utf-8").splitlines()


def best_threshold(args: argparse.Namespace) -> str:
    """Returns the threshold with the most right sentences of valid, the first of equal ones."""
    targets = read_lines(args.out / "valid.clean")

    def right(threshold: str) -> int:
        pairs = zip(edited(args, "valid", threshold), targets, strict=True)
        return sum(words(text) == words(target) for text, target in pairs)

    return max([NONE, *args.thresholds], key=right)


def systems(args: argparse.Namespace, threshold: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the name of each system and the edited test."""
    yield "nothing", edited(args, "test", NONE)
    train = read_parallel(args.data / f"train.{side}" for side in ("src", "pert", "tgt"))
    sources, drafts, targets = read_parallel(args.out / f"test.{side}" for side in ("src", "draft", "clean"))
    for name, rules in (("rules", True), ("context", False)):
        for online in (False, True):
            reviser = Reviser(online, rules)
            reviser.fit(*train)
            lines = revised(reviser, sources, drafts, targets if online else None)
            yield f"{name}-online" if online else name, list(lines)
    yield "every", edited(args, "test", "0")
    yield "levt", edited(args, "test", threshold)


def run(args: argparse.Namespace) -> None:
    threshold = best_threshold(args)
    write_lines(args.out / "threshold", [threshold])
    for name, lines in systems(args, threshold):
        write_lines(args.out / f"{name}.out", lines)
        write_lines(args.out / f"{name}.words", map(words, lines))
    drafts, targets = read_parallel(args.out / f"test.{side}" for side in ("draft", "clean"))
    write_lines(args.out / "gold.words", map(words, targets))
    write_lines(args.out / "gold.m2", (line for pair in zip(drafts, targets, strict=True) for line in m2(*pair)))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, metavar="DATA", help="the client's folder of published triples")
    parser.add_argument("out", type=Path, metavar="OUT", help="the client's folder of texts, to read and to write")
    parser.add_argument("--editor", type=Path, required=True, metavar="FOLDER", help="model folder")
    parser.add_argument("--thresholds", nargs="+", required=True, metavar="X", help="thresholds to try on valid")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
