#!/usr/bin/env python3
"""``python bench/noise.py``: words of noise per second, compared with nlpaug if it is installed; see README.md."""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import report
from bench.clock import CLOCKS, Clock, alternate, spread
from lev_plugins.noise import KINDS, NoiseOptions, build_corruption

FORMAT = 1  # of the JSON
GOAL = 200_000  # words per second
KINDS_MEASURED = [kind for kind in KINDS if kind != "confusions"]  # `ocr` with another table
Change = Callable[[list[str]], Any]


@dataclass(frozen=True)
class Plan:
    lines: int = 4000
    repetitions: int = 5
    rates: tuple[tuple[float | None, float | None], ...] = ((0.2, None), (0.2, 0.2), (1.0, None), (None, 0.05))
    peer_lines: int = 200
    peer_repetitions: int = 7
    peer_rate: float = 0.2  # words; one slip each


QUICK = Plan(lines=50, repetitions=2, rates=((0.2, None),), peer_lines=5, peer_repetitions=2)


def english(lines: int) -> list[str]:
    """The text of Python's ``help()`` about the language: prose that comes with every Python."""
    from pydoc_data.topics import topics

    text = [" ".join(line.split()) for name in sorted(topics) for line in topics[name].splitlines()]
    return [line for line in text if len(line.split()) >= 5][:lines]


def ours(kind: str, word_rate: float | None, char_rate: float | None) -> Change:
    corrupt = build_corruption(NoiseOptions(kind, word_rate, char_rate))
    return lambda lines: [corrupt(line, index) for index, line in enumerate(lines)]


def peers(rate: float) -> dict[str, Change]:
    """nlpaug's counterparts, if it is installed: the same share of words, one slip each, words of any length."""
    try:
        import nlpaug.augmenter.char as characters
        import nlpaug.augmenter.word as words
    except ImportError:
        return {}
    slip = {"aug_word_p": rate, "aug_word_max": None, "aug_word_min": 0, "aug_char_max": 1}
    makers = {
        **{kind: characters.RandomCharAug(kind, min_char=1, **slip) for kind in ("insert", "delete", "substitute")},
        "keyboard": characters.KeyboardAug(min_char=1, **slip),
        "swap": characters.RandomCharAug("swap", min_char=2, **slip),
        "swap-words": words.RandomWordAug("swap", aug_p=rate / 2, aug_min=0, aug_max=None),
        "split": words.SplitAug(aug_p=rate, aug_min=0, aug_max=None, min_char=4),  # it fails on shorter ones
        "ocr": characters.OcrAug(min_char=1, **slip),
    }
    return {kind: lambda lines, maker=maker: [maker.augment(line) for line in lines] for kind, maker in makers.items()}


def number_of_words(lines: list[str]) -> int:
    return sum(len(line.split()) for line in lines)


def measure(plan: Plan) -> dict[str, Any]:
    clock, lines = Clock(torch.device("cpu")), english(plan.lines)
    found = report.about(torch.device("cpu")) | {"format": FORMAT, "clock": CLOCKS["cpu"], "goal": GOAL}
    found["versions"]["nlpaug"] = report.installed("nlpaug")
    found["text"] = {"lines": len(lines), "words": number_of_words(lines)}
    jobs = [(kind, *rates, ours(kind, *rates)) for kind in KINDS_MEASURED for rates in plan.rates]
    times: list[list[float]] = [[] for _ in jobs]
    for _ in tqdm(range(plan.repetitions), desc="ours", disable=None):  # all kinds in turn in each repetition
        for job, seconds in zip(jobs, times, strict=True):
            seconds.append(clock.time(lambda change=job[3]: change(lines))[0])
    found["ours"] = [
        {
            "kind": kind,
            "word_rate": word_rate,
            "char_rate": char_rate,
            "words_per_second": spread([found["text"]["words"] / second for second in seconds]),
        }
        for (kind, word_rate, char_rate, _), seconds in zip(jobs, times, strict=True)
    ]
    found["nlpaug"] = [beside(kind, peer, plan, lines, clock) for kind, peer in peers(plan.peer_rate).items()]
    return found


def beside(kind: str, peer: Change, plan: Plan, lines: list[str], clock: Clock) -> dict[str, Any]:
    few = lines[:: max(1, len(lines) // plan.peer_lines)][: plan.peer_lines]
    mine = ours(kind, plan.peer_rate, None)
    pairs, _ = alternate(clock, [(lambda: peer(few), lambda: mine(few))], plan.peer_repetitions, kind)
    words = number_of_words(few)
    outputs = {"nlpaug": [texts(result) for result in peer(few)], "ours": mine(few)}
    return {
        "kind": kind,
        "word_rate": plan.peer_rate,
        "nlpaug_words_per_second": spread([words / seconds for seconds in pairs.theirs]),
        "ours_words_per_second": spread([words / seconds for seconds in pairs.ours]),
        "ratio": pairs.summary()["ratio"],
        **{f"{side}_white_space_kept": kept(few, lines) for side, lines in outputs.items()},
    }


def texts(result: Any) -> str:
    """nlpaug returns a list of one."""
    return result[0] if isinstance(result, list) else result


def kept(before: list[str], after: list[str]) -> float:
    """Share of the lines that keep their number of words."""
    same = [len(one.split()) == len(other.split()) for one, other in zip(before, after, strict=True)]
    return sum(same) / len(same)


def table(found: dict[str, Any]) -> str:
    """Markdown: median thousands of words per second."""
    columns = list(dict.fromkeys((line["word_rate"], line["char_rate"]) for line in found["ours"]))
    rows = [report.row("kind", *(rates(*column) for column in columns)), "|---" * (len(columns) + 1) + "|"]
    for kind in dict.fromkeys(line["kind"] for line in found["ours"]):
        speeds = [line["words_per_second"]["median"] for line in found["ours"] if line["kind"] == kind]
        rows.append(report.row(kind, *(f"{speed / 1000:.0f}" for speed in speeds)))
    if not found["nlpaug"]:
        return "\n".join(rows) + "\n\nnlpaug is not installed: nothing to compare with\n"
    heads = (
        "kind",
        "nlpaug, words/s",
        "ours, words/s",
        "ratio (quartiles)",
        "lines with as many words: nlpaug",
        "ours",
    )
    rows += ["", report.row(*heads), "|---|---|---|---|---|---|"]
    for line in found["nlpaug"]:
        both = [f"{line[f'{side}_words_per_second']['median']:,.0f}" for side in ("nlpaug", "ours")]
        shares = [f"{line[f'{side}_white_space_kept']:.0%}" for side in ("nlpaug", "ours")]
        rows.append(report.row(line["kind"], *both, report.ratio(line), *shares))
    return "\n".join(rows) + "\n"


def rates(word_rate: float | None, char_rate: float | None) -> str:
    named = {"word rate": word_rate, "char rate": char_rate}
    return ", ".join(f"{name} {rate}" for name, rate in named.items() if rate is not None)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="bench/noise.py", description="Words of noise a second, as JSON")
    parser.add_argument("--out", metavar="FILE", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument("--quick", action="store_true", help="a few lines, to check that it runs")
    args = parser.parse_args(arguments)
    found = measure(QUICK if args.quick else Plan())
    report.deliver(found, args.out, table(found))


if __name__ == "__main__":
    report.finish(main, "bench/noise.py")
