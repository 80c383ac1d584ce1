"""A literal transcription of Algorithm 2: one sentence at a time, nothing remembered, no batch.

And the generator that is compared with it.
"""

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from lev_plugins.edits.expert import align
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.model import LevT
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, PREFER, SPAN
from tests.helpers import BOS, EOS, PAD, UNK, rows_to_tensor, toy_dictionary


def refine(
    models: list[LevT],
    sources: list[list[int]],
    drafts: list[list[int]] | None = None,
    requests: list[list[int]] | None = None,
    targets: list[list[int]] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """The best hypotheses of a batch."""
    net_input = {"src_tokens": rows_to_tensor(sources)}
    if drafts is not None:
        net_input["draft"] = rows_to_tensor(drafts)
    if requests is not None:
        width = net_input["draft"].size(1)
        net_input["marks"] = torch.tensor([row + [0] * (width - len(row)) for row in requests])
    target = None if targets is None else rows_to_tensor([row[1:] for row in targets])
    generator = RefinementGenerator(models, toy_dictionary(), RefinementOptions(**options))
    return [best[0] for best in generator.generate(models, {"net_input": net_input, "target": target})]


class Word(NamedTuple):
    token: int
    score: float
    asked: int = 0
    place: int = 0  # in the draft, from 1; 0 = not of the draft
    kept: float = 0.0  # log-probability of keeping a word of the draft, the last time that the policy was asked


@dataclass
class Hypothesis:
    tokens: list[int]
    scores: list[float]
    steps: int
    history: list[list[int]]

    @property
    def score(self) -> float:
        return sum(self.scores) / len(self.scores)


def probabilities(models: list[LevT], head: str, tokens: list[int], source: list[int]) -> Tensor:
    """Of every decision, the mean over the models: a fresh pass from the source on."""
    each = []
    for model in models:
        decoder = model.decoder
        memory = model.encode(torch.tensor([source]))
        hidden = decoder.hidden_states(head, torch.tensor([tokens]), memory)
        if head == "deletion":
            logits = decoder.deletion_logits(hidden)[0]
        elif head == "placeholder":
            logits = decoder.placeholder_logits(hidden)[0]
        else:
            holes = [i for i, token in enumerate(tokens) if token == model.placeholder]
            logits = decoder.token_logits(hidden, torch.tensor(holes, dtype=torch.long), memory)
        each.append(logits.double().softmax(-1))
    return torch.stack(each).mean(0)


def tokens_of(y: list[Word]) -> list[int]:
    return [word.token for word in y]


def slow_deletion(y: list[Word], chances: Tensor, options: RefinementOptions) -> list[Word]:
    left: list[Word] = []
    for word, (keep, delete) in zip(y, chances.tolist(), strict=True):
        if word.asked & PREFER:
            delete *= math.exp(-options.soft_protection)
        if word.place:
            delete *= math.exp(-options.keep_bias)
        if word.place and word.token not in (BOS, EOS) and not word.asked & KEEP:
            word = word._replace(kept=math.log(keep / (keep + delete)) if options.oracle == "none" else 0.0)
        goes = (delete > keep or word.asked & DELETE) and not word.asked & KEEP
        if word.token in (BOS, EOS) or not goes:
            left.append(word)
        elif word.asked & INSERT:
            left[-1] = left[-1]._replace(asked=left[-1].asked | INSERT)
    return left


def slow_heed(scores: Tensor, asked: list[int], soft_protection: float) -> Tensor:
    scores = scores.clone()
    for i, (left, right) in enumerate(itertools.pairwise(asked)):
        same_span = left // SPAN == right // SPAN
        if same_span and left & right & PREFER:
            scores[i, 1:] -= soft_protection
        if same_span and left & right & KEEP:
            scores[i, 0], scores[i, 1:] = 0.0, -math.inf
        if left & INSERT:
            scores[i, 0] = -math.inf
    return scores


def slow_keep(scores: Tensor, y: list[Word], keep_bias: float) -> Tensor:
    scores = scores.clone()
    for i, (left, right) in enumerate(itertools.pairwise(y)):
        if left.place and left.place + 1 == right.place:
            scores[i, 1:] -= keep_bias
    return scores


def gaps(y: list[Word], target: list[int]) -> list[int]:
    """The target words missing in each slot of ``y``: behind the same word, or behind the protected span it is in."""
    kept, matched = align(torch.tensor([tokens_of(y)]), torch.tensor([target]), PAD)
    places = iter([i for i, there in enumerate(matched[0].tolist()) if there] + [len(target)])
    found, here = [], next(places)
    for stays in kept[0].tolist()[:-1]:
        there = next(places) if stays else here
        found.append(there - here - 1 if stays else 0)
        here = there
    for i, (left, right) in enumerate(itertools.pairwise(word.asked for word in y)):
        if left & right & KEEP and left // SPAN == right // SPAN:
            found[i + 1] += found[i]
            found[i] = 0
    return found


def slow_counts(scores: Tensor, size: int, limit: int, options: RefinementOptions, room: int) -> list[int]:
    """How many placeholders each slot of a sentence of ``size`` tokens gets."""
    scores[:, 0] -= options.gamma
    counts = [min(int(row.argmax()), limit) for row in scores]
    lack = options.min_length + 2 - size - sum(counts)
    if options.min_length and lack > 0:
        counts[int(scores[:, 0].argmin())] += lack
    for i in range(len(counts)):
        counts[i] = min(counts[i], max(room - sum(counts[:i]), 0))
    return counts


@torch.no_grad()
def slow_refine(
    models: list[LevT],
    source: list[int],
    draft: list[int] | None = None,
    options: RefinementOptions | None = None,
    asked: list[int] | None = None,
    target: list[int] | None = None,
) -> Hypothesis:
    """Algorithm 2 of the paper, step by step; ``asked`` by a person of the draft, ``target`` for an oracle."""
    options = options or RefinementOptions()
    draft = draft or [BOS, EOS]
    plh, table = models[0].placeholder, min(model.max_positions()[1] for model in models)
    limit = max(int(len(source) * options.max_ratio), options.max_ratio_floor, options.min_length + 2)
    places = range(1, len(draft) + 1) if len(draft) > 2 else [0, 0]
    asked = asked or [0] * len(draft)
    y = [Word(token, 0.0, each, place) for token, each, place in zip(draft, asked, places, strict=True)]
    history = [tokens_of(y)]
    backup: list[Word] | None = None
    for step in range(options.max_iter + 1):
        steps, before, given = step, y, tokens_of(y)

        if given != [BOS, EOS]:
            if options.oracle == "none":
                chances = probabilities(models, "deletion", given, source)
            else:
                kept = align(torch.tensor([given]), torch.tensor([target]), PAD).kept[0]
                chances = torch.stack([kept.double(), (~kept).double()], 1)
            y = slow_deletion(y, chances, options)
        left = tokens_of(y)
        history.append(left)
        if options.adaptive and [word._replace(kept=0.0) for word in y] == backup:  # a direct loop
            history += [left, given]
            y = before
            break
        backup = [word._replace(kept=0.0) for word in y]

        if len(left) < limit or any(word.asked & INSERT for word in y):
            if options.oracle == "delete+placeholder":
                counts = gaps(y, target or [])
            else:
                chances = probabilities(models, "placeholder", left, source)
                scores = slow_keep(chances.log(), y, options.keep_bias)
                scores = slow_heed(scores, [word.asked for word in y], options.soft_protection)
                counts = slow_counts(scores, len(left), limit, options, table - len(left))
            y = y[:1] + [p for n, word in zip(counts, y[1:], strict=True) for p in [Word(plh, 0.0)] * n + [word]]
        opened = tokens_of(y)
        history.append(opened)

        if plh in opened:
            chances = probabilities(models, "token", opened, source)
            words = []
            for row in chances:
                row = row.clone()
                # with <unk> as the placeholder boundaries are allowed, as in fairseq
                row[[PAD] if plh == UNK else [BOS, PAD, EOS]] = -1.0
                words.append((int(row.argmax()), math.log(float(row.max()))))
            y = [Word(*words.pop(0)) if word.token == plh else word for word in y]
        y = [word._replace(asked=word.asked & ~(DELETE | INSERT)) for word in y]
        filled = tokens_of(y)
        history.append(filled)

        if options.adaptive and filled == given:
            break
    return Hypothesis(tokens_of(y), [word.score + word.kept for word in y], steps, history)


def assert_refined(
    models: list[LevT],
    sources: list[list[int]],
    drafts: list[list[int]] | None = None,
    requests: list[list[int]] | None = None,
    targets: list[list[int]] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """What ``refine`` finds, which is what Algorithm 2 does with each sentence."""
    results = refine(models, sources, drafts, requests, targets, **options)
    for i, result in enumerate(results):
        draft, asked, target = (rows and rows[i] for rows in (drafts, requests, targets))
        expected = slow_refine(models, sources[i], draft, RefinementOptions(**options), asked, target)
        assert result["tokens"].tolist() == expected.tokens[1:]
        assert result["steps"] == expected.steps
        assert result["positional_scores"].tolist() == pytest.approx(expected.scores[1:], abs=1e-4)
        assert float(result["score"]) == pytest.approx(expected.score, abs=1e-4)
        if "history" in result:
            assert [state["tokens"].tolist() for state in result["history"]] == expected.history
    return results
