"""Print the iterations and the time of a sentence, from logs of fairseq-generate.

    python iterations.py OUT/greedy.out OUT/levt.out

Iterations are counted as in the paper (t in Algorithm 2, Tables 1 and 6): the last one, which changes nothing, is not
included. This is the value of fairseq's I- lines, unless a sentence used up --iter-decode-max-iter and its last
iteration changed it: logs with --retain-iter-history show this, others count one iteration too few for such a
sentence. A model that writes from left to right has an iteration for each token.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.shared import finish
from lev_plugins.cli.log import STEPS, Log
from lev_plugins.utils.errors import require

LAST_ITERATION = re.compile(r"^I-\d+\t(\d+)$", re.MULTILINE)
SCORES = re.compile(r"^P-\d+\t(.*)$", re.MULTILINE)  # of each token of the output, the end of the sentence included
SPEED = re.compile(r"Translated [\d,]+ sentences .* \(([\d.]+) sentences/s")  # without loading and printing


def shares(iterations: Iterable[int]) -> dict[int, float]:
    """Returns the percentage of the sentences whose last edit was in iteration 1, 2, ...

    >>> shares([1, 2, 2, 4])
    {1: 25.0, 2: 50.0, 3: 0.0, 4: 25.0}
    """
    counts = Counter(iterations)
    return {number: 100 * counts[number] / counts.total() for number in range(min(1, *counts), max(counts) + 1)}


def iterations_of(log: str) -> list[tuple[int, int]]:
    """Returns how many iterations changed each sentence, and how many ran; [] of a model that writes left to right.

    >>> iterations_of("I-0\\t1\\n")
    [(1, 2)]
    >>> used_up = "S-0\\tx\\nH-0\\t-1\\ta\\nI-0\\t0\\nE-0_0\\t\\nE-0_1\\t\\nE-0_2\\t<plh>\\nE-0_3\\ta\\n"
    >>> iterations_of(used_up)
    [(1, 1)]
    """
    sentences = Log("log").read(line.encode() for line in log.splitlines(keepends=True))
    histories = [hypothesis.states[::STEPS] for sentence in sentences for hypothesis in sentence.hypotheses]
    if histories:
        return [(len(states) - 2 + (states[-1] != states[-2]), len(states) - 1) for states in histories]
    return [(int(number), int(number) + 1) for number in LAST_ITERATION.findall(log)]


def summary(log: str) -> str:
    """
    >>> summary("P-0\\t-1 -1\\nI-0\\t3\\nTranslated 1 sentences (2 tokens) in 0.1s (20.00 sentences/s, 40.00 tokens/s)")
    '3.00 iterations (4.00 that ran), 50.0 ms per sentence; last edits (%): 1: 0.0, 2: 0.0, 3: 100.0'
    """
    speed, steps = SPEED.findall(log), iterations_of(log)
    require(bool(speed), "the log has no time: it must be the whole output of fairseq-generate")
    time = f"{1000 / float(speed[-1]):.1f} ms per sentence"
    if not steps:
        tokens = [len(scores.split()) for scores in SCORES.findall(log)]
        return f"{sum(tokens) / len(tokens):.2f} iterations, one per token, {time}"
    changing, ran = zip(*steps, strict=True)
    table = ", ".join(f"{number}: {share:.1f}" for number, share in shares(changing).items())
    mean, mean_ran = (sum(numbers) / len(steps) for numbers in (changing, ran))
    return f"{mean:.2f} iterations ({mean_ran:.2f} that ran), {time}; last edits (%): {table}"


def run(args: argparse.Namespace) -> None:
    for path in args.logs:
        print(f"{path}: {summary(path.read_text(encoding='utf-8'))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="output of fairseq-generate --print-step")
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
