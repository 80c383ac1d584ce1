"""Iterative refinement: Algorithm 2 of the LevT paper, over a batch from which finished sentences are removed.

One iteration has three steps, each a policy and its action: ``_delete``, ``_open`` (placeholders), ``_fill``.
A sentence is finished when

* an iteration changes nothing;
* the deletions leave what they left in the iteration before: the policies undo each other forever;
* ``max_iter`` iterations are over.

A person's marks on a draft (``lev_plugins.edits.requests``) and an oracle that knows the reference change only the
decisions of a step.

The score of a candidate is the mean log-probability of its tokens, including boundaries: for an inserted word, that of
the token policy choosing it; for a word of the draft, that of the deletion policy keeping it, in its last decision.
Tokens that no policy decided count as 0: boundaries, and words that a mark or an oracle kept. Without drafts this is
the score of fairseq's own refinement.

A Transformer pass is skipped where its result is known: the placeholder step reuses the states of the deletion step
for sentences that lost no token (if the two policies share blocks), and the third pass leaves out sentences without
placeholders.

Shapes: B unfinished sentences (times candidates), T width of the canvas.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor
from torch.utils._pytree import tree_map_only

from lev_plugins.edits import actions, requests
from lev_plugins.edits.actions import index_of
from lev_plugins.edits.beside import beside
from lev_plugins.edits.expert import align, missing_counts
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.errors import UserError, require
from lev_plugins.generators.canvas import Canvas, Record, opening_odds
from lev_plugins.generators.ensemble import Ensemble, Symbols, selected
from lev_plugins.generators.fixed import FixedRefinement, recorded
from lev_plugins.generators.rerank import rerank
from lev_plugins.models.levt import LevT, mix_rows

OFFERED = 5  # words for a hole that a history tells


class RefinementGenerator:
    """fairseq's generator interface around Algorithm 2: ``generate(models, sample)`` -> n-best lists of dicts."""

    def __init__(self, models: list[Any], tgt_dict: Any, options: RefinementOptions, reranker: Any | None = None):
        require(any(isinstance(m, LevT) for m in models), "decoding by refinement requires a levt checkpoint in --path")
        others = sorted({type(m).__name__ for m in models if not isinstance(m, LevT)})
        require(
            not others,
            f"--path names a {' and a '.join(others)} and a levt, which cannot form an ensemble: leave one out, "
            "or rerank with the last checkpoint by --iter-decode-with-external-reranker",
        )
        require(
            reranker is None or isinstance(reranker, FairseqEncoderDecoderModel),
            "--iter-decode-with-external-reranker requires a left-to-right encoder-decoder as the last checkpoint of "
            f"--path, but it is a {type(reranker).__name__}: use --path levt.pt:transformer.pt",
        )
        self.ensemble = Ensemble(models)
        if reranker is not None:  # it reads outputs with </s> and without <s>
            room = self.ensemble.max_target_positions
            self.ensemble.max_target_positions = min(room, reranker.max_decoder_positions() + 1)
        self.options, self.reranker, self.tgt_dict = options, reranker, tgt_dict
        self.symbols = Symbols.of(tgt_dict, self.ensemble)
        self.pad, self.eos = self.symbols.pad, self.symbols.eos  # fairseq-generate asks for eos
        self.fixed = FixedRefinement(self.ensemble, options, self.symbols, recorded) if options.cuda_graphs else None
        self.random = torch.Generator().manual_seed(torch.initial_seed() % 2**63)

    def generate(
        self, models: Any, sample: dict[str, Any], prefix_tokens: Tensor | None = None, constraints: Any = None
    ) -> list[list[dict[str, Any]]]:
        require(prefix_tokens is None, "--prefix-size is for left-to-right search: give a levt a draft instead")
        for model in self.ensemble.models:
            if model.training:  # asking takes less time
                model.eval()
        net_input, n = sample["net_input"], self.options.candidates
        sources, target = net_input["src_tokens"], None
        if self.options.oracle != "none":
            target = sample.get("target")
            if target is None:
                raise UserError(
                    f"--oracle {self.options.oracle} requires references, but the input has no targets: leave it out "
                    "here"
                )
            target = F.pad(target, (1, 0), value=self.symbols.bos)  # (B, R); fairseq omits <s>
        with torch.no_grad() if self.options.trained_later else torch.inference_mode():
            results = self._refine(net_input, target)
            groups = [results[i : i + n] for i in range(0, len(results), n)]
            if self.reranker is not None:
                known = self.symbols.known(sources) if self.symbols.spells else sources
                rerank(self.reranker, self.tgt_dict, known, groups)
        if n > 1:
            scores = torch.stack([hypo["score"] for group in groups for hypo in group]).view(-1, n).tolist()
            order = [sorted(range(n), key=row.__getitem__, reverse=True) for row in scores]  # equals stay in order
            groups = [[group[i] for i in best] for group, best in zip(groups, order, strict=True)]
        if self.options.trained_later:
            return groups
        return tree_map_only(Tensor, torch.clone, groups)  # what is computed there, nobody else may change in place

    def _refine(self, net_input: dict[str, Any], target: Tensor | None) -> list[dict[str, Any]]:
        src_tokens = net_input["src_tokens"]
        canvas = self._start(src_tokens, net_input.get("draft"), net_input.get("requests"), target)
        if self.fixed is not None and self.fixed.suits(canvas):
            last = self.fixed.refine(src_tokens, canvas)
            if last is not None:
                return [self._result(canvas, 0, last, int(canvas.tokens.ne(self.pad).sum()))]
        memory = self.ensemble.encode(src_tokens, net_input.get("words"))
        if self.options.candidates > 1:
            memory = selected(memory, canvas.rows // self.options.candidates)
        if memory[0].beside is not None:
            canvas.sources = src_tokens.repeat_interleave(self.options.candidates, 0).tolist()
            self._look_beside(canvas, memory, canvas.tokens.T.tolist())
        results: list[dict[str, Any]] = [{} for _ in range(canvas.rows.numel())]
        before: list[Tensor] | None = None  # the state after the last iteration's deletions
        for step in range(self.options.max_iter + 1):
            start = list(canvas.moving().values())
            passes = self._delete(canvas, memory, step)
            # (B,) True where the deletions left the same state as before, so the insertions would repeat as well
            # candidates but the first are drawn at random: they may come back and go on
            loops, now = canvas.rows % self.options.candidates == 0, self._steering(canvas)
            if before is None or not self.options.adaptive:
                loops = torch.zeros_like(loops)
            else:
                for n, pair in enumerate(zip(now, before, strict=True)):
                    loops = loops & same_rows(*pair, self.pad if n == 0 else 0)
            before = now
            holes = self._open(canvas, memory, passes, ~loops, step)
            self._fill(canvas, memory, holes)
            self._put_back(canvas, loops, start)
            if canvas.requests is not None:  # protection lasts
                canvas.requests = canvas.requests.bitwise_and(~(requests.DELETE | requests.INSERT))
            self._record_history(canvas)
            done = torch.full_like(loops, step == self.options.max_iter)
            if self.options.adaptive:
                done = done | same_rows(canvas.tokens, start[0], self.pad)
            lengths_now = canvas.tokens.ne(self.pad).sum(1)
            asked = [torch.stack([done.long(), lengths_now]), canvas.told(canvas.tokens)]
            finished, lengths, *read = torch.cat(asked).tolist()  # the last question
            left = []
            for i, end in enumerate(finished):
                if end:
                    results[canvas.places[i]] = self._result(canvas, i, step, lengths[i])
                else:
                    left.append(i)
            if not left:
                break
            if len(left) < len(finished):
                index = index_of(left, done.device)
                canvas, memory = canvas.select(left, index), selected(memory, index)
                before = [each[index] for each in before]
            width = max(lengths[i] for i in left)
            canvas.map(lambda *values, width=width: [value[:, :width] for value in values])
            self._look_beside(canvas, memory, [[column[i] for i in left] for column in read[:width]])
        self._tell_history(canvas, results)
        return results

    def _start(self, src_tokens: Tensor, draft: Tensor | None, marked: Tensor | None, target: Tensor | None) -> Canvas:
        """y^0: the draft, or <s> </s>."""
        batch, n = src_tokens.size(0), self.options.candidates
        if draft is None:
            draft = src_tokens.new_tensor([self.symbols.bos, self.symbols.eos]).repeat(batch, 1)
        room = self.ensemble.max_target_positions
        actions.require_room(draft, self.pad, room, "target")
        tokens = draft.repeat_interleave(n, 0)
        lengths = src_tokens.ne(self.pad).sum(1).repeat_interleave(n)
        least = min(max(self.options.max_ratio_floor, self.options.min_length + 2), room)  # 2: <s> and </s>
        limits = (lengths * self.options.max_ratio).clamp(min=least, max=room).long()
        rows = torch.arange(batch * n, device=src_tokens.device)
        zeros = torch.zeros_like(tokens, dtype=torch.float)
        canvas = Canvas(tokens, zeros, rows, limits, places=list(range(batch * n)))
        if marked is not None and bool(marked.any()):
            canvas.requests = marked.repeat_interleave(n, 0)
        if tokens.size(1) > 2 or self.options.retain_history:  # a draft of <s> </s> has no words to keep
            canvas.origin = actions.origin_of(tokens, self.symbols.bos, self.symbols.eos, self.pad)
            canvas.kept = zeros
        if target is not None:
            canvas.target = target.repeat_interleave(n, 0)
        if self.options.retain_history:
            canvas.born, canvas.odds, canvas.offer = torch.zeros_like(tokens), zeros, torch.zeros_like(tokens)
            canvas.record = Record(F.pad(zeros, (1, 0)), F.pad(canvas.born, (1, 0)))
            self._record_history(canvas)
        return canvas

    def _delete(self, canvas: Canvas, memory: Any, step: int) -> Any:
        """y' = E(y, d); returns the pass, for the placeholder step to reuse."""
        passes = None
        canvas.deletion = canvas.tokens, torch.zeros_like(canvas.tokens, dtype=torch.bool)
        words, marks = self.symbols.words(canvas.tokens), canvas.requests
        if words.size(1) > 2:  # otherwise all sentences are empty
            if canvas.target is None:
                passes = self.ensemble.states("deletion", self.symbols.readable(canvas.tokens), memory)
                scores = self.ensemble.deletion(passes)  # (B, T, 2), less what a deletion must win by
                if marks is not None:
                    scores[:, :, 1] -= self.options.soft_protection * requests.has(marks, requests.PREFER)
                if self.options.keep_bias and canvas.origin is not None:
                    scores[:, :, 1] -= self.options.keep_bias * canvas.origin.ne(0)
                deleted = scores.argmax(-1).bool()
                odds = scores[:, :, 1] - scores[:, :, 0]
                if canvas.kept is not None and canvas.origin is not None:  # for the remaining words of the draft
                    decided = words & canvas.origin.ne(0)
                    if marks is not None:
                        decided = decided & ~requests.has(marks, requests.KEEP)
                    canvas.kept = torch.where(decided, scores.log_softmax(-1)[:, :, 0], canvas.kept)
            else:
                deleted = ~align(self.symbols.known(canvas.tokens), canvas.target, self.pad).kept
                odds = torch.full_like(canvas.scores, math.inf)  # what an oracle or a mark deletes is certain
            if marks is not None:
                wanted = requests.has(marks, requests.DELETE)
                deleted = (deleted | wanted) & ~requests.has(marks, requests.KEEP)
                odds = odds.masked_fill(wanted, math.inf)
            deleted = deleted & words
            if passes is not None:
                passes.valid = ~deleted.any(1)
            if canvas.record is not None and canvas.origin is not None:
                canvas.record.note(step, canvas.rows, canvas.origin, deleted, odds)
            if marks is not None:
                canvas.requests = requests.hand_on(marks, deleted)
            canvas.deletion = canvas.tokens, deleted
            if perhaps_some(deleted):
                canvas.map(lambda tokens, *along: actions.apply_deletions(tokens, deleted, self.pad, *along))
        self._record_history(canvas)
        return passes

    def _look_beside(self, canvas: Canvas, memory: Any, columns: list[list[int]]) -> None:
        """In place: the models' memories get what is beside the tokens, of which a GPU has told the ``columns``."""
        if canvas.sources:
            sources = (canvas.sources[place] for place in canvas.places)
            rows = [beside(*pair, self.pad) for pair in zip(zip(*columns, strict=True), sources, strict=True)]
            places = index_of(rows, canvas.tokens.device)
            memory[:] = [each._replace(places=places) for each in memory]

    def _steering(self, canvas: Canvas) -> list[Tensor]:
        """The state that determines how an iteration continues after the deletions."""
        along = [canvas.requests, canvas.origin if self.options.keep_bias else None]
        return [canvas.tokens, canvas.scores, *(each for each in along if each is not None)]

    def _put_back(self, canvas: Canvas, loops: Tensor, start: list[Tensor]) -> None:
        """Restore each sentence in a loop to its state at the start of the iteration."""
        if perhaps_some(loops):
            fills = [self.pad, *(0 for _ in start[1:])]
            canvas.map(lambda *now: [mix_rows(loops, *values) for values in zip(start, now, fills, strict=True)])

    def _open(self, canvas: Canvas, memory: Any, passes: Any, active: Tensor, step: int) -> list[int]:
        """y'' = E(y', p) for the ``active`` (B,) sentences; the number of holes in each sentence."""
        lengths = canvas.tokens.ne(self.pad).sum(1)
        extensible = active & (lengths < canvas.limits)  # (B,)
        if canvas.requests is not None:
            extensible = extensible | requests.has(canvas.requests, requests.INSERT).any(1)
        before, gone = canvas.deletion
        deleted = before.masked_fill(~gone, self.pad)  # (B, N)
        asked = [extensible, extensible if passes is None else passes.valid, self.ensemble.lacks(deleted)]
        told = torch.cat([torch.stack(asked).long(), canvas.told(canvas.tokens)])
        may_open, same, new, *read = told.tolist()  # the first question of an iteration
        self._look_beside(canvas, memory, read)
        if any(new):
            self.ensemble.find(deleted)
        counts = torch.zeros_like(canvas.tokens[:, 1:])
        odds = None
        if any(may_open):
            # an oracle is certain
            odds = None if canvas.odds is None else torch.full_like(canvas.odds[:, 1:], math.inf)
            if canvas.target is not None and self.options.oracle == "delete+placeholder":
                counts = missing_counts(self.symbols.known(canvas.tokens), canvas.target, self.pad)
                counts = counts * extensible[:, None]
                if canvas.requests is not None:
                    counts = requests.behind_spans(counts, requests.inside_span(canvas.requests, requests.KEEP))
            else:
                if passes is not None:
                    passes.same = same
                rows = [i for i, yes in enumerate(may_open) if yes]
                index = index_of(rows, lengths.device)
                counts[index] = self._placeholder_counts(canvas, memory, passes, rows, index, odds)
            counts = actions.within_room(self.ensemble.max_target_positions, counts, lengths, canvas.tokens, self.pad)
        placeholder, new_words = self.symbols.placeholder, counts.sum(1)
        asked = [lengths + new_words, new_words + canvas.tokens.eq(placeholder).sum(1)]
        widths, holes, *opened = torch.cat([torch.stack(asked), canvas.told(counts)]).tolist()  # the second question
        if any(holes):
            if canvas.sources:
                given = torch.tensor(read).T, torch.tensor(opened).T
                (tokens,) = actions.apply_placeholders(*given, placeholder, self.pad, width=max(widths))
                self._look_beside(canvas, memory, tokens.T.tolist())
            canvas.map(
                lambda tokens, *along: actions.apply_placeholders(
                    tokens, counts, placeholder, self.pad, *along, width=max(widths)
                )
            )
        if canvas.born is not None and canvas.odds is not None and odds is not None:
            new_places, of_new = opening_odds(counts, odds, canvas.tokens.size(1))
            canvas.born = canvas.born.masked_fill(new_places, step + 1)
            canvas.odds = torch.where(new_places, of_new, canvas.odds)
        self._record_history(canvas)
        return holes

    def _placeholder_counts(
        self, canvas: Canvas, memory: Any, passes: Any, rows: list[int], index: Tensor, odds: Tensor | None
    ) -> Tensor:
        """(b, T - 1): the policy's number of placeholders for each slot of the b ``rows``, also as an ``index``.

        In place: ``odds`` (B, T - 1) get the log-odds of at least one placeholder.
        """
        removed = actions.removed_after(*canvas.deletion, self.pad) if self.symbols.spells else None
        scores = self.ensemble.placeholder_scores(self.symbols.readable(canvas.tokens), memory, passes, rows, removed)
        scores[:, :, 0] -= self.options.gamma
        if self.options.keep_bias and canvas.origin is not None:
            scores[:, :, 1:] -= self.options.keep_bias * actions.unopened(canvas.origin[index])[:, :, None]
        if canvas.requests is not None:
            # slots inside protected spans stay shut, and slots marked for insertion open
            marks = canvas.requests[index]
            soft, hard = (requests.inside_span(marks, kind) for kind in (requests.PREFER, requests.KEEP))
            scores[:, :, 1:] -= self.options.soft_protection * soft[:, :, None]
            scores[:, :, 0].masked_fill_(hard, -self.options.gamma)  # certain; gamma was subtracted from the others
            scores[:, :, 1:].masked_fill_(hard[:, :, None], -math.inf)
            scores[:, :, 0].masked_fill_(requests.has(marks[:, :-1], requests.INSERT), -math.inf)
        picked = self._pick(scores, [canvas.places[row] for row in rows])
        picked = torch.minimum(picked, canvas.limits[index, None])
        if odds is not None:
            odds[index] = scores[:, :, 1:].logsumexp(-1) - scores[:, :, 0]
        return actions.at_least(self.options.min_length, picked, scores, canvas.tokens[index], self.pad)

    def _fill(self, canvas: Canvas, memory: Any, numbers: list[int]) -> None:
        """y = E(y'', t); ``numbers``: how many holes each sentence has."""
        rows = [i for i, number in enumerate(numbers) if number]
        if rows:
            holes, chosen = canvas.tokens.eq(self.symbols.placeholder), index_of(rows, canvas.tokens.device)
            replaced = actions.replaced(*canvas.deletion, holes, self.pad) if self.symbols.spells else None
            index = actions.places_of(holes[chosen].flatten(), sum(numbers))
            read = self.symbols.readable(canvas.tokens)
            log_probs = self.symbols.forbid(self.ensemble.tokens(read, memory, chosen, index, replaced))  # (n, V)
            picked = self._pick(log_probs, [canvas.places[row] for row in rows for _ in range(numbers[row])])
            if canvas.offer is not None and canvas.record is not None:
                first = 1 + sum(len(words) for words, _ in canvas.record.best)
                canvas.record.best.append(tuple(log_probs.topk(min(OFFERED, log_probs.size(1))))[::-1])
                of_holes = torch.arange(first, first + len(picked), device=picked.device)
                canvas.offer = actions.apply_tokens(canvas.offer, holes, of_holes)
            canvas.tokens = actions.apply_tokens(canvas.tokens, holes, picked)
            canvas.scores = actions.apply_tokens(canvas.scores, holes, log_probs.gather(1, picked[:, None])[:, 0])

    def _pick(self, scores: Tensor, places: list[int]) -> Tensor:
        """(n, ..., classes) -> (n, ...): the best class, or a random one for candidates but the first.

        ``places`` (n,) are those of the results.
        """
        best = scores.argmax(-1)
        sampled = [i for i, place in enumerate(places) if place % self.options.candidates]
        if sampled:
            index = index_of(sampled, scores.device)
            weights = (scores[index].float() / self.options.temperature).softmax(-1)
            if self.random.device != weights.device:
                self.random = torch.Generator(weights.device).manual_seed(self.random.initial_seed())
            # as torch.multinomial does, which would make a GPU tell whether these are probabilities
            drawn = weights / torch.empty_like(weights).exponential_(generator=self.random)
            best[index] = drawn.argmax(-1)
        return best

    def _record_history(self, canvas: Canvas) -> None:
        if self.options.retain_history:
            canvas.states.append((canvas.places, canvas.tokens))

    def _tell_history(self, canvas: Canvas, results: list[dict[str, Any]]) -> None:
        """Only when all is done: a GPU is asked once for all sentences."""
        if canvas.record is None:
            return
        lengths = iter(torch.cat([tokens.ne(self.pad).sum(1) for _, tokens in canvas.states]).tolist())
        for places, states in canvas.states:
            for place, tokens in zip(places, states, strict=True):
                results[place].setdefault("history", []).append({"tokens": tokens[: next(lengths)]})
        for place, edits in canvas.record.edits().items():
            results[place]["edits"] = edits

    def _result(self, canvas: Canvas, i: int, step: int, length: int) -> dict[str, Any]:
        """A hypothesis as fairseq expects it. The score is the mean over all tokens, including boundaries."""
        scores = (canvas.scores if canvas.kept is None else canvas.scores + canvas.kept)[i, :length]
        if canvas.record is not None:
            about = (canvas.origin, canvas.born, canvas.offer, canvas.odds, canvas.scores)
            canvas.record.of_results[canvas.places[i]] = [each[i, 1:length] for each in about if each is not None]
        return {
            "tokens": canvas.tokens[i, 1:length],  # fairseq omits <s>
            "positional_scores": scores[1:],
            "score": scores.mean(),
            "steps": step,
            "alignment": None,
            "attention": None,
        }


def perhaps_some(marks: Tensor) -> bool:
    """Whether any of the ``marks`` is not 0; yes on a GPU, where asking takes longer than doing."""
    return marks.is_cuda or bool(marks.any())


def same_rows(x: Tensor, y: Tensor, fill: float) -> Tensor:
    """(B,) True where two rows are equal apart from padding.

    >>> same_rows(torch.tensor([[0, 11, 2, 1], [0, 2, 1, 1]]), torch.tensor([[0, 11, 2], [0, 12, 2]]), fill=1)
    tensor([ True, False])
    """
    width = min(x.size(1), y.size(1))
    same = x[:, :width].eq(y[:, :width]).all(1)
    return same & x[:, width:].eq(fill).all(1) & y[:, width:].eq(fill).all(1)
