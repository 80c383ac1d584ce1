"""Write EURLEX57K as `paper.mk SET=eurlex57k` reads it: DIR/eurlex/{train,valid,test}.tsv and labels.txt.

python eurlex57k.py DATASET DIR

DATASET is the unpacked set of Chalkidis et al. (2019): train, dev and test, with one file of JSON per document. Its
text is header, recitals and main body, as in the EncT5 paper. The labels are those of all documents: 4,271.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, write_lines
from lev_plugins.errors import UserError, require

PARTS = {"train": "train", "dev": "valid", "test": "test"}
TEXTS = ("header", "recitals", "main_body")


def words(text: Any) -> str:
    """The main body is a list of paragraphs.

    >>> words(["Article 1", "Article 2\\n  is ."])
    'Article 1 Article 2 is .'
    """
    return " ".join((" ".join(text) if isinstance(text, list) else text or "").split())


def row(document: dict[str, Any]) -> tuple[str, list[str]]:
    """
    >>> row({"header": "Rule", "recitals": "Whereas", "main_body": ["A", "B"], "concepts": ["20", "3"]})
    ('Rule Whereas A B', ['20', '3'])
    """
    return " ".join(filter(None, (words(document[name]) for name in TEXTS))), list(map(str, document["concepts"]))


def read(path: Path) -> tuple[str, list[str]]:
    try:
        return row(json.loads(path.read_text("utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is not a document of EURLEX57K, with {', '.join(TEXTS)} and concepts") from error


def run(args: argparse.Namespace) -> None:
    folder, names = args.output / "eurlex", set[str]()
    for given, part in PARTS.items():
        files = sorted((args.dataset / given).glob("*.json"))
        require(bool(files), f"there are no files {args.dataset / given}/*.json: give the folder of the unpacked set")
        rows = list(map(read, files))
        names.update(name for _, labels in rows for name in labels)
        write_lines(folder / f"{part}.tsv", (f"{text}\t{','.join(labels)}" for text, labels in rows))
        sys.stdout.write(f"{part}: {len(rows):,} documents\n")
    write_lines(folder / "labels.txt", sorted(names))
    sys.stdout.write(f"{len(names):,} labels\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", type=Path, metavar="DATASET", help="folder with train, dev and test")
    parser.add_argument("output", type=Path, metavar="DIR", help="the TEXT of paper.mk")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
