"""MaxMatch, or M2 (Dahlmeier and Ng, 2012): F0.5 of a corrector's edits against those of annotators.

A corrected sentence does not show which edits made it. Of all the ways to cut the difference between source and text
into edits, MaxMatch takes the one that shares most edits with the annotator; then the one that touches the fewest
words; then the one with the fewest edits. An edit may span a few unchanged words (two, by default).

The ways are the paths of a lattice of word pairs: those on a cheapest alignment, where replacing a word costs 1 or 2.
Of several annotators of a sentence, the one counts who gives the best F0.5 of the sentences so far, so the score
depends slightly on the order of the sentences. All this is as in the official scorer, version 3.2, with two
exceptions. If that scorer misses a match because the same word is inserted twice at one place, or if equally good paths
differ in their number of edits, the best path is taken here. If an annotator repeats an insertion at one place, it
counts one proposed edit several times; here an edit counts once.

With ``errant``, edits are those that ERRANT extracts, by the default rules of ``errant_compare``; for English, if it
is installed. ERRANT cuts the difference between source and text by grammar, independently of the annotator's edits: an
edit is right if the annotator changes the same words in the same way. Errors marked but not corrected (UNK) do not
count.

Shapes: B resamples, N sentences, A annotators.
"""

import math
import pathlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from lev_plugins.scoring.evaluation import Array, Evaluation
from lev_plugins.text.lines import nonempty_lines
from lev_plugins.utils.errors import UserError, at_line, require
from lev_plugins.utils.ranges import bounded

MAX_UNCHANGED = 2
BETA = 0.5
NOTHING = "-NONE-"
UNCORRECTED = "UNK"
UNCLEAR = "Um"
INSTALL = "pip install 'lev-plugins[errant]' && python -m spacy download en_core_web_sm"

Node = tuple[int, int]  # the number of words read from the source, and from the text
# of a path: minus the matches with the annotator's edits; words outside matches: removed, inserted, replaced or
# unchanged; and edits. The smallest cost is the best
Cost = tuple[int, int, int]


class GoldEdit(NamedTuple):
    """Words ``start`` up to ``end`` of the source become one of the ``corrections``."""

    start: int
    end: int
    corrections: tuple[str, ...]
    kind: str = ""


class Gold(NamedTuple):
    """A sentence and the edits of each annotator, of whom there is at least one."""

    source: list[str]
    annotators: list[list[GoldEdit]]


class Counts(NamedTuple):
    """The numbers of edits that a score is computed from."""

    correct: int
    proposed: int
    gold: int


# ---- the file ------------------------------------------------------------------------------------------------------


def parse(text: str, name: str = "the M2 file") -> list[Gold]:
    """Read sentences (``S`` lines) and their edits (``A`` lines).

    >>> sentence = parse("S a cat sit\\nA 2 3|||SVA|||sits||sat|||REQUIRED|||-NONE-|||0\\n")[0]
    >>> sentence.source, sentence.annotators
    (['a', 'cat', 'sit'], [[GoldEdit(start=2, end=3, corrections=('sits', 'sat'), kind='SVA')]])
    """
    sources: list[list[str]] = []
    edits: list[dict[int, list[GoldEdit]]] = []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        with at_line(name, number):
            if line == "S" or line.startswith("S "):
                sources.append(line[2:].split())
                edits.append(defaultdict(list))
            elif line.startswith("A "):
                require(bool(sources), "an edit (A) must follow its sentence (S), but there is no sentence")
                annotator, annotated = parse_edit(line[2:], len(sources[-1]))
                edits[-1][annotator] += annotated
            else:
                require(not line, f"a line must begin with S or A or be empty, but is {line[:40]!r}")
    return [
        Gold(source, [sorted(group[annotator], key=lambda edit: edit[:2]) for annotator in sorted(group)] or [[]])
        for source, group in zip(sources, edits, strict=True)
    ]


def parse_edit(line: str, words: int) -> tuple[int, list[GoldEdit]]:
    """Return the annotator, and the edit as a list; [] for ``noop``, the mark of a sentence without errors."""
    try:
        place, kind, options, _, _, annotator = line.split("|||")
        start, end, number = map(int, (*place.split(), annotator))
    except ValueError:
        form = "`A START END|||KIND|||CORRECTIONS|||...|||...|||ANNOTATOR` with three numbers"
        raise UserError(f"an edit must be {form}, but is {line!r}") from None
    if kind == "noop" or start < 0:
        return number, []
    outside = f"an edit must lie within its sentence of {words} words, but goes from {start} to {end}"
    require(start <= end <= words, outside)
    corrections = ["" if text.strip() == NOTHING else " ".join(text.split()) for text in options.split("||")]
    return number, [GoldEdit(start, end, tuple(corrections), kind)]


