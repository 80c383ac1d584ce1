"""Makes the changes of earlier triples again, where their words, neighbours and source speak for it.

    python recurring.py SOURCES DRAFTS TARGETS --source SOURCE <DRAFT
    python recurring.py SOURCES DRAFTS TARGETS --source SOURCE --corrected TARGET <DRAFT

The first three files are triples to learn from, SOURCE has the lines that DRAFT translates. A logistic regression says
how likely each change that was made before is at a place. It learns in the order of the triples, from what is known
before each of them. With --corrected, the line of TARGET is learned after each draft, as when somebody corrects one
sentence after the other; what was changed lately then counts, too. --rules makes the changes without a regression that
were made twice and at half of the places of their words.
"""

import argparse
import math
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline

from examples.post_editing.triples import WORD, Change, applied, changes
from examples.shared import arriving_lines, finish, read_lines, read_parallel

MAX_WORDS = 4  # that a change replaces
MIN_SHARE = 0.05  # of a change among the places of its words, for it to be considered
TEXTS = 3  # the most frequent ones that may replace the same words
RECENT = 200  # lines that a reviser has corrected lately
RULE_COUNT, RULE_SHARE = 2, 0.5
MIN_CONFIDENCE = 0.5

Words = tuple[str, ...]


class Proposal(NamedTuple):
    """A change that may be made, and how often it was made and its words occurred: ever, and lately."""

    change: Change
    count: int
    places: int
    recent_count: int
    recent_places: int


class Counts:
    """How often words were changed, and to what, and how often they occurred."""

    def __init__(self) -> None:
        self.texts: defaultdict[Words, Counter[str]] = defaultdict(Counter)
        self.places: Counter[Words] = Counter()

    def add(self, made: list[tuple[Words, str]], runs: list[Words], sign: int = 1) -> None:
        for words, text in made:
            self.texts[words][text] += sign
        for words in runs:
            self.places[words] += sign


class Memory:
    """The changes of the lines that were corrected, and of the last of these lines."""

    def __init__(self) -> None:
        self.all, self.recent = Counts(), Counts()
        self.lines: deque[tuple[list[tuple[Words, str]], list[Words]]] = deque()

    def add(self, draft: str, target: str) -> None:
        words = WORD.findall(draft)
        runs = [run for _, _, run in runs_of(words)]
        made = [((*words[start:end],), text) for start, end, text in changes(draft, target)]
        line = [change for change in made if 0 < len(change[0]) <= MAX_WORDS], runs
        self.all.add(*line)
        self.recent.add(*line)
        self.lines.append(line)
        if len(self.lines) > RECENT:
            self.recent.add(*self.lines.popleft(), sign=-1)

    def proposals(self, draft: str) -> Iterator[Proposal]:
        """Yields what may be changed in a draft.

        >>> memory = Memory()
        >>> memory.add("14 Punkte", "14 Kanäle")
        >>> [*memory.proposals("28 Punkte")]
        [Proposal(change=Change(start=1, end=2, text='Kanäle'), count=1, places=1, recent_count=1, recent_places=1)]
        """
        for start, end, run in runs_of(WORD.findall(draft)):
            if run in self.all.texts:
                places, lately = self.all.places[run], self.recent.texts[run]
                for text, count in self.all.texts[run].most_common(TEXTS):
                    if lately[text] or count >= MIN_SHARE * places:
                        recent = lately[text], self.recent.places[run]
                        yield Proposal(Change(start, end, text), count, places, *recent)


def runs_of(words: Sequence[str]) -> Iterator[tuple[int, int, Words]]:
    """Yields where each run of words begins and ends, and the run."""
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
            yield start, end, (*words[start:end],)


def features(proposal: Proposal, source: str, draft: str, online: bool) -> dict[str, float]:
    """Returns what the regression sees of a proposal.

    >>> proposal = Proposal(Change(1, 2, "Kanäle"), 3, 4, 0, 0)
    >>> [name for name in features(proposal, "14 point", "14 Punkte", online=False) if "Kanäle" in name][:4]
    ['Punkte → Kanäle', 'Punkte → Kanäle after 14', 'Punkte → Kanäle before ', 'Punkte → Kanäle for 14']
    """
    (start, end, text), count, places, recent_count, recent_places = proposal
    words = ["", *WORD.findall(draft), ""]
    change = f"{' '.join(words[start + 1 : end + 1])} → {text}"
    before, after = words[start], words[end + 1]
    names = [change, f"{change} after {before}", f"{change} before {after}", f"after {before}", f"before {after}"]
    names += [f"{change} for {word}" for word in dict.fromkeys(WORD.findall(source.lower()))]
    numbers = shares("ever", count, places) | (shares("lately", recent_count, recent_places) if online else {})
    return dict.fromkeys(names, 1.0) | numbers


