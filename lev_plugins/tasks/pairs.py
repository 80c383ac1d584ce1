"""Shared by the tasks that read binarised sentence pairs."""

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from fairseq import utils
from fairseq.data import Dictionary, data_utils
from fairseq.search import DiverseBeamSearch
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import OmegaConf

from lev_plugins.errors import UserError, require
from lev_plugins.fairseq_fixes.resuming import ResumableTask
from lev_plugins.ranges import POSITIONS, bounded, flag_name, sizes
from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.text.tokenise import failing_as, require_complete


def whole_pair(folder: str) -> tuple[str, str] | None:
    """The languages of a folder's source and target; fairseq's first pair may be drafts without targets."""
    for name in sorted(os.listdir(folder)):
        match = re.fullmatch(r"[^.]+\.([^.-]+)-([^.-]+)\.\2(\.idx)?", name)
        if match:
            return match[1], match[2]
    return None


def refuse(options: Any, names: Iterable[str], config: type, reason: str, advice: str = "leave it out") -> None:
    """The ``names`` must have their defaults in ``options``: a ``config``, or a Namespace of some of its fields."""
    defaults = {each.name: each.default for each in fields(config)}
    for name in names:
        value = getattr(options, name, None)
        require(value is None or value == defaults[name], f"{flag_name(name)} {reason}: {advice}")


def fingerprint(dictionary: Dictionary) -> list[Any]:
    """The number of symbols, and a digest of the symbols in their order.

    >>> one, other = Dictionary(), Dictionary()
    >>> _ = one.add_symbol("a"), other.add_symbol("b")
    >>> fingerprint(one)[0] == fingerprint(other)[0], fingerprint(one)[1] == fingerprint(other)[1]
    (True, False)
    """
    return [len(dictionary), hashlib.sha256("\n".join(dictionary.symbols).encode("utf-8")).hexdigest()]


class PairTask(ResumableTask, TranslationTask):
    """fairseq's translation task, with early errors that say what to do."""

    name: str
    dictionary_type: type[Dictionary] = Dictionary

    @classmethod
    def setup_task(cls, cfg: Any, **kwargs: Any) -> Any:
        cls.check_config(cfg)
        if cfg.source_lang is None or cfg.target_lang is None:
            folder = utils.split_paths(cfg.data)[0]
            cfg.source_lang, cfg.target_lang = whole_pair(folder) or data_utils.infer_language_pair(folder)
            require(
                cfg.source_lang is not None,
                f"{folder} has no binarised texts, which name the languages: run fairseq-preprocess into that folder, "
                "or pass --source-lang and --target-lang to the fairseq command",
            )
        return super().setup_task(cfg, **kwargs)

    @classmethod
    def check_config(cls, cfg: TranslationConfig) -> None:
        if not cfg.data:
            raise UserError(f"--task {cls.name} requires the folder that fairseq-preprocess made")
        folder = utils.split_paths(cfg.data)[0]
        require(os.path.isdir(folder), f"there is no folder {folder}")
        require(str(cfg.dataset_impl) != "fasta", "--dataset-impl fasta is for proteins, not for text: leave it out")
        # fairseq computes the buckets by an argument that NumPy no longer has
        require(cfg.num_batch_buckets == 0, f"--num-batch-buckets is not supported by --task {cls.name}: leave it out")
        sizes(cfg, *POSITIONS)

    def folder(self, split: str, epoch: int) -> str:
        """Where the binarised split is; of several folders, training reads another in each epoch."""
        folders = utils.split_paths(self.cfg.data)
        return folders[(epoch - 1) % len(folders)] if split == self.cfg.train_subset else folders[0]

    @classmethod
    def load_dictionary(cls, filename: str) -> Dictionary:
        require(
            os.path.exists(filename),
            f"there is no dictionary {filename}: run fairseq-preprocess into that folder, or check "
            "--source-lang and --target-lang",
        )
        return cls.dictionary_type.load(filename)

    def state_dict(self) -> dict[str, Any]:
        """Store a digest of each dictionary: dictionaries of the same size may differ."""
        sides = {"source": self.source_dictionary, "target": self.target_dictionary}
        return {**super().state_dict(), **{f"{side}_words": fingerprint(words) for side, words in sides.items()}}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        here = self.state_dict()
        for name, lang in (("source_words", self.cfg.source_lang), ("target_words", self.cfg.target_lang)):
            size, digest = state_dict.get(name, here[name])
            require(
                size != here[name][0] or digest == here[name][1],  # the model reports a different size
                f"dict.{lang}.txt of {self.cfg.data} has other words, or another order, than in the training of the "
                "checkpoint: use the folder, or the dict.*.txt files, that it was trained with",
            )
        super().load_state_dict({name: value for name, value in state_dict.items() if name not in here})

    def can_reuse_epoch_itr(self, dataset: Any) -> bool:
        """fairseq would also keep each dataset of typed lines, with its iterator and its memory (an open file)."""
        return any(dataset is each for each in self.datasets.values()) and super().can_reuse_epoch_itr(dataset)

    def get_batch_iterator(self, dataset: Any, *args: Any, **options: Any) -> Any:
        bounded("--required-seq-len-multiple", self.cfg.required_seq_len_multiple, 1)
        for name, least in (("required_batch_size_multiple", 1), ("num_shards", 1), ("num_workers", 0)):
            if name in options:
                bounded(flag_name(name), options[name], least)
        return super().get_batch_iterator(dataset, *args, **options)

    def build_bpe(self, args: Any) -> Any:
        """``args`` is the configuration of the BPE; fields that the user left out are ???."""
        name = getattr(args, "_name", None)
        if name is not None:
            require_complete(name, [key for key in args if not OmegaConf.is_missing(args, key)])
        with failing_as(name):
            bpe = super().build_bpe(args)
        if isinstance(bpe, PretrainedBPE):
            for dictionary in (self.source_dictionary, self.target_dictionary):
                bpe.require_dictionary(dictionary)
        return bpe

    def inference_step(
        self, generator: Any, models: list[Any], sample: dict[str, Any], *rest: Any, **options: Any
    ) -> Any:
        if isinstance(getattr(generator, "search", None), DiverseBeamSearch):
            # it takes the numbers of the sentences for their places in the batch, which it counts itself without them
            sample = {name: value for name, value in sample.items() if name != "id"}
        return super().inference_step(generator, models, sample, *rest, **options)

    def require_criterion(self, cfg: Any, allowed: Sequence[str]) -> None:
        criterion = getattr(cfg, "_name", None) or cfg.criterion
        require(
            criterion in allowed,
            f"--criterion must be {' or '.join(allowed)} for --task {self.name} with this --arch, but is {criterion}",
        )
