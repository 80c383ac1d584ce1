"""A baseline: the first suggestion of Harper, a grammar checker, for each mistake that it reports.

    python examples/english/harper_suggestions.py < test.typos > test.out

Harper changes nothing by itself: it lists suggestions, and its user chooses among them or ignores them. With
``--careful``, a misspelling is left alone if it has a capital, a digit or a sign inside, such as names and addresses
(as symspell.py does). It needs the package harper-py: pip install harper-py
"""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.denoising.symspell import PLAIN_WORD
from examples.shared import arriving_lines, finish


def corrected(line: str, linter: Any, careful: bool) -> str:
    reports = linter.lint(line, language="plaintext")  # they do not overlap
    plain = {match.span("word") for match in PLAIN_WORD.finditer(line)}
    for report in sorted(reports, key=lambda report: report.span.start, reverse=True):
        if not (careful and report.lint_kind == "Spelling" and (report.span.start, report.span.end) not in plain):
            for suggestion in report.suggestions[:1]:
                line = linter.apply_suggestion(line, report, suggestion)
    return line


def run(args: argparse.Namespace) -> None:
    from harper import Linter  # after the flags have been read

    output = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)  # some rules of Harper print what they look at
    linter = Linter()
    with output:
        output.writelines(f"{corrected(line, linter, args.careful)}\n" for line in arriving_lines(sys.stdin.buffer))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--careful", action="store_true", help="of misspellings, correct words in small letters alone")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
