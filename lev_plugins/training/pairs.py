"""The base of the tasks that read binarised sentence pairs: early checks, and scores in validation."""

import hashlib
import logging
import os
import re
from argparse import Namespace
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Optional

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary, FairseqDataset, data_utils
from fairseq.dataclass import FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.search import DiverseBeamSearch, Search
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from lev_plugins.text.pretrained import PretrainedBPE
from lev_plugins.text.tokenise import BPE, failing_as, require_complete
from lev_plugins.training.batch import Batch, Hypothesis
from lev_plugins.training.best_checkpoint import BestCheckpointTask, FairseqFlags
from lev_plugins.training.binarise import data_folder, load_dictionary
from lev_plugins.training.precision import PrecisionConfig, PrecisionTask
from lev_plugins.training.resuming import ResumableTask
from lev_plugins.training.search import registered_name
from lev_plugins.training.validation import VALIDATION_SCORES, ValidationScores, parse_names
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.json_schema import parse_object
from lev_plugins.utils.ranges import flag, flag_name

logger = logging.getLogger(__name__)

# unknown words never count as correct; tokenisers do not split these words
UNKNOWN_IN_TEXT, UNKNOWN_IN_REFERENCE = "UNKNOWNTOKENINHYP", "UNKNOWNTOKENINREF"
# overrides for decoding: these flags make fairseq prepare validation
UPSAMPLE_UNSET = -1  # fairseq's default of --upsample-primary
WITHOUT_SCORES = {"eval_bleu": False, "eval_metrics": None, "eval_exact_match": False, "eval_wrr": False}


@dataclass
class ScoredConfig(FairseqFlags, PrecisionConfig, TranslationConfig):
    eval_metrics: Optional[str] = flag(
        None,
        "validation scores in addition to BLEU, in per cent, also for --best-checkpoint-metric: any of chrf, ter, "
        "rouge1, rouge2, rougeL, wrr, exact_match, separated by commas; implies --eval-bleu, whose flags set how to "
        "decode",
    )
    eval_bleu_tokenize: str = flag(
        "13a", "sacrebleu's tokenizer for the validation BLEU, such as ja-mecab; --eval-tokenized-bleu stands for none"
    )


def whole_pair(folder: str) -> tuple[str, str] | None:
    """Returns the languages of a folder's source and target; the first pair that fairseq finds may be drafts."""
    for name in sorted(os.listdir(folder)):
        match = re.fullmatch(r"[^.]+\.([^.-]+)-([^.-]+)\.\2(\.idx)?", name)
        if match:
            return match[1], match[2]
    return None


def fingerprint(dictionary: Dictionary) -> list[int | str]:
    """Returns the number of symbols of a dictionary, and a digest of the symbols in their order.

    >>> one, other = Dictionary(), Dictionary()
    >>> _ = one.add_symbol("a"), other.add_symbol("b")
    >>> fingerprint(one)[0] == fingerprint(other)[0], fingerprint(one)[1] == fingerprint(other)[1]
    (True, False)
    """
    return [len(dictionary), hashlib.sha256("\n".join(dictionary.symbols).encode("utf-8")).hexdigest()]


