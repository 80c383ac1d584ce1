"""``--task text_editing``: source, optional draft -> target, by iterative refinement or from left to right."""

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Optional

import torch
from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import LanguagePairDataset
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.dataclass.configs import GenerationConfig
from fairseq.models import BaseFairseqModel
from fairseq.sequence_generator import SequenceGenerator
from fairseq.tasks import register_task
from fairseq.tasks.translation import load_langpair_dataset
from omegaconf import II
from torch import Tensor

from lev_plugins.edits.batch_words import EditingDictionary
from lev_plugins.edits.candidates import WordIndex
from lev_plugins.edits.options import FAIRSEQ_FLAGS, ORACLES, REFINEMENT_TASK_FLAGS, RefinementOptions
from lev_plugins.levt.dataset import RollIn, TextEditingDataset
from lev_plugins.levt.generator import RefinementGenerator
from lev_plugins.levt.model import LevT
from lev_plugins.levt.notes import load_drafts, load_spelt_targets, warn_of_unread_drafts
from lev_plugins.levt.post_edit import PostEditTransformer
from lev_plugins.levt.typed import split_line, typed_batch, typed_row
from lev_plugins.text.lexicon import LEXICON, Lexicon
from lev_plugins.training.batch import Batch, Hypothesis, NetInput
from lev_plugins.training.noisy import NoiseConfig, NoisyWords, check_noise, noise_and_codec
from lev_plugins.training.pairs import ScoredConfig, ScoredTask
from lev_plugins.training.requirements import require_one_dictionary
from lev_plugins.training.search import check_left_to_right, check_search, option, refuse, registered_name
from lev_plugins.training.tokenise import row_of
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import require
from lev_plugins.utils.ranges import flag

# the criterions of each model class of this task
CRITERIONS = {"LevT": ["dual_policy"], "PostEditTransformer": ["label_smoothed_cross_entropy", "cross_entropy"]}
# fairseq's flags that have no effect on refinement
LEFT_TO_RIGHT = (
    *("replace_unk", "print_alignment", "sampling", "match_source_len", "diverse_beam_groups"),
    *("score_reference", "no_repeat_ngram_size", "retain_dropout", "retain_dropout_modules", "constraints"),
)


@dataclass
class TextEditingConfig(ScoredConfig, NoiseConfig):
    draft_lang: Optional[str] = flag(
        None, "suffix of the binarised drafts, as in train.DRAFT-TARGET.DRAFT (default: no drafts)"
    )
    rollin_alpha: Optional[float] = flag(
        None, "share of drafted examples that learn deletions from their draft (Eq. 6; default: 0.5)"
    )
    rollin_beta: Optional[float] = flag(
        None, "share of drafted examples that learn insertions from their draft (Eq. 7; default: 0.5)"
    )
    max_ratio: float = flag(2.0, "decoding: insert no more once the output has this many times the source's tokens")
    max_ratio_floor: int = flag(10, "decoding: number of tokens that --max-ratio always allows")
    min_words: int = flag(0, "decoding: minimum number of tokens in the output")
    soft_protection: float = flag(
        3.0, "decoding: log-odds by which a change to a softly protected span of the draft must win"
    )
    keep_bias: float = flag(
        0.0,
        "decoding: log-odds by which a deletion from the draft, or an insertion between neighbouring words of it, "
        "must win (negative: edit more)",
    )
    oracle: ChoiceEnum(ORACLES) = flag(  # type: ignore[valid-type]
        "none", "decoding: actions to take from the reference (Figure 5 of the LevT paper)"
    )
    seed: int = II("common.seed")


