#!/usr/bin/env python3
"""``python bench/same_edits.py``: do graphs answer as torch does? For each kind of small model, or for FOLDERs of them.

One JSON object a line: the kind, how many lines were answered, how many alike, and the first that were not.
"""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import lev_plugins
from bench.light import BATCH, without_graphs
from lev_plugins import model_folder, registration  # noqa: F401  small models are built by name
from lev_plugins.cli import main as cli
from lev_plugins.inference.light import TOGETHER
from lev_plugins.text.edited import Edited
from lev_plugins.text.lines import read_lines
from tests.systems import SYSTEMS

SHOWN = 5
ROUNDED = 1.5e-4  # scores of regressions have four digits


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", metavar="FOLDER", type=Path, help="from lev-plugins export --onnx")
    parser.add_argument("--text", type=Path, help="lines for FOLDERs; small models get what they know, at random")
    parser.add_argument("--lines", type=int, default=5000, help="(default: 5000)")
    parser.add_argument("--kinds", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="of small models")
    args = parser.parse_args(words)
    if args.folders and args.text is None:
        parser.error("a FOLDER needs --text")
    for folder in args.folders:
        lines = [line for _, line in zip(range(args.lines), read_lines(args.text), strict=False)]
        with tempfile.TemporaryDirectory() as place:
            tell(folder.name, lines, without_graphs(folder, Path(place)), folder)
    for kind in args.kinds if not args.folders else ():
        with tempfile.TemporaryDirectory() as place:
            system, folder = SYSTEMS[kind](Path(place)), Path(place, "out")
            cli.main(["export", str(system.checkpoint), str(folder), "--onnx", *system.flags])
            known, draw = [word for text in system.texts for word in text.split()], random.Random(1)
            most = 20 if system.edits else 10  # words; a labeller refuses long texts
            lines = [" ".join(draw.choices(known, k=draw.randint(1, most))) for _ in range(args.lines)]
            tell(kind, lines, without_graphs(folder, Path(place)), folder)


def tell(kind: str, lines: list[str], *folders: Path) -> None:
    # the longest text of a batch limits what is written for all of them
    alike = {"max_tokens": TOGETHER} if model_folder.described(folders[0]).kind == model_folder.EDITOR else {}
    theirs, ours = (list(answers(lev_plugins.load(folder, **alike), lines)) for folder in folders)
    other = [row for row in zip(lines, theirs, ours, strict=True) if not same(*row[1:])]
    found = {"kind": kind, "lines": len(lines), "equal": len(lines) - len(other), "others": other[:SHOWN]}
    sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def same(one: Any, other: Any) -> bool:
    return abs(one - other) < ROUNDED if isinstance(one, float) else one == other


def answers(model: Any, lines: list[str]) -> Iterator[Any]:
    """Edits without confidences, labels without scores, or a score, of four digits."""
    for first in range(0, len(lines), BATCH):
        some = lines[first : first + BATCH]
        for one in model.edit(some) if hasattr(model, "edit") else model.label(some):
            if isinstance(one, Edited):
                yield [(edit.start, edit.end, edit.replacement) for edit in one.edits]
            else:
                yield next(one[name] for name in ("label", "labels", "score") if name in one)


if __name__ == "__main__":
    main()
