"""Decoding with checkpoints of any task: of a data folder, or of segments of text that were not binarised."""

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from fairseq import utils
from fairseq.data import FairseqDataset
from fairseq.data.data_utils import collate_tokens
from fairseq.dataclass.configs import GenerationConfig
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from lev_plugins.data.noisy import WITHOUT_NOISE
from lev_plugins.data.tokenise import ids_of
from lev_plugins.data.words import BatchWords, UnknownWords
from lev_plugins.edits.expert import align
from lev_plugins.generators.canvas import WordEdits
from lev_plugins.generators.keeping import preference, scored
from lev_plugins.inference.load_model import read_models
from lev_plugins.model_folder import ModelConfig
from lev_plugins.tasks.pairs import WITHOUT_SCORES
from lev_plugins.text.calibration import evidence, log_odds
from lev_plugins.text.edited import Decoded, Edit, Rewrite, Segment, by_word, rewrites

logger = logging.getLogger(__name__)

BOUNDARIES = 2
MANY_UNKNOWN = 0.5  # of all tokens
BATCH = 64  # sentences that are aligned, or scored, together


class CheckpointDecoder:
    """Checkpoints with the task of their training, but another data folder; or a model folder."""

    def __init__(
        self,
        paths: list[Path],
        overrides: dict[str, Any],
        search: dict[str, Any],
        device: str,
        fp16: bool = False,
        folder: ModelConfig | None = None,
    ):
        """``folder``: what the model folder says of itself, if it has been read."""
        # without the metrics and the noise of their own training
        self.loaded = read_models(paths, {**WITHOUT_SCORES, **WITHOUT_NOISE, **overrides}, folder=folder)
        self.models, self.task = self.loaded.models, self.loaded.task
        self.device = torch.device(device)
        options = GenerationConfig(**search)
        for model in self.models:
            model.eval().to(self.device, torch.half if fp16 else None)
            model.prepare_for_inference_(SimpleNamespace(generation=options))
        self.generator = self.task.build_generator(self.models, options)
        self.max_positions = utils.resolve_max_positions(
            self.task.max_positions(), *(model.max_positions() for model in self.models)
        )

    def dataset(self, split: str) -> FairseqDataset:
        self.task.load_dataset(split)
        return self.task.dataset(split)

    def write(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> list[list[int] | None]:
        """The output for each sentence, including </s>; None if the sentence is too long for the model."""
        best = self.best(dataset, indices, max_tokens)
        outputs = {index: self.plain(hypothesis["tokens"].tolist()) for index, hypothesis in best}
        return [outputs.get(index) for index in indices]

    def best(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The best hypothesis of each sentence that is not too long, in any order."""
        for sample in self.samples(dataset, indices, max_tokens):
            hypotheses = self.task.inference_step(self.generator, self.models, sample)
            for index, n_best in zip(sample["id"].tolist(), hypotheses, strict=True):
                yield index, n_best[0]

    def samples(self, dataset: FairseqDataset, indices: range, max_tokens: int) -> Iterator[dict[str, Any]]:
        """Batches of sentences of similar length; a sentence longer than ``max_tokens`` is a batch by itself."""
        fitting, _ = dataset.filter_indices_by_size(np.array(indices), self.max_positions)
        for batch in batches({index: dataset.num_tokens(index) for index in fitting}, fitting, max_tokens):
            yield self.sample(dataset, batch)

    def sample(self, dataset: FairseqDataset, batch: list[int]) -> dict[str, Any]:
        sample = dataset.collater([dataset[index] for index in batch])
        return utils.move_to_cuda(sample, self.device)  # despite its name, to any device

    def plain(self, tokens: list[int]) -> list[int]:
        words = self.task.target_dictionary
        return [token for token in tokens if token not in (words.bos(), words.pad(), words.eos())] + [words.eos()]


def batches(sizes: Any, indices: Iterable[int], max_tokens: int) -> Iterator[list[int]]:
    """Of similar sizes; what is longer than ``max_tokens`` is a batch by itself.

    >>> list(batches([3, 9, 2, 4], range(4), max_tokens=8))
    [[2, 0], [3], [1]]
    """
    batch: list[int] = []
    for index in sorted(indices, key=sizes.__getitem__):
        if batch and sizes[index] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class SegmentDecoder:
    """What the two kinds of ``SegmentModel`` share."""

    task: str
    drafts: bool

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        self.decoder, self.max_tokens, self.words = decoder, max_tokens, decoder.task.target_dictionary
        limits = decoder.max_positions if isinstance(decoder.max_positions, tuple) else (decoder.max_positions,)
        self.longest, self.longest_output = min(limits) - BOUNDARIES, limits[-1]
        dictionaries = decoder.task.source_dictionary, self.words
        self.symbols: Collection[str] = {symbol for words in dictionaries for symbol in words.symbols[words.nspecial :]}
        self.warned = False

    def pieces(self, segment: Segment, written: list[int], origin: list[int | None]) -> list[str]:
        """A piece that was kept is spelt as in the segment, also where the dictionary does not know it."""
        return [
            self.words[i] if place is None else segment.pieces[place] for i, place in zip(written, origin, strict=True)
        ]

    def count(self, piece: str) -> int:
        """How often it occurs in the training text; 0 if the dictionary lacks it."""
        number = self.words.index(piece)
        return max(1, self.words.count[number]) if number >= self.words.nspecial else 0

    def warn_of_unknown(self, segments: list[Segment]) -> None:
        """Once: text with so many unknown words was most likely made by another tokeniser than the model's.

        A model with spelling-aware words is made for unknown words.
        """
        if self.warned or getattr(self.decoder.task, "word_index", None):
            return
        pieces = [piece for segment in segments for piece in segment.pieces]
        unknown = sum(not self.count(piece) for piece in pieces)
        if unknown > MANY_UNKNOWN * len(pieces):
            self.warned = True
            logger.warning(
                f"{unknown:,} of the first {len(pieces):,} tokens are not in the model's dictionary: check that --bpe "
                "and its flags are those that its data was made with"
            )


class Refinement(SegmentDecoder):
    """Segments through a levt: the text is source and draft, or there is a draft of its own, which may have marks.

    The confidence of an edit is p(edit) / (p(edit) + p(leaving the text alone)), as far as the policies were asked:
    the log-odds of deleting each word that it deletes, or where it deletes none, of inserting anything in its
    place; and the log-probabilities of the words that it inserts. What a mark asks for is certain.
    """

    task, drafts = "text_editing", True

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        super().__init__(decoder, max_tokens)
        decoder.generator.options = replace(decoder.generator.options, retain_history=True)  # with it, the record

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        sources = [segment.pieces if segment.source is None else segment.source for segment in segments]
        longest = (max(len(source), len(own.pieces)) for source, own in zip(sources, segments, strict=True))
        sizes = [size + BOUNDARIES for size in longest]
        decoded: dict[int, Decoded] = {}
        for batch in batches(sizes, range(len(segments)), self.max_tokens):
            hypotheses = self.refined([sources[i] for i in batch], [segments[i] for i in batch])
            decoded |= {i: self.decoded(segments[i], best) for i, (best, *_) in zip(batch, hypotheses, strict=True)}
        return [decoded[i] for i in range(len(segments))]

    def refined(self, sources: list[list[str]], segments: list[Segment]) -> list[list[dict]]:
        task, words = self.decoder.task, self.words
        numbers, left = UnknownWords(words.size, words.unk()), task.cfg.left_pad_source
        drafts = [words.draft(segment.pieces, segment.requests or ()) for segment in segments]
        rows = [task.source_dictionary.draft(source) for source in sources]
        ids = [row.ids if task.word_index is None else numbers.rows(row) for row in rows]
        net_input = {
            "src_tokens": collate_tokens(ids, words.pad(), left_pad=left),
            "draft": collate_tokens([numbers.rows(draft) for draft in drafts], words.pad()),
            "requests": collate_tokens([draft.requests for draft in drafts], 0),
        }
        if task.word_index is not None:
            net_input["words"] = BatchWords.of(numbers.spelt, task.word_index)
        words.printed = numbers.spelt
        sample = {"net_input": utils.move_to_cuda(net_input, self.decoder.device)}
        return self.decoder.generator.generate(self.decoder.models, sample)

    def decoded(self, segment: Segment, hypothesis: dict) -> Decoded:
        edits: WordEdits = hypothesis["edits"]
        origin = [place - 1 if place > 0 else None for place in edits.origin[:-1]]  # <s> of the draft is at 0
        pieces = self.pieces(segment, hypothesis["tokens"].tolist()[:-1], origin)
        whole = rewrites(segment, pieces, origin)
        changes = [change for each in whole for change in by_word(segment, each, pieces, origin)]
        return Decoded(pieces, origin, [self.judged(segment, edits, pieces, origin, change) for change in changes])

    def judged(
        self, segment: Segment, edits: WordEdits, pieces: list[str], origin: list[int | None], change: Rewrite
    ) -> Edit:
        """With its confidence and iteration."""
        gone = [piece + 1 for piece in change.given if piece not in origin]
        new = [i for i in change.written if origin[i] is None]
        iterations = [*(edits.died[place] for place in gone), *(edits.born[i] for i in new)]
        odds = [edits.deleted[place] for place in gone] or [edits.inserted[min(new, key=lambda i: edits.born[i])]]
        choice = sum(edits.chosen[i] for i in new)
        known = evidence(segment, change, pieces, self.count, min(odds), choice)
        share = float(torch.tensor(sum(odds) + choice).sigmoid())
        return replace(change.edit, confidence=share, iteration=max(iterations), evidence=known)


class Seq2Seq(SegmentDecoder):
    """Segments through a model of ``text_correction``, which writes the corrected text from left to right.

    What it kept is found by a minimal alignment (``edits.align``). The confidence of an edit is p(h) / (p(h) + p(h
    with this edit undone)), where p is the probability of a whole sentence under the model, by teacher forcing. For
    a sentence with one edit it is what --min-edit-confidence compares.
    """

    task, drafts = "text_correction", False

    def decode(self, segments: list[Segment]) -> list[Decoded]:
        self.warn_of_unknown(segments)
        sources = [self.decoder.task.source_row(segment.pieces) for segment in segments]
        given = [ids_of(segment.pieces, self.words) for segment in segments]
        hypotheses = self.hypotheses(sources, [len(row) for row in sources])
        written = [self.decoder.plain(hypothesis["tokens"].tolist())[:-1] for hypothesis in hypotheses]
        origins = self.origins(given, written)
        pieces = [self.pieces(*row) for row in zip(segments, written, origins, strict=True)]
        changes = [rewrites(*row) for row in zip(segments, pieces, origins, strict=True)]
        sure = self.shares(sources, given, written, changes)
        edits = [
            [self.judged(segment, row, change, next(sure)) for change in some]
            for segment, row, some in zip(segments, pieces, changes, strict=True)
        ]
        return [Decoded(*row) for row in zip(pieces, origins, edits, strict=True)]

    def judged(self, segment: Segment, pieces: list[str], change: Rewrite, share: float) -> Edit:
        known = evidence(segment, change, pieces, self.count, log_odds(share), 0.0)
        return replace(change.edit, confidence=share, evidence=known)

    def hypotheses(self, rows: list[Any], lengths: list[int]) -> list[dict[str, Any]]:
        dataset = self.decoder.task.build_dataset_for_inference(rows, lengths)
        best = dict(self.decoder.best(dataset, range(len(rows)), self.max_tokens))
        return [best[i] for i in range(len(rows))]

    def origins(self, given: list[list[int]], written: list[list[int]]) -> list[list[int | None]]:
        """Which token of ``given`` each one is that was ``written``."""
        pad = self.words.pad()
        origins: list[list[int | None]] = [list(range(len(row))) for row in given]
        changed = [i for i, (old, new) in enumerate(zip(given, written, strict=True)) if old != new]
        for start in range(0, len(changed), BATCH):
            some = changed[start : start + BATCH]
            old, new = (collate_tokens([torch.tensor([*side[i], pad]) for i in some], pad) for side in (given, written))
            for i, kept, matched in zip(some, *align(old, new, pad), strict=True):
                places = iter(kept.nonzero()[:, 0].tolist())
                origin = [next(places) if same else None for same in matched[: len(written[i])].tolist()]
                origins[i] = told_apart(origin, given[i], written[i], self.words.unk())
        return origins

    @torch.no_grad()
    def shares(
        self, sources: list[Tensor], given: list[list[int]], written: list[list[int]], changes: list[list[Rewrite]]
    ) -> Iterator[float]:
        """The confidence of each change, from the scores of each output, and of it without each change; 0 where that
        is too long for the model to say.
        """
        rows: list[tuple[int, list[int]]] = []  # the number of a source, and an output for it
        for i, (old, new, some) in enumerate(zip(given, written, changes, strict=True)):
            rows += [(i, new)] * bool(some)
            for _, gone, inserted in some:
                rows.append((i, new[: inserted.start] + old[gone.start : gone.stop] + new[inserted.stop :]))
        scores = self.scores(sources, rows)
        for some in changes:
            whole = next(scores) if some else None
            for other in [next(scores) for _ in some]:
                yield preference(whole, other) if whole and other else 0.0

    def scores(self, sources: list[Tensor], rows: list[tuple[int, list[int]]]) -> Iterator[dict[str, Any] | None]:
        """Of each output for the source with its number; None if it is too long."""
        task = self.decoder.task
        pad, fitting = task.source_dictionary.pad(), [row for row in rows if len(row[1]) < self.longest_output]
        found: list[dict[str, Any]] = []
        for start in range(0, len(fitting), BATCH):
            some = fitting[start : start + BATCH]
            tokens = collate_tokens([sources[i] for i, _ in some], pad, left_pad=task.cfg.left_pad_source)
            tokens = tokens.to(self.decoder.device)
            sample = {"net_input": {"src_tokens": tokens, "src_lengths": tokens.ne(pad).sum(1)}}
            outputs = [torch.tensor([*row, self.words.eos()]) for _, row in some]
            found += scored(self.decoder.models, sample, outputs, self.words)
        scores = iter(found)
        return (next(scores) if len(row) < self.longest_output else None for _, row in rows)


def told_apart(origin: list[int | None], given: list[int], written: list[int], unknown: int) -> list[int | None]:
    """All unknown words have one id: of those between two known words, the ones in the most likely places were kept.

    Here the fourth word of ``a ? ? ? b`` in ``a x y ? b``, not its second:

    >>> told_apart([0, None, None, 1, 4], [5, 3, 3, 3, 6], [5, 8, 9, 3, 6], unknown=3)
    [0, None, None, 3, 4]
    """
    places = list(origin)
    known = [(here, there) for here, there in enumerate(origin) if there is not None and written[here] != unknown]
    left = -1, -1
    for right in [*known, (len(written), len(given))]:
        kept = [here for here in range(left[0] + 1, right[0]) if origin[here] is not None]
        free = np.array([there for there in range(left[1] + 1, right[1]) if given[there] == unknown])
        if kept:
            here = np.array(kept)[:, None]
            moves = abs(free - left[1] - here + left[0]) + abs(right[1] - free - right[0] + here)
            costs = moves * len(given) ** 2 + np.arange(len(free))  # among the cheapest, the leftmost
            for row, column in zip(kept, sorted(linear_sum_assignment(costs)[1]), strict=True):
                places[row] = int(free[column])
        left = right
    return places
