"""Spelling-aware words, in a gated Transformer whose copy gate repairs what it copies.

To copy a misspelt word is to repeat the mistake. With ``--spelling``, what position i of the source offers is

    r_i = k_i onehot(x_i) + (1 - k_i) sum_w p_i(w) onehot(w)        k_i = sigmoid(W h_i): x_i is right

where w are the words of the dictionary most like x_i, and p_i is a softmax over them, of how alike they are, how
frequent, and how well they fit h_i, the encoder's state (``Respelling.near_logits``). The pointer's attention a then
gives y' = sum_i a_i r_i. The decoder's own words are scored by the same spelled vectors.

Shapes: B batch, S source length, T target length, C channels, K words near each, V vocabulary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from lev_plugins.edits import known
from lev_plugins.layers import Respelling, Spelling, WordVectors, draw_sample


class Offered(NamedTuple):
    """What each position of the source offers to the copy gate: its own word, and those it may be meant to be."""

    tokens: Tensor  # (B, S, 1 + K) words of the dictionary
    shares: Tensor  # (B, S, 1 + K) their sum is 1
    words: WordVectors  # of the batch

    def select(self, rows: Tensor) -> Offered:
        return Offered(self.tokens[rows], self.shares[rows], self.words)

    def weighted(self, attention: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, S) -> tokens (B, 1, S (1 + K)) and weights (B, T, S (1 + K))"""
        weights = attention[..., None] * self.shares[:, None]  # (B, T, S, 1 + K)
        return self.tokens.flatten(1)[:, None], weights.flatten(2)


class SpelledTokens(nn.Module):
    """In place of the table of embeddings of a fairseq Transformer, whose encoder is also given unknown words."""

    def __init__(self, spelling: Respelling):
        super().__init__()
        self.spelling = spelling
        self.embedding_dim, self.padding_idx = spelling.embedding_dim, spelling.padding_idx

    def forward(self, tokens: Tensor) -> Tensor:
        """Words of the dictionary: (...) -> (..., C)"""
        flat = tokens.reshape(1, -1)
        return Spelling.look_up(self.spelling, flat, self.vectors_of(flat)).view(*tokens.shape, -1)

    def vectors_of(self, tokens: Tensor) -> Any:
        """Training computes those of the ``tokens`` alone; otherwise, those of all words are kept."""
        spelling = self.spelling
        if not spelling.learns:
            return Spelling.vectors(spelling, None)
        needed = torch.zeros(spelling.vocabulary, dtype=torch.bool, device=tokens.device)
        needed[tokens.flatten()] = True
        needed[spelling.unk] = True
        return spelling.tables(spelling.or_none(None), draw_sample(needed, others=0))

    def logits(self, states: Tensor, words: WordVectors) -> Tensor:
        """Scores of the decoder's own words: (B, T, C) -> (B, T, V)"""
        flat = states.flatten(0, 1)
        nothing = torch.full((len(flat),), self.padding_idx, device=states.device)
        return self.spelling.logits(flat, nothing, words).view(*states.shape[:2], -1)


class Repair(nn.Module):
    """Which words the source offers."""

    def __init__(self, dim: int):
        super().__init__()
        self.right, self.meant = nn.Linear(dim, 1), nn.Linear(dim, dim)

    def forward(self, states: Tensor, tokens: Tensor, spelling: Respelling, words: WordVectors) -> Offered:
        """(S, B, C), (B, S)"""
        states = states.transpose(0, 1)  # (B, S, C)
        keep = self.right(states).float().sigmoid()  # (B, S, 1)
        near, scores = spelling.near_logits(self.meant(states).flatten(0, 1), tokens.flatten(), words)
        near, shares = near.view(*tokens.shape, -1), scores.float().softmax(-1).view(*tokens.shape, -1)
        own = known(tokens, spelling.unk)[..., None]
        return Offered(torch.cat([own, near], -1), torch.cat([keep, (1 - keep) * shares], -1), words)
