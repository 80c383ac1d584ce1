"""Iterative refinement: Algorithm 2 of the LevT paper, over a batch in which every sentence leaves when it is done.

One iteration is three named steps, each a policy and its action: ``_delete``, ``_open`` (placeholders), ``_fill``.
A sentence ends when

* an iteration returns what it was given: nothing to delete, nothing to insert;
* what is left after the deletions is what was left one iteration before: the policies undo each other for ever;
* ``max_iter`` iterations are over.

A person's marks on a draft (``lev_plugins.edits.requests``) and an oracle that knows the reference change what a step
decides, nothing else.

The score of a candidate is the mean over its tokens, boundaries included, of a log-probability: of a word that was
inserted, that of the token policy when it was chosen; of a word of the draft, that of the deletion policy keeping it,
as of the last time it was asked. What no policy decided counts 0: the boundaries, and words that a mark or an oracle
kept. Without drafts this is the score of fairseq's own refinement.

A Transformer pass is not run where its result is known: a sentence that lost no token enters the placeholder step
with the states of the deletion step (where the two policies share blocks), and one that got no placeholder has no
third pass.

Shapes: B sentences under way (times candidates), T width of the canvas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from lev_plugins.edits import (
    align,
    apply_deletions,
    apply_placeholders,
    apply_tokens,
    deletable,
    known,
    origin_of,
    requests,
    unopened,
)
from lev_plugins.errors import UserError, require
from lev_plugins.generators.ensemble import Ensemble
from lev_plugins.generators.oracle import ORACLES, behind_spans, missing_counts
from lev_plugins.generators.rerank import rerank
from lev_plugins.models.levt import LevT, mix_rows
from lev_plugins.ranges import MOST_LOG_ODDS, bounded

TEMPERATURES = 0.0001, 10_000  # beyond, scores cannot be told apart


@dataclass(frozen=True)
class RefinementOptions:
    max_iter: int = 10  # the timeout: iterations after the first
    gamma: float = 0.0  # subtracted from the log-probability of inserting nothing, section 3.3; negative: shorter texts
    max_ratio: float = 2.0  # a sentence of more than this many times the source's tokens gets no more placeholders
    max_ratio_floor: int = 10  # ... but every sentence may have this many
    min_length: int = 0  # words a sentence must have
    adaptive: bool = True  # False: run all iterations
    candidates: int = 1  # the greedy result and this many - 1 sampled ones
    temperature: float = 1.0  # of the sampled candidates
    soft_protection: float = 3.0  # log-odds by which a change of a softly protected span must win
    keep_bias: float = 0.0  # log-odds by which any change of the draft must win
    oracle: str = "none"  # whose actions come from the reference, one of ORACLES
    retain_history: bool = False

    def __post_init__(self) -> None:
        bounded("--iter-decode-max-iter", self.max_iter, 0)
        bounded("--max-ratio", self.max_ratio, 0)
        bounded("--max-ratio-floor", self.max_ratio_floor, 0)
        bounded("--min-words", self.min_length, 0)
        bounded("--iter-decode-with-beam", self.candidates, 1)
        bounded("--soft-protection", self.soft_protection, 0, MOST_LOG_ODDS)
        bounded("--keep-bias", self.keep_bias, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        bounded("--iter-decode-eos-penalty", self.gamma, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        bounded("--temperature", self.temperature, *TEMPERATURES)
        require(self.oracle in ORACLES, f"--oracle must be one of {', '.join(ORACLES)}, but is {self.oracle!r}")


@dataclass
class Canvas:
    """The sentences under way."""

    tokens: Tensor  # (B, T)
    scores: Tensor  # (B, T) log-probability of each token when it was inserted, 0 of the boundaries and of the draft
    rows: Tensor  # (B,) which result each belongs to
    limits: Tensor  # (B,) tokens from which on a sentence gets no placeholders
    sampled: Tensor  # (B,) True = a candidate drawn at random
    requests: Tensor | None = None  # (B, T) what a person asked of each token; None = nothing of any
    origin: Tensor | None = None  # (B, T) where in the draft it stood; None = there are no drafts
    kept: Tensor | None = None  # (B, T) of the draft's words, log-probability of keeping; None = there are no drafts
    target: Tensor | None = None  # (B, R) the reference, for an oracle
    states: list[list[Tensor]] = field(default_factory=list)  # per step so far, what each row looked like

    def moving(self) -> list[str]:
        """What moves with the tokens."""
        return [name for name in ("scores", "requests", "origin", "kept") if getattr(self, name) is not None]

    def along(self) -> list[Tensor]:
        return [getattr(self, name) for name in self.moving()]

    def move(self, tokens: Tensor, *along: Tensor) -> None:
        self.tokens = tokens
        for name, value in zip(self.moving(), along, strict=True):
            setattr(self, name, value)

    def select(self, keep: Tensor) -> Canvas:
        return Canvas(
            self.tokens[keep],
            self.scores[keep],
            self.rows[keep],
            self.limits[keep],
            self.sampled[keep],
            None if self.requests is None else self.requests[keep],
            None if self.origin is None else self.origin[keep],
            None if self.kept is None else self.kept[keep],
            None if self.target is None else self.target[keep],
            [row for row, kept in zip(self.states, keep.tolist(), strict=True) if kept] if self.states else [],
        )


class RefinementGenerator:
    """fairseq's generator interface around Algorithm 2: ``generate(models, sample)`` -> n-best lists of dicts."""

    def __init__(
        self,
        models: list[Any],
        tgt_dict: Any,
        options: RefinementOptions,
        reranker: Any | None = None,
    ):
        require(any(isinstance(m, LevT) for m in models), "decoding by refinement needs a levt checkpoint in --path")
        others = sorted({type(m).__name__ for m in models if not isinstance(m, LevT)})
        require(
            not others,
            f"--path names a {' and a '.join(others)} beside a levt, which make no ensemble: to let the last "
            "checkpoint choose among candidates add --iter-decode-with-external-reranker, else leave it out",
        )
        require(
            reranker is None or isinstance(reranker, FairseqEncoderDecoderModel),
            "--iter-decode-with-external-reranker takes the last checkpoint of --path as the reranker, which must be "
            f"an encoder-decoder that writes from left to right, but it is a {type(reranker).__name__}: give "
            "levt.pt:transformer.pt",
        )
        self.ensemble = Ensemble(models)
        most = self.ensemble.max_target_positions - 2  # 2: <s> and </s>
        require(
            options.min_length <= most,
            f"--min-words must be at most {most}, as many as the model has positions for, but is {options.min_length}",
        )
        self.options, self.reranker, self.tgt_dict = options, reranker, tgt_dict
        self.bos, self.pad, self.eos, self.unk = tgt_dict.bos(), tgt_dict.pad(), tgt_dict.eos(), tgt_dict.unk()
        self.placeholder = self.ensemble.placeholder
        self.own_placeholder = self.placeholder != tgt_dict.unk()
        self.random = torch.Generator().manual_seed(torch.initial_seed() % 2**63)

    @torch.no_grad()
    def generate(
        self, models: Any, sample: dict[str, Any], prefix_tokens: Tensor | None = None, constraints: Any = None
    ) -> list[list[dict[str, Any]]]:
        require(prefix_tokens is None, "--prefix-size keeps a prefix by left-to-right search; give a draft instead")
        require(constraints is None, "--constraints is for left-to-right search; a levt takes a draft instead")
        self.ensemble.eval()
        net_input = sample["net_input"]
        target = self._reference(sample) if self.options.oracle != "none" else None
        results = self._refine(net_input["src_tokens"], net_input.get("draft"), net_input.get("requests"), target)
        n = self.options.candidates
        groups = [results[i : i + n] for i in range(0, len(results), n)]
        if self.reranker is not None:
            rerank(self.reranker, self.tgt_dict, net_input["src_tokens"], groups)
        return [sorted(group, key=lambda hypo: -float(hypo["score"])) for group in groups]

    def _reference(self, sample: dict[str, Any]) -> Tensor:
        """(B, R) with <s>, which fairseq leaves out"""
        target = sample.get("target")
        if target is None:
            raise UserError(f"--oracle {self.options.oracle} takes actions from references, but there are none here")
        return torch.cat([target.new_full((target.size(0), 1), self.bos), target], 1)

    def _refine(
        self, src_tokens: Tensor, draft: Tensor | None, asked: Tensor | None = None, target: Tensor | None = None
    ) -> list[dict[str, Any]]:
        memory = self.ensemble.encode(src_tokens)
        canvas = self._start(src_tokens, draft, asked, target)
        if self.options.candidates > 1:
            memory = memory.select(canvas.rows // self.options.candidates)
        results: list[dict[str, Any]] = [{} for _ in range(canvas.rows.numel())]
        before: list[Tensor] | None = None  # what the last iteration's deletions left
        for step in range(self.options.max_iter + 1):
            given = [canvas.tokens, *canvas.along()]
            passes = self._delete(canvas, memory)
            loops = self._loops(canvas, before)
            before = self._steering(canvas)
            self._open(canvas, memory, passes, ~loops)
            self._fill(canvas, memory)
            self._put_back(canvas, loops, given)
            if canvas.requests is not None:
                canvas.requests = requests.after_first_iteration(canvas.requests)
            self._remember(canvas)
            done = torch.full_like(loops, step == self.options.max_iter)
            if self.options.adaptive:
                done = done | same_rows(canvas.tokens, given[0], self.pad)
            finished = done.tolist()
            for i in [i for i, end in enumerate(finished) if end]:
                results[int(canvas.rows[i])] = self._result(canvas, i, step)
            if all(finished):
                break
            if any(finished):
                canvas, memory = canvas.select(~done), memory.select((~done).nonzero()[:, 0])
                before = [each[~done] for each in before]
            self._trim(canvas)
        return results

    def _start(self, src_tokens: Tensor, draft: Tensor | None, asked: Tensor | None, target: Tensor | None) -> Canvas:
        """y^0: the draft, or <s> </s>."""
        batch, n = src_tokens.size(0), self.options.candidates
        if draft is None:
            draft = src_tokens.new_tensor([self.bos, self.eos]).repeat(batch, 1)
        room = self.ensemble.max_target_positions
        if draft.size(1) > room:  # which may be padding
            longest = int(draft.ne(self.pad).sum(1).max())
            require(
                longest <= room,
                f"a draft has {longest} tokens, boundaries included, but the model has positions for {room}: "
                "shorten it, or train with a larger --max-target-positions",
            )
        tokens = draft.repeat_interleave(n, 0)
        lengths = src_tokens.ne(self.pad).sum(1).repeat_interleave(n)
        least = min(max(self.options.max_ratio_floor, self.options.min_length + 2), room)  # 2: <s> and </s>
        limits = (lengths * self.options.max_ratio).clamp(min=least, max=room).long()
        rows = torch.arange(batch * n, device=src_tokens.device)
        canvas = Canvas(tokens, self.ensemble.zeros(tokens), rows, limits, rows % n > 0)
        if asked is not None and bool(asked.any()):
            canvas.requests = asked.repeat_interleave(n, 0)
        if tokens.size(1) > 2:  # a draft of <s> </s> has nothing to keep
            canvas.origin = origin_of(tokens, self.bos, self.eos, self.pad)
            canvas.kept = self.ensemble.zeros(tokens)
        if target is not None:
            canvas.target = target.repeat_interleave(n, 0)
        if self.options.retain_history:
            canvas.states = [[] for _ in range(batch * n)]
            self._remember(canvas)
        return canvas

    def _delete(self, canvas: Canvas, memory: Any) -> Any:
        """y' = E(y, d); returns the pass for the placeholder step to reuse."""
        passes = None
        words = deletable(canvas.tokens, self.bos, self.eos, self.pad)
        if bool(words.any()):  # else all are empty, and there is nothing to skip past
            if canvas.target is None:
                passes = self.ensemble.states("deletion", self._known(canvas), memory)
                scores = self._scored(self.ensemble.deletion(passes), canvas)
                deleted = scores.argmax(-1).bool()
                self._note_kept(scores, words, canvas)
            else:
                deleted = ~align(self._known(canvas), canvas.target, self.pad).kept
            if canvas.requests is not None:
                deleted = deleted | requests.has(canvas.requests, requests.DELETE)
                deleted = deleted & ~requests.has(canvas.requests, requests.KEEP)
            deleted = deleted & words
            if passes is not None:
                passes.valid = ~deleted.any(1) & words.any(1)
            if canvas.requests is not None:
                canvas.requests = requests.hand_on(canvas.requests, deleted)
            canvas.move(*apply_deletions(canvas.tokens, deleted, self.pad, *canvas.along()))
        self._remember(canvas)
        return passes

    def _scored(self, scores: Tensor, canvas: Canvas) -> Tensor:
        """Log-probabilities (B, T, 2) of the deletion policy, with what a deletion must win by."""
        if canvas.requests is not None:
            scores[:, :, 1] -= self.options.soft_protection * requests.has(canvas.requests, requests.PREFER)
        if self.options.keep_bias and canvas.origin is not None:
            scores[:, :, 1] -= self.options.keep_bias * canvas.origin.ne(0)
        return scores

    def _note_kept(self, scores: Tensor, words: Tensor, canvas: Canvas) -> None:
        """Of the words of the draft that are still there; a protected one does not depend on the policy."""
        if canvas.kept is None or canvas.origin is None:
            return
        judged = words & canvas.origin.ne(0)
        if canvas.requests is not None:
            judged = judged & ~requests.has(canvas.requests, requests.KEEP)
        canvas.kept = torch.where(judged, scores.log_softmax(-1)[:, :, 0], canvas.kept)

    def _known(self, canvas: Canvas) -> Tensor:
        return known(canvas.tokens, self.unk)

    def _steering(self, canvas: Canvas) -> list[Tensor]:
        """What two iterations must have in common to go on alike."""
        along = [canvas.requests, canvas.origin if self.options.keep_bias else None]
        return [canvas.tokens, canvas.scores, *(each for each in along if each is not None)]

    def _loops(self, canvas: Canvas, before: list[Tensor] | None) -> Tensor:
        """(B,) True where the deletions left what they left before: the insertions would be the same as well."""
        loops = ~canvas.sampled
        if before is None or not self.options.adaptive:
            return torch.zeros_like(loops)
        for n, (now, then) in enumerate(zip(self._steering(canvas), before, strict=True)):
            loops = loops & same_rows(now, then, self.pad if n == 0 else 0)
        return loops

    def _put_back(self, canvas: Canvas, loops: Tensor, given: list[Tensor]) -> None:
        """A sentence in a loop is what it was when the iteration began."""
        if bool(loops.any()):
            tokens = mix_rows(loops, given[0], canvas.tokens, self.pad)
            along = zip(given[1:], canvas.along(), strict=True)
            canvas.move(tokens, *(mix_rows(loops, then, now, 0) for then, now in along))

    def _open(self, canvas: Canvas, memory: Any, passes: Any, active: Tensor) -> None:
        """y'' = E(y', p) for the ``active`` (B,) sentences"""
        lengths = canvas.tokens.ne(self.pad).sum(1)
        open_to_more = active & (lengths < canvas.limits)  # (B,)
        if canvas.requests is not None:
            open_to_more = open_to_more | requests.has(canvas.requests, requests.INSERT).any(1)
        if bool(open_to_more.any()):
            rows = open_to_more.nonzero()[:, 0]
            counts = torch.zeros_like(canvas.tokens[:, 1:])
            if canvas.target is not None and self.options.oracle == "delete+placeholder":
                counts = missing_counts(self._known(canvas), canvas.target, self.pad) * open_to_more[:, None]
                if canvas.requests is not None:
                    counts = behind_spans(counts, requests.inside_span(canvas.requests, requests.KEEP))
            else:
                counts[rows] = self._wanted(canvas, memory, passes, rows, lengths)
            counts = self._within_table(counts, lengths, canvas.tokens)
            canvas.move(*apply_placeholders(canvas.tokens, counts, self.placeholder, self.pad, *canvas.along()))
        self._remember(canvas)

    def _wanted(self, canvas: Canvas, memory: Any, passes: Any, rows: Tensor, lengths: Tensor) -> Tensor:
        """(b, T - 1): how many placeholders the policy puts into each slot of ``rows`` (b,)"""
        scores = self.ensemble.placeholder_scores(self._known(canvas), memory, passes, rows)  # (b, T - 1, K + 1)
        scores[:, :, 0] -= self.options.gamma
        if self.options.keep_bias and canvas.origin is not None:
            scores[:, :, 1:] -= self.options.keep_bias * unopened(canvas.origin[rows])[:, :, None]
        if canvas.requests is not None:
            self._heed(scores, canvas.requests[rows])
        picked = self._pick(scores, canvas.sampled[rows])
        picked = torch.minimum(picked, canvas.limits[rows, None])
        return self._at_least(picked, scores, lengths[rows], canvas.tokens[rows])

    def _heed(self, scores: Tensor, asked: Tensor) -> None:
        """Slots of protected spans stay shut, those where an insertion is asked for do not (in place)."""
        soft, hard = (requests.inside_span(asked, kind) for kind in (requests.PREFER, requests.KEEP))
        scores[:, :, 1:] -= self.options.soft_protection * soft[:, :, None]
        scores[:, :, 0].masked_fill_(hard, 0.0)
        scores[:, :, 1:].masked_fill_(hard[:, :, None], -math.inf)
        scores[:, :, 0].masked_fill_(requests.has(asked[:, :-1], requests.INSERT), -math.inf)

    def _fill(self, canvas: Canvas, memory: Any) -> None:
        """y = E(y'', t)"""
        holes = canvas.tokens.eq(self.placeholder)
        rows = holes.any(1).nonzero()[:, 0]
        if rows.numel():
            found = holes[rows]
            log_probs = self.ensemble.tokens(self._known(canvas), memory, rows, found)  # (n, V)
            if self.own_placeholder:  # <s>, <pad> and </s> are no words; fairseq's way is to let them be chosen
                log_probs[:, [self.bos, self.pad, self.eos]] = -math.inf
            sampled = canvas.sampled[rows][:, None].expand_as(found)[found]
            picked = self._pick(log_probs, sampled)
            canvas.tokens = apply_tokens(canvas.tokens, holes, picked)
            canvas.scores = apply_tokens(canvas.scores, holes, log_probs.gather(1, picked[:, None])[:, 0])

    def _pick(self, scores: Tensor, sampled: Tensor) -> Tensor:
        """(n, ..., classes) -> (n, ...): the best class, or a drawn one in the rows of ``sampled`` (n,)."""
        best = scores.argmax(-1)
        if self.options.candidates > 1 and bool(sampled.any()):  # one candidate: do not ask the device
            weights = (scores[sampled].float() / self.options.temperature).softmax(-1)
            flat = weights.flatten(0, -2).cpu()
            drawn = torch.multinomial(flat, 1, generator=self.random)
            best[sampled] = drawn.view(weights.shape[:-1]).to(best.device)
        return best

    def _at_least(self, counts: Tensor, scores: Tensor, lengths: Tensor, tokens: Tensor) -> Tensor:
        """Make good what a sentence lacks of ``min_length`` words, in the slot most ready to take one."""
        if not self.options.min_length:
            return counts
        slots = tokens[:, 1:].ne(self.pad)
        counts = counts.masked_fill(~slots, 0)
        lack = (self.options.min_length + 2 - lengths - counts.sum(1)).clamp(min=0)  # (b,)
        slot = scores[:, :, 0].masked_fill(~slots, math.inf).argmin(1, keepdim=True)
        return counts.scatter_add(1, slot, lack[:, None])

    def _within_table(self, counts: Tensor, lengths: Tensor, tokens: Tensor) -> Tensor:
        """Never more tokens than the decoder has positions for: slots on the left are served first."""
        counts = counts.masked_fill(tokens[:, 1:].eq(self.pad), 0)
        room = (self.ensemble.max_target_positions - lengths).clamp(min=0)[:, None]
        before = counts.cumsum(1) - counts
        return torch.minimum(counts, (room - before).clamp(min=0))

    def _remember(self, canvas: Canvas) -> None:
        if self.options.retain_history:
            for history, tokens in zip(canvas.states, canvas.tokens, strict=True):
                history.append(tokens[tokens.ne(self.pad)])

    def _trim(self, canvas: Canvas) -> None:
        width = int(canvas.tokens.ne(self.pad).sum(1).max())
        canvas.move(canvas.tokens[:, :width], *(each[:, :width] for each in canvas.along()))

    def _result(self, canvas: Canvas, i: int, step: int) -> dict[str, Any]:
        """A hypothesis as fairseq prints it. The score is the mean over all tokens, boundaries included."""
        real = canvas.tokens[i].ne(self.pad)
        scores = (canvas.scores if canvas.kept is None else canvas.scores + canvas.kept)[i][real]
        result = {
            "tokens": canvas.tokens[i][real][1:],  # without <s>, as everywhere in fairseq
            "positional_scores": scores[1:],
            "score": scores.mean(),
            "steps": step,
            "alignment": None,
            "attention": None,
        }
        if self.options.retain_history:
            result["history"] = [{"tokens": tokens} for tokens in canvas.states[i]]
        return result


def same_rows(x: Tensor, y: Tensor | None, fill: float) -> Tensor:
    """(B,) True where two rows hold the same, however much padding follows.

    >>> same_rows(torch.tensor([[0, 11, 2, 1], [0, 2, 1, 1]]), torch.tensor([[0, 11, 2], [0, 12, 2]]), fill=1)
    tensor([ True, False])
    """
    if y is None:
        return torch.zeros(x.size(0), dtype=torch.bool, device=x.device)
    width = min(x.size(1), y.size(1))
    same = x[:, :width].eq(y[:, :width]).all(1)
    return same & x[:, width:].eq(fill).all(1) & y[:, width:].eq(fill).all(1)
