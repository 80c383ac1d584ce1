"""Write the paper's sets as pairs or clean text, one text per line: DIR/all.src and DIR/all.tgt, to be split 80-10-10.

    python fetch.py imdb DIR                     50,000 film reviews
    python fetch.py wmt14-en-fr DIR              10,000 sentences of News Commentary v9
    python fetch.py cnn-dailymail DIR            10,000 articles and their highlights
    python fetch.py icdar DIR --from FOLDER      post-OCR sets of ICDAR 2017 and 2019, downloaded and unpacked by hand

The first three are downloaded, or read from a file that you have downloaded: --from FILE. Noise is added later.
"""

import argparse
import io
import json
import re
import sys
import tarfile
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

IMDB = "https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz"
NEWS = "https://www.statmt.org/wmt14/training-parallel-nc-v9.tgz"
ROWS = "https://datasets-server.huggingface.co/rows"  # up to 100 rows per request, as JSON
CNN = {"dataset": "abisee/cnn_dailymail", "config": "3.0.0", "split": "train"}
AT_ONCE = 100
SUBSET = 10_000  # sentences or articles that the paper uses
TAG = re.compile(r"<br\s*/?>")
# a text of ICDAR: what the scanner read, the same with @ for gaps, and the truth with @ for gaps and # for unknown
ICDAR = re.compile(r"^\[(OCR_toInput|OCR_aligned|\s*GS_aligned)\] ?(.*)$")

Pairs = Iterator[tuple[str, str]]


class FetchError(ValueError):
    """The set is not available; the message says why and what to do."""


def open_archive(name: str, given: Path | None) -> tarfile.TarFile:
    if given:
        return tarfile.open(given)
    try:
        with urllib.request.urlopen(name, timeout=60) as answer:
            return tarfile.open(fileobj=io.BytesIO(answer.read()))
    except OSError as error:
        raise FetchError(
            f"{name} cannot be downloaded ({error}): download it on another machine, then give --from FILE"
        ) from error


def members(archive: tarfile.TarFile, pattern: str) -> Iterator[tuple[str, str]]:
    for member in archive:
        content = archive.extractfile(member) if member.isfile() and re.search(pattern, member.name) else None
        if content:
            yield member.name, content.read().decode("utf-8")


def imdb(given: Path | None) -> Pairs:
    """Clean text on both sides."""
    with open_archive(IMDB, given) as archive:
        for _, text in members(archive, r"/(train|test)/(pos|neg)/\d+_\d+\.txt$"):
            review = TAG.sub(" ", text)
            yield review, review


def wmt14(given: Path | None) -> Pairs:
    with open_archive(NEWS, given) as archive:
        sides = dict(members(archive, r"news-commentary-v9\.fr-en\.(en|fr)$"))
    if len(sides) != 2:
        raise FetchError(
            "the archive must contain news-commentary-v9.fr-en.en and .fr: give training-parallel-nc-v9.tgz"
        )
    english, french = (next(text for name, text in sides.items() if name.endswith(end)) for end in (".en", ".fr"))
    return islice(zip(english.split("\n"), french.split("\n"), strict=True), SUBSET)


def cnn_dailymail(given: Path | None) -> Pairs:
    for row in islice(json_lines(given) if given else rows(CNN), SUBSET):
        yield row["article"], row["highlights"]


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def rows(query: dict[str, str]) -> Iterator[dict[str, Any]]:
    for offset in range(0, SUBSET, AT_ONCE):
        parameters = urllib.parse.urlencode({**query, "offset": offset, "length": AT_ONCE})
        try:
            with urllib.request.urlopen(f"{ROWS}?{parameters}", timeout=60) as answer:
                yield from (entry["row"] for entry in json.load(answer)["rows"])
        except OSError as error:
            raise FetchError(
                f"{ROWS} cannot be reached ({error}): give --from FILE, with one JSON object per line"
            ) from error


def icdar(given: Path | None) -> Pairs:
    if given is None or not given.is_dir():
        raise FetchError("icdar needs --from FOLDER: give the folder of the unpacked sets, with their .txt files")
    files = sorted(path for path in given.rglob("*.txt") if "[OCR_toInput]" in path.read_text("utf-8-sig")[:200])
    if not files:
        raise FetchError(
            f"--from {given} has no .txt file that begins with [OCR_toInput]: give the folder of the unpacked sets"
        )
    for path in files:
        yield from aligned(path.read_text("utf-8-sig"))


def aligned(text: str) -> Pairs:
    """Pairs of scanned and true text. Words whose truth is unknown (#) are left out on both sides, where the alignment
    says which they are; a text without other words is left out.

    >>> list(aligned("[OCR_toInput] Tbe cat\\n[OCR_aligned] Tbe c@at\\n[ GS_aligned] The chat"))
    [('Tbe cat', 'The chat')]
    >>> list(aligned("[OCR_toInput] Tbe c t sat\\n[OCR_aligned] Tbe c t s@at\\n[ GS_aligned] The ### slat"))
    [('Tbe sat', 'The slat')]
    >>> list(aligned("[OCR_toInput] Tbe cat\\n[OCR_aligned] Tbe cat\\n[ GS_aligned] #######"))
    []
    """
    sides = {match[1].strip(): match[2] for line in text.split("\n") if (match := ICDAR.match(line))}
    if len(sides) < 3:
        return
    scan, truth = sides["OCR_aligned"], sides["GS_aligned"]
    if "#" not in truth:
        yield sides["OCR_toInput"], truth.replace("@", "")
    elif len(scan) == len(truth):
        cuts = [place for place, both in enumerate(zip(scan, truth, strict=True)) if both == (" ", " ")]
        parts = [slice(start, end) for start, end in zip([0, *cuts], [*cuts, len(scan)], strict=True)]
        known = [part for part in parts if "#" not in truth[part]]
        pair = ["".join(side[part] for part in known).replace("@", "").strip() for side in (scan, truth)]
        if all(pair):
            yield pair[0], pair[1]


SETS = {"imdb": imdb, "wmt14-en-fr": wmt14, "cnn-dailymail": cnn_dailymail, "icdar": icdar}


def write(pairs: Iterable[tuple[str, str]], folder: Path) -> int:
    """Writes both files, or neither."""
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / f"all.{side}" for side in ("src", "tgt")]
    parts = [name.with_name(f"{name.name}.part") for name in names]
    written = 0
    with parts[0].open("w", encoding="utf-8") as source, parts[1].open("w", encoding="utf-8") as target:
        for pair in pairs:
            written += 1
            for file, side in zip((source, target), pair, strict=True):
                file.write(" ".join(side.split()) + "\n")
    for part, name in zip(parts, names, strict=True):
        part.replace(name)
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("set", choices=list(SETS))
    parser.add_argument("folder", metavar="DIR", type=Path, help="where to write all.src and all.tgt")
    parser.add_argument(
        "--from", dest="given", metavar="FILE", type=Path, help="file or folder that you have downloaded"
    )
    args = parser.parse_args()
    try:
        number = write(SETS[args.set](args.given), args.folder)
    except (FetchError, OSError, tarfile.TarError, ValueError, KeyError) as error:
        sys.stderr.write(f"fetch.py: error: {error}\n")
        return 2
    print(f"{args.folder}: {number:,} pairs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
