"""Algorithm 2 at fixed widths, for a GPU that decodes one sentence at a time.

For one sentence, launching kernels takes longer than running them. An iteration whose shapes do not depend on its
decisions can be captured once, as a CUDA graph, and then be replayed. So source and canvas are padded to one of
``WIDTHS``, every policy reads every position, and what it decides is a mask. The CPU waits for the GPU once per
iteration, to learn whether the sentence is finished or has outgrown the canvas. If it has, the iteration is repeated at
the next width.

Up to rounding, texts, scores and numbers of iterations are those of ``RefinementGenerator``, which handles everything
else: several sentences, requests, biases, oracles, candidates, histories, spelling-aware words.

Shapes: N the width; all tensors have one row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.actions import apply_deletions, apply_placeholders, at_least, within_room
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.generators.canvas import Canvas
from lev_plugins.generators.ensemble import Ensemble, Symbols
from lev_plugins.models.levt_stacks import EncodedSource

WIDTHS = (16, 32, 48, 64, 96, 128, 192, 256)
WARM_UPS = 2  # runs before a recording: libraries set themselves up in the first

Function = Callable[..., Any]


class Sentence(NamedTuple):
    """What an iteration reads and writes, each (1, N)."""

    tokens: Tensor
    scores: Tensor  # log-probability of each token when inserted; 0 for boundaries and the draft
    kept: Tensor  # log-probability of keeping each word of the draft
    origin: Tensor  # position of each token in the draft; 0 = not from there
    left: Tensor  # the tokens that the deletions of the iteration before left
    scores_left: Tensor

    def padded(self, width: int, pad: int) -> Sentence:
        fills = pad, 0.0, 0.0, 0, pad, 0.0
        return Sentence(*(F.pad(x, (0, width - x.size(1)), value=fill) for x, fill in zip(self, fills, strict=True)))

    def or_as(self, before: Sentence, back: Tensor) -> Sentence:
        """What was there ``before``, where ``back`` is True."""
        return Sentence(*(torch.where(back, then, now) for then, now in zip(before, self, strict=True)))


@dataclass
class FixedRefinement:
    ensemble: Ensemble
    options: RefinementOptions
    symbols: Symbols
    record: Callable[..., Function]  # ``recorded``
    at_width: dict[int, tuple[Function, Function]] = field(default_factory=dict)  # encoder and iteration

    def suits(self, canvas: Canvas) -> bool:
        plain = not (self.options.candidates > 1 or self.options.keep_bias or self.ensemble.spells)
        asked = canvas.requests, canvas.target, canvas.record  # record: histories may be asked for later on
        return plain and len(canvas.tokens) == 1 and all(value is None for value in asked)

    def refine(self, src_tokens: Tensor, canvas: Canvas) -> int | None:
        """Refine the sentence on the ``canvas``; the number of its last iteration, from 0.

        None if it needs more than the last of the WIDTHS; the canvas is then as it was.
        """
        tokens, zeros, step = canvas.tokens, torch.zeros_like(canvas.scores), 0
        kept = zeros if canvas.kept is None else canvas.kept
        origin = torch.zeros_like(tokens) if canvas.origin is None else canvas.origin
        left = torch.full_like(tokens, self.symbols.pad)  # no such sentence
        now = Sentence(tokens, canvas.scores, kept, origin, left, zeros)
        for width in (width for width in WIDTHS if width >= max(src_tokens.size(1), canvas.tokens.size(1))):
            iterate = self.encoded(F.pad(src_tokens, (0, width - src_tokens.size(1)), value=self.symbols.pad))
            now, outgrown = now.padded(width, self.symbols.pad), False
            while not outgrown:
                now, status = iterate(canvas.limits, *now)
                done, outgrown = status.tolist()  # the one question
                if not outgrown and (done or step == self.options.max_iter):
                    canvas.tokens, canvas.scores = now.tokens.clone(), now.scores.clone()
                    canvas.kept = None if canvas.kept is None else now.kept.clone()
                    return step
                step += not outgrown
        return None

    def encoded(self, src_tokens: Tensor) -> Function:
        """The iteration on sentences with this source (1, N)."""
        width = src_tokens.size(1)
        if width not in self.at_width:
            encode = self.record(self.ensemble.encode, src_tokens)
            # an empty sentence, as wide as the source, which may have another dictionary
            tokens = src_tokens.new_tensor([[self.symbols.bos, self.symbols.eos]])
            zeros = torch.zeros(tokens.shape, device=tokens.device)
            blank = Sentence(tokens, zeros, zeros, torch.zeros_like(tokens), tokens, zeros)
            blank = blank.padded(width, self.symbols.pad)
            iterate = self.record(partial(self.iteration, encode(src_tokens)), blank.tokens[:, 0], *blank)
            self.at_width[width] = encode, iterate
        encode, iterate = self.at_width[width]
        encode(src_tokens)  # writes to what the iteration reads
        return iterate

    def iteration(self, memory: list[EncodedSource], limit: Tensor, *state: Tensor) -> tuple[Sentence, Tensor]:
        """The sentence, and (2,) whether it is finished and whether it was too long for N and is as before."""
        now, pad, symbols = Sentence(*state), self.symbols.pad, self.symbols
        words = symbols.words(now.tokens)
        keep_or_delete = self.ensemble.deletion(self.ensemble.states("deletion", symbols.readable(now.tokens), memory))
        deleted = words & keep_or_delete.argmax(-1).bool()
        kept = torch.where(words & now.origin.ne(0), keep_or_delete.log_softmax(-1)[:, :, 0], now.kept)
        left, scores_left, *about = apply_deletions(now.tokens, deleted, pad, now.scores, kept, now.origin)
        loops = left.eq(now.left).all() & scores_left.eq(now.scores_left).all() & self.options.adaptive

        counts = self.counts(memory, left, limit).masked_fill(loops, 0)
        width = left.size(1)
        outgrown = left.ne(pad).sum() + counts.sum() > width
        opened, scores, *about = apply_placeholders(
            left, counts, symbols.placeholder, pad, scores_left, *about, width=width
        )

        holes = opened.eq(symbols.placeholder)
        every = torch.arange(width, device=opened.device)
        log_probs = self.ensemble.tokens(symbols.readable(opened), memory, every[:1], every)  # (N, V)
        best = symbols.forbid(log_probs).max(-1)
        tokens = torch.where(holes, best.indices[None], opened)
        scores = torch.where(holes, best.values[None].to(torch.float), scores)
        found = Sentence(tokens, scores, about[0], about[1], left, scores_left)
        found = found.or_as(now._replace(left=left, scores_left=scores_left), loops)
        done = found.tokens.eq(now.tokens).all() & self.options.adaptive
        return found.or_as(now, outgrown), torch.stack([done, outgrown])

    def counts(self, memory: list[EncodedSource], tokens: Tensor, limit: Tensor) -> Tensor:
        """(1, N - 1) placeholders"""
        pad, lengths = self.symbols.pad, tokens.ne(self.symbols.pad).sum(1)
        scores = self.ensemble.placeholder_scores(self.symbols.readable(tokens), memory, None, rows=[0])
        scores[:, :, 0] -= self.options.gamma
        counts = scores.argmax(-1).minimum(limit[:, None])
        counts = at_least(self.options.min_length, counts, scores, tokens, pad)
        counts = counts * (lengths < limit)[:, None]
        return within_room(self.ensemble.max_target_positions, counts, lengths, tokens, pad)


def recorded(function: Function, *example: Tensor) -> Function:
    """``function`` as a CUDA graph of the example's GPU, which always writes to the same tensors.

    Not measured on a GPU yet.
    """
    places, gpu = [each.clone() for each in example], example[0].device  # which need not be the current one
    with torch.cuda.device(gpu):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UPS):
                function(*places)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):  # fairseq's thread that loads data may go on
            written = function(*places)

    def replay(*values: Tensor) -> Any:
        for place, value in zip(places, values, strict=True):
            place.copy_(value)
        with torch.cuda.device(gpu):
            graph.replay()
        return written

    return replay