def shares(when: str, count: int, places: int) -> dict[str, float]:
    share = (count + 0.3) / (places + 1)
    values = {
        "log-odds": math.log(share / (1 - share)),
        "count": math.log(count + 0.5),
        "places": math.log(places + 0.5),
        "always": float(count == places > 0),
        "never": float(count == 0),
        "once": float(count == 1),
    }
    return {f"{name} {when}": value for name, value in values.items()}


class Reviser:
    """Makes the changes of triples again."""

    def __init__(self, online: bool, rules: bool = False) -> None:
        """
        Args:
            online: corrected lines are learned between the drafts
            rules: no regression
        """
        self.memory, self.online, self.rules = Memory(), online, rules
        self.model: Pipeline | None = None

    def fit(self, sources: Sequence[str], drafts: Sequence[str], targets: Sequence[str]) -> None:
        rows, right = list[dict[str, float]](), list[bool]()
        for source, draft, target in zip(sources, drafts, targets, strict=True):
            made = {*changes(draft, target)}
            for proposal in () if self.rules else self.memory.proposals(draft):
                rows.append(features(proposal, source, draft, self.online))
                right.append(proposal.change in made)
            self.memory.add(draft, target)
        if len({*right}) == 2:
            self.model = make_pipeline(DictVectorizer(), LogisticRegression(max_iter=2000)).fit(rows, right)

    def edit(self, source: str, draft: str, min_confidence: float) -> str:
        """Returns the draft after the changes that are likely enough, of two that overlap the likelier one."""
        made: list[Change] = []
        for confidence, change in sorted(self.confidences(source, draft), key=lambda pair: -pair[0]):
            if confidence >= min_confidence and all(change.end <= one.start or one.end <= change.start for one in made):
                made.append(change)
        return applied(draft, made)

    def confidences(self, source: str, draft: str) -> list[tuple[float, Change]]:
        """Returns what may be changed, and how likely it is.

        Rules decide, the longer ones first, also where the triples teach no regression: all proposals were right in
        them, or all were wrong.
        """
        proposals = [*self.memory.proposals(draft)]
        if self.model is None or not proposals:
            rules = [one for one in proposals if one.count >= max(RULE_COUNT, RULE_SHARE * one.places)]
            return [(rule.change.end - rule.change.start, rule.change) for rule in rules]
        rows = [features(proposal, source, draft, self.online) for proposal in proposals]
        return [*zip(self.model.predict_proba(rows)[:, 1], (one.change for one in proposals), strict=True)]


def revised(
    reviser: Reviser,
    sources: Sequence[str],
    drafts: Sequence[str],
    corrected: Sequence[str] | None,
    min_confidence: float = MIN_CONFIDENCE,
) -> Iterator[str]:
    """Yields the edited drafts; with corrected ones, each is learned after its draft was edited."""
    for source, draft, target in zip(sources, drafts, drafts if corrected is None else corrected, strict=True):
        yield reviser.edit(source, draft, min_confidence)
        if corrected is not None:
            reviser.memory.add(draft, target)


def run(args: argparse.Namespace) -> None:
    reviser = Reviser(args.corrected is not None, args.rules)
    reviser.fit(*read_parallel(args.files))
    drafts = [*arriving_lines(sys.stdin.buffer)]
    corrected = None if args.corrected is None else read_lines(args.corrected)
    for line in revised(reviser, read_lines(args.source), drafts, corrected, args.min_confidence):
        print(line)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", type=Path, nargs=3, help="sources, drafts and corrected drafts to learn from")
    parser.add_argument("--source", type=Path, required=True, help="file of the sources of standard input")
    parser.add_argument("--corrected", type=Path, help="file of corrections, each learned after its draft was edited")
    parser.add_argument("--rules", action="store_true", help="make changes that recur, wherever their words stand")
    likely = "make changes that are at least as likely"
    parser.add_argument("--min-confidence", type=float, default=MIN_CONFIDENCE, help=likely)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
