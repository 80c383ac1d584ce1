r"""Reports of the typos in files: text, JSON, annotations of GitHub, SARIF and diffs.

``json`` is one object per line, with the keys of ``Finding``: ``path``, ``line``, ``column``, ``start``, ``end``,
``original``, ``replacement``, ``confidence`` and ``alternatives``, a list of other replacements, most likely first.

>>> file = checked_file("a.md", "A\nteh cat\n", [Edit(2, 5, "the", confidence=0.98)])
>>> print("".join(report("text", [file])), end="")
a.md:2:1: "teh" -> "the" (0.98)
>>> print("".join(report("diff", [file])), end="")
--- a/a.md
+++ b/a.md
@@ -1,2 +1,2 @@
 A
-teh cat
+the cat
"""

import hashlib
import json
import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, groupby
from typing import Any, NamedTuple
from urllib.parse import quote

from lev_plugins.text.control import BYTE_ORDER_MARK, visible
from lev_plugins.text.edited import JSON_DIGITS, Edit, Span, apply
from lev_plugins.text.protected import merge_spans
from lev_plugins.utils.version import __version__

CONTEXT_LINES = 3  # of a diff, before and after a change
LINE = re.compile(r"[^\n]*\n|[^\n]+")
NOT_IN_NAMES = re.compile(r'[\x00-\x1f\x7f"\\]')  # git quotes names that have these
SURROGATE = re.compile("[\ud800-\udfff]")  # stands for a byte of a name that is not UTF-8
BOLD, RESET = "\x1b[1m", "\x1b[0m"
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
IDENTITY_CHARS = 50  # of a line before and after a typo, by which SARIF knows it again


class Finding(NamedTuple):
    """A typo in one line of a file."""

    path: str
    line: int  # from 1; only line feeds end lines
    column: int  # from 1, in characters
    start: int  # in characters of the file
    end: int
    original: str
    replacement: str
    confidence: float
    alternatives: tuple[str, ...] = ()  # other replacements, most likely first


class CheckedFile(NamedTuple):
    """A file, and the typos in it in order."""

    path: str
    text: str
    findings: tuple[Finding, ...]


def checked_file(path: str, text: str, edits: Iterable[Edit]) -> CheckedFile:
    """Returns the typos that edits correct in the text of a file; the byte order mark is in no column."""
    starts = [len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0]
    starts += (match.end() for match in re.finditer("\n", text))

    def finding(edit: Edit) -> Finding:
        start, end = edit.start, edit.end
        line = max(1, bisect_right(starts, start))
        column = start - starts[line - 1] + 1
        alternatives = tuple(choice.replacement for choice in edit.alternatives)
        return Finding(path, line, column, start, end, text[start:end], edit.replacement, edit.confidence, alternatives)

    return CheckedFile(path, text, tuple(map(finding, edits)))


def report(format: str, files: Iterable[CheckedFile], colour: bool = False) -> Iterator[str]:
    """Yields the parts of a report, one of ``REPORTS``, in order; only ``sarif`` waits for the last file.

    In ``text`` and ``diff``, names that are not UTF-8 have surrogate escapes, and line ends are those of the files: to
    write them, ``newline=""`` and ``errors="surrogateescape"`` are needed.

    colour: whether ``text`` has the places of typos in bold
    """
    return text_lines(files, colour) if format == "text" else REPORTS[format](files)


def typos(files: Iterable[CheckedFile]) -> Iterator[Finding]:
    return (finding for file in files for finding in file.findings)


def message(finding: Finding) -> str:
    """Returns the message that reports have for a finding.

    >>> message(Finding("a.md", 1, 1, 0, 3, "teh", "the", 0.976))
    '"teh" -> "the" (0.98)'
    """
    return f'"{visible(finding.original)}" -> "{visible(finding.replacement)}" ({finding.confidence:.2f})'


# ---- text, json, github ----------------------------------------------------------------------------------------------


def text_lines(files: Iterable[CheckedFile], colour: bool = False) -> Iterator[str]:
    bold, reset = (BOLD, RESET) if colour else ("", "")
    for finding in typos(files):
        # GitHub takes a line that begins with :: or ## for a command
        prefix = "./" if finding.path.lstrip().startswith((":", "#")) else ""
        place = f"{prefix}{visible(finding.path)}:{finding.line}:{finding.column}"
        yield f"{bold}{place}{reset}: {message(finding)}\n"


def json_lines(files: Iterable[CheckedFile]) -> Iterator[str]:
    for finding in typos(files):
        entries = finding._replace(confidence=round(finding.confidence, JSON_DIGITS))._asdict()
        line = json.dumps(entries, ensure_ascii=False)
        yield SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", line) + "\n"


