"""English sentences from the docstrings of installed packages, split into train, valid and test.

    python examples/english/corpus.py FOLDER [--sentences N] [--packages numpy,scipy]

writes FOLDER/{train,valid,test}.txt. Files are parsed, not imported. The order and the split depend only on the
texts, so the same packages give the same corpus.
"""

import argparse
import ast
import hashlib
import importlib.util
import re
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

SKIPPED = {"site-packages", "dist-packages", "test", "tests"}
WORDS = range(4, 26)
HELD_OUT = {"test": range(0, 2), "valid": range(2, 3)}  # hundredths of the sentences; the rest is for training

PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?=[-*+>]|\d+[.)]\s)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
PLAIN = re.compile(r"[A-Z][A-Za-z ,;:'()-]*[.]")  # no digits, quotes, underscores, operators: prose
CODE = re.compile(r"[a-z][A-Z]|[A-Za-z]\(|\(\)|::|--|  |\b[A-Z]{4,}\b")  # camelCase, calls, directives, LOUD
UNFINISHED = re.compile(r"\b(?:e\.g|i\.e|etc|cf|vs|et al|[A-Z])\.$")


def is_prose(sentence: str) -> bool:
    """
    >>> [is_prose(s) for s in ("Return the mean of the values.", "See numpy.mean for x.", "Call f(x) with the mean.")]
    [True, False, False]
    """
    plain = PLAIN.fullmatch(sentence) and not CODE.search(sentence) and not UNFINISHED.search(sentence)
    return bool(plain) and len(sentence.split()) in WORDS


def sentences(docstring: str) -> Iterator[str]:
    """
    >>> list(sentences("Find the roots. They are sorted\\n   in place here.\\n\\n>>> x = 1"))
    ['They are sorted in place here.']
    >>> list(sentences("- Find all of the roots.\\n- Sort all of the roots."))
    ['Find all of the roots.', 'Sort all of the roots.']
    """
    for paragraph in PARAGRAPH.split(docstring):
        text = " ".join(paragraph.replace("`", "").split()).lstrip("-*+ ")
        yield from filter(is_prose, SENTENCE_END.split(text))


def key(sentence: str) -> str:
    """The letters of a sentence: sentences that differ only in case and punctuation have the same key.

    >>> key("Return the (sorted) values.")
    'return the sorted values'
    """
    return " ".join(re.sub("[^a-z]", " ", sentence.lower()).split())


def split_of(sentence: str) -> str:
    """Uses a hash of the words, so that the split does not depend on the machine or on the rest of the corpus.

    >>> split_of("Return the (sorted) values.") == split_of("Return the sorted values.")
    True
    """
    hundredth = int(hashlib.sha256(key(sentence).encode()).hexdigest(), 16) % 100
    return next((split for split, share in HELD_OUT.items() if hundredth in share), "train")


def docstrings(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError):
        return  # test data that is meant to be broken
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def folders(packages: list[str]) -> Iterator[Path]:
    """The folders of the standard library and of the packages; nothing is imported.

    >>> [folder.name for folder in folders(["email"])][1:]
    ['email']
    """
    yield Path(sysconfig.get_paths()["stdlib"])
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            sys.exit(f"corpus.py: error: there is no package {package}: install it, or leave it out of --packages")
        yield Path(spec.submodule_search_locations[0])


def python_files(folder: Path) -> list[Path]:
    """Lists files in a fixed order, without tests, which explain little, and packages inside the standard library."""
    files = (path.relative_to(folder) for path in folder.rglob("*.py"))
    return [folder / path for path in sorted(files) if SKIPPED.isdisjoint(path.parts)]


def unique(texts: Iterable[str]) -> Iterator[str]:
    """
    >>> list(unique(["Sort the values.", "Sort the (values).", "Keep the values."]))
    ['Sort the values.', 'Keep the values.']
    """
    seen: set[str] = set()
    for text in texts:
        if key(text) not in seen:
            seen.add(key(text))
            yield text


def all_sentences(packages: list[str]) -> Iterator[str]:
    for folder in folders(packages):
        for path in python_files(folder):
            for docstring in docstrings(path):
                yield from sentences(docstring)


def ordered(texts: list[str]) -> list[str]:
    """Orders sentences by a hash, so that the first N are a fair sample of all packages."""
    return sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sentences", type=int, default=0, help="keep the first N of each split (0: all)")
    parser.add_argument(
        "--packages", default="numpy,scipy,sklearn,torch", help="packages to read beside the standard library"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)  # old files have odd escapes
    args.folder.mkdir(parents=True, exist_ok=True)
    splits: dict[str, list[str]] = {"train": [], **{split: [] for split in HELD_OUT}}
    for sentence in unique(all_sentences([name for name in args.packages.split(",") if name])):
        splits[split_of(sentence)].append(sentence)
    splits = {split: ordered(texts)[: args.sentences or None] for split, texts in splits.items()}
    for split, texts in splits.items():
        (args.folder / f"{split}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    counts = ", ".join(f"{len(texts):,} {split}" for split, texts in splits.items())
    words = sum(len(text.split()) for texts in splits.values() for text in texts)
    print(f"{counts} sentences; {words:,} words")


if __name__ == "__main__":
    main()
