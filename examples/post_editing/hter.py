"""Does sentence TER of the drafts agree with the HTER that was published beside them?

python hter.py --draft valid.mt --post-edit valid.pe --hter valid.hter
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from sacrebleu.metrics import TER


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def compare(drafts: list[str], edited: list[str], published: list[float], case: bool) -> dict[str, float]:
    metric = TER(case_sensitive=case)
    ours = np.array([metric.sentence_score(d, [e]).score / 100 for d, e in zip(drafts, edited, strict=True)]).clip(
        max=1.0
    )  # the published rates are cut at 1
    theirs = np.array(published)
    return {
        "correlation": float(np.corrcoef(ours, theirs)[0, 1]),
        "mean difference": float((ours - theirs).mean()),
        "mean absolute difference": float(np.abs(ours - theirs).mean()),
        "share that agrees to 0.001": float((np.abs(ours - theirs) < 0.001).mean()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("draft", "post-edit", "hter"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    drafts, edited, published = (read_lines(getattr(args, name)) for name in ("draft", "post_edit", "hter"))
    if not len(drafts) == len(edited) == len(published):
        sys.stderr.write(f"hter.py: error: {len(drafts)} drafts, {len(edited)} post-edits, {len(published)} rates\n")
        return 2
    for case in (True, False):
        found = compare(drafts, edited, list(map(float, published)), case)
        print(f"case {'matters' if case else 'does not matter'}: ", end="")
        print(", ".join(f"{name} {value:.4f}" for name, value in found.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