@register_task("text_editing", dataclass=TextEditingConfig)
class TextEditingTask(ScoredTask):
    """fairseq's translation task with drafts and, for models that edit, roll-ins and refinement."""

    cfg: TextEditingConfig
    name = "text_editing"
    dictionary = EditingDictionary
    unsupported = [*ScoredTask.unsupported, "load_alignments"]
    system = "LevT"  # class of the model, one of CRITERIONS
    word_index: WordIndex | None = None  # words of the dictionary, if the model spells

    @classmethod
    def check_config(cls, cfg: TextEditingConfig) -> None:
        super().check_config(cfg)
        check_noise(cfg)

    def build_model(self, cfg: FairseqDataclass | Namespace, from_checkpoint: bool = False) -> BaseFairseqModel:
        model = super().build_model(cfg, from_checkpoint)
        kind = type(model).__name__
        arch = registered_name(cfg, "arch") or kind
        # in decoding, any encoder-decoder may be the reranker
        if not from_checkpoint:
            require(
                kind in CRITERIONS,
                "--task text_editing trains --arch levt, levt_tiny, levt_iwslt, levt_big, levt_fast, levt_editor or "
                f"post_edit_transformer, but --arch is {arch}: use --task text_correction",
            )
        if kind in CRITERIONS:
            self.system, self.word_index = kind, model.word_index if isinstance(model, LevT) else None
        if isinstance(model, PostEditTransformer):
            require(
                self.cfg.draft_lang is not None or from_checkpoint,
                "--arch post_edit_transformer requires drafts: set --draft-lang, or use --task translation --arch "
                "transformer without drafts",
            )
            general = {field.name for field in fields(ScoredConfig)} | {"draft_lang"}
            flags = (field for field in fields(TextEditingConfig) if "help" in field.metadata)
            for_levt = [field.name for field in flags if field.name not in general]
            reason = "is for a levt and has no effect on a post_edit_transformer"
            refuse(self.cfg, for_levt, TextEditingConfig, reason)
        if self.cfg.noise_kind is not None and not from_checkpoint:  # a noisy text is source and draft
            require_one_dictionary(self, "--noise-kind in --task text_editing", "leave --noise-kind out")
        return model

    @cached_property
    def lexicon(self) -> Lexicon | None:
        """What everybody knows of spelling, if the data folder has it: ``lev-plugins prepare --lexicon``."""
        path = Path(utils.split_paths(self.cfg.data)[0], LEXICON)
        return Lexicon.read(path) if path.is_file() else None

    @property
    def autoregressive(self) -> bool:
        """True = the model learns by teacher forcing and reads drafts with its encoder."""
        return self.system == PostEditTransformer.__name__

    def build_criterion(self, cfg: FairseqDataclass | Namespace, **options: object) -> FairseqCriterion:
        self.require_criterion(cfg, CRITERIONS[self.system])
        return super().build_criterion(cfg, **options)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs: object) -> None:
        ranges.bounded("the epoch in the checkpoint", epoch, 1)
        cfg = self.cfg
        training = split == cfg.train_subset
        folders = utils.split_paths(cfg.data)  # of several folders, training reads another in each epoch
        path = folders[(epoch - 1) % len(folders)] if training else folders[0]
        bos = 1 if cfg.truncate_source else 0  # <s> is added to a truncated source
        pair = load_langpair_dataset(
            path,
            split,
            cfg.source_lang,
            self.src_dict,
            cfg.target_lang,
            self.tgt_dict,
            combine=combine,
            dataset_impl=cfg.dataset_impl,
            upsample_primary=max(1, cfg.upsample_primary),  # fairseq cannot join parts with its default, -1
            left_pad_source=cfg.left_pad_source,
            left_pad_target=False,
            max_source_positions=cfg.max_source_positions - bos,
            max_target_positions=cfg.max_target_positions,
            truncate_source=cfg.truncate_source,
            shuffle=split != "test",
            prepend_bos=True,
        )
        noisy = training and cfg.noise_kind is not None
        drafts = None
        if cfg.draft_lang is not None and not (noisy and cfg.noise_share == 1):
            drafts = load_drafts(pair, path, split, cfg.draft_lang, cfg.target_lang, cfg.dataset_impl)
        if cfg.draft_lang is None:
            warn_of_unread_drafts(path, split, cfg.source_lang, cfg.target_lang)
        longest, noise = min(cfg.max_source_positions, cfg.max_target_positions), None
        if noisy:
            targets = load_spelt_targets(pair, path, split, cfg.source_lang, cfg.target_lang)
            noise = NoisyWords(*noise_and_codec(pair, cfg, self.tgt_dict, self.tgt_dict), longest, targets)
        alpha, beta = (0.5 if share is None else share for share in (cfg.rollin_alpha, cfg.rollin_beta))
        rollin = RollIn(cfg.seed, alpha, beta, every_epoch=training)
        self.datasets[split] = TextEditingDataset(
            pair,
            drafts,
            None if self.autoregressive else rollin,
            cfg.required_seq_len_multiple,
            teacher_forcing=self.autoregressive,
            noise=noise,
            index=self.word_index,
        )

    def build_generator(
        self,
        models: list[BaseFairseqModel],
        args: GenerationConfig | Namespace,
        seq_gen_cls: type[SequenceGenerator] | None = None,
        extra_gen_cls_kwargs: dict[str, Any] | None = None,
        **options: object,
    ) -> SequenceGenerator | RefinementGenerator:
        if any(isinstance(model, PostEditTransformer) for model in models):
            wrong_types = {type(model).__name__ for model in models if not isinstance(model, PostEditTransformer)}
            require(
                not wrong_types,
                f"--path names a post_edit_transformer and a {' and a '.join(sorted(wrong_types))}, but it works in "
                "an ensemble only with its own kind, and not as a reranker, which reads no draft: leave one out",
            )
            check_left_to_right(models, args, "post_edit_transformer")
            one_sided = ("replace_unk", "print_alignment", "match_source_len")
            reason = "reads only the source, but a post_edit_transformer also reads a draft"
            refuse(args, one_sided, GenerationConfig, reason)
            reason = "reads the text after a TAB, which is the draft here"
            refuse(args, ["constraints"], GenerationConfig, reason)
            self.prepare_for_decoding(models)
            return super().build_generator(models, args, seq_gen_cls, extra_gen_cls_kwargs, **options)

        check_search(models, args)
        refuse(args, LEFT_TO_RIGHT, GenerationConfig, "is for left-to-right search and has no effect on a levt")
        require(
            (extra_gen_cls_kwargs or {}).get("lm_model") is None, "--lm-path does not work with a levt: leave it out"
        )
        reranking = option(args, "iter_decode_with_external_reranker")
        require(
            not reranking or len(models) > 1,
            "--iter-decode-with-external-reranker uses the last checkpoint of --path as the reranker, but --path has "
            "only one: use --path levt.pt:transformer.pt",
        )
        require(
            not reranking or option(args, "iter_decode_with_beam") > 1,
            "--iter-decode-with-external-reranker chooses among candidates: set --iter-decode-with-beam to more than 1",
        )
        editors, reranker = (models[:-1], models[-1]) if reranking else (models, None)
        self.prepare_for_decoding(models)
        refinement = RefinementOptions(
            **{name: option(args, flag) for flag, name in FAIRSEQ_FLAGS.items()},
            **{name: getattr(self.cfg, flag) for flag, name in REFINEMENT_TASK_FLAGS.items()},
            inference_mode=not self.building,
            adaptive=not option(args, "iter_decode_force_max_iter"),
            candidates=option(args, "iter_decode_with_beam"),
            temperature=option(args, "temperature"),
            oracle=str(self.cfg.oracle),
            retain_history=option(args, "retain_iter_history"),
        )
        return RefinementGenerator(editors, self.target_dictionary, refinement, reranker)

    def inference_step(
        self,
        generator: SequenceGenerator | RefinementGenerator,
        models: list[BaseFairseqModel],
        sample: Batch,
        prefix_tokens: Tensor | None = None,
        constraints: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Decodes a batch; of typed lines, fairseq hands on only the sources, and their drafts as ``constraints``."""
        if "unknown_words" not in sample:  # no dataset of this task made it
            sources, pad_left = sample["net_input"]["src_tokens"], self.cfg.left_pad_source
            sample = typed_batch(sources, constraints, self.src_dict, self.tgt_dict, pad_left, self.word_index)
        net_input: NetInput = {**sample["net_input"]}
        if "marks" in sample:
            net_input["marks"] = sample["marks"]
        return super().inference_step(generator, models, {**sample, "net_input": net_input}, prefix_tokens)

    def get_interactive_tokens_and_lengths(
        self, lines: list[str], encode_fn: Callable[[str], str]
    ) -> tuple[list[tuple[Tensor, Tensor]], list[int]]:
        """Returns the ids of typed lines, ``source`` or ``source<TAB>draft``, and the lengths of the sources."""
        rows = []
        for line in lines:
            source, draft = (encode_fn(text).split() for text in split_line(line))
            spells = self.word_index is not None
            row = typed_row(source, self.tgt_dict) if spells else torch.tensor(row_of(source, self.src_dict))
            rows.append((row, typed_row(draft, self.tgt_dict)))
        return rows, [len(source) for source, _ in rows]

    def build_dataset_for_inference(
        self, src_tokens: list[Tensor] | list[tuple[Tensor, Tensor]], src_lengths: list[int], constraints: None = None
    ) -> LanguagePairDataset:
        """Returns a dataset of sources without <s>, or of sources and drafts, which become its ``constraints``."""
        pairs = [row if isinstance(row, tuple) else (row, None) for row in src_tokens]
        sources = [torch.cat([torch.tensor([self.src_dict.bos()]), source]) for source, _ in pairs]
        drafts = [draft for _, draft in pairs] if isinstance(src_tokens[0], tuple) else None
        return super().build_dataset_for_inference(sources, [len(row) for row in sources], constraints=drafts)
