"""Print the GLEU of a run as a table: ``python report.py OUT``."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import NOT_RUN, finish
from lev_plugins.errors import require

KINDS = 15  # the most frequent ones
SYSTEMS = {
    "SymSpell": "SymSpell",
    "careful-SymSpell": "SymSpell, for plain words alone",
    "Harper": "Harper, first suggestion",
    "careful-Harper": "Harper, first suggestion, misspellings of plain words alone",
    "hunspell": "Hunspell, first suggestion",
    "aspell": "Aspell, first suggestion",
    "plain": "corrected",
    "careful": "corrected, with the threshold that validation chose",
}


def row(title: str, result: dict[str, Any] | None) -> str:
    """
    >>> row("corrected", {"score": 0.41234, "interval": [0.4, 0.42]})
    '| corrected | 0.4123 | 0.4000 - 0.4200 |'
    """
    if result is None:
        return f"| {title} | {NOT_RUN} | |"
    low, high = result["interval"]
    return f"| {title} | {result['score']:.4f} | {low:.4f} - {high:.4f} |"


def against_symspell(found: dict[str, float]) -> str:
    """
    >>> against_symspell({"difference": 0.012, "low": 0.004, "high": 0.02, "bootstrap_p": 0.001})
    'With the threshold, against SymSpell: +0.0120 (+0.0040 to +0.0200), p = 0.001 by paired bootstrap.'
    """
    better, low, high = (f"{found[name]:+.4f}" for name in ("difference", "low", "high"))
    p = f"p = {found['bootstrap_p']:.2g} by paired bootstrap"
    return f"With the threshold, against SymSpell: {better} ({low} to {high}), {p}."


def edits(title: str, found: dict[str, dict[str, Any]]) -> list[str]:
    """
    >>> edits("dev, m2", {"SymSpell": {"precision": 0.09, "recall": 0.25, "score": 0.1}})[3:]
    ['| SymSpell | 9.0 | 25.0 | 10.0 |']
    """
    rows = (
        f"| {name} | {' | '.join(f'{100 * result[of]:.1f}' for of in ('precision', 'recall', 'score'))} |"
        for name, result in found.items()
    )
    return ["", f"| {title} | precision | recall | F0.5 |", "|---|---|---|---|", *rows]


def by_kind(counts: dict[str, Any]) -> list[str]:
    """
    >>> by_kind({"DET: edits": 8, "DET: found": 2})[3:]
    ['| DET | 8 | 25.0 |']
    """
    kinds = [name.removesuffix(": edits") for name in counts if name.endswith(": edits")]
    rows = ((kind, counts[f"{kind}: edits"], counts[f"{kind}: found"]) for kind in kinds[:KINDS])
    shown = [f"| {kind} | {number:,} | {100 * found / number:.1f} |" for kind, number, found in rows]
    return ["", "| kind | edits | found, % (corrected) |", "|---|---|---|", *shown]


def page(out: Path) -> str:
    scores = {
        name: json.loads(path.read_text("utf-8")) for name in SYSTEMS if (path := out / f"test/{name}.json").exists()
    }
    untouched = next((result["do_nothing"] for result in scores.values()), None)
    lines = ["| | GLEU | 95 % |", "|---|---|---|", row("the source, untouched", untouched)]
    lines += [row(title, scores[name]["system"] if name in scores else None) for name, title in SYSTEMS.items()]
    if "comparison" in (careful := scores.get("careful", {})):
        lines += ["", against_symspell(careful["comparison"])]
    if (path := out / "sweep/best").exists():
        lines += ["", f"{path.read_text('utf-8').strip()} had the best GLEU on the validation set."]
    for folder in sorted(out.glob("test_m2_*")):
        for scorer in ("m2", "errant"):
            found = {
                title: json.loads(path.read_text("utf-8"))["system"]
                for name, title in SYSTEMS.items()
                if (path := folder / f"{name}.{scorer}.json").exists()
            }
            lines += edits(f"{folder.name.removeprefix('test_m2_')}, {scorer}", found) if found else []
            lines += by_kind(found["corrected"]) if scorer == "m2" and found else []
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    require(args.out.is_dir(), f"{args.out} is not a folder: give the OUT of the Makefile")
    sys.stdout.write(page(args.out))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