class ScoredTask(BestCheckpointTask, PrecisionTask, ResumableTask, TranslationTask):
    """fairseq's translation task, whose validation decodes each batch once for all scores."""

    cfg: ScoredConfig
    name: str
    dictionary: type[Dictionary] = Dictionary
    unsupported = ["left_pad_target", "num_batch_buckets"]  # flags of fairseq; the second is for TPUs

    def __init__(self, cfg: ScoredConfig, src_dict: Dictionary, tgt_dict: Dictionary) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        names = self.score_names()
        if names:
            cfg.eval_bleu = True  # makes fairseq prepare decoding
        self.scores = ValidationScores(names, "none" if cfg.eval_tokenized_bleu else cfg.eval_bleu_tokenize)
        self.lower_is_better = self.scores.lower_is_better

    @classmethod
    def setup_task(cls, cfg: ScoredConfig, **kwargs: object) -> "ScoredTask":
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
    def check_config(cls, cfg: ScoredConfig) -> None:
        """Checks the flags before anything is loaded."""
        data_folder(cfg.data, cls.name, "fairseq-preprocess or lev-plugins prepare")
        ranges.check_ranges(cfg)
        if cfg.upsample_primary != UPSAMPLE_UNSET:
            ranges.at_least(cfg, 1, "upsample_primary")
        for name in cls.unsupported:
            require(not getattr(cfg, name), f"{flag_name(name)} is not supported by --task {cls.name}: leave it out")
        names = {flag.name for flag in fields(GenerationConfig)}
        unknown = parse_object(cfg.eval_bleu_args.encode(), "--eval-bleu-args").keys() - names
        require(
            not unknown, f"--eval-bleu-args must name flags of fairseq-generate, but names {', '.join(sorted(unknown))}"
        )

    @classmethod
    def load_dictionary(cls, filename: str) -> Dictionary:
        return load_dictionary(Path(filename), cls.dictionary)

    def data_fingerprints(self) -> dict[str, tuple[object, str]]:
        sides = {"source": self.source_dictionary, "target": self.target_dictionary}
        langs = {"source": self.cfg.source_lang, "target": self.cfg.target_lang}
        return {
            f"{side}_words": (fingerprint(words), f"dict.{langs[side]}.txt of {self.cfg.data}")
            for side, words in sides.items()
        }

    def can_reuse_epoch_itr(self, dataset: FairseqDataset) -> bool:
        """Returns whether fairseq may keep the iterator: those of typed lines would pile up, each with an open file."""
        return any(dataset is split for split in self.datasets.values()) and super().can_reuse_epoch_itr(dataset)

    def build_bpe(self, args: DictConfig | None) -> BPE | None:
        """Builds the BPE of a configuration, in which fields that the user left out are ???."""
        name = None if args is None else registered_name(args, "bpe")
        if args is not None and name is not None:
            require_complete(name, [str(key) for key in args if not OmegaConf.is_missing(args, key)])
        with failing_as(name):
            bpe = super().build_bpe(args)
        if isinstance(bpe, PretrainedBPE):
            for dictionary in (self.source_dictionary, self.target_dictionary):
                bpe.require_dictionary(dictionary)
        return bpe

    def inference_step(
        self,
        generator: object,
        models: list[BaseFairseqModel],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        search: Search | None = generator.search if isinstance(generator, SequenceGenerator) else None
        missing = search is not None and search.supports_constraints and constraints is None
        require(not missing, "--constraints takes them from typed lines: use fairseq-interactive, or leave it out")
        if isinstance(search, DiverseBeamSearch):
            # it takes ids for positions in the batch; without ids it numbers the sentences itself
            sample = sample.copy()
            sample.pop("id", None)
        return super().inference_step(generator, models, sample, prefix_tokens, constraints)

    def require_criterion(self, cfg: FairseqDataclass | Namespace, allowed: Sequence[str]) -> None:
        criterion = registered_name(cfg, "criterion")
        require(
            criterion in allowed,
            f"--criterion must be {' or '.join(allowed)} for --task {self.name} with this --arch, but is {criterion}",
        )

    # ---- validation ----------------------------------------------------------------------------------------------
    def scores_of(self, criterion: FairseqCriterion) -> tuple[list[str], Collection[str]]:
        return list(self.scores.scores), VALIDATION_SCORES

    def score_names(self) -> list[str]:
        """Returns the scores in the order of the log; if there are none, validation does not decode."""
        names = parse_names(self.cfg.eval_metrics)
        return ["bleu", *names] if names or self.cfg.eval_bleu else []

    def valid_step(
        self, sample: Batch, model: BaseFairseqModel, criterion: FairseqCriterion
    ) -> tuple[Tensor, int, dict[str, Tensor | float]]:
        copy: Batch = {**sample, "net_input": sample["net_input"].copy()}  # R-drop doubles its input in place
        loss, size, output = super(TranslationTask, self).valid_step(copy, model, criterion)
        if self.cfg.eval_bleu:
            target = sample["target"]
            assert target is not None  # fairseq validates on pairs
            results = self.inference_step(self.sequence_generator, [model], sample)
            best = [hypotheses[0]["tokens"] for hypotheses in results]
            outputs = torch.cat(best).cpu().split([len(row) for row in best])  # one device-to-host copy
            texts, references = self._texts(outputs, UNKNOWN_IN_TEXT), self._texts(target.cpu(), UNKNOWN_IN_REFERENCE)
            if self.cfg.eval_bleu_print_samples:
                logger.info("example hypothesis: " + texts[0])
                logger.info("example reference: " + references[0])
            output.update(self.scores.statistics(references, texts))
        return loss, size, output

    def reduce_metrics(
        self, logging_outputs: Sequence[Mapping[str, Tensor | float]], criterion: FairseqCriterion
    ) -> None:
        super(TranslationTask, self).reduce_metrics(logging_outputs, criterion)
        self.scores.log(logging_outputs)

    def _texts(self, rows: Iterable[Tensor], unknown: str) -> list[str]:
        """Returns the rows as text, in which ``unknown`` stands for <unk>."""
        plain = ([token for token in row.tolist() if token != self.tgt_dict.pad()] for row in rows)
        texts = [self.tgt_dict.string(row, self.cfg.eval_bleu_remove_bpe, unk_string=unknown) for row in plain]
        return [self.tokenizer.decode(text) for text in texts] if self.tokenizer else texts