def read_m2(path: pathlib.Path) -> list[Gold]:
    return parse("\n".join(nonempty_lines(path)), str(path))


def corrected(sentence: Gold, annotator: int = 0) -> list[str]:
    """Return the words with the first correction of each edit; errors that are marked but not corrected stay.

    >>> edits = "A 1 2|||SVA|||goes||went|||REQUIRED|||-NONE-|||0\\nA 2 3|||UNK|||-NONE-|||REQUIRED|||-NONE-|||0\\n"
    >>> corrected(parse(f"S he go home\\n{edits}")[0])
    ['he', 'goes', 'home']
    """
    words = list(sentence.source)
    for edit in reversed(sentence.annotators[annotator]):
        if edit.kind not in (UNCORRECTED, UNCLEAR):
            words[edit.start : edit.end] = edit.corrections[0].split()
    return words


# ---- the lattice ---------------------------------------------------------------------------------------------------


def lattice(source: Sequence[str], text: Sequence[str]) -> dict[Node, list[Node]]:
    """Return the steps of all cheapest alignments, at both costs of replacing a word.

    >>> sorted(lattice(["a"], ["b"]).items())
    [((0, 0), [(0, 1), (1, 0), (1, 1)]), ((0, 1), [(1, 1)]), ((1, 0), [(1, 1)])]
    """
    steps: dict[Node, set[Node]] = defaultdict(set)
    n, m = len(source), len(text)
    for price in (1, 2):
        prefix, suffix = costs(source, text, price), costs(source[::-1], text[::-1], price)
        for i, j in product(range(n + 1), range(m + 1)):
            if prefix[i][j] + suffix[n - i][m - j] == prefix[n][m]:
                pair = 0 if i < n and j < m and source[i] == text[j] else price
                for k, o, cost in ((i + 1, j, 1), (i, j + 1, 1), (i + 1, j + 1, pair)):
                    if k <= n and o <= m and prefix[i][j] + cost + suffix[n - k][m - o] == prefix[n][m]:
                        steps[i, j].add((k, o))
    return {node: sorted(successors) for node, successors in steps.items()}


def costs(source: Sequence[str], text: Sequence[str], price: int) -> list[list[int]]:
    """Return the least costs [i][j] of turning the first i words into the first j, where replacing costs ``price``.

    >>> costs(["a", "b"], ["b"], price=1)
    [[0, 1], [1, 1], [2, 1]]
    """
    table = [list(range(len(text) + 1))]
    for i, word in enumerate(source, 1):
        above, row = table[-1], [i]
        for j, text_word in enumerate(text, 1):
            row.append(min(above[j - 1] + (0 if word == text_word else price), above[j] + 1, row[-1] + 1))
        table.append(row)
    return table


