"""(source, optional draft, target) as a fairseq dataset, with the roll-in noise of Algorithm 1."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from fairseq.data import FairseqDataset, LanguagePairDataset, data_utils
from torch import Tensor

from lev_plugins.data.drafts.dictionary import Draft, lend
from lev_plugins.data.noisy import NoisyWords
from lev_plugins.data.unknown import joined_ids
from lev_plugins.edits import (
    BORROWED,
    Removed,
    align,
    insertion_labels,
    known,
    random_deletions,
    removed_after,
    replaced,
)
from lev_plugins.errors import require
from lev_plugins.fairseq_fixes.batching import EverySentence
from lev_plugins.text.spelling import unknown_words

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RollIn:
    """How training states are drawn; every draw depends only on (seed, epoch, index).

    So it does not depend on worker, batch, number of processes or restarts.
    """

    seed: int
    alpha: float = 0.0  # share of drafted examples whose deletions are learned from the draft
    beta: float = 0.0  # share of drafted examples whose insertions are learned from the draft
    every_epoch: bool = True  # False: the same states in every epoch, for validation

    def generator(self, epoch: int, index: int) -> torch.Generator:
        mixed = np.random.SeedSequence((self.seed, epoch if self.every_epoch else 0, index))
        return torch.Generator().manual_seed(int(mixed.generate_state(1, np.uint64)[0] >> 1))


class TextEditingDataset(EverySentence):
    """Adds drafts and roll-ins to a ``LanguagePairDataset`` whose two sides both begin with <s>.

    Without ``rollin``, batches contain only what decoding needs; with ``teacher_forcing``, they contain what an
    autoregressive model learns from. The source is padded as in the pair, everything on the target side on the right.
    """

    def __init__(
        self,
        pair: LanguagePairDataset,
        drafts: FairseqDataset | None = None,
        rollin: RollIn | None = None,
        pad_to_multiple: int = 1,
        teacher_forcing: bool = False,
        noise: NoisyWords | None = None,
        spelling_buckets: int | None = None,
    ):
        """``noise``: source and draft are the target with noise; ``spelling_buckets``: batches have spellings."""
        super().__init__(pair)
        if drafts is not None:
            require(
                len(drafts) == len(pair),
                f"every source line needs one draft line, but there are {len(pair)} source lines and "
                f"{len(drafts)} drafts",
            )
            # the draft shares the length limit of the side it is read with; batches go by the longest of the three
            if teacher_forcing:
                pair.src_sizes = np.maximum(pair.src_sizes, drafts.sizes)
            elif pair.tgt_sizes is not None:
                pair.tgt_sizes = np.maximum(pair.tgt_sizes, drafts.sizes)
        elif noise is not None:  # the source is the draft
            pair.tgt_sizes = np.maximum(pair.src_sizes, pair.tgt_sizes)
        pair.sizes = pair.src_sizes if pair.tgt_sizes is None else np.vstack((pair.src_sizes, pair.tgt_sizes)).T
        self.drafts, self.rollin, self.pad_to_multiple = drafts, rollin, pad_to_multiple
        self.teacher_forcing, self.noise, self.spelling_buckets = teacher_forcing, noise, spelling_buckets

    def draft_sizes(self, indices: np.ndarray) -> np.ndarray:
        return np.zeros(len(indices), dtype=int) if self.drafts is None else self.drafts.sizes[indices]

    def __getitem__(self, index: int) -> dict[str, Any]:
        pair: LanguagePairDataset = self.dataset
        target = pair.tgt[index] if pair.tgt is not None else None
        example: dict[str, Any] = {"id": index, "source": pair.src[index], "target": target}
        if self.drafts is not None:
            draft = self.drafts[index]
            if isinstance(draft, Draft):
                example["note"] = draft
                draft = draft.ids if self.spelling_buckets else known(draft.ids, pair.tgt_dict.unk())
            example["draft"] = draft
        if self.noise is not None and target is not None:
            self._add_noise(example, index)
        if self.spelling_buckets:
            self._spell_source(example)
        if self.rollin is not None and target is not None:
            generator = self.rollin.generator(self.epoch, index)
            has_draft = "draft" in example and example["draft"].numel() > 2
            u, v = torch.rand(2, generator=generator).tolist()
            example["insert_into_draft"] = has_draft and u < self.rollin.beta
            example["delete_from_draft"] = has_draft and v < self.rollin.alpha
            example["missing"] = random_deletions(target.numel(), generator)
        return example

    def _add_noise(self, example: dict[str, Any], index: int) -> None:
        """Source and draft become the target with noise, or stay (without drafts, the source is the draft); unknown
        words get ids of this example."""
        assert self.noise is not None
        words = self.noise(example["target"], index, self.epoch)
        pair: LanguagePairDataset = self.dataset
        if words is None and self.drafts is not None:
            own = example["draft"][example["draft"] >= BORROWED].tolist()
            example["unknown"] = {i: pair.tgt_dict[i] for i in own}
            return
        if words is None:
            example["draft"] = example["source"]
            return
        example.pop("note", None)
        borrowed: dict[str, int] = {}
        ids = lend(words, pair.tgt_dict, borrowed)
        example["unknown"] = {i: word for word, i in borrowed.items()}
        noisy = torch.tensor([pair.tgt_dict.bos(), *ids, pair.tgt_dict.eos()])
        example["draft"] = example["source"] = noisy if self.spelling_buckets else known(noisy, pair.tgt_dict.unk())

    def _spell_source(self, example: dict[str, Any]) -> None:
        """Binarised sources do not say how unknown words are spelt; a draft that is the same does."""
        draft = example.get("draft")
        if draft is not None and torch.equal(known(draft, self.dataset.tgt_dict.unk()), example["source"].long()):
            example["source"] = draft

    def collater(self, examples: list[dict[str, Any]], pad_to_length: Any = None) -> dict[str, Any]:
        if not examples:
            return {}
        pair: LanguagePairDataset = self.dataset
        order = sorted(range(len(examples)), key=lambda i: -examples[i]["source"].numel())
        examples = [examples[i] for i in order]
        unknown = None
        if self.spelling_buckets:
            unknown = unknown_words(joined_ids(examples, {"source", "draft"}, pair.tgt_dict), self.spelling_buckets)
        sources = [e["source"] for e in examples]
        batch: dict[str, Any] = {
            "id": torch.tensor([e["id"] for e in examples]),
            "nsentences": len(examples),
            "ntokens": sum(s.numel() for s in sources),
            "target": None,
            "net_input": {
                "src_tokens": self._pad(sources, left_pad=pair.left_pad_source),
                "src_lengths": torch.tensor([s.numel() for s in sources]),
            },
        }
        if unknown is not None:
            batch["net_input"]["unknown"] = tuple(unknown)
        if "draft" in examples[0]:
            batch["net_input"]["draft"] = self._pad([e["draft"] for e in examples])
            if any("note" in e for e in examples):
                batch["notes"] = self._notes(examples)
        if examples[0]["target"] is not None:
            batch["ntokens"] = sum(e["target"].numel() for e in examples)
            batch["target"] = self._pad([e["target"][1:] for e in examples])  # for scoring: without <s>
            if self.rollin is not None:
                batch["net_input"].update(self._states(examples, batch["net_input"].get("draft")))
            if self.teacher_forcing:
                batch["ntokens"] -= len(examples)  # nobody predicts <s>
                batch["net_input"]["prev_output_tokens"] = self._shifted(examples)
        return batch

    def _states(self, examples: list[dict[str, Any]], drafts: Tensor | None) -> dict[str, Tensor]:
        """Roll-in states and the insertion labels that the expert gives them; on the CPU, off the critical path."""
        pad = self.dataset.tgt_dict.pad()
        target = self._pad([e["target"] for e in examples])  # (B, T)
        missing = torch.zeros_like(target, dtype=torch.bool)
        for row, example in zip(missing, examples, strict=True):
            row[: example["missing"].numel()] = example["missing"]
        states = {"target": target}
        given, removed = torch.full_like(target, pad), Removed(torch.full_like(target, pad), torch.zeros_like(target))
        if drafts is not None:
            states["from_draft"] = torch.tensor([e["delete_from_draft"] for e in examples])
            rows = [i for i, e in enumerate(examples) if e["insert_into_draft"]]
            if rows:
                kept, present = align(known(drafts[rows], self.dataset.tgt_dict.unk()), target[rows], pad)
                missing[rows] = ~present & target[rows].ne(pad)
                if self.spelling_buckets:
                    gone = ~kept & drafts[rows].ne(pad)
                    given[rows] = replaced(drafts[rows], gone, missing[rows], pad)
                    width = min(target.size(1), drafts.size(1))  # what is kept fits into both
                    for each, found in zip(removed, removed_after(drafts[rows], gone, pad), strict=True):
                        each[rows, :width] = found[:, :width]
        if self.spelling_buckets:
            states["replaced"], states["removed"], states["removed_counts"] = given, *removed
        labels = insertion_labels(target, missing, pad)
        states["kept_tokens"], states["missing_counts"] = labels
        states["hole_index"] = missing.flatten().nonzero()[:, 0]
        return states

    def _shifted(self, examples: list[dict[str, Any]]) -> Tensor:
        """The targets with </s> first, where fairseq's decoders start, instead of last: (B, T - 1)."""
        shifted = self._pad([e["target"][:-1] for e in examples])
        shifted[:, 0] = self.dataset.tgt_dict.eos()
        return shifted

    def _notes(self, examples: list[dict[str, Any]]) -> dict[str, Tensor]:
        """What decoding reads beside the source if some drafts have notes: two tensors (B, N)."""
        drafts = [e.get("note") or Draft(e["draft"], torch.zeros_like(e["draft"])) for e in examples]
        requests = data_utils.collate_tokens([d.requests for d in drafts], 0, pad_to_multiple=self.pad_to_multiple)
        return {"draft": self._pad([d.ids for d in drafts]), "requests": requests}

    def _pad(self, rows: list[Tensor], left_pad: bool = False) -> Tensor:
        pad = self.dataset.src_dict.pad()
        return data_utils.collate_tokens(rows, pad, left_pad=left_pad, pad_to_multiple=self.pad_to_multiple)
