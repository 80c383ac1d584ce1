"""Compare the sentence TER of drafts with their published HTER.

python hter.py --draft valid.mt --post-edit valid.pe --hter valid.hter
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from sacrebleu.metrics import TER

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish, read_lines
from lev_plugins.errors import UserError, require


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


def run(args: argparse.Namespace) -> None:
    drafts, edited, published = (read_lines(path) for path in (args.draft, args.post_edit, args.hter))
    require(
        len(drafts) == len(edited) == len(published),
        "--draft, --post-edit and --hter must have the same number of lines, but have "
        f"{len(drafts):,}, {len(edited):,} and {len(published):,}",
    )
    require(len(drafts) > 1, f"--draft {args.draft} must have two lines or more")
    rates = []
    for number, line in enumerate(published, 1):
        try:
            rates.append(float(line))
        except ValueError:
            raise UserError(f"{args.hter}, line {number} must be a number, but is '{line}'") from None
    for case in (True, False):
        agreement = compare(drafts, edited, rates, case)
        print(f"case {'matters' if case else 'does not matter'}: ", end="")
        print(", ".join(f"{name} {value:.4f}" for name, value in agreement.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for name in ("draft", "post-edit", "hter"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
