"""The policies of one or several LevTs in torch, and those of an oracle, for ``edits.refinement``.

The placeholder policy reuses the hidden states of the deletion policy for sentences from which nothing was deleted, if
both policies read the same blocks of the decoder.

Shapes: B sentences, T length of the longest, K maximum number of placeholders, n placeholders, V vocabulary.
"""

import math
from hashlib import sha256
from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lev_plugins.edits.actions import RemovedTokens, removed_per_placeholder
from lev_plugins.edits.batch_words import BatchWords
from lev_plugins.edits.expert import align, missing_counts
from lev_plugins.edits.options import RefinementOptions
from lev_plugins.edits.refinement import Choices, Insertions, Policies, Sentence, removed_tokens, replaced_tokens
from lev_plugins.edits.source_alignment import align_to_source
from lev_plugins.levt.model import LevT
from lev_plugins.levt.words import NO_CONTEXT, PolicyContext
from lev_plugins.nn.transformer import NO_PADDING, Padding
from lev_plugins.text.ids import BOS, EOS, PAD, UNK, Array, padded
from lev_plugins.text.mark_bits import KEEP, in_one_span
from lev_plugins.utils.errors import require


def mean_log_probs(logits: list[Tensor]) -> Tensor:
    """Returns the logarithm of the models' mean probability.

    >>> mean_log_probs([torch.tensor([0.5, 0.5]).log(), torch.tensor([0.1, 0.9]).log()]).exp()
    tensor([0.3000, 0.7000])
    """
    log_probs = [F.log_softmax(scores.float(), -1) for scores in logits]
    if len(log_probs) == 1:
        return log_probs[0]
    return torch.logsumexp(torch.stack(log_probs), 0) - math.log(len(log_probs))


def argmax(scores: Tensor) -> Tensor:
    """Returns the best class (...) of scores (..., classes). On a CPU, torch takes five times as long as NumPy."""
    return scores.argmax(-1) if scores.is_cuda else torch.from_numpy(scores.numpy().argmax(-1))


def signature(model: LevT) -> dict[str, object]:
    """Returns the values of the flags in which the models of an ensemble must agree."""
    index, backbone = model.words.index, None
    if index is not None and index.pieces is not None:
        pieces, starts = index.pieces.pieces, index.pieces.starts
        digest = sha256(pieces.tobytes() + starts.tobytes()).hexdigest()[:8]
        backbone = f"one with {len(pieces):,} pieces in the dictionary (SHA-256 {digest})"
    return {
        "--placeholder": "unk" if model.placeholder == model.unk else "plh",
        "--max-insertions": model.max_insertions,
        "--spelling": index is not None,
        "--spelling-buckets": None if index is None else index.buckets,
        "--backbone": backbone,
    }


class Ensemble:
    """Several models that decode together by the mean of their probabilities."""

    def __init__(self, models: list[LevT]) -> None:
        """``models`` must have the same ``signature``."""
        main = models[0]
        for model in models[1:]:
            for (flag, value), differing in zip(signature(main).items(), signature(model).values(), strict=True):
                require(
                    value == differing,
                    f"models of an ensemble must have the same {flag}, but they have {value} and {differing}",
                )
        self.models, self.placeholder, self.vocabulary = models, main.placeholder, main.words.vocabulary
        self.spells = main.words.index is not None
        self.max_target_positions = min(model.max_positions()[1] for model in models)
        # whether the placeholder policy can reuse the states of the deletion policy
        self.reuses_states = all(m.decoder.sharing["deletion"] == m.decoder.sharing["placeholder"] for m in models)

    @property
    def excluded_tokens(self) -> tuple[int, ...]:
        """The symbols that the token policy must not choose."""
        excluded: tuple[int, ...] = (PAD,)  # padding within a sentence would truncate it
        if self.placeholder != UNK:  # fairseq's LevT, with <unk> as its placeholder, may choose these
            excluded += (BOS, EOS, *self.models[0].fillers)
        if self.spells:  # unknown words can only be copied from the draft
            excluded += (UNK,)
        return excluded

    def unknown_to_unk(self, tokens: Array) -> Array:
        """Replaces the unknown words of a batch with <unk>, unless the models read spellings."""
        return tokens if self.spells else np.where(tokens > self.vocabulary, UNK, tokens)


