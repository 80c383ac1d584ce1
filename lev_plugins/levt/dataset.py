"""Sources, optional drafts and targets as a fairseq dataset, with the roll-ins of Algorithm 1.

Shapes: B batch, S source length, T target length, N length of the drafts.
"""

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import torch
from fairseq.data import FairseqDataset, LanguagePairDataset, data_utils
from torch import Tensor

from lev_plugins.edits.actions import RemovedTokens, removed_after, replaced_per_placeholder, source_positions
from lev_plugins.edits.batch_words import EditingStates, SpeltRow, candidate_tensors, look_up_words, with_pieces
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.expert import align, insertion_labels, random_deletions
from lev_plugins.training.batch import Batch, NetInput
from lev_plugins.training.batching import KeepLastBatch
from lev_plugins.training.noisy import NoisyWords


@dataclass(frozen=True)
class RollIn:
    """How the states of training are drawn.

    A draw depends only on (seed, epoch, index), and not on workers, batches, the number of processes or restarts.
    """

    seed: int
    alpha: float = 0.0  # share of drafted examples whose deletions are learned from the draft
    beta: float = 0.0  # share of drafted examples whose insertions are learned from the draft
    every_epoch: bool = True  # False: the same states in every epoch, for validation

    def generator(self, epoch: int, index: int) -> torch.Generator:
        sequence = np.random.SeedSequence((self.seed, epoch if self.every_epoch else 0, index))
        return torch.Generator().manual_seed(int(sequence.generate_state(1, np.uint64)[0]) >> 1)


class EditingExample(TypedDict, total=False):
    """A sentence with what its roll-in drew."""

    id: int
    source: SpeltRow
    draft: SpeltRow | None
    target: Tensor | None  # (T,)
    delete_from_draft: bool  # v < alpha, and there is a draft: y_del is the draft (Algorithm 1)
    insert_into_draft: bool  # u < beta, and there is a draft: y_ins is the draft after the expert's deletions
    missing: Tensor  # (T,) True = a target token that the roll-in leaves out


def as_spelt(row: Tensor | SpeltRow) -> SpeltRow:
    return row if isinstance(row, SpeltRow) else SpeltRow(row)