def github_commands(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yields the workflow commands that GitHub shows beside the lines of a pull request.

    >>> print(*github_commands([checked_file("a,b.md", "95% teh", [Edit(4, 7, "the")])]), end="")
    ::warning file=a%2Cb.md,line=1,col=5,endColumn=8,title=typo::"teh" -> "the" (1.00)
    """
    for finding in typos(files):
        end = finding.column + len(finding.original)
        path = SURROGATE.sub("\ufffd", finding.path)
        place = f"file={escaped(path, ':,')},line={finding.line},col={finding.column},endColumn={end}"
        yield f"::warning {place},title=typo::{escaped(message(finding))}\n"


def escaped(text: str, more: str = "") -> str:
    """Returns a value of a workflow command; properties escape ``more``."""
    return re.sub(f"[%\r\n{more}]", lambda match: f"%{ord(match[0]):02X}", text)


# ---- sarif -----------------------------------------------------------------------------------------------------------


def sarif_log(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yields a log of SARIF 2.1.0 with one run."""
    rule = {"id": "typo", "shortDescription": {"text": "A word may be misspelled."}}
    driver = {"name": "lev-plugins", "version": __version__, "rules": [rule]}
    results = [result for file in files for result in sarif_results(file)]
    run = {"tool": {"driver": driver}, "columnKind": "utf16CodeUnits", "results": results}
    yield json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def sarif_results(file: CheckedFile) -> Iterator[dict[str, Any]]:
    """Yields the typos of a file as SARIF has them: columns count UTF-16, fingerprints survive that lines move."""
    artifact = {"uri": quote(os.fsencode(file.path.replace(os.sep, "/")))}
    astral = [match.start() for match in re.finditer("[\U00010000-\U0010ffff]", file.text)]  # two units each
    repeats: Counter[str] = Counter()
    for finding in file.findings:
        line_start = finding.start - finding.column + 1
        start, end = (
            place - line_start + 1 + bisect_left(astral, place) - bisect_left(astral, line_start)
            for place in (finding.start, finding.end)
        )
        region = {"startLine": finding.line, "startColumn": start, "endLine": finding.line, "endColumn": end}
        left = file.text[max(line_start, finding.start - IDENTITY_CHARS) : finding.start].lstrip()
        right = file.text[finding.end : finding.end + IDENTITY_CHARS].partition("\n")[0].rstrip()
        identity = "\0".join((left, finding.original, right, finding.replacement))
        repeats[identity] += 1
        fingerprint = hashlib.sha256(f"{identity}\0{repeats[identity]}".encode()).hexdigest()
        place = {"artifactLocation": artifact, "region": region}
        replacement = {"deletedRegion": region, "insertedContent": {"text": finding.replacement}}
        yield {
            "ruleId": "typo",
            "level": "warning",
            "rank": round(100 * finding.confidence, JSON_DIGITS),
            "message": {"text": message(finding)},
            "locations": [{"physicalLocation": place}],
            "partialFingerprints": {"typo/v1": fingerprint},
            "fixes": [{"artifactChanges": [{"artifactLocation": artifact, "replacements": [replacement]}]}],
        }


# ---- diff ------------------------------------------------------------------------------------------------------------


def unified_diff(files: Iterable[CheckedFile]) -> Iterator[str]:
    """Yields a unified diff for ``git apply`` or ``patch -p1`` in the current folder."""
    for file in files:
        if file.findings:
            yield f"--- {name_in_diff('a', file.path)}\n+++ {name_in_diff('b', file.path)}\n"
            yield from hunks(file)


def name_in_diff(side: str, path: str) -> str:
    r"""Returns a path as git writes it: quoted like a string of C if need be, and with a tab after one with blanks.

    >>> name_in_diff("a", "b.md"), name_in_diff("a", "b c"), name_in_diff("a", 'b"c')
    ('a/b.md', 'a/b c\t', '"a/b\\042c"')
    """
    relative = os.path.relpath(path) if os.path.isabs(path) else path  # git apply takes no absolute paths
    name = f"{side}/{relative.replace(os.sep, '/')}"
    if NOT_IN_NAMES.search(name):
        name = NOT_IN_NAMES.sub(lambda match: f"\\{ord(match[0]):03o}", name)
        return f'"{name}"'
    return f"{name}\t" if " " in name else name


def hunks(file: CheckedFile) -> Iterator[str]:
    """Yields the changes of a file with the lines around them; no change adds or removes a line."""
    lines = LINE.findall(file.text)
    starts = [0, *accumulate(map(len, lines))]
    changed: dict[int, str] = {}
    for line, findings in groupby(file.findings, key=lambda finding: finding.line):
        start = starts[line - 1]
        edits = [Edit(finding.start - start, finding.end - start, finding.replacement) for finding in findings]
        changed[line - 1] = apply(lines[line - 1], edits)
    windows = (Span(max(0, i - CONTEXT_LINES), min(len(lines), i + CONTEXT_LINES + 1)) for i in changed)
    for start, end in merge_spans(windows):
        yield f"@@ -{start + 1},{end - start} +{start + 1},{end - start} @@\n"
        for i in range(start, end):
            line = complete(lines[i])
            yield f"-{line}+{complete(changed[i])}" if i in changed else f" {line}"


def complete(line: str) -> str:
    """Ends a line of a diff: the last line of a file may have no line feed."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


REPORTS: dict[str, Callable[[Iterable[CheckedFile]], Iterator[str]]] = {
    "text": text_lines,
    "json": json_lines,
    "github": github_commands,
    "sarif": sarif_log,
    "diff": unified_diff,
}
