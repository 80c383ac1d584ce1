"""``--task text_labelling``: a class, a number, a set of labels or one tag per word, for a text."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn, Optional

from fairseq import utils
from fairseq.criterions import FairseqCriterion
from fairseq.data import Dictionary
from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.models import BaseFairseqModel
from fairseq.tasks import register_task
from omegaconf import II
from torch import Tensor

from lev_plugins.edits.candidates import WordIndex
from lev_plugins.labelling.config import fill_sizes
from lev_plugins.labelling.dataset import BinarisedExamples, LabelledDataset
from lev_plugins.labelling.examples import Example, LabelRequest
from lev_plugins.labelling.folder import LABELS, WORDS, LabellingInfo
from lev_plugins.labelling.model import EncT5
from lev_plugins.labelling.text import LABEL_KINDS, Labels
from lev_plugins.training.best_checkpoint import BestCheckpointTask, FairseqFlags
from lev_plugins.training.binarise import data_folder, load_dictionary
from lev_plugins.training.gathering import gather_any_size
from lev_plugins.training.pairs import fingerprint
from lev_plugins.training.precision import PrecisionConfig, PrecisionTask
from lev_plugins.training.resuming import ResumableTask
from lev_plugins.training.search import registered_name
from lev_plugins.utils import ranges
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.ranges import flag


@dataclass
class TextLabellingConfig(FairseqFlags, PrecisionConfig):
    data: Optional[str] = flag(None, "folder made by lev-plugins prepare-labels")
    label_kind: Optional[ChoiceEnum(LABEL_KINDS)] = flag(None, "kind of label (default: that of the folder)")  # type: ignore[valid-type]
    pack: bool = flag(False, "several examples per row, which do not see each other, instead of padding")
    pack_length: int = flag(512, "--pack: tokens per row; a longer example gets its own row")
    train_subset: str = II("dataset.train_subset")


@register_task("text_labelling", dataclass=TextLabellingConfig)
class TextLabellingTask(BestCheckpointTask, PrecisionTask, ResumableTask):
    """Labels texts; one forward pass labels a batch, whatever the number of labels or words."""

    cfg: TextLabellingConfig
    name = "text_labelling"
    lower_is_better = ("mse",)

    def __init__(
        self, cfg: TextLabellingConfig, info: LabellingInfo, dictionary: Dictionary, labels: Labels | None
    ) -> None:
        super().__init__(cfg)
        self.info, self.dictionary, self.labels = info, dictionary, labels
        self.request = LabelRequest(info.kind, tuple(range(len(labels or ()))) if info.kind == "multilabel" else ())
        self.word_index: WordIndex | None = None  # words of the dictionary, if the model spells

    @classmethod
    def setup_task(cls, cfg: TextLabellingConfig, **kwargs: object) -> "TextLabellingTask":
        ranges.check_ranges(cfg)
        gather_any_size()  # for the answers of validation
        folder = data_folder(cfg.data, "text_labelling", "lev-plugins prepare-labels")
        info = LabellingInfo.load(folder)
        kind = None if cfg.label_kind is None else str(cfg.label_kind)
        require(
            kind in (None, info.kind),
            f"--label-kind is {kind}, but {folder} was made for {info.kind}: leave it out, or make another folder",
        )
        cfg.label_kind = info.kind
        return cls(cfg, info, load_dictionary(folder / WORDS), info.labels(folder))

    @property
    def folder(self) -> Path:
        return Path(utils.split_paths(self.cfg.data)[0])

    target_dictionary = None

    @property
    def source_dictionary(self) -> Dictionary:
        return self.dictionary

    def require_dictionary_of(self, path: Path) -> None:
        require(
            self.dictionary == Dictionary.load(str(path)),
            f"the dictionary of the data ({len(self.dictionary)} symbols) must be that of --backbone {path.parent}: "
            f"make the folder with lev-plugins prepare-labels --pretrained-tokenizer {path.parent}",
        )

    def load_dataset(self, split: str, combine: bool = False, **kwargs: object) -> None:
        require(
            len(utils.split_paths(self.cfg.data)) == 1,
            f"--task text_labelling reads one folder, but {self.cfg.data} names several: prepare their texts together",
        )
        examples = BinarisedExamples(self.folder, split, self.dictionary)
        self.datasets[split] = self.dataset_of(examples, shuffle=split == self.cfg.train_subset)

    def dataset_of(self, examples: Sequence[Example], shuffle: bool = False) -> LabelledDataset:
        pack = self.cfg.pack_length if self.cfg.pack else 0
        return LabelledDataset(examples, self.request, self.dictionary, pack, shuffle, self.word_index)

    def build_model(self, cfg: FairseqDataclass | Namespace, from_checkpoint: bool = False) -> BaseFairseqModel:
        name = registered_name(cfg, "arch")
        require(
            str(name).startswith("enct5"),
            f"--task text_labelling requires --arch enct5 or enct5_tiny, but --arch is {name}",
        )
        if from_checkpoint:
            cfg.backbone = None  # the weights are in the checkpoint
        fill_sizes(cfg)
        model = super().build_model(cfg, from_checkpoint)
        assert isinstance(model, EncT5)
        self.request = replace(self.request, latent_per_label=model.spec.latent_per_label)
        self.word_index = model.word_index
        return model

    def build_generator(self, *args: object, **options: object) -> NoReturn:
        raise UserError(
            "--task text_labelling generates no text: use lev-plugins label CHECKPOINT to label new text, or "
            "fairseq-validate to score labelled data"
        )

    def data_fingerprints(self) -> dict[str, tuple[object, str]]:
        names = None if self.labels is None else self.labels.names
        return {
            "labels": (names, f"{self.folder / LABELS}"),
            "pieces": (fingerprint(self.dictionary)[1], f"{self.folder / WORDS}"),
        }

    def build_criterion(self, cfg: FairseqDataclass | Namespace, **options: object) -> FairseqCriterion:
        name = registered_name(cfg, "criterion")
        require(name == "labelling", f"--task text_labelling requires --criterion labelling, but --criterion is {name}")
        return super().build_criterion(cfg, **options)

    def scores_of(self, criterion: FairseqCriterion) -> tuple[list[str], list[str]]:
        return criterion.score_names(), criterion.score_names()

    def reduce_metrics(
        self, logging_outputs: Sequence[Mapping[str, Tensor | float]], criterion: FairseqCriterion
    ) -> None:
        super().reduce_metrics(logging_outputs, criterion)
        criterion.log_scores(logging_outputs)
