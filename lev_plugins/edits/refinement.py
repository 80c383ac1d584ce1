"""Iterative refinement: Algorithm 2 of the LevT paper, in plain Python, for models of any framework.

An iteration has three steps. In each, a policy of the model reads the text y and decides, and an action E changes it:

    delete   y'  = E(y, d),    d = argmax pi_del(y)      which tokens are deleted
    insert   y'' = E(y', p),   p = argmax pi_plh(y')     how many placeholders are inserted in each slot between tokens
    fill     y   = E(y'', t),  t = argmax pi_tok(y'')    which word replaces each placeholder

The words and numbers of a ``sampled`` sentence are drawn instead.

``Refiner`` makes the decisions and edits the sentences one by one. ``Policies`` computes what it decides from, for all
unfinished sentences at once: ``levt.policies`` with torch, ``editor.onnx_refinement`` with ONNX Runtime.

A sentence is finished when

* an iteration returns the tokens that it began with (the paper stops only if it deletes and inserts nothing);
* the deletions leave what they left in the iteration before, with equal scores and marks: the policies would undo each
  other forever, so this iteration is undone;
* ``max_iter`` iterations after the first are over: T_max of the paper is ``max_iter`` + 1.

The score of a token that was inserted is the log-probability of the token policy choosing it. The score of a word of
the draft is the log-probability of keeping it in the last decision of the deletion policy, whose log-odds are first
lowered by ``keep_bias`` and soft protection. Tokens that no policy decided score 0: boundaries, and words that a mark
(KEEP) or an oracle protected. Without drafts, these are the scores of fairseq's own refinement.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, repeat
from math import expm1, inf, isinf, log
from typing import NamedTuple, Protocol

import numpy as np

from lev_plugins.edits.options import RefinementOptions
from lev_plugins.text.ids import BOS, EOS, PAD, Array, Rows, padded
from lev_plugins.text.mark_bits import DELETE, INSERT, KEEP, PREFER, in_one_span
from lev_plugins.text.segments import Alternative, WordEdits

ALTERNATIVES = 5  # words per placeholder that a record reports


class Word(NamedTuple):
    """A token of an unfinished sentence, and how it came there."""

    token: int
    score: float = 0.0  # log-probability of the token policy choosing it; 0 for a token of the draft
    marks: int = 0  # bits: see ``text.mark_bits``
    origin: int = -1  # its position in the draft; -1 if it was inserted
    inserted_at: int = 0  # the iteration that inserted it, from 1; 0 for a token of the draft
    log_odds: float = 0.0  # of inserting any number of words in its slot (not of the chosen number), with its bonus
    alternatives: Sequence[Alternative] = ()  # the best words for its placeholder


@dataclass
class Sentence:
    """A sentence that is being refined, and the record of its edits."""

    number: int  # index in the results of the batch, where the ``candidates`` for one source follow each other
    words: list[Word]  # to be changed by ``write``
    limit: int  # with this many tokens, it grows only if a mark requests it; also the most per slot, as in fairseq
    deleted_at: list[int]  # for each token of the draft, the iteration that deleted it, from 1; 0 if none did
    deletion_log_odds: list[float]  # ... and the log-odds of that, less its penalty; infinity if a mark requests it
    marked: bool = False  # the draft has marks
    sampled: bool = False  # the policies draw its placeholders and words at random
    steps: int = 0  # the last iteration, from 0, as fairseq prints it
    removed: list[list[int]] = field(default_factory=list)  # tokens deleted after each word; [] if nothing was deleted
    remaining: list[Word] | None = None  # the words after the last deletions: y' of the iteration before
    last_removed: list[list[int]] = field(default_factory=list)  # what those removed, if the policies read it
    decision: tuple[list[Word], Array] = ([], np.zeros(0))  # words, and the deletion policy's last log-odds for each
    repeats: bool = False  # y' is that of the iteration before: the same words would be inserted and deleted forever
    history: list[list[int]] = field(default_factory=list)  # the tokens at the start and after each step

    def __post_init__(self) -> None:
        self.write(self.words)

    def write(self, words: list[Word]) -> None:
        self.words, self.tokens = words, [word.token for word in words]

    def edits(self) -> tuple[list[int], WordEdits]:
        """Returns the tokens after <s>, and what became of the draft."""
        tokens, scores, _, origin, inserted_at, log_odds, alternatives = map(list, zip(*self.words[1:], strict=True))
        offers = [list(words) for words in alternatives]
        last = {word.origin: odds for word, odds in zip(self.decision[0], self.decision[1].tolist(), strict=False)}
        pairs = enumerate(zip(self.deleted_at, self.deletion_log_odds, strict=True))
        deletion = [odds if iteration else last.get(place, odds) for place, (iteration, odds) in pairs]
        return tokens, WordEdits(origin, inserted_at, log_odds, scores, self.deleted_at, deletion, offers)


class Insertions(NamedTuple):
    """The decisions of the placeholder policy for the slots of n sentences, of which the longest has T tokens."""

    counts: Array  # (n, T - 1) the best of the numbers from 1 on; an oracle may say 0
    log_odds: Array  # (n, T - 1) of that number against inserting nothing, with noise if the sentence is sampled
    log_prob_none: Array  # (n, T - 1) of inserting nothing, without noise


class Choices(NamedTuple):
    """The words for all placeholders of a batch, in order."""

    tokens: list[int]
    log_probs: list[float]
    alternatives: list[list[Alternative]]


class Policies(Protocol):
    """The three policies of a model for one batch of sources.

    Each call computes the scores of all sentences together, with one device-to-host copy. Values for padding are
    ignored.
    """

    reads_removed: bool = False  # the insertions depend on the deleted words, too, as with --spelling

    def deletion(self, sentences: list[Sentence]) -> Array:
        """Returns the log-odds (n, T) of deleting each token; called with all unfinished sentences."""

    def placeholder(self, sentences: list[Sentence]) -> Insertions:
        """Returns how many placeholders to insert; called with sentences whose deletions have been made."""

    def token(self, sentences: list[Sentence]) -> Choices:
        """Returns the words for all placeholders; called with the sentences that have placeholders."""


class Refiner:
    """Refines batches of sentences with the policies of a model."""

    def __init__(self, options: RefinementOptions, placeholder: int, max_tokens: int) -> None:
        """
        Args:
            options: when to stop, and what a decision must win by
            placeholder: the token that the model reads as a placeholder
            max_tokens: the longest text that the model can read, with boundaries
        """
        self.options, self.placeholder, self.max_tokens = options, placeholder, max_tokens

    def refine(
        self, policies: Policies, source_lengths: Iterable[int], drafts: Rows, marks: Rows | None = None
    ) -> list[Sentence]:
        """Refines each draft, which begins with <s> and ends with </s>; ``[<s>, </s>]`` is written from nothing.

        Returns, for each draft, ``options.candidates`` sentences, of which only the first is not sampled.
        """
        sentences = unfinished = self.start(source_lengths, drafts, marks)
        self.record(sentences)
        for step in range(self.options.max_iter + 1):
            starts = [(sentence.words, sentence.tokens, sentence.decision) for sentence in unfinished]
            self.delete(unfinished, policies, step)
            self.record(unfinished)
            changing = [sentence for sentence in unfinished if not sentence.repeats]
            self.insert(changing, policies, step)
            self.record(unfinished)
            self.fill(changing, policies, step)
            for sentence, start in zip(unfinished, starts, strict=True):
                sentence.steps = step
                if sentence.repeats:
                    # The iteration is undone: the text before the deletions, with the decision that led to it. As its
                    # tokens are those of the start, it is finished below.
                    sentence.words, sentence.tokens, sentence.decision = start
                elif step == 0 and sentence.marked:  # deletions and insertions are requested once; protection lasts
                    sentence.write([word._replace(marks=word.marks & ~(DELETE | INSERT)) for word in sentence.words])
            self.record(unfinished)
            if self.options.adaptive:
                pairs = zip(unfinished, starts, strict=True)
                unfinished = [sentence for sentence, (_, tokens, _) in pairs if sentence.tokens != tokens]
                if not unfinished:
                    break
        return sentences

    def start(self, source_lengths: Iterable[int], drafts: Rows, marks: Rows | None = None) -> list[Sentence]:
        """Returns the sentences before the first iteration."""
        options, sentences = self.options, list[Sentence]()
        minimum = max(options.max_ratio_floor, options.min_length + 2)  # 2: <s> and </s>
        for source_length, draft, bits in zip(source_lengths, drafts, marks or repeat(()), strict=False):
            size = len(draft)
            # <s> </s> is not a draft: keep_bias must not count for insertions between the two
            origins: Iterable[int] = range(size) if size > 2 else repeat(-1, size)
            entries = zip(draft, bits or repeat(0), origins, strict=False)
            words = [Word(token, 0.0, mark, origin) for token, mark, origin in entries]
            limit = int(min(max(source_length * options.max_ratio, minimum), self.max_tokens))
            for candidate in range(options.candidates):
                marked, sampled = any(bits), candidate > 0
                number, iterations, log_odds = len(sentences), [0] * size, [0.0] * size
                sentences.append(Sentence(number, words, limit, iterations, log_odds, marked, sampled))
        return sentences

    def record(self, sentences: list[Sentence]) -> None:
        if self.options.retain_history:
            for sentence in sentences:
                sentence.history.append(sentence.tokens)

    # ---- delete ------------------------------------------------------------------------------------------------------

    def delete(self, sentences: list[Sentence], policies: Policies, step: int) -> None:
        """Applies y' = E(y, d) to each sentence."""
        for sentence in sentences:
            sentence.removed = []
        lengths = np.array([len(sentence.words) for sentence in sentences])
        if lengths.max() > 2:
            log_odds = policies.deletion(sentences)
            # A test of the whole batch first, by the smallest penalty that a deletion can have: most sentences have
            # nothing to delete in most iterations.
            likely = any_above(min(0.0, self.options.keep_bias), log_odds[:, 1:], lengths - 2)
            for sentence, is_likely, row in zip(sentences, likely, log_odds, strict=True):
                sentence.decision = sentence.words, row
                if is_likely or sentence.marked:
                    self.delete_words(sentence, step)
        for sentence in sentences:
            removed = sentence.removed if policies.reads_removed else []
            is_new = sentence.sampled or removed != sentence.last_removed
            sentence.repeats = not is_new and self.is_repetition(sentence.words, sentence.remaining)
            sentence.remaining, sentence.last_removed = sentence.words, removed

    def deletions(self, sentence: Sentence) -> Iterator[tuple[Word, float]]:
        """Yields the words of the last decision and the log-odds of deleting each, less its penalty."""
        words, log_odds = sentence.decision
        odds: list[float] = log_odds[: len(words)].tolist()
        if self.options.keep_bias or sentence.marked:
            odds = [value - self.deletion_penalty(word) for value, word in zip(odds, words, strict=True)]
        return zip(words, odds, strict=True)

    def deletion_penalty(self, word: Word) -> float:
        bias = self.options.keep_bias if word.origin >= 0 else 0.0
        return bias + self.options.soft_protection if word.marks & PREFER else bias

    def delete_words(self, sentence: Sentence, step: int) -> None:
        remaining, removed = list[Word](), list[list[int]]()
        for word, odds in self.deletions(sentence):
            odds = inf if word.marks & DELETE else odds
            if odds <= 0 or word.marks & KEEP or word.token in (BOS, EOS):
                remaining.append(word)
                removed.append([])
                continue
            removed[-1].append(word.token)
            if word.origin >= 0:
                sentence.deleted_at[word.origin], sentence.deletion_log_odds[word.origin] = step + 1, odds
            if word.marks & INSERT:  # after the deleted word, so now after the one before it
                remaining[-1] = remaining[-1]._replace(marks=remaining[-1].marks | INSERT)
        if len(remaining) < len(sentence.words):
            sentence.write(remaining)
            sentence.removed = removed

    def is_repetition(self, words: list[Word], previous_words: list[Word] | None) -> bool:
        """Returns whether an iteration would continue from ``words`` as the one before it did."""
        if not self.options.adaptive or previous_words is None or len(words) != len(previous_words):
            return False
        # With the same tokens and marks, the policies decide the same. Where scores differ, words were inserted anew,
        # and another iteration may still change the score of the result. The origins must be equal, too: otherwise a
        # word of the draft was deleted and an inserted copy remains, which restoring the text would not record.
        # So the first four fields of ``Word`` are compared: token, score, marks, origin.
        return all(word[:4] == previous[:4] for word, previous in zip(words, previous_words, strict=True))

    # ---- insert ------------------------------------------------------------------------------------------------------

    def insert(self, sentences: list[Sentence], policies: Policies, step: int) -> None:
        """Applies y'' = E(y', p) to each sentence that may grow."""
        growing = [s for s in sentences if len(s.words) < s.limit or any(word.marks & INSERT for word in s.words)]
        if not growing:
            return
        insertions = policies.placeholder(growing)
        slots = np.array([len(sentence.words) - 1 for sentence in growing])
        # again by the smallest threshold, as in ``delete``
        likely = any_above(min(0.0, self.options.keep_bias) - self.options.gamma, insertions.log_odds, slots)
        for i, sentence in enumerate(growing):
            if likely[i] or slots[i] <= self.options.min_length or sentence.marked:
                self.insert_placeholders(sentence, Insertions(*(rows[i] for rows in insertions)), step)

    def insertion_bonuses(self, sentence: Sentence) -> list[float]:
        """Returns what is added to the log-odds of an insertion in each slot."""
        if not (self.options.keep_bias or sentence.marked):
            return [self.options.gamma] * (len(sentence.words) - 1)
        return [self.insertion_bonus(*neighbours) for neighbours in pairwise(sentence.words)]

    def insertion_bonus(self, left: Word, right: Word) -> float:
        """Returns what is added to the log-odds of an insertion between two words; infinity forces or forbids it."""
        shared_marks, bonus = left.marks & right.marks, self.options.gamma
        if left.marks & INSERT:
            return inf
        if shared_marks & (KEEP | PREFER) and in_one_span(left.marks, right.marks):
            if shared_marks & KEEP:
                return -inf
            bonus -= self.options.soft_protection
        # keep_bias counts only between words that were neighbours in the draft: elsewhere, a deletion has paid it
        neighbours_in_draft = left.origin >= 0 and right.origin == left.origin + 1
        return bonus - self.options.keep_bias if neighbours_in_draft else bonus

    def insert_placeholders(self, sentence: Sentence, insertions: Insertions, step: int) -> None:
        words, options, bonuses = sentence.words, self.options, self.insertion_bonuses(sentence)
        slots = range(len(bonuses))  # further columns are padding
        best, log_odds, log_prob_none = (column.tolist() for column in insertions)
        counts = [int(best[slot]) if log_odds[slot] + bonuses[slot] > 0 else 0 for slot in slots]
        if options.oracle != "delete+placeholder":  # that oracle gives the length of the reference
            counts = [min(count, sentence.limit) for count in counts]
            missing = options.min_length + 2 - len(words) - sum(counts)
            # in the slot that is least likely to be complete, whatever its finite bonus; a forced one first, a
            # forbidden one last
            if missing > 0:
                order = [-bonuses[slot] if isinf(bonuses[slot]) else log_prob_none[slot] for slot in slots]
                counts[order.index(min(order))] += missing
        if not any(counts):
            return
        longer, room = words[:1], self.max_tokens - len(words)
        for slot, (count, word) in enumerate(zip(counts, words[1:], strict=True)):
            if count and room:
                count = min(count, room)
                room -= count
                odds = bonuses[slot] if isinf(bonuses[slot]) else log_odds_of_any(log_prob_none[slot]) + bonuses[slot]
                longer += [Word(self.placeholder, inserted_at=step + 1, log_odds=odds)] * count
            longer.append(word)
        sentence.write(longer)

    # ---- fill --------------------------------------------------------------------------------------------------------

    def fill(self, sentences: list[Sentence], policies: Policies, step: int) -> None:
        """Applies y = E(y'', t) to each sentence that has placeholders.

        Where <unk> is the placeholder, one of the draft is deleted by that, and the word in its place is new.
        """
        incomplete = [sentence for sentence in sentences if self.placeholder in sentence.tokens]
        if incomplete:
            choices = zip(*policies.token(incomplete), strict=True)
            for sentence in incomplete:
                words = list(sentence.words)
                for i, word in enumerate(words):
                    if word.token == self.placeholder:
                        token, score, alternatives = next(choices)
                        if word.origin >= 0:
                            sentence.deleted_at[word.origin], sentence.deletion_log_odds[word.origin] = step + 1, inf
                            word = Word(word.token, inserted_at=step + 1, log_odds=inf)
                        words[i] = word._replace(token=token, score=score, alternatives=alternatives)
                sentence.write(words)

    # ---- results -----------------------------------------------------------------------------------------------------

    def scores(self, sentences: list[Sentence]) -> list[list[float]]:
        """Returns the log-probability of each token, as described at the top of this file."""
        decisions = [list(self.deletions(sentence)) for sentence in sentences]
        log_odds = np.array([odds for decision in decisions for _, odds in decision])
        log_probs = iter((-np.logaddexp(0.0, log_odds)).tolist())  # of keeping each word
        scores = []
        for sentence, decision in zip(sentences, decisions, strict=True):
            pairs = [(word, next(log_probs)) for word, _ in decision]
            keep_scores = {
                word.origin: log_prob
                for word, log_prob in pairs
                if word.origin >= 0 and not word.marks & KEEP and word.token not in (BOS, EOS)
            }
            scores.append([word.score + keep_scores.get(word.origin, 0.0) for word in sentence.words])
        return scores


