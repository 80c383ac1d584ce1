"""The settings of an editor (``EditOptions``) or a labeller (``LabelOptions``), and texts to edit (``EditRequest``)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lev_plugins.editor.own_words import WordList
from lev_plugins.text.edited import Span
from lev_plugins.text.glossary import Glossary
from lev_plugins.text.protected import OwnWords
from lev_plugins.utils.errors import require
from lev_plugins.utils.model_folder import Decoding
from lev_plugins.utils.ranges import bounded

DEVICES = ("cpu", "cuda")
BATCH_TOKENS = 256  # one core takes as long for a larger batch, which only needs more padding


@dataclass(frozen=True, kw_only=True)
class Computation:
    """The settings that say where and how a model computes."""

    device: str = "cpu"  # or "cuda", with the package onnxruntime-gpu
    cpu_int8: bool = False  # multiply in 8 bits

    @property
    def bits(self) -> int:
        """The precision of the graphs' matrix products in bits: 8 with --cpu-int8, otherwise 32 (floating point)."""
        return 8 if self.cpu_int8 else 32

    def check(self) -> None:
        require(self.device in DEVICES, f"--device must be {' or '.join(DEVICES)}, but is {self.device!r}")
        require(self.device == "cpu" or not self.cpu_int8, "--cpu-int8 is for the CPU: leave out --device cuda")


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
    soft_glossary: bool = False  # the model may change these translations where it is sure
    calibrated: bool = True  # correct confidences with the calibration of the model folder, if it has one
    max_tokens: int = 4096  # tokens in a batch of the model, on a CPU at most ``BATCH_TOKENS``

    def check(self) -> None:
        Decoding.check(self)
        Computation.check(self)
        bounded("--max-tokens", self.max_tokens, 1, whole=True)

    @property
    def batch_tokens(self) -> int:
        return min(self.max_tokens, BATCH_TOKENS) if self.device == "cpu" else self.max_tokens

    def over(self, decoding: Decoding) -> "EditOptions":
        """Fills in the settings of a model folder where these options have None."""
        return replace(self, **{**decoding.given(), **self.given()})


@dataclass(frozen=True, kw_only=True)
class LabelOptions(Computation):
    """How a labeller scores texts, and which labels of a set it gives."""

    thresholds: Mapping[str, float] | None = None  # multilabel: the probability from which each label is given (0.5)
    batch_size: int = 32  # texts that are scored together


@dataclass(frozen=True)
class EditRequest:
    """A text to edit, and what is known about it; what is None is as the options of the editor say."""

    text: str  # what is edited, or the source of the draft
    draft: str | None = None  # what is edited in place of the text; it may have marks, and is not cut into sentences
    language: str | None = None  # of a text without a draft: a code such as "de"
    words: Iterable[OwnWords | str] = ()  # more words that no edit may touch
    # terms whose translations stay in the draft, or without one replace them in the text
    glossary: Mapping[str, str] | Glossary | None = None
    # leaves out edits that are less sure than this, or than this dial; those of a draft are not calibrated, so that a
    # dial is a mere number for them
    min_confidence: float | str | None = None
    protected: Sequence[Span] = ()  # more of a text without a draft that no edit may touch, sorted
    places: Sequence[Span] | None = None  # only sentences that have one of these are edited; sorted; None: all
