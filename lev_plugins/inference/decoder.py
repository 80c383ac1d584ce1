"""Decoding with checkpoints of any task: of a data folder, or of segments of text that were not binarised."""

from argparse import Namespace
from collections.abc import Iterator
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
from fairseq.utils import split_paths
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from lev_plugins.data.noisy import WITHOUT_NOISE
from lev_plugins.data.tokenise import MODEL
from lev_plugins.data.words import BatchWords, UnknownWords
from lev_plugins.edits.expert import align
from lev_plugins.errors import require
from lev_plugins.generators.canvas import lists_of
from lev_plugins.generators.keeping import preference, scored
from lev_plugins.inference.load_model import Loaded, places, read_models
from lev_plugins.inference.segments import RefinedSegments, SegmentDecoder, batches
from lev_plugins.model_folder import ModelConfig
from lev_plugins.models.levt import LevT
from lev_plugins.tasks.pairs import WITHOUT_SCORES
from lev_plugins.tasks.text_correction import TextCorrectionTask
from lev_plugins.text.calibration import evidence, log_odds
from lev_plugins.text.candidates import ids_of
from lev_plugins.text.edited import Decoded, Edit, Rewrite, Segment, WordEdits, rewrites
from lev_plugins.text.tokenise import Tokeniser

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


def sizes(decoder: CheckpointDecoder) -> tuple[tuple[Any, Any], tuple[int, ...]]:
    """The dictionaries and positions of source and target."""
    limits = decoder.max_positions if isinstance(decoder.max_positions, tuple) else (decoder.max_positions,)
    return (decoder.task.source_dictionary, decoder.task.target_dictionary), limits


class Refinement(RefinedSegments):
    """Through a levt in torch."""

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        super().__init__(*sizes(decoder), max_tokens, any_words=decoder.task.word_index is not None)
        self.decoder = decoder
        decoder.generator.options = replace(decoder.generator.options, retain_history=True)  # with it, the record

    @torch.no_grad()
    def refined(self, sources: list[list[str]], segments: list[Segment]) -> list[tuple[list[int], WordEdits]]:
        task, words = self.decoder.task, self.words
        numbers, left = UnknownWords(words.size), task.cfg.left_pad_source
        drafts = [words.draft(segment.pieces, segment.requests or ()) for segment in segments]
        rows = [task.source_dictionary.draft(source) for source in sources]
        ids = [row.ids if task.word_index is None else numbers.rows(row) for row in rows]
        net_input = {
            "src_tokens": collate_tokens(ids, words.pad(), left_pad=left),
            "draft": collate_tokens([numbers.rows(draft) for draft in drafts], words.pad()),
            "requests": collate_tokens([draft.requests for draft in drafts], 0),
        }
        if task.word_index is not None:
            unknown = BatchWords.of(numbers.spelt, task.word_index)
            net_input["words"] = unknown.in_sources(net_input["src_tokens"], numbers.spelt, task.word_index)
        words.printed = numbers.spelt
        sample = {"net_input": utils.move_to_cuda(net_input, self.decoder.device)}
        found = self.decoder.generator.generate(self.decoder.models, sample)
        tokens = lists_of(best["tokens"] for best, *_ in found)
        return [(row, best["edits"]) for row, (best, *_) in zip(tokens, found, strict=True)]


class Seq2Seq(SegmentDecoder):
    """Segments through a model of ``text_correction``, which writes the corrected text from left to right.

    What it kept is found by a minimal alignment (``edits.align``). The confidence of an edit is p(h) / (p(h) + p(h
    with this edit undone)), where p is the probability of a whole sentence under the model, by teacher forcing. For
    a sentence with one edit it is what --min-edit-confidence compares.
    """

    task, drafts = "text_correction", False

    def __init__(self, decoder: CheckpointDecoder, max_tokens: int):
        super().__init__(*sizes(decoder), max_tokens)
        self.decoder = decoder

    @torch.no_grad()
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


def segment_model(
    path: Path,
    folder: ModelConfig | None,
    overrides: dict[str, Any],
    where: tuple[Any, Any],
    bpe: Namespace | None,
    search: dict[str, Any],
    device: str,
    max_tokens: int,
) -> tuple[Refinement | Seq2Seq, Tokeniser]:
    """A checkpoint or a ``folder`` for an ``Editor``, in torch; ``where`` its data and its backbone are."""
    decoder = CheckpointDecoder([path], {**overrides, **places(*where)}, search, device, folder=folder)
    require_editor(decoder.loaded, path)
    model = (Refinement if isinstance(decoder.models[0], LevT) else Seq2Seq)(decoder, max_tokens)
    return model, Tokeniser(folder.bpe(path) if folder else bpe_of(decoder.task, bpe))


def require_editor(loaded: Loaded, path: str | Path) -> None:
    model, task = loaded.models[0], loaded.task
    require(
        isinstance(model, LevT) or isinstance(task, TextCorrectionTask),
        f"{path} was trained with --task {task.name} --arch {model.__class__.__name__}: only a levt or a "
        "model of text_correction can edit",
    )


def bpe_of(task: Any, bpe: Namespace | None) -> Namespace | None:
    """What was given, or the sentencepiece model that was learned with the data of a checkpoint, if any."""
    learned = Path(split_paths(task.cfg.data)[0], MODEL)
    if bpe is None and learned.is_file():
        return Namespace(bpe="sentencepiece", sentencepiece_model=str(learned))
    return bpe
