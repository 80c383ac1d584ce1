"""Which words of a draft are bad, by the deletion policy of a LevT (word-level quality estimation).

    python quality.py CHECKPOINT DATA --pieces DATA/sentencepiece.model --drafts OUT/drafts --draft draft --target de \
        --output quality.json

A word is bad if the post-edit does not have it in its place, by the alignment with the fewest edits and without shifts;
or, with --tags tags, if the official labels say so: a line of OUT/drafts/valid.tags has OK or BAD for the gap before
the first word of a draft, then for each word and the gap after it.
The policy's odds are cut where Matthews correlation is best on the validation set, since a policy that leaves all
drafts alone may still know where their bad words are. It is compared with how often each word was bad in the drafts of
the training text; "no word is bad" has a correlation of 0.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sentencepiece import SentencePieceProcessor
from torch import Tensor

from examples.shared import finish, read_parallel, recognised_words
from lev_plugins.export.decoder import CheckpointDecoder
from lev_plugins.labelling.scores import possible_cuts
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.policies import EnsemblePolicies
from lev_plugins.text.ids import PAD
from lev_plugins.utils.errors import require

Lines = list[list[str]]
PRIOR = 5.0  # occurrences that a word begins with, as bad as words are on average


class Judgement(NamedTuple):
    matthews: float
    f1_bad: float
    f1_ok: float


def bad_words(draft: Sequence[str], edited: Sequence[str]) -> list[bool]:
    """
    >>> bad_words("the cta sat right down".split(), "the cat sat down".split())
    [False, True, False, True, False]
    """
    return [not right for right in recognised_words(draft, edited)]


def tagged_bad(tags: str, words: int, place: str = "") -> list[bool]:
    """
    >>> tagged_bad("OK OK BAD BAD OK", words=2)
    [False, True]
    """
    labels = tags.split()
    require(
        len(labels) == 2 * words + 1 and {*labels} <= {"OK", "BAD"},
        f"{place}: a draft of {words} words has {2 * words + 1} tags, OK or BAD, but these are {tags[:60]}",
    )
    return [label == "BAD" for label in labels[1::2]]


def judge(suspicion: Sequence[float], bad: Sequence[bool], cut: float) -> Judgement:
    """How right it is to call every word bad whose ``suspicion`` is at least ``cut``.

    >>> judge([0.9, 0.8, 0.2, 0.1], [True, False, True, False], 0.5)
    Judgement(matthews=0.0, f1_bad=0.5, f1_ok=0.5)
    >>> judge([0.9, 0.8, 0.2, 0.1], [True, False, True, False], 2.0)    # one answer for all
    Judgement(matthews=0.0, f1_bad=0.0, f1_ok=0.6666666666666666)
    """
    alarm, true = np.asarray(suspicion) >= cut, np.asarray(bad, dtype=bool)
    hit, false_alarm = int((alarm & true).sum()), int((alarm & ~true).sum())
    miss, rest = int((~alarm & true).sum()), int((~alarm & ~true).sum())
    return Judgement(
        float(matthews(hit, false_alarm, miss, rest)),
        f1(hit, false_alarm, miss),
        f1(rest, miss, false_alarm),
    )


def best_cut(suspicion: Sequence[float], bad: Sequence[bool]) -> float:
    """The cut with the highest Matthews correlation: the suspicion of the last word that it calls bad.

    >>> best_cut([0.1, 0.9, 0.8, 0.3], [False, True, True, False])
    0.8
    """
    values, true = np.asarray(suspicion, dtype=float), np.asarray(bad, dtype=bool)
    require(len(values) > 0, "a cut is chosen on at least one word, but there are none")
    cuts, alarms, hits = possible_cuts(values, true)
    false_alarms = alarms - hits
    score = matthews(hits, false_alarms, true.sum() - hits, (~true).sum() - false_alarms)
    return float(cuts[int(score.argmax())])


def matthews(hit: Any, false_alarm: Any, miss: Any, rest: Any) -> Any:
    """Returns Matthews correlation, of counts or arrays of counts; 0 if all words are of one kind or get one answer."""
    hit, false_alarm, miss, rest = (np.asarray(counts, dtype=float) for counts in (hit, false_alarm, miss, rest))
    product = (hit + false_alarm) * (hit + miss) * (rest + false_alarm) * (rest + miss)
    return (hit * rest - false_alarm * miss) / np.sqrt(np.where(product == 0, np.inf, product))


def f1(hit: int, false_alarm: int, miss: int) -> float:
    return 2 * hit / (2 * hit + false_alarm + miss) if hit else 0.0


@torch.no_grad()
def first_odds(generator: RefinementGenerator, net_input: dict[str, Any]) -> Tensor:
    """(B, T): the deletion policy's log-odds that each token of the draft goes, in the first iteration."""
    policies = EnsemblePolicies(generator.ensemble, net_input["src_tokens"], net_input.get("words"))
    drafts = [[token for token in row if token != PAD] for row in net_input["draft"].tolist()]
    return torch.from_numpy(policies.deletion(generator.refiner.start(repeat(0), drafts)))


