"""Which words of a draft are bad, by the deletion policy of a LevT (word-level quality estimation).

    python quality.py CHECKPOINT DATA --pieces DATA/sentencepiece.model --drafts OUT/drafts --draft draft --target de \
        --output quality.json

A word is bad if the post-edit does not have it in its place. The policy's odds are cut where Matthews correlation is
best on the validation set, since a policy that leaves all drafts alone may still know where their bad words are. It is
compared with how often each word was bad in the drafts of the training text; "no word is bad" has a correlation of 0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sentencepiece import SentencePieceProcessor

from examples.shared import finish, read_parallel
from lev_plugins.errors import require
from lev_plugins.inference.decoder import CheckpointDecoder
from lev_plugins.inference.deletion_scores import deletion_odds, of_words
from lev_plugins.scoring.bad_words import bad_words, best_cut, judge

Lines = list[list[str]]
PRIOR = 5.0  # occurrences that a word begins with, as bad as words are on average


def split_text(folder: Path, split: str, draft: str, target: str) -> tuple[Lines, list[list[bool]]]:
    """The words of each draft, and whether they are bad."""
    texts = read_parallel([folder / f"{split}.{suffix}" for suffix in (draft, target)])
    drafts, edited = ([line.split() for line in lines] for lines in texts)
    return drafts, [bad_words(one, other) for one, other in zip(drafts, edited, strict=True)]


def rates(drafts: Lines, bad: list[list[bool]]) -> dict[str, float]:
    """How often each word is bad; "" is any other word.

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
    """All words of the lines that have a judgement."""
    kept = [(row, tags) for row, tags in zip(suspicion, bad, strict=True) if row is not None]
    left_out = len(bad) - len(kept)
    require(
        left_out <= len(bad) / 2,
        f"{left_out:,} of {len(bad):,} drafts of {split} do not fit the model: give the sentencepiece model that the "
        "data was made from",
    )
    if left_out:
        sys.stderr.write(f"{left_out:,} of {len(bad):,} drafts of {split} left out: too long, or cut in another way\n")
    return [each for row, _ in kept for each in row], [tag for _, tags in kept for tag in tags]


def scored(valid: tuple[list[float], list[bool]], test: tuple[list[float], list[bool]]) -> dict[str, float]:
    """The suspicion of each word and whether it is bad, in the text that decides the cut and in the test."""
    cut = best_cut(*valid)
    return {"cut": cut, **judge(*test, cut)._asdict()}


def run(args: argparse.Namespace) -> None:
    texts = {split: split_text(args.drafts, split, args.draft, args.target) for split in ("train", "valid", "test")}
    decoder = CheckpointDecoder([args.checkpoint], {"data": str(args.data), "draft_lang": args.draft}, {}, "cpu")
    known = rates(*texts["train"])
    policy, counted = {}, {}
    for split in ("valid", "test"):
        drafts, bad = texts[split]
        policy[split] = judged(suspected(drafts, args.pieces, deletion_odds(decoder, split)), bad, split)
        counted[split] = judged([[known.get(word, known[""]) for word in line] for line in drafts], bad, split)
    tags = counted["test"][1]
    report = {
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
    parser.add_argument("--draft", required=True, help="suffix of the drafts")
    parser.add_argument("--target", required=True, help="suffix of their post-edits")
    parser.add_argument("--output", type=Path, required=True)
    return finish(parser, run)


if __name__ == "__main__":
    sys.exit(main())