def keeps(node: Node, successor: Node, source: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the step leaves a word unchanged."""
    return node[0] < successor[0] and node[1] < successor[1] and source[node[0]] == text[node[1]]


def fewest_unchanged(
    start: Node, stop: Node, steps: dict[Node, list[Node]], source: Sequence[str], text: Sequence[str]
) -> float:
    """Return the fewest unchanged words on a path from ``start`` to ``stop``; infinite if there is no path.

    >>> source, text = "he go home".split(), "he goes home".split()
    >>> fewest_unchanged((1, 1), (3, 3), lattice(source, text), source, text)
    1
    >>> fewest_unchanged((0, 0), (1, 0), lattice(source, text), source, text)
    inf
    """
    fewest: dict[Node, float] = {start: 0}
    for node in product(range(start[0], stop[0] + 1), range(start[1], stop[1] + 1)):
        if node in fewest:
            for successor in steps.get(node, []):
                unchanged = fewest[node] + keeps(node, successor, source, text)
                fewest[successor] = min(unchanged, fewest.get(successor, unchanged))
    return fewest.get(stop, math.inf)


# ---- the best path -------------------------------------------------------------------------------------------------


def count(
    steps: dict[Node, list[Node]], source: list[str], text: list[str], gold: Sequence[GoldEdit], max_unchanged: int
) -> Counts:
    """Count the edits shared with an annotator, and all edits, on the best path through the lattice.

    A path goes step by step, and an edit without a match opens at one node and closes at a later one. So the possible
    edits need not be listed: between very different texts, there is one per pair of nodes. An edit that changes
    nothing is never chosen: keeping each of its words is as short and takes one edit less.

    >>> source, text = "he go home".split(), "she goes home".split()
    >>> count(lattice(source, text), source, text, [GoldEdit(1, 2, ("goes",))], max_unchanged=2)
    Counts(correct=1, proposed=2, gold=1)
    """
    end = (len(source), len(text))
    # of the best path on from a node, if some of the annotator's insertions there are matched or skipped, and an open
    # edit has so many unchanged words (None: no edit is open)
    best: dict[tuple[Node, int, int | None], Cost] = {}
    for node in sorted({*steps, end}, reverse=True):
        candidates = [edit for edit in gold if edit.start == node[0]]
        for insertions in range(len(candidates) + 1):
            ways = [(0, 0, 0)] if node == end else []
            for end_of_match, number in matching_edits(candidates, node, insertions, source, text):
                if fewest_unchanged(node, end_of_match, steps, source, text) <= max_unchanged:
                    misses, length, edits = best[end_of_match, number, None]
                    ways.append((misses - 1, length, edits + 1))
            for unchanged in (None, *range(max_unchanged + 1)):
                for successor in steps.get(node, []):
                    keep = keeps(node, successor, source, text)
                    number = insertions if successor[0] == node[0] else 0
                    if unchanged is None and keep:
                        misses, length, edits = best[successor, number, None]
                        ways.append((misses, length + 1, edits))
                    total = (unchanged or 0) + keep
                    if total <= max_unchanged:
                        misses, length, edits = best[successor, number, total]
                        ways.append((misses, length + 1, edits + (unchanged is None)))
                best[node, insertions, unchanged] = min(ways)
                ways = [best[node, insertions, None]]  # an edit may end anywhere
    misses, _, edits = best[(0, 0), 0, None]
    return Counts(-misses, edits, len(gold))


def matching_edits(
    gold: Sequence[GoldEdit], node: Node, insertions: int, source: list[str], text: list[str]
) -> Iterator[tuple[Node, int]]:
    """Yield the ends of matching edits that begin at ``node``, with the number of insertions matched or skipped there.

    ``gold``: the annotator's edits that begin there. Several insertions may be matched, each once and in order.
    """
    i, j = node
    number = 0
    for edit in gold:
        inserts = edit.start == edit.end
        number += inserts
        if not inserts or number > insertions:
            for words in map(str.split, edit.corrections):
                if words == text[j : j + len(words)] != source[i : edit.end]:
                    yield (edit.end, j + len(words)), number if inserts else 0


# ---- the score -----------------------------------------------------------------------------------------------------


def evaluate(
    gold: Sequence[Gold],
    texts: Sequence[str],
    beta: float = BETA,
    max_unchanged_words: int = MAX_UNCHANGED,
    errant: bool = False,
    by_kind: bool = False,
) -> Evaluation:
    """Score texts by the edits that they share with the annotators.

    ``gold``: the sentences of an M2 file
    ``texts``: the corrected sentences
    ``beta``: the weight of recall
    ``max_unchanged_words``: how many unchanged words an edit of MaxMatch may span
    ``errant``: use the edits that ERRANT extracts
    ``by_kind``: also count how many of the annotators' edits of each kind the texts have

    >>> gold = parse("S he go home\\nA 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0\\n")
    >>> [evaluate(gold, [text]).score for text in ("he goes home", "he go home", "she goes home")]
    [1.0, 0.0, 0.5555555555555556]
    """
    if errant:
        require(not by_kind, "--by-kind applies to MaxMatch, not to ERRANT: leave it out with --errant")
        annotator = load_errant()
        counts = [errant_counts(sentence, text, annotator) for sentence, text in zip(gold, texts, strict=True)]
        return from_counts(counts, beta, "edits by ERRANT")
    bounded("--max-unchanged-words", max_unchanged_words, 0)
    counts = [sentence_counts(sentence, text, max_unchanged_words) for sentence, text in zip(gold, texts, strict=True)]
    signature = "" if max_unchanged_words == MAX_UNCHANGED else f"{max_unchanged_words=}"
    score = from_counts(counts, beta, signature)
    return replace(score, details=score.details | found_by_kind(gold, texts, max_unchanged_words)) if by_kind else score


def found_by_kind(gold: Sequence[Gold], texts: Sequence[str], max_unchanged_words: int) -> dict[str, float]:
    """Count the annotators' edits of each kind, and those of them that the texts have; frequent kinds first.

    The kinds of ERRANT begin with M, R or U, for words that are missing, replaced or unnecessary, which is left out.

    >>> gold = parse("S he go home\\nA 1 2|||R:VERB:SVA|||goes|||-|||-|||0\\nA 3 3|||M:PUNCT|||.|||-|||-|||0")
    >>> found_by_kind(gold, ["he goes home"], 2)
    {'VERB:SVA: edits': 1, 'VERB:SVA: found': 1, 'PUNCT: edits': 1, 'PUNCT: found': 0}
    """
    edits, matched = Counter[str](), Counter[str]()
    columns = {"edits": edits, "found": matched}
    for sentence, text in zip(gold, texts, strict=True):
        words = text.split()
        steps = {} if words == sentence.source else lattice(sentence.source, words)
        for edit in (edit for annotator in sentence.annotators for edit in annotator):
            kind = re.sub("^[MRU]:", "", edit.kind)
            edits[kind] += 1
            if steps:
                matched[kind] += count(steps, sentence.source, words, [edit], max_unchanged_words).correct
    return {f"{kind}: {column}": counts[kind] for kind, _ in edits.most_common() for column, counts in columns.items()}


@cache
def load_errant() -> Any:
    """Return ERRANT's annotator for English."""
    try:
        return import_module("errant").load("en")
    except (ImportError, OSError) as error:  # spaCy raises OSError if its model is missing
        raise UserError(f"--errant needs the package errant and spaCy's English model: {INSTALL} ({error})") from error


def errant_counts(gold: Gold, text: str, annotator: Any) -> list[Counts]:
    """Return the counts against each human annotator; ``annotator`` is ERRANT's."""
    words = text.split()
    lines = " ".join(gold.source), " ".join(words)
    edits = [] if words == gold.source else annotator.annotate(*map(annotator.parse, lines))
    proposed = {(edit.o_start, edit.o_end, " ".join(edit.c_str.split())) for edit in edits if edit.type != "noop"}
    counts = []
    for human in gold.annotators:
        gold_edits = {(edit.start, edit.end, edit.corrections[0]) for edit in human if edit.kind != UNCORRECTED}
        counts.append(Counts(len(proposed & gold_edits), len(proposed), len(gold_edits)))
    return counts


def sentence_counts(gold: Gold, text: str, max_unchanged_words: int = MAX_UNCHANGED) -> list[Counts]:
    """Return the counts against each annotator.

    >>> edits = "A 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0\\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1"
    >>> sentence_counts(parse(f"S he go home\\n{edits}")[0], "he goes home .")
    [Counts(correct=1, proposed=2, gold=1), Counts(correct=0, proposed=1, gold=0)]
    """
    words = text.split()
    steps = lattice(gold.source, words)
    return [count(steps, gold.source, words, edits, max_unchanged_words) for edits in gold.annotators]


def from_counts(counts: Sequence[Sequence[Counts]], beta: float = BETA, signature: str = "") -> Evaluation:
    """Compute the score of sentences from their counts per annotator."""
    require(beta > 0 and 0 < beta * beta < math.inf, f"beta must be above 0 and finite, but is {beta}")
    rows = [np.array(annotators, dtype=np.float64) for annotators in counts]  # each (A, 3)
    sentences = np.array([f_score(choose(row[None], beta)[0], beta) for row in rows])
    correct, proposed, gold = (int(number) for number in total(rows, np.ones((1, len(rows))), beta)[0])
    details = {"precision": correct / proposed if proposed else 1.0, "recall": correct / gold if gold else 1.0}
    details |= {"correct": correct, "proposed": proposed, "gold": gold}

    def scores_of(times: Array) -> Array:
        return f_score(total(rows, times, beta), beta)

    return Evaluation(f"F{beta:g}", sentences, scores_of, details=details, signature=signature)


def total(rows: Sequence[Array], counts: Array, beta: float) -> Array:
    """Return the summed counts (B, 3), for each sentence with the annotator who is best for it and those before."""
    if all(len(row) == 1 for row in rows):
        return counts @ np.concatenate(rows)
    sums = np.zeros((len(counts), 3))
    for row, times in zip(rows, counts.T, strict=True):
        sums = choose(sums[:, None] + times[:, None, None] * row, beta)
    return sums


def choose(options: Array, beta: float) -> Array:
    """Choose an annotator per row, (B, A, 3) -> (B, 3): by F, then most correct, then fewest proposed and gold edits.

    >>> choose(np.array([[[1.0, 2, 2], [2, 2, 4], [2, 3, 4]]]), beta=1.0)
    array([[2., 2., 4.]])
    """
    best = options[:, 0]
    for option in options.transpose(1, 0, 2)[1:]:
        best_score, score = f_score(best, beta), f_score(option, beta)
        cheaper = option[:, 1] + beta**2 * option[:, 2] < best[:, 1] + beta**2 * best[:, 2]
        more = (option[:, 0] > best[:, 0]) | ((option[:, 0] == best[:, 0]) & cheaper)
        best = np.where(((score > best_score) | ((score == best_score) & more))[:, None], option, best)
    return best


def f_score(sums: Array, beta: float) -> Array:
    """Turn correct, proposed and gold edits (..., 3) into F, which is 1 if there are no proposed and no gold edits.

    >>> f_score(np.array([[4.0, 5, 5], [0, 0, 0], [0, 2, 0]]), beta=0.5).tolist()
    [0.8, 1.0, 0.0]
    """
    correct, proposed, gold = sums[..., 0], sums[..., 1], sums[..., 2]
    both = beta**2 * gold + proposed
    return np.divide((1 + beta**2) * correct, both, out=np.ones_like(both), where=both > 0)
