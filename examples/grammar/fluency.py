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

SHARES = (0.1, 0.3, 0.6)  # weights of single words, pairs and trigrams


def ngrams(line: str) -> list[tuple[str, ...]]:
    """Each word, alone and with the one or two before it.

    >>> ngrams("it is")
    [('it',), ('<s>', 'it'), ('<s>', '<s>', 'it'), ('is',), ('it', 'is'), ('<s>', 'it', 'is')]
    """
    words = ["<s>", "<s>", *line.split()]
    return [tuple(words[end - size : end]) for end in range(3, len(words) + 1) for size in (1, 2, 3)]


class Counts:
    """How often each n-gram occurs, and how often a word follows its first words."""

    def __init__(self, lines: list[str]) -> None:
        self.ngrams = Counter(ngram for line in lines for ngram in ngrams(line))
        self.contexts: Counter[tuple[str, ...]] = Counter()
        for ngram, count in self.ngrams.items():
            self.contexts[ngram[:-1]] += count


class Trigrams:
    """
    >>> model = Trigrams(["it is so", "it is so", "so it is"])
    >>> model.fluency("it is so", "it is so") > model.fluency("it so is", "it is so")
    True
    """

    def __init__(self, lines: list[str]) -> None:
        self.counts = Counts(lines)
        self.words = sum(len(ngram) == 1 for ngram in self.counts.ngrams)

    def fluency(self, text: str, line: str) -> float:
        """Returns the mean log-probability of the words of a text that was made of ``line``, without its own counts."""
        held_out = Counts([line])
        total, text_ngrams = 0.0, ngrams(text)
        for start in range(0, len(text_ngrams), len(SHARES)):
            probability = 0.0
            for share, ngram in zip(SHARES, text_ngrams[start : start + len(SHARES)], strict=True):
                count = self.counts.ngrams[ngram] - held_out.ngrams[ngram]
                context = self.counts.contexts[ngram[:-1]] - held_out.contexts[ngram[:-1]]
                if len(ngram) == 1:  # each word occurs once more, so that none is impossible
                    count, context = count + 1, context + self.words
                probability += share * count / max(context, 1)
            total += math.log(probability)
        return total * len(SHARES) / max(len(text_ngrams), 1)


def run(args: argparse.Namespace) -> None:
    lines, outputs = read_lines(args.clean), read_generated(args.generated)
    require_parallel({args.clean: lines, args.generated: outputs})
    model = Trigrams(lines)
    changed = [(noisy, line) for noisy, line in zip(outputs, lines, strict=True) if noisy.split() != line.split()]
    pairs = [pair for pair in changed if pair[0] and model.fluency(*pair) < model.fluency(pair[1], pair[1])]
    for number, side in enumerate(("noisy", "clean")):
        write_lines(Path(f"{args.out}.{side}"), (pair[number] for pair in pairs))
    print(f"{len(lines):,} sentences, {len(changed):,} changed, {len(pairs):,} less fluent and kept")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("clean", type=Path, metavar="CLEAN")
    parser.add_argument("out", type=Path, metavar="OUT", help="prefix of the files to write")
    parser.add_argument("--generated", type=Path, required=True, help="output of fairseq-generate for CLEAN")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