class EnsemblePolicies(Policies):
    """The policies of an ensemble for one batch of sources, which are encoded once."""

    def __init__(
        self,
        ensemble: Ensemble,
        src_tokens: Tensor,
        words: BatchWords | None = None,
        alternatives: int = 0,
        options: RefinementOptions | None = None,
        random: torch.Generator | None = None,
        padding: Padding | None = None,
    ) -> None:
        """
        Args:
            ensemble: the models
            src_tokens: the sources, padded on either side
            words: with --spelling, the unknown words of the batch
            alternatives: how many of the best words to report for each placeholder, the chosen one included
            options: how many candidates there are for each source, and their temperature
            random: draws all candidates but the first; on the device of the sources
            padding: that of the sources, if it is known
        """
        self.models, self.ensemble, self.device = ensemble.models, ensemble, src_tokens.device
        self.reads_removed = ensemble.spells
        self.alternatives, self.options, self.random = alternatives, options or RefinementOptions(), random
        # one ``EncodedSource`` per model
        self.memories = [model.encode(src_tokens, words, padding=padding) for model in self.models]
        self.sources = src_tokens.tolist() if self.models[0].decoder.reads_alignment else []
        self.excluded = self.to_device(np.array(ensemble.excluded_tokens))
        # the row of each sentence in the memories, and in the hidden states of the deletion policy
        self.size, copies = len(src_tokens), self.options.candidates
        self.rows = {number: number // copies for number in range(copies * self.size)}
        self.hidden: list[list[Tensor]] = []  # for each model: the hidden states of the deletion policy

    # ---- the three policies ------------------------------------------------------------------------------------------

    def deletion(self, sentences: list[Sentence]) -> Array:
        index = self.memory_rows(sentences)
        if index is not None:  # some sentences are finished, or each source has several candidates
            self.memories = [memory.select(index) for memory in self.memories]
            self.size, self.rows = len(sentences), {sentence.number: row for row, sentence in enumerate(sentences)}
        self.hidden = self.hidden_states("deletion", sentences)
        pairs = zip(self.models, self.hidden, strict=True)
        scores = mean_log_probs([model.decoder.deletion_logits(hidden) for model, hidden in pairs])
        return (scores[:, :, 1] - scores[:, :, 0]).cpu().numpy()

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        # A sentence that lost no word is not read again: the deletion policy has computed the states of its tokens.
        # (With --spelling, these also depend on the deleted words: of no words, the vectors are 0.)
        reuses = self.ensemble.reuses_states and bool(self.hidden)
        unchanged = [sentence for sentence in sentences if reuses and not sentence.removed]
        changed = [sentence for sentence in sentences if not reuses or sentence.removed]
        groups = ((unchanged, True), (changed, False))
        parts = [self.insertions(group, reuse) for group, reuse in groups if group]
        slots = max(part.size(2) for part in parts)
        host = torch.cat([F.pad(part, (0, slots - part.size(2))) for part in parts], 1).cpu().numpy()
        self.hidden = []  # the tokens are about to change
        order = np.argsort([sentence.number for sentence in (*unchanged, *changed)])
        return Insertions(*host[:, order])

    def insertions(self, sentences: list[Sentence], reuse: bool) -> Tensor:
        """Returns the fields of ``Insertions`` as one tensor (3, B, T - 1)."""
        context = NO_CONTEXT
        if self.ensemble.spells and not reuse:
            context = PolicyContext(RemovedTokens(*map(self.to_device, removed_tokens(sentences))))
        pairs = zip(self.models, self.hidden_states("placeholder", sentences, context, reuse), strict=True)
        scores = mean_log_probs([model.decoder.placeholder_logits(hidden) for model, hidden in pairs])
        # the best of noisy scores is a draw (the Gumbel-max trick); the record has log-probabilities without noise
        noisy = self.add_gumbel_noise(scores, [sentence.sampled for sentence in sentences])
        counts = 1 + argmax(noisy[:, :, 1:])
        best = noisy.gather(2, counts[:, :, None])[:, :, 0]
        return torch.stack([counts.float(), best - noisy[:, :, 0], scores[:, :, 0]])

    def token(self, sentences: list[Sentence]) -> Choices:
        placeholder, context = self.ensemble.placeholder, NO_CONTEXT
        positions = np.flatnonzero(padded([sentence.tokens for sentence in sentences]) == placeholder)
        index = self.to_device(positions)
        if self.ensemble.spells:
            words = replaced_tokens(sentences, placeholder)
            context = PolicyContext(removed_per_placeholder(self.to_device(words), PAD))
        of_models, logits = self.hidden_states("token", sentences, context), []
        for model, hidden, memory in zip(self.models, of_models, self.memories, strict=True):
            if context.removed is not None:
                replaced = context.removed.first.flatten()[index]
                candidates = memory.table.candidates(words.flat[positions].tolist(), replaced)
                context = context._replace(candidates=candidates)
            logits.append(model.decoder.token_logits(hidden, index, memory, context))
        scores = mean_log_probs(logits).index_fill_(1, self.excluded, -math.inf)  # (n, V)
        sampled = [sentence.sampled for sentence in sentences for token in sentence.tokens if token == placeholder]
        best = argmax(self.add_gumbel_noise(scores, sampled))[:, None]
        # one matrix for one device-to-host copy: the word, its score, and the best words with their scores
        columns = [best.float(), scores.gather(1, best)]
        if self.alternatives:
            log_probs, tokens = scores.topk(min(self.alternatives, scores.size(1)))
            columns += [tokens.float(), log_probs]
        choices = torch.cat(columns, 1).cpu().numpy()
        best_words = zip(*(part.tolist() for part in np.split(choices[:, 2:], 2, axis=1)), strict=True)
        alternatives = [[(int(token), score) for token, score in zip(*pair, strict=True)] for pair in best_words]
        return Choices(choices[:, 0].astype(int).tolist(), choices[:, 1].tolist(), alternatives)

    # ---- passes ------------------------------------------------------------------------------------------------------

    def hidden_states(
        self, head: str, sentences: list[Sentence], context: PolicyContext = NO_CONTEXT, reuse: bool = False
    ) -> list[list[Tensor]]:
        """Returns ``LevTDecoder.hidden_states`` of each model.

        Args:
            head: deletion, placeholder or token
            sentences: what the models read
            context: what the table of words reads besides the tokens
            reuse: continue from the hidden states of the deletion policy, which has read the same tokens
        """
        rows, index = padded([sentence.tokens for sentence in sentences]), self.memory_rows(sentences)
        of_models = []
        tokens = self.to_device(self.ensemble.unknown_to_unk(rows))
        padding = None if (rows == PAD).any() else NO_PADDING
        if self.sources:
            sources = [self.sources[sentence.number // self.options.candidates] for sentence in sentences]
            pairs = zip(rows.tolist(), sources, strict=True)
            alignment = self.to_device(np.array([align_to_source(*pair, PAD) for pair in pairs]))
            context = context._replace(alignment=alignment)
        for i, (model, memory) in enumerate(zip(self.models, self.memories, strict=True)):
            cached, depth = list[Tensor](), model.decoder.depths[head]
            if reuse:
                cached = self.hidden[i][: depth + 1]
                top = cached[-1] if index is None else cached[-1][index]
                cached[-1] = top[:, : tokens.size(1)]
            if index is not None and len(cached) <= depth:
                memory = memory.select(index)
            of_models.append(model.decoder.hidden_states(head, tokens, memory, context, cached, padding))
        return of_models

    def memory_rows(self, sentences: list[Sentence]) -> Tensor | None:
        """Returns the rows of the sentences in the memories; None for all rows in their order."""
        rows = [self.rows[sentence.number] for sentence in sentences]
        return None if rows == [*range(self.size)] else self.to_device(np.array(rows))

    def to_device(self, values: Array) -> Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)

    def add_gumbel_noise(self, scores: Tensor, sampled: list[bool]) -> Tensor:
        """Adds noise to the sampled rows of log-probabilities, so that their argmax is a sample."""
        if not any(sampled):
            return scores
        noise = torch.empty_like(scores).exponential_(generator=self.random).clamp_(min=1e-38).log_()
        rows = self.to_device(np.array(sampled)).view(-1, *[1] * (scores.dim() - 1))
        return scores - self.options.temperature * noise * rows


class Oracle(Policies):
    """An editor that knows the reference (Figure 5 of the paper).

    The expert makes all deletions and, if the options say so, chooses the number of placeholders in every slot. The
    other policies are those of a model.
    """

    def __init__(self, policies: EnsemblePolicies, targets: Tensor) -> None:
        """
        Args:
            policies: those of the model
            targets: the references (B, R) without <s>
        """
        self.reads_removed = policies.reads_removed
        self.policies, self.targets = policies, F.pad(targets.cpu(), (1, 0), value=BOS)

    def pairs(self, sentences: list[Sentence]) -> tuple[Tensor, Tensor]:
        """Returns the padded tokens of the sentences and their references."""
        tokens = padded([sentence.tokens for sentence in sentences])
        rows = [sentence.number // self.policies.options.candidates for sentence in sentences]
        unknown = tokens > self.policies.ensemble.vocabulary
        return torch.from_numpy(np.where(unknown, UNK, tokens)), self.targets[rows]

    def deletion(self, sentences: list[Sentence]) -> Array:
        return np.where(align(*self.pairs(sentences), PAD).kept.numpy(), -np.inf, np.inf)

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        if self.policies.options.oracle != "delete+placeholder":
            return self.policies.placeholder(sentences)
        counts = missing_counts(*self.pairs(sentences), PAD).numpy()
        for row, sentence in zip(counts, sentences, strict=True):
            for slot, (left, right) in enumerate(pairwise(word.marks for word in sentence.words)):
                if left & right & KEEP and in_one_span(left, right):  # insert after the span instead
                    row[slot + 1] += row[slot]
                    row[slot] = 0
        certain = np.where(counts > 0, np.inf, -np.inf)
        return Insertions(counts, certain, np.where(counts > 0, -np.inf, 0.0))

    def token(self, sentences: list[Sentence]) -> Choices:
        return self.policies.token(sentences)
