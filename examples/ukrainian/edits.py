"""Pairs of sentences as an M2 file, each edit with its kind: punctuation, spelling or grammar.

    python examples/ukrainian/edits.py m2 NOISY CLEAN --words WORDS >GOLD.m2
    python examples/ukrainian/edits.py tokens <OUTPUT >TOKENS

``m2`` cuts both sides into words and signs and aligns them by the fewest changes; changed tokens side by side are one
edit, but a change of signs is an edit of its own. The kind of an edit follows from a rule, not from annotators:

- punctuation: no word changes, only signs (capitals and blanks may change, too);
- spelling: a word that is not in WORDS (one per line) becomes another one, or words differ only in capitals,
  apostrophes, hyphens or blanks;
- grammar: all others: forms of words, other words, more or fewer words.

``tokens`` cuts a system's output in the same way, for ``lev-plugins score m2``.
"""

import argparse
import sys
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from rapidfuzz.distance import Levenshtein

from examples.shared import arriving_lines, finish, read_lines, read_parallel
from lev_plugins.text.ids import BLANK
from lev_plugins.text.offsets import words_with_places
from lev_plugins.text.text_style import TextStyle

Change = tuple[int, int, int, int]  # tokens of the source and of the target: start, end, start, end
STYLE = TextStyle(straight_quotes=True)


def tokens_of(line: str) -> list[str]:
    """Cuts a line into words and signs, with straight apostrophes and quotes.

    >>> tokens_of("Так, це пам\u2019ять...")
    ['Так', ',', 'це', "пам'ять", '.', '.', '.']
    """
    return [token.lstrip(BLANK) for token, _ in words_with_places(STYLE.read(line))]


def is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def changes(source: Sequence[str], target: Sequence[str]) -> Iterator[Change]:
    """Yields what changes; of a stretch of changed tokens, words and signs apart where they can be told apart.

    >>> list(changes("one two - end".split(), "one , too — end".split()))
    [(1, 1, 1, 2), (1, 2, 2, 3), (2, 3, 3, 4)]
    """
    start: list[int] | None = None
    for tag, i, i_end, j, j_end in Levenshtein.opcodes(source, target):
        if tag == "equal":
            if start:
                yield from parts(source, target, (*start, i, j))
            start = None
        elif start is None:
            start = [i, j]
        last = i_end, j_end
    if start:
        yield from parts(source, target, (*start, *last))


def parts(source: Sequence[str], target: Sequence[str], stretch: tuple[int, ...]) -> Iterator[Change]:
    """Cuts a changed stretch, a start and an end on both sides, into runs of words and of signs in the same order."""
    i, j, i_end, j_end = stretch
    while i < i_end or j < j_end:
        word = is_word(source[i]) if i < i_end else is_word(target[j])
        if i < i_end and j < j_end and is_word(target[j]) != word:
            word = False  # a sign comes or goes before the words
        i_next, j_next = i, j
        while i_next < i_end and is_word(source[i_next]) == word:
            i_next += 1
        while j_next < j_end and is_word(target[j_next]) == word:
            j_next += 1
        yield i, i_next, j, j_next
        i, j = i_next, j_next


def kind(source: Sequence[str], target: Sequence[str], words: Container[str]) -> str:
    """
    >>> [kind(*pair, {"син", "сина"}) for pair in ([["-"], ["—"]], [["зин"], ["син"]], [["син"], ["сина"]])]
    ['punctuation', 'spelling', 'grammar']
    """
    if not any(map(is_word, [*source, *target])):
        return "punctuation"
    plain = ["".join(filter(str.isalnum, "".join(side).lower())) for side in (source, target)]
    is_misspelt = len(source) == 1 and bool(target) and source[0].lower() not in words
    return "spelling" if plain[0] == plain[1] or is_misspelt else "grammar"


def m2(args: argparse.Namespace) -> None:
    words = {STYLE.read(word).lower() for word in read_lines(args.words)}
    for noisy, clean in zip(*read_parallel([args.noisy, args.clean]), strict=True):
        source, target = tokens_of(noisy), tokens_of(clean)
        print("S", *source)
        for i, i_end, j, j_end in changes(source, target):
            name = kind(source[i:i_end], target[j:j_end], words)
            print(f"A {i} {i_end}|||{name}|||{' '.join(target[j:j_end]) or '-NONE-'}|||REQUIRED|||-NONE-|||0")
        print()


def tokens(args: argparse.Namespace) -> None:
    for line in arriving_lines(sys.stdin.buffer):
        print(*tokens_of(line))


def main() -> int:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    commands.add_parser("tokens").set_defaults(run=tokens)
    gold = commands.add_parser("m2")
    gold.add_argument("noisy", type=Path, metavar="NOISY")
    gold.add_argument("clean", type=Path, metavar="CLEAN")
    gold.add_argument("--words", type=Path, metavar="WORDS", required=True, help="words of the language, one per line")
    gold.set_defaults(run=m2)
    return finish(parser, lambda args: args.run(args))


if __name__ == "__main__":
    sys.exit(main())