class TextEditingDataset(KeepLastBatch):
    """Adds drafts and roll-ins to a ``LanguagePairDataset`` whose two sides both begin with <s>.

    The source is padded as in the pair, everything on the target side on the right.
    """

    def __init__(
        self,
        pair: LanguagePairDataset,
        drafts: FairseqDataset | None = None,
        rollin: RollIn | None = None,
        pad_to_multiple: int = 1,
        teacher_forcing: bool = False,
        noise: NoisyWords | None = None,
        index: WordIndex | None = None,
    ) -> None:
        """
        Args:
            pair: sources and targets
            drafts: one for each source
            rollin: how training states are drawn; None: a batch contains what decoding needs
            pad_to_multiple: widths of batches are a multiple of this
            teacher_forcing: a batch contains what an autoregressive model learns from
            noise: makes the words of source and draft from the target; None for an example that keeps its own. Without
                noise, it returns the target itself if that has spelt unknown words, which ``lev-plugins prepare`` notes
                only where the source is a copy of the target
            index: the words of the dictionary, for models that spell
        """
        super().__init__(pair)
        if drafts is not None:
            # a draft shares the length limit of the side that it is read with
            if teacher_forcing:
                pair.src_sizes = np.maximum(pair.src_sizes, drafts.sizes)
            elif pair.tgt_sizes is not None:
                pair.tgt_sizes = np.maximum(pair.tgt_sizes, drafts.sizes)
        elif noise is not None:  # the source is the draft
            pair.tgt_sizes = np.maximum(pair.src_sizes, pair.tgt_sizes)
        pair.sizes = pair.src_sizes if pair.tgt_sizes is None else np.vstack((pair.src_sizes, pair.tgt_sizes)).T
        self.drafts, self.rollin, self.pad_to_multiple = drafts, rollin, pad_to_multiple
        self.teacher_forcing, self.noise, self.index = teacher_forcing, noise, index

    def __getitem__(self, index: int) -> EditingExample:
        pair: LanguagePairDataset = self.dataset
        target = pair.tgt[index] if pair.tgt is not None else None
        source = as_spelt(pair.src[index])
        draft = None if self.drafts is None else as_spelt(self.drafts[index])
        noisy = None if self.noise is None or target is None else self.noise(index, self.epoch)
        if noisy is not None:
            source = draft = pair.tgt_dict.draft(noisy)
        elif self.noise is not None and draft is None:
            draft = source
        elif self.index is not None and draft is not None and not source.unknown and torch.equal(draft.ids, source.ids):
            source = draft  # which may say how its unknown words are spelt; binarised sources cannot
        example: EditingExample = {"id": index, "source": source, "draft": draft, "target": target}
        if self.rollin is not None and target is not None:
            generator = self.rollin.generator(self.epoch, index)
            has_draft = draft is not None and len(draft.ids) > 2
            u, v = torch.rand(2, generator=generator).tolist()
            example["insert_into_draft"] = has_draft and u < self.rollin.beta
            example["delete_from_draft"] = has_draft and v < self.rollin.alpha
            example["missing"] = random_deletions(target.numel(), generator)
        return example

    def collater(self, examples: list[EditingExample], pad_to_length: dict[str, int] | None = None) -> Batch:
        if not examples:
            return {}
        pair: LanguagePairDataset = self.dataset
        examples = sorted(examples, key=lambda example: -len(example["source"].ids))
        # the unknown words of the batch, in order; the first has the id V + 1, after the placeholder
        numbers, offset = dict[str, int](), (pair.tgt_dict or pair.src_dict).size + 1
        sources = [e["source"].batch_ids(numbers, offset) if self.index else e["source"].ids for e in examples]
        net_input: NetInput = {
            "src_tokens": self._pad(sources, left_pad=pair.left_pad_source),
            "src_lengths": torch.tensor([len(source) for source in sources]),
        }
        batch: Batch = {
            "id": torch.tensor([e["id"] for e in examples]),
            "nsentences": len(examples),
            "ntokens": int(net_input["src_lengths"].sum()),
            "target": None,
            "net_input": net_input,
        }
        drafts = [e["draft"] for e in examples if e["draft"] is not None]  # of all examples, or of none
        if drafts:
            net_input["draft"] = self._pad([draft.batch_ids(numbers, offset) for draft in drafts])
            if any(draft.marks is not None and draft.marks.any() for draft in drafts):
                marks = [torch.zeros_like(d.ids) if d.marks is None else d.marks for d in drafts]
                batch["marks"] = data_utils.collate_tokens(marks, 0, pad_to_multiple=self.pad_to_multiple)
        batch["unknown_words"] = unknown = list(numbers)
        if self.index is not None:
            words = look_up_words(unknown, self.index)
            net_input["words"] = with_pieces(words, net_input["src_tokens"], unknown, self.index)
        targets = [e["target"] for e in examples if e["target"] is not None]  # of all examples, or of none
        if targets:
            batch["ntokens"] = sum(target.numel() for target in targets)
            batch["target"] = self._pad([target[1:] for target in targets])  # for scoring: without <s>
            if self.rollin is not None:
                net_input["states"] = self._states(examples, self._pad(targets), net_input, unknown)
            if self.teacher_forcing:
                batch["ntokens"] -= len(examples)  # <s> is not predicted
                # </s> comes first, where fairseq's decoders start, instead of last: (B, T - 1)
                net_input["prev_output_tokens"] = self._pad([target[:-1] for target in targets])
                net_input["prev_output_tokens"][:, 0] = pair.tgt_dict.eos()
        return batch

    def _states(
        self, examples: list[EditingExample], target: Tensor, net_input: NetInput, unknown: list[str]
    ) -> EditingStates:
        """Returns the roll-in states with their insertion labels, computed on the CPU, in a worker process.

        ``target``: (B, T).
        """
        pad, sources, drafts = self.dataset.tgt_dict.pad(), net_input["src_tokens"], net_input.get("draft")
        missing = torch.zeros_like(target, dtype=torch.bool)
        for row, example in zip(missing, examples, strict=True):
            row[: example["missing"].numel()] = example["missing"]
        replaced = torch.full_like(target, pad)
        removed = RemovedTokens(torch.full_like(target, pad), torch.zeros_like(target))
        from_draft = None
        if drafts is not None:
            from_draft = torch.tensor([e["delete_from_draft"] for e in examples])
            rows = [i for i, e in enumerate(examples) if e["insert_into_draft"]]
            if rows:
                alignment = align(self.dataset.tgt_dict.unknown_to_unk(drafts[rows]), target[rows], pad)
                missing[rows] = ~alignment.matched & target[rows].ne(pad)
                deleted = ~alignment.kept & drafts[rows].ne(pad)
                replaced[rows] = replaced_per_placeholder(drafts[rows], deleted, missing[rows], pad)
                width = min(target.size(1), drafts.size(1))  # the remaining tokens fit into both
                for all_rows, values in zip(removed, removed_after(drafts[rows], deleted, pad), strict=True):
                    all_rows[rows, :width] = values[:, :width]
        labels, placeholders = insertion_labels(target, missing, pad), missing.flatten().nonzero()[:, 0]
        states: EditingStates = {
            "target": target,
            "kept_tokens": labels.tokens,
            "missing_counts": labels.counts,
            "placeholder_index": placeholders,
            "replaced": replaced,
            "removed": removed.first,
            "removed_counts": removed.counts,
            "from_draft": from_draft,
            "candidates": None,
            "kept_alignment": None,
            "target_alignment": None,
        }
        if self.index is not None:
            candidates = self.index.nearest_to(replaced.flatten()[placeholders].tolist(), unknown)
            states["candidates"] = candidate_tensors(candidates)
        if self.index is not None and self.index.pieces is not None:
            texts = labels.tokens, target.masked_fill(missing, self.dataset.tgt_dict.size)
            states["kept_alignment"], states["target_alignment"] = (
                source_positions(rows, sources, pad) for rows in texts
            )
        return states

    def _pad(self, rows: list[Tensor], left_pad: bool = False) -> Tensor:
        pad = self.dataset.src_dict.pad()
        return data_utils.collate_tokens(rows, pad, left_pad=left_pad, pad_to_multiple=self.pad_to_multiple)
