"""Keep the pairs whose noisy side is less fluent than the clean one: fluency-boost back-translation (Ge et al., 2018).

    python fluency.py CLEAN OUT --generated GENERATED

GENERATED is what fairseq-generate made of the lines of CLEAN. A text's fluency is the mean log-probability of its words
by the trigrams of CLEAN, interpolated with pairs and single words; a line is judged by the counts of all other lines.
Writes OUT.noisy and OUT.clean.
"""

import argparse
import math
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines, require_parallel, write_lines
from lev_plugins.cli.score import read_generated

SHARES = (0.1, 0.3, 0.6)  # of single words, pairs and trigrams


def parts(line: str) -> list[tuple[str, ...]]:
    """Each word, alone and with the one or two before it.

    >>> parts("it is")
    [('it',), ('<s>', 'it'), ('<s>', '<s>', 'it'), ('is',), ('it', 'is'), ('<s>', 'it', 'is')]
    """
    words = ["<s>", "<s>", *line.split()]
    return [tuple(words[end - size : end]) for end in range(3, len(words) + 1) for size in (1, 2, 3)]


def counted(lines: list[str]) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """How often each part occurs, and how often anything follows the words before its last."""
    found = Counter(part for line in lines for part in parts(line))
    before: Counter[tuple[str, ...]] = Counter()
    for part, number in found.items():
        before[part[:-1]] += number
    return found, before


class Trigrams:
    """
    >>> model = Trigrams(["it is so", "it is so", "so it is"])
    >>> model.fluency("it is so", "it is so") > model.fluency("it so is", "it is so")
    True
    """

    def __init__(self, lines: list[str]) -> None:
        self.counts, self.before = counted(lines)
        self.words = sum(len(part) == 1 for part in self.counts)

    def fluency(self, text: str, line: str) -> float:
        """Of a text that was made of the line."""
        counts, before = counted([line])  # what is left out
        total, found = 0.0, parts(text)
        for first in range(0, len(found), len(SHARES)):
            probability = 0.0
            for share, part in zip(SHARES, found[first : first + len(SHARES)], strict=True):
                seen = self.counts[part] - counts[part]
                follows = self.before[part[:-1]] - before[part[:-1]]
                unseen = len(part) == 1  # words have one more occurrence than they had
                probability += share * (seen + unseen) / max(follows + unseen * self.words, 1)
            total += math.log(probability)
        return total * len(SHARES) / max(len(found), 1)


def run(args: argparse.Namespace) -> None:
    lines, made = read_lines(args.clean), read_generated(args.generated)
    require_parallel({args.clean: lines, args.generated: made})
    model = Trigrams(lines)
    changed = [(noisy, line) for noisy, line in zip(made, lines, strict=True) if noisy.split() != line.split()]
    kept = [
        (noisy, line) for noisy, line in changed if noisy and model.fluency(noisy, line) < model.fluency(line, line)
    ]
    for number, side in enumerate(("noisy", "clean")):
        write_lines(Path(f"{args.out}.{side}"), (pair[number] for pair in kept))
    print(f"{len(lines):,} sentences, {len(changed):,} changed, {len(kept):,} less fluent and kept")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", type=Path, metavar="CLEAN")
    parser.add_argument("out", type=Path, metavar="OUT", help="prefix of the files to write")
    parser.add_argument("--generated", type=Path, required=True, help="output of fairseq-generate for CLEAN")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
