"""Tokenised text as people write it, and what an editor makes of that as tokens again.

    python tokens.py plain <TOKENISED >PLAIN
    python tokens.py back TOKENISED <EDITED >OUTPUT

Editors read plain text, but JFLEG, CWEB and M2 files put a blank before punctuation and clitics ("do n't"). ``plain``
takes these blanks out. ``back`` reads the edited lines and puts them in again: what the editor left alone gets the
blanks of TOKENISED, and the words that it changed are tokenised like those texts.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines, finish, read_lines, require_parallel

CLITIC = r"(?:n't|'(?:s|re|ve|ll|d|m))(?!\w)"
NO_BLANK_BEFORE = re.compile(rf"(?:{CLITIC}|[.,:;?!)\]}}%]+|'')(?!\S)", re.IGNORECASE)
NO_BLANK_BEHIND = frozenset(["(", "[", "{", "$", "£", "€", "#", "``"])
QUOTES = frozenset(['"', "'"])  # each one that closes follows one that opens
BETWEEN_WORDS = frozenset(["-", "/"])  # "salmon - safe", "and / or"
TOKEN = re.compile(rf"\w+?(?={CLITIC})|{CLITIC}|\w+(?:(?!{CLITIC})[-./'\u2019]\w+)*|\.\.+|\S", re.IGNORECASE)


def blanks(tokens: list[str]) -> Iterator[bool]:
    """Yields, for each token but the first, whether people write a blank before it.

    >>> list(blanks(["do", "n't", "go", "!"]))
    [False, True, False]
    """
    open_quotes: set[str] = set()
    joins_next = False
    for number, token in enumerate(tokens):
        joined_before = joins_next
        joins_previous, joins_next = bool(NO_BLANK_BEFORE.match(token)), token in NO_BLANK_BEHIND
        if token in QUOTES:
            joins_previous = token in open_quotes or (token == "'" and "'" not in tokens[number + 1 :])
            joins_next = not joins_previous
            open_quotes ^= {token} if token in open_quotes or not joins_previous else set()
        elif token in BETWEEN_WORDS and 0 < number < len(tokens) - 1:
            joins_previous = joins_next = tokens[number - 1][-1].isalnum() and tokens[number + 1][0].isalnum()
        if number:
            yield not (joins_previous or joined_before)


def words(line: str) -> list[list[str]]:
    """The tokens of each plain word.

    >>> words("I do n't ( really ) know .")
    [['I'], ['do', "n't"], ['(', 'really', ')'], ['know', '.']]
    """
    tokens = line.split()
    groups = [tokens[:1]] if tokens else []
    for token, blank in zip(tokens[1:], blanks(tokens), strict=True):
        if blank:
            groups.append([])
        groups[-1].append(token)
    return groups


def plain(line: str) -> str:
    """
    >>> plain('" I do n\\'t ( really ) know , " said the boys \\' well - known aunt .')
    '"I don\\'t (really) know," said the boys\\' well-known aunt.'
    """
    return " ".join(map("".join, words(line)))


def tokenise(text: str) -> str:
    """Tokenises text as the sets of learners' English are tokenised.

    >>> tokenise("It isn't the user's (first) well-known value, is it?")
    "It is n't the user 's ( first ) well-known value , is it ?"
    """
    return " ".join(TOKEN.findall(text))


def back(line: str, edited: str) -> str:
    """Returns the tokens of ``edited``, which is an edited ``plain(line)``.

    >>> line = "i ca n't swim , it 's a well - known siences."
    >>> back(line, plain(line)) == line
    True
    >>> back(line, "I can't swim; it's one of the well-known sciences, isn't it?")
    "I ca n't swim ; it 's one of the well - known sciences , is n't it ?"
    """
    source_words, edited_words = words(line), edited.split()
    tokens = list(map(tokenise, edited_words))
    matcher = SequenceMatcher(None, list(map("".join, source_words)), edited_words, autojunk=False)
    for source, target, size in matcher.get_matching_blocks():
        tokens[target : target + size] = map(" ".join, source_words[source : source + size])
    return " ".join(tokens)


def run(args: argparse.Namespace) -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    lines = list(arriving_lines(sys.stdin.buffer))
    if args.command == "back":
        source = read_lines(args.tokenised)
        require_parallel({args.tokenised: source, Path("standard input"): lines})
        lines = list(map(back, source, lines))
    else:
        lines = list(map(plain, lines))
    sys.stdout.writelines(f"{line}\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("plain")
    commands.add_parser("back").add_argument("tokenised", metavar="TOKENISED", type=Path)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
