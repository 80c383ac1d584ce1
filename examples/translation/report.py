"""The results of a run, as a page (OUT/report.md) and as JSON (OUT/report.json).

    python report.py OUT --reference OUT/pieces/test.reference

Hypotheses are joined from their pieces and scored against the reference before sentencepiece.
A system without files is marked as not yet run.

Iterations of a LevT, from fairseq's I- lines, whose value is the index of a sentence's last iteration, from 0:

    edits  the iterations that changed the text. This is how the paper counts (t in Algorithm 2, Tables 1 and 6): the
           last iteration, which changes nothing, is not included. It is the I- value.
    runs   the iterations that the decoder ran, including that last one: one more.

With the I- value --max-iter, a sentence has run out of iterations, and the last one may have changed it. Whether it
did, OUT/test_NAME/longer.out tells: the same test with one iteration more. Its I- values are the edits, up to one more
than --max-iter. Without that file (it is new), such a sentence counts as one that its last iteration did not change.
"""

import argparse
import importlib
import json
import math
import platform
import re
import shlex
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import logs
from examples.shared import NOT_RUN, finish, gpus, minutes, processor, read_lines
from lev_plugins.errors import UserError

DELETION = re.compile(r"\| valid on .* \| deletion_word_nll ([\d.]+) .* \| bleu ([\d.]+)")
UPDATES = re.compile(r"num_updates[ =](\d+)")
PARAMETERS = re.compile(r"num\. shared model params: ([\d,]+)")

# the folder of the test, the title (BEAM is filled in), the folder of the training
SYSTEMS = {
    "test_greedy": ("teacher, greedy", "teacher"),
    "test_beam": ("teacher, beam BEAM", "teacher"),
    "test_levt": ("LevT, distilled data", "levt"),
    "test_levt_fast": ("LevT, distilled data, shallow decoder", "levt_fast"),
    "test_levt_oracle": ("LevT, original data", "levt_oracle"),
}
# Table 2 of the paper; shown where they have been trained
ABLATIONS = {
    "test_levt_plh-tok": ("... deletions have blocks of their own", "levt_plh-tok"),
    "test_levt_tok-del": ("... placeholders have blocks of their own", "levt_tok-del"),
    "test_levt_none": ("... no shared blocks", "levt_none"),
    "test_levt_sample": ("... roll-in: the model's words, sampled", "levt_sample"),
    "test_levt_dae": ("... roll-in: random words (DAE)", "levt_dae"),
}
ABLATIONS |= {
    name.replace("levt", "levt_oracle"): (f"{title}, original data", trained.replace("levt", "levt_oracle"))
    for name, (title, trained) in ABLATIONS.items()
}
ABLATIONS |= {
    "test_sampled": ("LevT, distilled data, the best of sampled candidates", "levt"),
    "test_reranked": ("... chosen by the teacher", "levt"),
    "test_noisy": ("LevT, distilled data, noisy parallel decoding", "levt"),
    "test_it": ("fairseq's IT, distilled data", "it"),
    "test_maskt": ("fairseq's MaskT, distilled data", "maskt"),
}


def join_pieces(line: str) -> str:
    """
    >>> join_pieces("▁ein ▁junge r ▁mann")
    'ein junger mann'
    """
    return line.replace(" ", "").replace("▁", " ").strip()


# ---- scoring the text ------------------------------------------------------------------------------------


def segmented(lines: list[str], command: str) -> list[str]:
    """The lines, split into words by another program (KyTea, for Japanese)."""
    if not command:
        return lines
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(shlex.split(command), input=text, capture_output=True, text=True, encoding="utf-8")
    result = done.stdout.removesuffix("\n").split("\n")
    if done.returncode or len(result) != len(lines):
        raise UserError(
            f"--segment {command!r} must print one line per line of input ({len(lines):,}), but printed "
            f"{len(result):,} and ended with status {done.returncode}: {done.stderr.strip()[-300:]}"
        )
    return result


def bleu(hypotheses: list[str], references: list[str], tokenize: str) -> tuple[dict[str, float], str]:
    metrics = importlib.import_module("sacrebleu.metrics")
    metric = metrics.BLEU(tokenize=tokenize, force=True)
    score = metric.corpus_score(hypotheses, [references]).score
    return {"BLEU": round(score, 2)}, f"sacrebleu {metric.get_signature()}"


def rouge(hypotheses: list[str], references: list[str]) -> tuple[dict[str, float], str]:
    scoring = importlib.import_module("lev_plugins.scoring.rouge")
    kinds = scoring.KINDS.items()
    found = {title: scoring.evaluate(references, hypotheses, kind) for kind, title in kinds}
    return {title: round(100 * one.score, 2) for title, one in found.items()}, found["ROUGE-L"].signature


