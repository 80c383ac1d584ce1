"""The results of a run, as a page (OUT/report.md) and as JSON (OUT/report.json).

    python report.py OUT

Word accuracy in per cent, mean and standard deviation over folds. Each training has two candidates, the best checkpoint
and the average of the best ones; accuracy on dev chooses which one is reported on the test.
A system without files is marked as not yet run.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import logs
from examples.shared import NOT_RUN, finish, machine, minutes, read_lines
from lev_plugins.errors import UserError
from lev_plugins.scoring import exact_match

PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")
KINDS = {
    "transformer{}": "Transformer, {} layers",
    "pbd{}": "PBD, {} layers",
    "pbd{}-no-future": "... without the copied future",
    "pbd{}-no-segments": "... without segment embeddings",
    "pbd{}-no-sharing": "... without shared parameters",
    "levt{}": "LevT, {} layers",
}
ENSEMBLES = {
    "pbd2+transformer2": ("PBD and Transformer, 2 layers, as an ensemble", ("pbd2", "transformer2")),
    "pbd2x2": ("PBD, 2 layers, an ensemble of two seeds", ("pbd2", "pbd2-seed2")),
    "pbd2x3": ("PBD, 2 layers, an ensemble of three seeds", ("pbd2", "pbd2-seed2", "pbd2-seed3")),
}
SYSTEMS = {
    **{name.format(depth): title.format(depth) for depth in (2, 4) for name, title in KINDS.items()},
    **{f"pbd2-seed{seed}": f"PBD, 2 layers, seed {seed}" for seed in (2, 3)},
    **{name: title for name, (title, _) in ENSEMBLES.items()},
}
CANDIDATES = ("best", "average")


def accuracy(texts: list[str], references: list[str]) -> float:
    return 100 * exact_match.evaluate(references, texts).score


def decoded(log: Path, references: list[str]) -> list[str]:
    return logs.in_order(logs.hypotheses(logs.read_log(log)), len(references))


def parameters(log: list[str]) -> int | None:
    found = [match[1] for line in log if (match := PARAMETERS.search(line))]
    return int(found[-1].replace(",", "")) if found else None


def chosen(candidates: dict[str, dict[str, float]]) -> str:
    """Chooses by dev alone; takes the average if they are equal.

    >>> chosen({"best": {"valid": 80.0, "test": 79.0}, "average": {"valid": 81.0, "test": 70.0}})
    'average'
    """
    return max(candidates, key=lambda name: (candidates[name]["valid"], name == "average"))


def one_fold(out: Path, fold: str, name: str) -> dict[str, Any] | None:
    folder = out / fold / f"{name}-test"
    if not (folder / "done").is_file():
        return None
    references = {split: read_lines(out / fold / "texts" / f"{split}.tgt") for split in ("valid", "test")}
    candidates = {
        candidate: {
            split: accuracy(decoded(folder / f"{split}.{candidate}", right), right)
            for split, right in references.items()
        }
        for candidate in CANDIDATES
    }
    _, members = ENSEMBLES.get(name, ("", (name,)))
    trained = [out / fold / member / "log" for member in members]
    sizes = [size for log in trained if (size := parameters(read_lines(log)))]
    took = chosen(candidates)
    return {
        **candidates[took],
        "took": took,
        "minutes": sum(minutes(log) or 0.0 for log in trained),
        "parameters": sum(sizes) if len(sizes) == len(trained) else None,
        "all": candidates,
    }


def do_nothing(out: Path, fold: str) -> dict[str, Any]:
    texts = out / fold / "texts"
    return {
        split: accuracy(read_lines(texts / f"{split}.src"), read_lines(texts / f"{split}.tgt"))
        for split in ("valid", "test")
    }


def symspell(out: Path, fold: str) -> dict[str, Any] | None:
    folder, texts = out / fold / "symspell", out / fold / "texts"
    if not (folder / "done").is_file():
        return None
    return {
        split: accuracy(
            read_lines(folder / f"{split}.out"), [word.replace(" ", "") for word in read_lines(texts / f"{split}.tgt")]
        )
        for split in ("valid", "test")
    }


def spread(numbers: list[float]) -> str:
    """
    >>> spread([87.0, 88.0, 89.0]), spread([87.0])
    ('88.0 ± 1.0', '87.0')
    """
    mean = f"{statistics.mean(numbers):.1f}"
    return f"{mean} ± {statistics.stdev(numbers):.1f}" if len(numbers) > 1 else mean


def row(title: str, folds: dict[str, dict[str, Any]]) -> str:
    if not folds:
        return f"| {title} | {NOT_RUN} | | | | |"
    found = list(folds.values())
    size = f"{found[0]['parameters'] / 1e6:.2f} M" if found[0].get("parameters") else ""
    took = f"{statistics.mean(each['minutes'] for each in found):.1f}" if "minutes" in found[0] else ""
    dev, test = (spread([each[split] for each in found]) for split in ("valid", "test"))
    return f"| {title} | {dev} | {test} | {len(found)} | {size} | {took} |"


def page(found: dict[str, Any]) -> str:
    lines = [
        "| word accuracy | dev | test | folds | parameters | minutes |",
        "|---|---|---|---|---|---|",
        row("do nothing", found["do_nothing"]),
        row("SymSpell, the words of the training text", found["symspell"]),
        *(row(title, found["systems"][name]) for name, title in SYSTEMS.items()),
        "",
        f"Mean and standard deviation over folds; minutes are per training, including validation. {found['machine']}.",
    ]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    out = args.out
    folds = sorted(path.parent.parent.name for path in out.glob("fold*/texts/done"))
    if not folds:
        raise UserError(f"{out} has no complete folder fold*/texts: give the OUT of the Makefile")
    found = {
        "do_nothing": {fold: do_nothing(out, fold) for fold in folds},
        "symspell": {fold: numbers for fold in folds if (numbers := symspell(out, fold))},
        "systems": {
            name: {fold: numbers for fold in folds if (numbers := one_fold(out, fold, name))} for name in SYSTEMS
        },
        "machine": machine(),
    }
    (out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (out / "report.md").write_text(page(found), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
