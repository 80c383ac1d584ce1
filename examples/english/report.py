"""What the editor and its peers do to clean text and to the same text with typos: a table.

    python examples/english/report.py OUT

OUT/test/SYSTEM/KIND.{clean,typos}.json are what ``lev-plugins score harm --json`` says of each.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.errors import require

OTHERS = ("SymSpell", "careful-SymSpell", "Harper", "careful-Harper", "hunspell", "aspell")
REPAIRED = "% of typos repaired"


def cell(folder: Path, kind: str) -> str:
    """Words broken of 1,000 in clean text, and the share of the typos that are repaired."""
    clean, typos = (
        json.loads((folder / f"{kind}.{side}.json").read_text("utf-8"))["system"] for side in ("clean", "typos")
    )
    return f"{clean['score']:.1f} / {typos[REPAIRED]:.0f} %"


def table(systems: list[Path]) -> list[str]:
    kinds = sorted({path.name.split(".")[0] for folder in systems for path in folder.glob("*.clean.json")})
    require(bool(kinds), "there is nothing to report: give TEST, a folder with KIND.clean and KIND.typos")
    rows = [["broken of 1,000 / repaired", *kinds], ["---"] * (len(kinds) + 1)]
    rows += [[folder.name, *(cell(folder, kind) for kind in kinds)] for folder in systems]
    absent = [name for name in OTHERS if name not in {folder.name for folder in systems}]
    rows += [[name, *["not installed"] * len(kinds)] for name in absent]
    return [f"| {' | '.join(row)} |" for row in rows]


def run(args: argparse.Namespace) -> None:
    print("\n".join(table(sorted(path for path in (args.out / "test").iterdir() if path.is_dir()))))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
