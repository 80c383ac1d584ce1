"""A baseline: the first suggestion of Hunspell or Aspell for each word that it does not know.

    python examples/english/ispell.py hunspell -d en_US < test.typos > test.out
    python examples/english/ispell.py aspell -l en < test.typos > test.out

With ``--careful`` in front, it leaves alone whatever has a capital, a digit or a sign inside, such as names and
addresses.

Both answer a line of text by a line for each word and an empty line at the end (``-a``, the protocol of ispell). An
unknown word has the line ``& word count place: suggestion, ...``
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import arriving_lines

UNKNOWN = re.compile(r"& (\S+) \d+ (\d+): ([^,]+)")


def is_plain(line: str, start: int, word: str) -> bool:
    """Returns whether a word stands alone, in small letters, between blanks and signs.

    >>> [is_plain("мта, mta.org Мта", *place) for place in ((0, "мта"), (5, "mta"), (13, "Мта"))]
    [True, False, False]
    """
    end = start + len(word)
    before, after = line[:start].split(" ")[-1], line[end:].split(" ")[0]
    return word.isalpha() and word.islower() and not any(map(str.isalnum, before + after))


def corrected(line: str, answers: Iterable[str], careful: bool = False) -> str:
    """``answers`` count places from the sign ^, which is put in front of a line.

    >>> corrected("Teh cat sta.", ["& Teh 2 1: The, Eh", "*", "& sta 3 9: sat, star, stay"])
    'The cat sat.'
    """
    for match in reversed(list(filter(None, map(UNKNOWN.match, answers)))):
        start = line.find(match[1], int(match[2]) - 1)  # some versions count bytes
        if start >= 0 and not (careful and not is_plain(line, start, match[1])):
            line = line[:start] + match[3] + line[start + len(match[1]) :]
    return line


def main() -> None:
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    careful = sys.argv[1] == "--careful"
    speller = subprocess.Popen(
        [*sys.argv[2 if careful else 1 :], "-a"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        bufsize=1,
    )
    assert speller.stdin is not None and speller.stdout is not None
    speller.stdout.readline()  # its version
    for line in arriving_lines(sys.stdin.buffer):
        print(f"^{line}", file=speller.stdin, flush=True)
        print(corrected(line, list(iter(lambda: speller.stdout.readline().rstrip("\n"), "")), careful))
    speller.stdin.close()


if __name__ == "__main__":
    main()
