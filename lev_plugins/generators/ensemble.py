"""Several models as one: the mean of their probabilities, for each head; and the symbols that they read and write."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.data.words import BatchWords
from lev_plugins.edits.actions import Removed, deletable, index_of, known
from lev_plugins.errors import require
from lev_plugins.models.levt import LevT, one_each
from lev_plugins.models.levt_stacks import EncodedSource
from lev_plugins.ranges import flag_name


@dataclass
class Passes:
    """Each model's states of the canvas in one pass."""

    states: list[list[Tensor]]
    valid: Tensor = field(init=False)  # (B,) True = the row has not changed since
    same: list[bool] = field(default_factory=list)  # the same, once it has been asked for


def selected(sources: list[EncodedSource], rows: Tensor) -> list[EncodedSource]:
    """The same sentences of each model's."""
    return [source.select(rows) for source in sources]


def mean_log_probs(logits: list[Tensor]) -> Tensor:
    """The logarithm of the models' mean probability.

    >>> one, other = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.1, 0.9]).log()
    >>> mean_log_probs([one, other]).exp()
    tensor([0.3000, 0.7000])
    """
    log_probs = [F.log_softmax(each.float(), -1) for each in logits]
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.logsumexp(torch.stack(log_probs), 0) - math.log(len(log_probs))


class Ensemble:
    def __init__(self, models: list[LevT]):
        first = models[0]
        for model in models[1:]:
            for name in ("placeholder", "max_insertions", "spelling_buckets", "backbone"):
                mine, theirs = getattr(first, name), getattr(model, name)
                require(
                    mine == theirs,
                    f"models of an ensemble must have the same {flag_name(name)}, but they have {mine} and {theirs}",
                )
        self.models = models
        self.placeholder = first.placeholder
        self.spells = first.spelling is not None
        self.max_target_positions = min(model.max_positions()[1] for model in models)
        self.respellings = [m.decoder.respelling for m in models if m.decoder.respelling is not None]
        # whether the placeholder policy can reuse the states of the deletion pass
        self.shared = all(m.decoder.sharing["deletion"] == m.decoder.sharing["placeholder"] for m in models)

    def encode(self, src_tokens: Tensor, words: BatchWords | None = None) -> list[EncodedSource]:
        return [model.encode(src_tokens, words) for model in self.models]

    def states(self, head: str, tokens: Tensor, memories: list[EncodedSource]) -> Passes:
        pairs = zip(self.models, memories, strict=True)
        return Passes([model.decoder.states(head, tokens, memory) for model, memory in pairs])

    def deletion(self, passes: Passes) -> Tensor:
        """(B, T, 2)"""
        pairs = zip(self.models, passes.states, strict=True)
        return mean_log_probs([model.decoder.deletion_logits(states) for model, states in pairs])

    def placeholder_scores(
        self,
        tokens: Tensor,
        memories: list[EncodedSource],
        passes: Passes | None,
        rows: list[int],
        removed: Removed | None = None,
    ) -> Tensor:
        """Log-probabilities (b, T - 1, K + 1) for b ``rows``, reusing ``passes`` where they are the same.

        ``removed``: the words that were deleted after each token, for models that spell.
        """
        if not self.shared:
            passes = None
        if passes is not None:
            old = [row for row in rows if passes.same[row]]
            new = [row for row in rows if not passes.same[row]]
            if not old:
                passes = None
            elif new:
                both, parts = old + new, (old, new)
                scores = [self.placeholder_scores(tokens, memories, passes, some, removed) for some in parts]
                return torch.cat(scores)[index_of(sorted(range(len(both)), key=both.__getitem__), tokens.device)]
        every = len(rows) == tokens.size(0)
        if not every:
            index = index_of(rows, tokens.device)
            tokens, removed = tokens[index], None if removed is None else Removed(*(each[index] for each in removed))
        logits = []
        for i, (model, memory) in enumerate(zip(self.models, memories, strict=True)):
            known = None
            if passes is not None:
                needed = passes.states[i][: model.decoder.depths["placeholder"] + 1]
                known = needed if every else [state[index] for state in needed]
            complete = known is not None and len(known) > model.decoder.depths["placeholder"]
            source = memory if every or complete else memory.select(index)
            states = model.decoder.states("placeholder", tokens, source, known, removed)
            logits.append(model.decoder.placeholder_logits(states))
        return mean_log_probs(logits)

    def tokens(
        self, tokens: Tensor, memories: list[EncodedSource], rows: Tensor, index: Tensor, replaced: Tensor | None = None
    ) -> Tensor:
        """Log-probabilities (n, V) at the holes of ``rows`` (b,), whose ``index`` (n,) counts through (b * T).

        ``replaced`` (B, T): the words they replace.
        """
        if rows.numel() < tokens.size(0):
            tokens, memories = tokens[rows], selected(memories, rows)
            replaced = None if replaced is None else replaced[rows]
        logits = []
        for model, memory in zip(self.models, memories, strict=True):
            states = model.decoder.states("token", tokens, memory, removed=one_each(replaced, model.pad))
            nearest, respelling = None, model.decoder.respelling
            if replaced is not None and respelling is not None and memory.words is not None:
                nearest = respelling.found(replaced.flatten()[index], memory.words.words)
            logits.append(model.decoder.token_logits(states, index, memory.words, replaced, nearest))
        return mean_log_probs(logits)

    def lacks(self, words: Tensor) -> Tensor:
        """(B, N) -> (B,) True = candidates for a word of the dictionary have yet to be found."""
        rows = [respelling.lacks(words).any(1) for respelling in self.respellings]
        return torch.stack(rows).any(0) if rows else torch.zeros_like(words[:, 0], dtype=torch.bool)

    def find(self, words: Tensor) -> None:
        for respelling in self.respellings:
            respelling.find(words)


class Symbols(NamedTuple):
    """The special symbols of the language that is written, and what the policies may read and write of them."""

    bos: int
    pad: int
    eos: int
    unk: int
    placeholder: int
    size: int  # of the dictionary
    never: tuple[int, ...]  # no hole is filled with these
    spells: bool  # the models read how unknown words are spelt; others read <unk>

    @classmethod
    def of(cls, dictionary: Any, ensemble: Ensemble) -> Symbols:
        bos, pad, eos, unk = dictionary.bos(), dictionary.pad(), dictionary.eos(), dictionary.unk()
        never: tuple[int, ...] = (pad,)  # padding within a sentence would cut it
        if ensemble.placeholder != unk:  # fairseq's LevT, with <unk> as its placeholder, may write these
            never += (bos, eos)
        if ensemble.spells:  # unknown words are kept or replaced
            never += (unk,)
        return cls(bos, pad, eos, unk, ensemble.placeholder, dictionary.size, never, ensemble.spells)

    def words(self, tokens: Tensor) -> Tensor:
        """Those that may be deleted: all but boundaries and padding."""
        return deletable(tokens, self.bos, self.eos, self.pad)

    def readable(self, tokens: Tensor) -> Tensor:
        return tokens if self.spells else self.known(tokens)

    def known(self, tokens: Tensor) -> Tensor:
        """<unk> for words that the dictionary lacks."""
        return known(tokens, self.size, self.unk)

    def forbid(self, log_probs: Tensor) -> Tensor:
        """(n, V), in place. One symbol after the other: a list as an index would make the CPU wait for a GPU."""
        for symbol in self.never:
            log_probs[:, symbol] = -math.inf
        return log_probs
