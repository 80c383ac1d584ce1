"""The results of a run, as a page (OUT/report.md) and as JSON (OUT/report.json).

    python report.py OUT

The sets of which something has been run; a system without files is marked as not yet run.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import NOT_RUN, finish, machine, minutes
from lev_plugins.errors import UserError

SETS = {
    "sst2": ("SST-2, sentiment", ["accuracy", "f1"]),
    "mrpc": ("MRPC, paraphrases", ["f1", "accuracy"]),
    "emotions": ("GoEmotions, 28 emotions", ["micro_f1", "macro_f1", "rp_at_5", "ndcg_at_5"]),
    "hter": ("MLQE-PE, edit rate of a translation, as a number", ["pearson", "spearman"]),
    "hter21": ("... as one of 21 classes", ["pearson", "spearman"]),
    "pos": ("UD English EWT, universal tags", ["tag_accuracy", "macro_f1"]),
}


def systems(out: Path, name: str) -> dict[str, dict[str, Any] | None]:
    baselines = read(out / f"baselines_{name}" / "scores.json") or {}
    found: dict[str, dict[str, Any] | None] = {
        "the mean" if name == "hter" else "most frequent label": baselines.get("majority"),
        "linear, bag of words": baselines.get("linear"),
    }
    variants = {"EncT5": name}
    if name == "emotions":
        variants = {"EncT5, one latent per label": name, "EncT5, one latent": f"{name}_one"}
    variants["EncT5, spelling-aware words"] = f"{name}_spelled"
    variants["EncT5, pre-trained encoder"] = f"{name}_pretrained"
    for title, stage in variants.items():
        scored = read(out / f"test_{stage}" / "scores.json")
        found[title] = scored and {**scored, "minutes": minutes(out / f"train_{stage}" / "log")}
    return found


def read(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged ({error}): remove {path.parent} and run again") from error


def frequency_scores(scored: dict[str, Any]) -> dict[str, float]:
    """Scores of the labels that are frequent, rare (few) or new (zero) in the training text.

    >>> frequency_scores({"by_frequency": {"frequent": {"rp_at_5": 81.2}, "few": {"rp_at_5": 70.1}}})
    {'frequent rp_at_5': 81.2, 'few rp_at_5': 70.1}
    """
    groups = scored.get("by_frequency", {})
    if groups.keys() == {"frequent"}:  # all labels, whose scores are in the other columns
        return {}
    return {f"{group} {name}": score for group, scores in groups.items() for name, score in scores.items()}


def rows(title: str, found: dict[str, Any] | None, names: list[str]) -> list[str]:
    """
    >>> rows("linear", {"scores": {"": {"f1": 81.234}}, "minutes": 2.5}, ["f1"])
    ['| linear | 81.2 | 2.5 | |']
    >>> rows("EncT5", None, ["f1"])
    ['| EncT5 | not yet run | | |']
    """
    if found is None:
        return [f"| {title} | {NOT_RUN} |" + " |" * (len(names) + 1)]
    lines = []
    for remark, scores in found["scores"].items():
        known = scores if remark else scores | frequency_scores(found)  # which thresholds do not change
        cells = [f"{known[name]:.1f}" if name in known else "" for name in names]
        took = "" if remark or found.get("minutes") is None else f"{found['minutes']:g}"
        speed = f"{found['examples'] / found['seconds']:,.0f}" if not remark and "seconds" in found else ""
        lines.append(" ".join(f"| {cell}" if cell else "|" for cell in [title, *cells, took, speed]) + " |")
        if remark:
            lines[-1] = lines[-1].replace(f"| {title} |", f"| ... {remark} |", 1)
    return lines


def page(found: dict[str, dict[str, Any]]) -> str:
    lines = []
    for name, each in found.items():
        title, names = SETS[name]
        names = [*names, *dict.fromkeys(column for one in each.values() for column in frequency_scores(one or {}))]
        lines += [
            f"{title}:",
            "",
            f"| | {' | '.join(names)} | minutes of training | examples/s |",
            "|---" * (len(names) + 3) + "|",
        ]
        for system, scored in each.items():
            lines += rows(system, scored, names)
        lines.append("")
    return "\n".join([*lines, f"In per cent. {machine()}."]) + "\n"


def run(args: argparse.Namespace) -> None:
    found = {name: each for name in SETS if any((each := systems(args.out, name)).values())}
    (args.out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (args.out / "report.md").write_text(page(found), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
