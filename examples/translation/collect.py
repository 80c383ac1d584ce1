"""What fairseq-generate printed, back in the order of the input, every line accounted for.

    python collect.py --source train.en --reference train.de --longest 1024 --output distilled.de LOG...

The H- lines of all LOGs together must answer every line of --source once. Only a sentence that has more than --longest
tokens on either side may be missing, because the teacher skips it: it keeps its --reference, and is reported.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

HYPOTHESIS = re.compile(r"H-(\d+)\t([^\t]+)\t(.*)", re.S)
STEPS = re.compile(r"I-(\d+)\t(\d+)\n?")
LAST_LINE = "Generate "  # fairseq's summary, printed once everything is decoded
SHOWN = 10  # ids named in a message


class LogError(ValueError):
    """The logs do not say what they should; the message says what is wrong and what to do."""


@dataclass
class Account:
    lines: int
    decoded: int
    kept_reference: list[int]  # line numbers from 0, as in fairseq's ids


def read_log(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        lines = list(file)
    if not any(line.startswith(LAST_LINE) for line in lines[-3:]):
        raise LogError(f"{path} is cut short, it has no line '{LAST_LINE}...' at its end: delete it and decode again")
    return lines


def hypotheses(lines: Iterable[str]) -> dict[int, str]:
    """The one hypothesis of each id.

    >>> hypotheses(["S-1\\tx\\n", "H-1\\t-0.5\\t▁a b\\n", "H-0\\t-0.1\\t\\n"])
    {1: '▁a b', 0: ''}
    """
    found: dict[int, str] = {}
    for line in lines:
        match = HYPOTHESIS.fullmatch(line.removesuffix("\n"))
        if match is None:
            continue
        number = int(match[1])
        if number in found:
            raise LogError(f"there are two hypotheses of sentence {number}: decode with --nbest 1, each part once")
        found[number] = match[3]
    return found


def steps(lines: Iterable[str]) -> dict[int, int]:
    """
    >>> steps(["I-1\\t2\\n", "H-0\\t-0.1\\tx\\n", "I-0\\t1\\n"])
    {1: 2, 0: 1}
    """
    return {int(match[1]): int(match[2]) for line in lines if (match := STEPS.fullmatch(line))}


def some(ids: list[int]) -> str:
    """
    >>> some([3, 5]), some(list(range(12)))
    ('3, 5', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    rest = len(ids) - SHOWN
    return ", ".join(map(str, ids[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")


def in_order(found: dict[int, str], lines: int) -> list[str]:
    """All of 0 .. lines - 1, or an error."""
    check_known(found, lines)
    missing = [number for number in range(lines) if number not in found]
    if missing:
        raise LogError(f"{len(missing):,} of {lines:,} sentences were not decoded: {some(missing)}; decode again")
    return [found[number] for number in range(lines)]


def check_known(found: dict[int, str], lines: int) -> None:
    beyond = sorted(number for number in found if number >= lines)
    if beyond:
        raise LogError(
            f"the text has {lines:,} lines, but the logs answer sentence {some(beyond)}: they belong to another text"
        )


def tokens(line: str) -> int:
    """As fairseq counts them: the end of the sentence is one."""
    return len(line.split()) + 1


def distilled(
    found: dict[int, str], source: list[str], reference: list[str], longest: int
) -> tuple[list[str], Account]:
    """Each sentence's hypothesis, or its reference where the sentence was too long for the teacher."""
    if len(source) != len(reference):
        raise LogError(f"--source has {len(source):,} lines and --reference {len(reference):,}: they must be parallel")
    check_known(found, len(source))
    too_long = [
        number
        for number, pair in enumerate(zip(source, reference, strict=True))
        if max(map(tokens, pair)) > longest and number not in found
    ]
    rest = dict(zip(too_long, (reference[number] for number in too_long), strict=True))
    text = in_order({**rest, **found}, len(source))
    return text, Account(len(source), len(found), too_long)


def read_text(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [line.removesuffix("\n") for line in file]


def run(args: argparse.Namespace) -> None:
    lines = (line for log in args.logs for line in read_log(log))
    text, account = distilled(hypotheses(lines), read_text(args.source), read_text(args.reference), args.longest)
    args.output.write_text("".join(f"{line}\n" for line in text), encoding="utf-8", newline="\n")
    args.account.write_text(json.dumps(asdict(account)) + "\n", encoding="utf-8")
    kept = account.kept_reference
    sys.stdout.write(
        f"{account.decoded:,} of {account.lines:,} sentences distilled, {len(kept):,} of more than {args.longest} "
        f"tokens keep their reference{': ' + some(kept) if kept else ''}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", metavar="LOG", nargs="+", type=Path, help="what fairseq-generate printed")
    parser.add_argument("--source", type=Path, required=True, help="what was decoded, in pieces")
    parser.add_argument("--reference", type=Path, required=True, help="its reference, in pieces")
    parser.add_argument("--longest", type=int, required=True, help="the most tokens that the teacher takes")
    parser.add_argument("--output", type=Path, required=True, help="where the distilled text goes")
    parser.add_argument("--account", type=Path, required=True, help="where the counts go, as JSON")
    try:
        run(parser.parse_args())
    except (LogError, OSError) as error:
        sys.stderr.write(f"collect.py: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