def deletion_odds(decoder: CheckpointDecoder, split: str, max_tokens: int = 4000) -> list[list[float] | None]:
    """Returns the log-odds of each token of the drafts of ``split``; None for a sentence that is too long."""
    generator = decoder.generator
    require(isinstance(generator, RefinementGenerator), "only a levt has a deletion policy: give its checkpoint")
    dataset = decoder.dataset(split)
    odds: list[list[float] | None] = [None] * len(dataset)
    for sample in decoder.samples(dataset, range(len(dataset)), max_tokens):
        require("draft" in sample["net_input"], "the data has no drafts: train the levt with --draft-lang")
        words = sample["net_input"]["draft"].ne(decoder.task.target_dictionary.pad())
        of_tokens = first_odds(generator, sample["net_input"])
        for index, row, inside in zip(sample["id"].tolist(), of_tokens, words, strict=True):
            odds[index] = row[inside].tolist()[1:-1]  # without <s> and </s>
    return odds


def of_words(odds: Sequence[float], pieces: Sequence[int]) -> list[float] | None:
    """Returns the odds of words from those of their pieces: a word is as suspect as the most suspect of its pieces.

    None if the words have other pieces than the draft, or none, as where a tokeniser drops a control character.

    >>> of_words([-2.0, 1.0, -3.0], [2, 1])
    [1.0, -3.0]
    >>> of_words([-2.0, 1.0, -3.0], [1, 1])
    """
    if sum(pieces) != len(odds) or 0 in pieces:
        return None
    ends = list(accumulate(pieces))
    return [max(odds[end - count : end]) for end, count in zip(ends, pieces, strict=True)]


def split_text(args: argparse.Namespace, split: str) -> tuple[Lines, list[list[bool]]]:
    """The words of each draft, and whether they are bad."""
    name = args.test if split == "test" else split
    paths = [args.drafts / f"{name}.{suffix}" for suffix in (args.draft, args.tags or args.target)]
    lines, judging = read_parallel(paths)
    drafts = [line.split() for line in lines]
    both = enumerate(zip(drafts, judging, strict=True), 1)
    if args.tags:
        return drafts, [tagged_bad(tags, len(draft), f"{paths[1]}, line {n}") for n, (draft, tags) in both]
    return drafts, [bad_words(draft, edited.split()) for _, (draft, edited) in both]


def rates(drafts: Lines, bad: list[list[bool]]) -> dict[str, float]:
    """Returns how often each word is bad; "" is any other word.

    >>> rates([["a", "b"], ["a"]], [[True, False], [True]])["a"]
    0.7619047619047619
    """
    words, tags = list(chain(*drafts)), list(chain(*bad))
    average = sum(tags) / len(tags)
    total, wrong = Counter(words), Counter(word for word, tag in zip(words, tags, strict=True) if tag)
    return {"": average} | {word: (wrong[word] + PRIOR * average) / (total[word] + PRIOR) for word in total}


def suspected(drafts: Lines, pieces: Path, odds: list[list[float] | None]) -> list[list[float] | None]:
    """Log-odds of each word; None for a draft that is too long for the model, or whose words have other pieces."""
    tokeniser = SentencePieceProcessor(model_file=str(pieces))
    return [
        None if row is None else of_words(row, [len(tokeniser.encode(word)) for word in words])
        for words, row in zip(drafts, odds, strict=True)
    ]


def judged(suspicion: list[list[float] | None], bad: list[list[bool]], split: str) -> tuple[list[float], list[bool]]:
    """Returns the words of all lines that have a judgement, and whether they are bad."""
    lines = [(row, tags) for row, tags in zip(suspicion, bad, strict=True) if row is not None]
    left_out = len(bad) - len(lines)
    require(
        left_out <= len(bad) / 2,
        f"{left_out:,} of {len(bad):,} drafts of {split} do not fit the model: give the sentencepiece model that the "
        "data was made from",
    )
    if left_out:
        sys.stderr.write(f"{left_out:,} of {len(bad):,} drafts of {split} left out: too long, or cut in another way\n")
    return [odds for row, _ in lines for odds in row], [tag for _, tags in lines for tag in tags]


def scored(valid: tuple[list[float], list[bool]], test: tuple[list[float], list[bool]]) -> dict[str, float]:
    """The suspicion of each word and whether it is bad, in the text that decides the cut and in the test."""
    cut = best_cut(*valid)
    return {"cut": cut, **judge(*test, cut)._asdict()}


def run(args: argparse.Namespace) -> None:
    texts = {split: split_text(args, split) for split in ("train", "valid", "test")}
    decoder = CheckpointDecoder([args.checkpoint], {"data": str(args.data), "draft_lang": args.draft}, {}, "cpu")
    word_rates = rates(*texts["train"])
    policy, counted = {}, {}
    for split in ("valid", "test"):
        drafts, bad = texts[split]
        policy[split] = judged(suspected(drafts, args.pieces, deletion_odds(decoder, split)), bad, split)
        suspicion = [[word_rates.get(word, word_rates[""]) for word in line] for line in drafts]
        counted[split] = judged(suspicion, bad, split)
    tags = counted["test"][1]
    report = {
        "labels": "official" if args.tags else "aligned",
        "words": len(tags),
        "bad": sum(tags) / len(tags),
        "policy": scored(policy["valid"], policy["test"]),
        "word rates": scored(counted["valid"], counted["test"]),
    }
    args.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("data", type=Path, help="folder of its data")
    parser.add_argument("--pieces", type=Path, required=True, help="the sentencepiece model of the data")
    parser.add_argument("--drafts", type=Path, required=True, help="folder of the text: train, valid and test")
    parser.add_argument("--test", default="test", help="name of the test files in that folder (default: test)")
    parser.add_argument("--draft", required=True, help="suffix of the drafts")
    parser.add_argument("--target", required=True, help="suffix of their post-edits")
    parser.add_argument("--tags", default="", help="suffix of official labels, which then say what is bad")
    parser.add_argument("--output", type=Path, required=True)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
