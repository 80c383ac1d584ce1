"""Print the scores of all systems as a table: ``python table.py OUT/test``, with a folder of JSON files per system.

The last column has the words broken in the held-out text and in each other clean text, in the order of their names.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines

HEAD = ["", "F0.5", "GLEU", "words right, %", "repaired, %", "right words broken, of 1,000"]


def cells(folder: Path) -> list[str]:
    m2, gleu, harm, *broken = (
        json.loads("\n".join(read_lines(path)))["system"]
        for path in (*(folder / f"{name}.json" for name in ("m2", "gleu", "harm")), *sorted(folder.glob("*.harm.json")))
    )
    shares = [f"{harm[name]:.1f}" for name in ("% of words right", "% of typos repaired")]
    scores = [f"{m2['score']:.4f}", f"{gleu['score']:.4f}", *shares]
    return [folder.name, *scores, " ".join(f"{text['score']:.1f}" for text in broken)]


def run(args: argparse.Namespace) -> None:
    for row in [HEAD, ["---"] * len(HEAD), *map(cells, sorted(filter(Path.is_dir, args.folder.iterdir())))]:
        print(f"| {' | '.join(row)} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
