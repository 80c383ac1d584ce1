"""A literal transcription of Algorithm 2, without batches and caches, and the generator that is compared with it."""

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
    """Returns the best hypothesis of each sentence of a batch."""
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
    mark_bits: int = 0
    place: int = 0  # in the draft, from 1; 0 = not of the draft
    keep_log_prob: float = 0.0  # of a word of the draft, in the last iteration


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
    """Returns the mean over the models of each decision's probabilities, computed from the source on."""
    model_probs = []
    for model in models:
        decoder = model.decoder
        memory = model.encode(torch.tensor([source]))
        hidden = decoder.hidden_states(head, torch.tensor([tokens]), memory)
        if head == "deletion":
            logits = decoder.deletion_logits(hidden)[0]
        elif head == "placeholder":
            logits = decoder.placeholder_logits(hidden)[0]
        else:
            placeholders = [i for i, token in enumerate(tokens) if token == model.placeholder]
            logits = decoder.token_logits(hidden, torch.tensor(placeholders, dtype=torch.long), memory)
        model_probs.append(logits.double().softmax(-1))
    return torch.stack(model_probs).mean(0)


def tokens_of(y: list[Word]) -> list[int]:
    return [word.token for word in y]


def slow_deletion(y: list[Word], chances: Tensor, options: RefinementOptions) -> list[Word]:
    remaining_words: list[Word] = []
    for word, (keep, delete) in zip(y, chances.tolist(), strict=True):
        if word.mark_bits & PREFER:
            delete *= math.exp(-options.soft_protection)
        if word.place:
            delete *= math.exp(-options.keep_bias)
        if word.place and word.token not in (BOS, EOS) and not word.mark_bits & KEEP:
            word = word._replace(keep_log_prob=math.log(keep / (keep + delete)) if options.oracle == "none" else 0.0)
        is_deleted = (delete > keep or word.mark_bits & DELETE) and not word.mark_bits & KEEP
        if word.token in (BOS, EOS) or not is_deleted:
            remaining_words.append(word)
        elif word.mark_bits & INSERT:
            remaining_words[-1] = remaining_words[-1]._replace(mark_bits=remaining_words[-1].mark_bits | INSERT)
    return remaining_words


def apply_mark_bits(scores: Tensor, mark_bits: list[int], soft_protection: float) -> Tensor:
    scores = scores.clone()
    for i, (left_bits, right_bits) in enumerate(itertools.pairwise(mark_bits)):
        same_span = left_bits // SPAN == right_bits // SPAN
        if same_span and left_bits & right_bits & PREFER:
            scores[i, 1:] -= soft_protection
        if same_span and left_bits & right_bits & KEEP:
            scores[i, 0], scores[i, 1:] = 0.0, -math.inf
        if left_bits & INSERT:
            scores[i, 0] = -math.inf
    return scores


def apply_keep_bias(scores: Tensor, y: list[Word], keep_bias: float) -> Tensor:
    scores = scores.clone()
    for i, (left_word, right_word) in enumerate(itertools.pairwise(y)):
        if left_word.place and left_word.place + 1 == right_word.place:
            scores[i, 1:] -= keep_bias
    return scores


def missing_counts(y: list[Word], target: list[int]) -> list[int]:
    """Counts the target words missing in each slot of ``y``: behind the same word or behind its protected span."""
    alignment = align(torch.tensor([tokens_of(y)]), torch.tensor([target]), PAD)
    target_positions = iter([*alignment.matched[0].nonzero().flatten().tolist(), len(target)])
    missing, position = [], next(target_positions)
    for is_kept in alignment.kept[0].tolist()[:-1]:
        next_position = next(target_positions) if is_kept else position
        missing.append(next_position - position - 1 if is_kept else 0)
        position = next_position
    for i, (left_bits, right_bits) in enumerate(itertools.pairwise(word.mark_bits for word in y)):
        if left_bits & right_bits & KEEP and left_bits // SPAN == right_bits // SPAN:
            missing[i + 1] += missing[i]
            missing[i] = 0
    return missing