def any_above(threshold: float, values: Array, lengths: Array) -> Array:
    """Returns for each row whether one of its first ``lengths`` (n,) values (n, T) is above the threshold.

    >>> any_above(0.0, np.array([[-1.0, 2.0], [3.0, -1.0]]), lengths=np.array([1, 1])).tolist()
    [False, True]
    """
    real = np.arange(values.shape[1]) < lengths[:, None]
    above: Array = (values > threshold) & real
    return np.any(above, axis=1)


def removed_tokens(sentences: Sequence[Sentence]) -> tuple[Array, Array]:
    """Returns the first token that was deleted after each token (B, T), or padding, and the number of them."""
    gaps = [sentence.removed or [[]] * len(sentence.words) for sentence in sentences]
    tokens = padded([[gap[0] if gap else PAD for gap in row] for row in gaps])
    return tokens, padded([[len(gap) for gap in row] for row in gaps], fill=0)


def replaced_tokens(sentences: Sequence[Sentence], placeholder: int) -> Array:
    """Returns the deleted token that each placeholder replaces (B, T); padding for all other tokens.

    Between two tokens that stayed, the first placeholder replaces the first deleted token, and so on.
    """
    rows = []
    for sentence in sentences:
        removed = iter(sentence.removed or repeat([]))  # after each token that stayed
        row: list[int] = []
        gap: Iterator[int] = iter(())
        for token in sentence.tokens:
            if token == placeholder:
                row.append(next(gap, PAD))
            else:
                row.append(PAD)
                gap = iter(next(removed))
        rows.append(row)
    return padded(rows)


def log_odds_of_any(log_prob_none: float) -> float:
    """Returns the log-odds of inserting anything, given the log-probability of inserting nothing.

    >>> round(log_odds_of_any(log(0.25)), 4) == round(log(3), 4), log_odds_of_any(0.0)
    (True, -inf)
    """
    prob_any = -expm1(log_prob_none)
    return log(prob_any) - log_prob_none if prob_any > 0 else -inf
