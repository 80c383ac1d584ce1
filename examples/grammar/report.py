"""Print the GLEU of a run as a table: ``python report.py OUT``."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.grammar.dial import dial
from examples.shared import NOT_RUN, finish
from lev_plugins.errors import require

SYSTEMS = {
    "SymSpell": "SymSpell",
    "careful-SymSpell": "SymSpell, for plain words alone",
    "hunspell": "Hunspell, first suggestion",
    "aspell": "Aspell, first suggestion",
    "plain": "corrected",
    "careful": "corrected, with the dial that validation chose",
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
    'With the dial, against SymSpell: +0.0120 (+0.0040 to +0.0200), p = 0.001 by paired bootstrap.'
    """
    better, low, high = (f"{found[name]:+.4f}" for name in ("difference", "low", "high"))
    p = f"p = {found['bootstrap_p']:.2g} by paired bootstrap"
    return f"With the dial, against SymSpell: {better} ({low} to {high}), {p}."


def page(out: Path) -> str:
    scores = {
        name: json.loads(path.read_text("utf-8")) for name in SYSTEMS if (path := out / f"test/{name}.json").exists()
    }
    untouched = next((result["do_nothing"] for result in scores.values()), None)
    lines = ["| | GLEU | 95 % |", "|---|---|---|", row("the source, untouched", untouched)]
    lines += [row(title, scores[name]["system"] if name in scores else None) for name, title in SYSTEMS.items()]
    if "comparison" in (careful := scores.get("careful", {})):
        lines += ["", against_symspell(careful["comparison"])]
    if (path := out / "sweep/sweep.json").exists():
        flags = dial(json.loads(path.read_text("utf-8")))
        lines += ["", f"{flags} had the best F0.5 on the validation set."]
    for folder in sorted(out.glob("test_m2_*")):
        for name, title in SYSTEMS.items():
            for path in sorted(folder.glob(f"{name}.*.txt"), reverse=True):  # by M2, and by ERRANT
                scorer = path.name.split(".")[1]
                found = path.read_text("utf-8").splitlines()[0]
                lines += ["", f"{folder.name.removeprefix('test_m2_')}, {scorer}, {title}: {found}"]
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
