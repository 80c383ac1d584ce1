"""Label new text with a trained EncT5.

    labeller = Labeller.load("FOLDER")
    labeller.label(["a fine film"])              # [{"label": "good", "score": 0.98}]

One forward pass per batch, regardless of the number of labels or words.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, SupportsFloat

import numpy as np

from lev_plugins.editor.options import LabelOptions
from lev_plugins.editor.scorer import Scorer
from lev_plugins.editor.session import after_trial
from lev_plugins.labelling.scores import POSITIVE
from lev_plugins.text.control import BYTE_ORDER_MARK
from lev_plugins.text.edited import as_list, require_text
from lev_plugins.text.ids import Array
from lev_plugins.utils import model_folder
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.json_schema import read_object
from lev_plugins.utils.ranges import MAX_BATCH, bounded

logger = logging.getLogger(__name__)

Answer = dict[str, Any]
DIGITS = 4  # digits of a probability


class Scored(NamedTuple):
    """A text with the scores of its labels."""

    columns: list[str]  # of the text
    scores: Array  # (labels,), (words, tags), or the number of a regression
    cut: bool  # the text was too long


class Labeller:
    """Labels texts with an EncT5."""

    def __init__(self, scorer: Scorer, options: LabelOptions = LabelOptions()) -> None:
        """
        scorer: scores the labels of examples
        options: thresholds of the labels, and the size of a batch
        """
        bounded("--batch-size", options.batch_size, 1, MAX_BATCH, whole=True)
        self.scorer = scorer
        self.batch_size, self.warned = options.batch_size, False
        self.kind, self.names = scorer.info.kind, [] if scorer.labels is None else scorer.labels.names
        self.thresholds = self.checked(options.thresholds or {})

    @classmethod
    def load(cls, path: str | Path, options: LabelOptions = LabelOptions()) -> "Labeller":
        """Loads a model folder.

        path: a model folder with graphs
        options: settings, which go before those of the folder
        """
        options.check()
        folder, config = Path(path), model_folder.read_kind(path, model_folder.LABELLER)
        if model_folder.THRESHOLDS in config.files and options.thresholds is None:
            options = replace(options, thresholds=read_thresholds(folder / model_folder.THRESHOLDS))
        return cls(after_trial(Scorer(folder, config, options), folder), options)

    def checked(self, thresholds: Mapping[str, float]) -> Mapping[str, float]:
        for name, value in thresholds.items():
            bounded(f"the threshold for {name!r}", value, 0, 1)
            require(self.kind == "multilabel", f"thresholds are for multilabel models, not for {self.kind}")
            require(name in self.names, f"there is a threshold for {name!r}, which is not a label of this model")
        return thresholds

    def label(
        self,
        texts: Iterable[str | Sequence[str]],
        labels_of_interest: Sequence[str] = (),
        scores: bool = False,
        first_line: int = 1,
        thresholds: Mapping[str, float] | None = None,
    ) -> list[Answer]:
        """Labels texts.

        texts: strings with TABs between columns, or lists of columns; for tagging, strings or lists of words
        labels_of_interest: multilabel: score only these labels
        scores: add the probabilities of all labels
        first_line: the number of the first text in messages
        thresholds: multilabel: in place of those of the options
        """
        thresholds = None if thresholds is None else self.checked(thresholds)
        interest = self.ids_of(labels_of_interest)
        return [
            self.answer(scored, interest, scores, thresholds) for scored in self.scored(texts, interest, first_line)
        ]

    def scored(
        self, texts: Iterable[str | Sequence[str]], interest: tuple[int, ...] = (), first_line: int = 1
    ) -> list[Scored]:
        texts = as_list("texts", texts)
        columns = [self.columns(text, f"line {number}") for number, text in enumerate(texts, first_line)]
        examples = [
            self.scorer.encoder.examples(text, [], f"line {number}") if text else []  # tagging: a line without words
            for number, text in enumerate(columns, first_line)
        ]
        scores_of_parts = iter(
            self.scorer.scores([part for parts in examples for part in parts], interest, self.batch_size)
        )
        results, no_words = [], np.empty((0, len(self.names)), dtype=np.float32)
        for text, parts in zip(columns, examples, strict=True):
            scores = [next(scores_of_parts) for _ in parts]
            whole = scores[0] if self.kind != "tagging" else np.concatenate([no_words, *scores])
            results.append(Scored(text, whole, any(part.cut for part in parts)))
        return results

    def columns(self, text: str | Sequence[str], where: str) -> list[str]:
        separator = None if self.kind == "tagging" else "\t"
        if not isinstance(text, Iterable):
            raise UserError(f"{where} must be a string or a list of strings, but is {text!r:.60}")
        columns = text.removeprefix(BYTE_ORDER_MARK).split(separator) if isinstance(text, str) else list(text)
        for part in columns:
            require_text(part)
        if self.kind == "tagging":
            require(all(word.strip() for word in columns), f"{where} has an empty word")
            return columns
        expected = self.scorer.info.columns
        require(
            len(columns) == expected,
            f"{where} has {len(columns)} columns, but the model was trained on {expected}, separated by TABs",
        )
        return columns

    def names_in(self, text: str) -> list[str]:
        """Splits the labels of a command line, which are separated as in the training text."""
        names = [name.strip() for name in text.split(self.scorer.info.separator)]
        require(all(names), f"--labels-of-interest contains an empty label: {text!r}")
        return names

    def ids_of(self, names: Sequence[str]) -> tuple[int, ...]:
        if not names:
            return ()
        require(self.kind == "multilabel", f"--labels-of-interest is for multilabel, but this model is for {self.kind}")
        assert self.scorer.labels is not None
        ids = tuple(self.scorer.labels.id_of(name, "--labels-of-interest") for name in names)
        require(len(set(ids)) == len(ids), "--labels-of-interest contains a label twice")
        if self.scorer.interaction and len(ids) < len(self.names) and not self.warned:
            self.warned = True
            logger.warning(
                "with --labels-of-interest, the scores differ from those among all labels, because the labels of this "
                "model influence each other (it was trained without --no-label-interaction)"
            )
        return ids

    def answer(
        self,
        scored: Scored,
        interest: tuple[int, ...] = (),
        all_scores: bool = False,
        thresholds: Mapping[str, float] | None = None,
    ) -> Answer:
        thresholds = self.thresholds if thresholds is None else thresholds
        scores, names = scored.scores, [self.names[i] for i in interest] or self.names
        answer: Answer
        if self.kind == "regression":
            answer, all_scores = {"score": rounded(scores)}, False
        elif self.kind == "classification":
            best = int(scores.argmax())
            answer = {"label": names[best], "score": rounded(scores[best])}
        elif self.kind == "tagging":
            tags = [names[i] for i in scores.argmax(1)]
            answer = {"words": scored.columns, "labels": tags, "scores": [rounded(score) for score in scores.max(1)]}
        else:
            # compare scores before rounding: thresholds of rare labels are close together
            ids = [i for i, name in enumerate(names) if float(scores[i]) >= thresholds.get(name, POSITIVE)]
            ids.sort(key=lambda i: -float(scores[i]))
            answer = {"labels": [names[i] for i in ids], "scores": [rounded(scores[i]) for i in ids]}
        if all_scores:
            rows = [dict(zip(names, map(rounded, row), strict=True)) for row in np.atleast_2d(scores)]
            answer["all_scores"] = rows if self.kind == "tagging" else rows[0]
        return {**answer, "cut": True} if scored.cut else answer


def rounded(score: SupportsFloat) -> float:
    return round(float(score), DIGITS)


def read_thresholds(path: Path) -> dict[str, float]:
    """Reads a file written by ``lev-plugins tune-thresholds``."""
    require(path.is_file(), f"--thresholds: there is no file {path}")
    thresholds = read_object(path)
    for name, value in thresholds.items():
        bounded(f"--thresholds {path}: {name!r}", value, 0, 1)
    return thresholds
