"""The settings with which a model is loaded: ``EditOptions`` for an editor, ``LabelOptions`` for a labeller."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lev_plugins.editor.own_words import WordList
from lev_plugins.text.glossary import Glossary
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import Decoding
from lev_plugins.utils.ranges import bounded


@dataclass(frozen=True, kw_only=True)
class Computation:
    """The settings that say where and how a model computes."""

    device: str = "cpu"  # a device of torch
    cpu_int8: bool = False  # multiply in 8 bits, with the graphs of a model folder

    @property
    def bits(self) -> int:
        """The bits of the products of graphs."""
        return 8 if self.cpu_int8 else 32

    def require_no_int8(self, path: str | Path) -> None:
        """Refuses ``cpu_int8`` for a model that torch computes."""
        require(
            not self.cpu_int8,
            f"--cpu-int8 is for model folders with graphs, on a CPU, but torch computes {path}: export a folder with "
            "lev-plugins export, and use that folder",
        )


@dataclass(frozen=True, kw_only=True)
class EditOptions(Decoding, Computation):
    """How an editor decodes, and which edits it keeps.

    A setting of ``Decoding`` that is None is that of the model folder, or else the default.
    """

    split: bool = True  # cut lines into sentences
    words: str | Path | WordList | Sequence[str] | None = None  # words that no edit may touch: a file, or a list
    document: str | Path | None = None  # a file: unknown words that recur in it count as recurring in each text
    # terms and their translations, or a file of lines TERM<TAB>TRANSLATION
    glossary: str | Path | Mapping[str, str] | Glossary | None = None
    soft_glossary: bool = False  # a model may change translations that it was given where it is sure
    calibrated: bool = True  # correct confidences with the calibration of the model folder, if it has one
    search_flags: Mapping[str, object] = field(default_factory=dict)  # more of fairseq's, such as {"lenpen": 0.5}
    task_flags: Mapping[str, object] = field(default_factory=dict)  # more flags of the model's task to override
    # for a checkpoint: fairseq's options of --bpe; None: sentencepiece, if the data folder has a model of it
    bpe: Namespace | None = None
    backbone: str | Path | None = None  # for a checkpoint: the folder from import-pretrained, if it has moved
    max_tokens: int = 4096  # tokens in a batch of the model; with graphs, at most ``onnx_models.BATCH_TOKENS``

    def check(self) -> None:
        super().check()
        bounded("--max-tokens", self.max_tokens, 1, whole=True)

    def over(self, decoding: Decoding) -> EditOptions:
        """Fills in the settings of a model folder where these options have None."""
        return replace(self, **{**decoding.given(), **self.given()})


@dataclass(frozen=True, kw_only=True)
class LabelOptions(Computation):
    """How a labeller scores texts, and which labels of a set it gives."""

    thresholds: Mapping[str, float] | None = None  # multilabel: the probability from which each label is given (0.5)
    batch_size: int = 32  # texts that are scored together