# ---- reading logs --------------------------------------------------------------------------------------------------


def training(log: Path) -> dict[str, float] | None:
    """Updates, minutes including validation, and parameters; of a LevT, the deletion policy's loss over words as well,
    in the best validation."""
    took = minutes(log)
    if took is None:
        return None
    lines = read_lines(log)
    updates = [int(count) for line in lines for count in UPDATES.findall(line)]
    parameters = [int(count.replace(",", "")) for line in lines for count in PARAMETERS.findall(line)]
    found = {
        "updates": updates[-1] if updates else 0,
        "minutes": took,
        "parameters": parameters[-1] if parameters else 0,
    }
    deletion = [(float(bleu), float(nll)) for line in lines for nll, bleu in DELETION.findall(line)]
    return found | ({"deletion_word_nll": max(deletion)[1]} if deletion else {})


def iteration_table(counts: list[int], limit: int) -> dict[str, float]:
    """Percentage of the sentences whose last edit was iteration 1, 2, ...; at most ``limit`` after the first one.

    >>> iteration_table([1, 2, 2, 3], 2)
    {'1': 25.0, '2': 50.0, '3': 25.0}
    >>> iteration_table([0, 1], 1)
    {'0': 50.0, '1': 50.0, '2': 0.0}
    """
    counter = Counter(counts)
    rows = range(0 if counter[0] else 1, max([limit + 1, *counts]) + 1)
    return {str(row): round(100 * counter[row] / len(counts), 1) for row in rows}


def read_system(folder: Path, references: list[str], args: argparse.Namespace) -> dict[str, Any]:
    lines = logs.read_log(folder / "test.out")
    pieces = logs.in_order(logs.hypotheses(lines), len(references))
    hypotheses = segmented([join_pieces(line) for line in pieces], args.segment)
    references = segmented(references, args.segment)
    if args.metric == "rouge":
        scores, metric = rouge(hypotheses, references)
    else:
        scores, metric = bleu(hypotheses, references, args.bleu_tokenize)
    log = folder / "log"
    sentences, seconds = logs.decoding_seconds(lines + (read_lines(log) if log.is_file() else []))
    if sentences != len(references):
        raise UserError(
            f"{folder} has {sentences:,} decoded sentences, but the reference has {len(references):,}: "
            "remove the folder and run again"
        )
    system: dict[str, Any] = {"scores": scores, "metric": metric, "sentences": sentences}
    system["ms_per_sentence"] = round(1000 * seconds / sentences, 1)
    steps, longer = logs.steps(lines), folder / "longer.out"
    if steps:
        edits = logs.steps(logs.read_log(longer)) if longer.is_file() else steps
        if not list(range(sentences)) == sorted(steps) == sorted(edits):
            raise UserError(
                f"{folder} has {len(steps):,} and {len(edits):,} I- lines for {sentences:,} sentences: "
                "remove the folder and run again"
            )
        system["edits"] = round(sum(edits.values()) / sentences, 3)
        system["runs"] = round(sum(steps.values()) / sentences + 1, 3)
        system["table_of_iterations"] = iteration_table(list(edits.values()), args.max_iter)
    else:  # left to right: one iteration per token, including the end of the sentence
        system["edits"] = system["runs"] = round(sum(map(logs.tokens, pieces)) / sentences, 3)
    return system


def hardware() -> dict[str, str]:
    return {
        "processor": processor(),
        "gpus": gpus(),
        "torch": metadata.version("torch"),
        "python": platform.python_version(),
    }


def read_distillation(folder: Path) -> dict[str, Any] | None:
    record = folder / "data" / "distill.json"
    if not record.is_file():
        return None
    account = json.loads(record.read_text(encoding="utf-8"))
    kept = account["kept_reference"].get("train", [])
    return {"lines": account["lines"], "kept_reference": kept, "decoding_minutes": round(account["seconds"] / 60, 1)}


def made(stage: Path) -> float:
    """When; infinite for one that is not complete."""
    stamp = stage / "done"
    return stamp.stat().st_mtime if stamp.is_file() else math.inf


def tested(out: Path) -> dict[str, tuple[str, str]]:
    """The systems, with the ablations (Table 2 of the paper) and early exits (Figure 4b) that have been tested."""
    ablations = {name: each for name, each in ABLATIONS.items() if (out / name).is_dir()}
    trained = (folder.name.removeprefix("test_") for folder in sorted(out.glob("test_levt_[0-9]*-[0-9]*")))
    exits = {f"test_{name}": (f"... early exits {name.removeprefix('levt_')}", name) for name in trained}
    return {**SYSTEMS, **ablations, **exits}