def slow_placeholder_counts(scores: Tensor, size: int, limit: int, options: RefinementOptions, room: int) -> list[int]:
    """Returns the number of placeholders for each slot of a sentence of ``size`` tokens."""
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
    mark_bits: list[int] | None = None,
    target: list[int] | None = None,
) -> Hypothesis:
    """Runs Algorithm 2 of the paper; ``mark_bits`` are edit constraints of the draft, an oracle needs ``target``."""
    options = options or RefinementOptions()
    draft = draft or [BOS, EOS]
    plh, table = models[0].placeholder, min(model.max_positions()[1] for model in models)
    limit = max(int(len(source) * options.max_ratio), options.max_ratio_floor, options.min_length + 2)
    positions = range(1, len(draft) + 1) if len(draft) > 2 else [0, 0]
    mark_bits = mark_bits or [0] * len(draft)
    y = [Word(token, 0.0, bits, place) for token, bits, place in zip(draft, mark_bits, positions, strict=True)]
    history = [tokens_of(y)]
    backup: list[Word] | None = None
    for step in range(options.max_iter + 1):
        steps, previous_words, initial_tokens = step, y, tokens_of(y)

        if initial_tokens != [BOS, EOS]:
            if options.oracle == "none":
                chances = probabilities(models, "deletion", initial_tokens, source)
            else:
                is_kept = align(torch.tensor([initial_tokens]), torch.tensor([target]), PAD).kept[0]
                chances = torch.stack([is_kept.double(), (~is_kept).double()], 1)
            y = slow_deletion(y, chances, options)
        kept_tokens = tokens_of(y)
        history.append(kept_tokens)
        if options.adaptive and [word._replace(keep_log_prob=0.0) for word in y] == backup:  # a direct loop
            history += [kept_tokens, initial_tokens]
            y = previous_words
            break
        backup = [word._replace(keep_log_prob=0.0) for word in y]

        if len(kept_tokens) < limit or any(word.mark_bits & INSERT for word in y):
            if options.oracle == "delete+placeholder":
                counts = missing_counts(y, target or [])
            else:
                chances = probabilities(models, "placeholder", kept_tokens, source)
                scores = apply_keep_bias(chances.log(), y, options.keep_bias)
                scores = apply_mark_bits(scores, [word.mark_bits for word in y], options.soft_protection)
                counts = slow_placeholder_counts(scores, len(kept_tokens), limit, options, table - len(kept_tokens))
            y = y[:1] + [p for n, word in zip(counts, y[1:], strict=True) for p in [Word(plh, 0.0)] * n + [word]]
        tokens_with_placeholders = tokens_of(y)
        history.append(tokens_with_placeholders)

        if plh in tokens_with_placeholders:
            chances = probabilities(models, "token", tokens_with_placeholders, source)
            words = []
            for row in chances:
                row = row.clone()
                # with <unk> as the placeholder boundaries are allowed, as in fairseq
                row[[PAD] if plh == UNK else [BOS, PAD, EOS]] = -1.0
                words.append((int(row.argmax()), math.log(float(row.max()))))
            y = [Word(*words.pop(0)) if word.token == plh else word for word in y]
        y = [word._replace(mark_bits=word.mark_bits & ~(DELETE | INSERT)) for word in y]
        filled_tokens = tokens_of(y)
        history.append(filled_tokens)

        if options.adaptive and filled_tokens == initial_tokens:
            break
    return Hypothesis(tokens_of(y), [word.score + word.keep_log_prob for word in y], steps, history)


def assert_refined(
    models: list[LevT],
    sources: list[list[int]],
    drafts: list[list[int]] | None = None,
    requests: list[list[int]] | None = None,
    targets: list[list[int]] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Asserts that ``refine`` does with each sentence what Algorithm 2 does, and returns its hypotheses."""
    results = refine(models, sources, drafts, requests, targets, **options)
    for i, result in enumerate(results):
        draft, mark_bits, target = (rows and rows[i] for rows in (drafts, requests, targets))
        expected = slow_refine(models, sources[i], draft, RefinementOptions(**options), mark_bits, target)
        assert result["tokens"].tolist() == expected.tokens[1:]
        assert result["steps"] == expected.steps
        assert result["positional_scores"].tolist() == pytest.approx(expected.scores[1:], abs=1e-4)
        assert float(result["score"]) == pytest.approx(expected.score, abs=1e-4)
        if "history" in result:
            assert [state["tokens"].tolist() for state in result["history"]] == expected.history
    return results
