"""Compare two outputs of ``fairseq-generate --print-step``: fairseq's LevT and ours, from the same weights.

    python -m tests.parity.compare_generate FAIRSEQ.out OURS.out

prints how many sentences have the same hypothesis and steps, the largest difference of a score, and every
sentence that differs. fairseq's own LevT writes a score for the leading <s>, which is always 0; ours does not.
fairseq may lack the sentences of its last batch, which its batching loses.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Sentence:
    hypothesis: str = ""
    score: float = 0.0
    positional: list[float] = field(default_factory=list)
    steps: int = -1


@dataclass
class Comparison:
    sentences: int
    different: list[int]  # sentences whose hypothesis or steps differ
    score: float  # the largest difference of a hypothesis score, where hypothesis and steps agree
    positional: float  # ... and of a token's score; printed with four digits

    def __str__(self) -> str:
        same = self.sentences - len(self.different)
        return (
            f"{same} of {self.sentences} sentences have the same hypothesis and steps; the largest difference of a "
            f"score is {self.score:.2e}, of a token's score {self.positional:.1e}"
        )


def read(path: Path) -> dict[int, Sentence]:
    sentences: dict[int, Sentence] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.partition("-")
        if kind not in ("H", "P", "I") or "\t" not in rest:
            continue
        number, _, value = rest.partition("\t")
        sentence = sentences.setdefault(int(number), Sentence())
        if kind == "H":
            score, _, sentence.hypothesis = value.partition("\t")
            sentence.score = float(score)
        elif kind == "P":
            sentence.positional = [float(score) for score in value.split()]
        else:
            sentence.steps = int(value)
    return sentences


def compare(theirs: dict[int, Sentence], ours: dict[int, Sentence]) -> Comparison:
    if not theirs.keys() <= ours.keys():
        raise ValueError(f"ours lacks sentences of fairseq's: {sorted(theirs.keys() - ours.keys())}")
    found = Comparison(len(theirs), [], 0.0, 0.0)
    for number, other in sorted(theirs.items()):
        mine, expected = ours[number], other.positional[1:]
        if (other.hypothesis, other.steps, len(expected)) != (mine.hypothesis, mine.steps, len(mine.positional)):
            found.different.append(number)
            continue
        found.score = max(found.score, abs(other.score - mine.score))
        gaps = [abs(a - b) for a, b in zip(expected, mine.positional, strict=True)]
        found.positional = max(found.positional, *gaps)
    return found


def main(arguments: list[str]) -> int:
    theirs, ours = (read(Path(name)) for name in arguments)
    found = compare(theirs, ours)
    lines = [str(found)]
    for number in found.different:
        lines += [f"{number} fairseq {theirs[number]}", f"{number} ours    {ours[number]}"]
    sys.stdout.write("\n".join(lines) + "\n")
    return int(bool(found.different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
