"""Keep of parallel text what a corrector can learn: pairs that belong together, without gaps.

    python repairs.py train.src train.tgt OUT

writes OUT.src and OUT.tgt. Transcriptions of scanned lines leave out words, or have words that the scan lost. A model
that learns from such pairs deletes words that are right, and makes others up. So where one side lacks several words,
the target gets what the source has; and pairs that have less than half of their words in common are left out.
"""

import argparse
import sys
from difflib import SequenceMatcher
from pathlib import Path

import editdistance

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_parallel, write_lines
from lev_plugins.utils.errors import require

ALIKE = 0.5  # letters that may differ, as a share of the longer spelling
GAP = 2  # words that one side has more than the other, where they are not alike: a gap
COMMON = 0.5  # words of the source that must be in the target, or be like words of it


def alike(source: list[str], target: list[str]) -> bool:
    """
    >>> alike(["theexigeuciesof"], ["the", "exigencies", "of"]), alike(["rde"], ["red"]), alike(["word"], ["five"])
    (True, True, False)
    """
    misread, right = "".join(source), "".join(target)
    longest = max(len(misread), len(right))
    return sorted(misread) == sorted(right) or editdistance.eval(misread, right) < ALIKE * longest


def repaired(source: str, target: str) -> tuple[str, float]:
    """Returns the target without gaps, and the share of the source's words that it has.

    >>> repaired("moft fairs _ in tlie coun try of hers", "quite fairs in the coun- try")
    ('quite fairs in the coun- try of hers', 0.5555555555555556)
    """
    source_words, target_words = source.split(), target.split()
    words: list[str] = []
    common = 0
    for _, i, j, start, end in SequenceMatcher(None, source_words, target_words, autojunk=False).get_opcodes():
        misread, right = source_words[i:j], target_words[start:end]
        good = misread == right or alike(misread, right)
        gap = not good and (len(misread) - len(right) >= GAP or len(right) > len(misread))
        words += misread if gap else right
        common += len(misread) if good else 0
    return " ".join(words), common / max(1, len(source_words))


def run(args: argparse.Namespace) -> None:
    sides = read_parallel([args.source, args.target])
    repairs = [(source, *repaired(source, target)) for source, target in zip(*sides, strict=True)]
    pairs = [(source, target) for source, target, common in repairs if common >= COMMON]
    require(
        bool(pairs),
        f"{args.source} and {args.target} have no pair with half of its words in common: leave levt out of SYSTEMS",
    )
    for side, lines in zip(("src", "tgt"), zip(*pairs, strict=True), strict=True):
        write_lines(args.out.with_name(f"{args.out.name}.{side}"), list(lines))
    sys.stderr.write(f"{len(pairs):,} of {len(repairs):,} pairs kept\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", metavar="SOURCE", type=Path)
    parser.add_argument("target", metavar="TARGET", type=Path)
    parser.add_argument("out", metavar="OUT", type=Path, help="writes OUT.src and OUT.tgt")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
