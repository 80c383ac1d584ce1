"""The results of a run, as a page (OUT/report.md) and as JSON (OUT/report.json).

    python report.py OUT --draft OUT/drafts/test.draft --reference OUT/drafts/test.de

BLEU and case-sensitive TER are sacrebleu's, on words joined from their pieces. "Do nothing" is the draft itself:
a system with a lower score does harm. A system without files is marked as not yet run.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from sacrebleu.metrics import BLEU, TER

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import logs
from examples.shared import NOT_RUN, finish, machine, minutes, read_lines

# the folder of the test and its title, in the order of the page; as in Table 3 and Figure 5 of the paper
SYSTEMS = {
    "test_teacher": "autoregressive translator, without the draft",
    "test_autoregressive": "autoregressive post-editor",
    "test_scratch": "LevT, from scratch",
    "test_scratch_unbiased": "... without a bias",
    "test_zero_shot": "LevT, zero-shot (a translator given drafts)",
    "test_zero_shot_unbiased": "... without a bias",
    "test_finetuned": "LevT, fine-tuned (the translator, then triples)",
    "test_finetuned_unbiased": "... without a bias",
}
WHEEL = {
    "test_translator": "translator, from nothing",
    "test_translator_delete": "... oracle deletes",
    "test_translator_both": "... oracle deletes and counts",
    "test_finetuned": "fine-tuned, from the draft",
    "test_finetuned_delete": "... oracle deletes",
    "test_finetuned_both": "... oracle deletes and counts",
}
JUDGES = {"scratch": "LevT, from scratch", "zero_shot": "LevT, zero-shot", "finetuned": "LevT, fine-tuned"}
TRAININGS = ("weak", "autoregressive", "scratch", "translator", "finetuned")


def scores(hypotheses: list[str], references: list[str]) -> dict[str, float]:
    """
    >>> scores(["a b c d e"], ["a b c d e"])
    {'BLEU': 100.0, 'TER': 0.0}
    """
    bleu = BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score
    ter = TER(case_sensitive=True).corpus_score(hypotheses, [references]).score
    return {"BLEU": round(bleu, 2), "TER": round(ter, 2)}


def system(name: str, out: Path, references: list[str]) -> dict[str, Any] | None:
    log = out / name / "test.out"
    if not log.is_file():
        return None
    lines = logs.read_log(log)
    hypotheses = logs.in_order(logs.hypotheses(lines), len(references))
    result: dict[str, Any] = {"scores": scores(hypotheses, references)}
    if steps := logs.steps(lines):
        result["iterations"] = round(sum(steps.values()) / len(steps), 2)
        dials = out / re.sub(r"^test_(.*?)(_delete|_both|_unbiased)?$", r"dials_\1", name)
        unbiased = name.endswith("_unbiased")
        chosen = f"{read_lines(dials / 'gamma')[0]},0" if unbiased else read_lines(dials / "best")[0]
        result["gamma"], result["keep_bias"] = map(float, chosen.split(","))
    return result


def row(title: str, found: dict[str, Any] | None) -> str:
    if found is None:
        return f"| {title} | {NOT_RUN} | | | | |"
    cells = [f"{found['scores']['BLEU']:.2f}", f"{found['scores']['TER']:.2f}"]
    if "iterations" in found:
        cells += [f"{found['iterations']:.2f}", f"{found['gamma']:g}", f"{found['keep_bias']:g}"]
    return f"| {' | '.join([title, *cells, *[''] * (5 - len(cells))])} |"


def table(titles: dict[str, str], systems: dict[str, Any]) -> list[str]:
    titles = {name: title for name, title in titles.items() if name != "test_teacher" or systems[name]}
    head = ["| | BLEU | TER | iterations | gamma | keep-bias |", "|---|---|---|---|---|---|"]
    return [*head, row("do nothing", systems["do_nothing"]), *(row(t, systems[name]) for name, t in titles.items())]


def quality(out: Path) -> dict[str, Any]:
    """What quality.py found, by editor."""
    files = {name: out / f"quality_{name}" / "quality.json" for name in JUDGES}
    return {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.is_file()}


def most_frequent(bad: float) -> tuple[str, dict[str, float]]:
    """The title and the scores of giving all words the more frequent tag; ``bad``: the share of the bad words.

    >>> most_frequent(0.25)
    ('no word is bad', {'matthews': 0.0, 'f1_bad': 0.0, 'f1_ok': 0.8571428571428571})
    """
    title, f1, share = ("every word is bad", "f1_bad", bad) if bad > 0.5 else ("no word is bad", "f1_ok", 1 - bad)
    return title, {"matthews": 0.0, "f1_bad": 0.0, "f1_ok": 0.0, f1: 2 * share / (1 + share)}


def quality_table(found: dict[str, Any]) -> list[str]:
    """Which words of the drafts are bad, by the deletion policies and by simpler ways."""
    if not found:
        return []
    first = next(iter(found.values()))
    official = ", by the official labels" if first.get("labels") == "official" else ""
    title, constant = most_frequent(first["bad"])
    rows = {title: constant, "how often it was bad": first["word rates"]}
    rows |= {JUDGES[name]: each["policy"] for name, each in found.items()}
    names = ("matthews", "f1_bad", "f1_ok")
    return [
        f"Which words of the drafts are bad ({100 * first['bad']:.1f} % of {first['words']:,}{official}), by the "
        "deletion policies; cuts chosen on valid:",
        "",
        "| | Matthews correlation | F1 of bad words | F1 of the others |",
        "|---|---|---|---|",
        *(f"| {title} | {' | '.join(f'{each[name]:.3f}' for name in names)} |" for title, each in rows.items()),
        "",
    ]


def page(found: dict[str, Any]) -> str:
    took = ", ".join(f"{name} {NOT_RUN if m is None else f'{m:g}'}" for name, m in found["minutes"].items())
    lines = [
        *table(SYSTEMS, found["systems"]),
        "",
        "With some actions taken from the reference by an oracle (Figure 5 of the paper):",
        "",
        *table(WHEEL, found["systems"]),
        "",
        *quality_table(found["quality"]),
        f"Minutes of training, validation included: {took}. {found['machine']}.",
    ]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    references, drafts = read_lines(args.reference), read_lines(args.draft)
    systems: dict[str, Any] = {"do_nothing": {"scores": scores(drafts, references)}}
    systems |= {name: system(name, args.out, references) for name in {**SYSTEMS, **WHEEL}}
    found = {
        "systems": systems,
        "quality": quality(args.out),
        "minutes": {name: minutes(args.out / name / "log") for name in TRAININGS if (args.out / name).is_dir()},
        "machine": machine(),
    }
    (args.out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (args.out / "report.md").write_text(page(found), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    parser.add_argument("--draft", type=Path, required=True, help="the drafts of the test")
    parser.add_argument("--reference", type=Path, required=True, help="the targets of the test")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