def gather(args: argparse.Namespace) -> dict[str, Any]:
    references = read_lines(args.reference)
    systems: dict[str, Any] = {}
    for name, (title, trained) in tested(args.out).items():
        folder = args.out / name
        system = read_system(folder, references, args) if (folder / "test.out").is_file() else None
        title = title.replace("BEAM", str(args.beam))
        if made(folder) < made(args.out / "average"):
            title += " (made before this teacher)"
        systems[name] = {"title": title, **(system or {}), "training": training(args.out / trained / "log")}
    return {"systems": systems, "distillation": read_distillation(args.out / "distil"), "hardware": hardware()}


# ---- the page ------------------------------------------------------------------------------------------------------


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def system_row(system: dict[str, Any], metrics: list[str]) -> str:
    trained = system["training"]
    minutes = f"{trained['minutes']:g} ({trained['updates']:,} updates)" if trained else NOT_RUN
    deletion = f"{trained['deletion_word_nll']:.3f}" if trained and "deletion_word_nll" in trained else ""
    size = f"{trained['parameters'] / 1e6:.2f}" if trained else ""
    if "scores" not in system:
        return row([system["title"], *[NOT_RUN] * (len(metrics) + 3), "", size, minutes])
    scores = [f"{system['scores'][name]:.2f}" for name in metrics]
    counts = [f"{system[key]:.2f}" for key in ("edits", "runs")]
    return row([system["title"], *scores, *counts, f"{system['ms_per_sentence']:.1f}", deletion, size, minutes])


def results(systems: dict[str, Any]) -> list[str]:
    metrics = next((list(system["scores"]) for system in systems.values() if "scores" in system), ["BLEU"])
    head = ["", *metrics, "iterations", "... that ran", "ms per sentence", "NLL of deletion", "parameters (millions)"]
    head += ["minutes of training"]
    return [row(head), row(["---"] * len(head)), *(system_row(system, metrics) for system in systems.values())]


def iterations(systems: dict[str, Any]) -> list[str]:
    tables = {s["title"]: s["table_of_iterations"] for s in systems.values() if "table_of_iterations" in s}
    if not tables:
        return []
    columns = sorted({column for table in tables.values() for column in table}, key=int)
    lines = ["", "Share of the sentences (%) whose last edit was in that iteration, as in Table 6 of the paper:", ""]
    lines += [row(["iteration", *columns, "mean"]), row(["---"] * (len(columns) + 2))]
    means = {system["title"]: system.get("edits") for system in systems.values()}
    return lines + [
        row([title, *(f"{table.get(column, 0):.1f}" for column in columns), f"{means[title]:.2f}"])
        for title, table in tables.items()
    ]


def page(found: dict[str, Any]) -> str:
    systems, distillation, machine = found["systems"], found["distillation"], found["hardware"]
    lines = results(systems)
    first, other = systems["test_greedy"], systems["test_levt"]
    if "scores" in first and "scores" in other:
        for name, score in other["scores"].items():
            difference = score - first["scores"][name]
            lines += ["", f"{name} of LevT on distilled data minus the teacher's greedy: {difference:+.2f}"]
    lines += iterations(systems)
    metric = next((system["metric"] for system in systems.values() if "metric" in system), None)
    if metric:
        lines += ["", f"Scored by {metric}, on text joined from its pieces."]
    lines += [
        "",
        'Iterations: those that changed the text, as the paper counts; "... that ran" adds the one that found nothing '
        "to do. The teacher's are its output tokens. Decoding one sentence at a time, without loading.",
    ]
    if distillation:
        kept = len(distillation["kept_reference"])
        lines += [
            "",
            f"Distilled: {distillation['lines'] - kept:,} of {distillation['lines']:,} sentences in "
            f"{distillation['decoding_minutes']:g} minutes of decoding (summed over processes); "
            f"{kept:,} too long for the teacher kept their reference.",
        ]
    lines += ["", f"Machine: {machine['processor']}; GPUs: {machine['gpus']}; torch {machine['torch']}."]
    return "\n".join(lines) + "\n"


def run(args: argparse.Namespace) -> None:
    found = gather(args)
    (args.out / "report.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (args.out / "report.md").write_text(page(found), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder OUT of the Makefile")
    parser.add_argument("--reference", type=Path, required=True, help="target side of the test, before sentencepiece")
    parser.add_argument("--metric", choices=["bleu", "rouge"], default="bleu")
    parser.add_argument("--bleu-tokenize", default="none", help="sacrebleu's tokenizer")
    parser.add_argument("--segment", default="", help="command that segments both texts before scoring")
    parser.add_argument("--beam", type=int, default=5, help="beam of the teacher's second test")
    parser.add_argument("--max-iter", type=int, default=10, help="--iter-decode-max-iter of the LevT tests")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
