"""The scorers that fairseq builds for ``--scoring ter, rouge, wrr, exact_match``."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from fairseq.dataclass import ChoiceEnum, FairseqDataclass
from fairseq.scoring import BaseScorer, register_scorer

from lev_plugins.errors import require
from lev_plugins.scoring import do_nothing, exact_match, rouge, ter, wrr
from lev_plugins.scoring.evaluation import Evaluation


class TextScorer(BaseScorer):
    """Collects references and texts; prints the score of the drafts beside that of the texts."""

    ref: list[str]
    pred: list[str]

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        do_nothing.forget()  # drafts of another run in this process

    @abstractmethod
    def evaluate(self, texts: list[str]) -> Evaluation:
        """The score of ``texts`` against ``self.ref``."""

    def score(self) -> float:
        return self.evaluate(self.pred).score

    def result_string(self) -> str:
        result = self.evaluate(self.pred).describe()
        drafts = do_nothing.remembered(len(self.ref))
        return result if drafts is None else f"{result} (do nothing: {self.evaluate(drafts).describe()})"


@register_scorer("exact_match", dataclass=FairseqDataclass)
class ExactMatchScorer(TextScorer):
    def evaluate(self, texts: list[str]) -> Evaluation:
        return exact_match.evaluate(self.ref, texts)


@register_scorer("wrr", dataclass=FairseqDataclass)
class WrrScorer(TextScorer):
    def evaluate(self, texts: list[str]) -> Evaluation:
        return wrr.evaluate(self.ref, texts)


@dataclass
class TerConfig(FairseqDataclass):
    ter_normalized: bool = field(
        default=False, metadata={"help": "split punctuation from words, as Tercom's normalisation does"}
    )
    ter_no_punct: bool = field(default=False, metadata={"help": "ignore punctuation"})
    ter_asian_support: bool = field(
        default=False,
        metadata={"help": "apply the two flags above to Chinese and Japanese characters and punctuation, too"},
    )


@register_scorer("ter", dataclass=TerConfig)
class TerScorer(TextScorer):
    cfg: TerConfig

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        require(
            not cfg.ter_asian_support or cfg.ter_normalized or cfg.ter_no_punct,
            "--ter-asian-support has no effect alone: add --ter-normalized, --ter-no-punct or both",
        )

    def evaluate(self, texts: list[str]) -> Evaluation:
        cfg = self.cfg
        return ter.evaluate(self.ref, texts, cfg.ter_normalized, cfg.ter_no_punct, cfg.ter_asian_support)


@dataclass
class RougeConfig(FairseqDataclass):
    rouge_kind: ChoiceEnum(list(rouge.KINDS)) = field(  # type: ignore[valid-type]
        default="rougeL", metadata={"help": "which ROUGE to use as the score; the others are also printed"}
    )
    rouge_no_stemming: bool = field(default=False, metadata={"help": "compare words as they are, not by their stems"})
    rouge_tokenize: ChoiceEnum(rouge.TOKENIZERS) = field(  # type: ignore[valid-type]
        default="english",
        metadata={
            "help": "english: lower-cased ASCII letters and digits, as in rouge-score; space: split at white space, "
            "for other languages"
        },
    )


@register_scorer("rouge", dataclass=RougeConfig)
class RougeTextScorer(TextScorer):
    cfg: RougeConfig

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        require(
            not cfg.rouge_no_stemming or str(cfg.rouge_tokenize) != "space",
            "--rouge-no-stemming has no effect with --rouge-tokenize space, which never stems: leave it out",
        )

    def evaluate(self, texts: list[str]) -> Evaluation:
        cfg = self.cfg
        return rouge.evaluate(self.ref, texts, str(cfg.rouge_kind), not cfg.rouge_no_stemming, str(cfg.rouge_tokenize))
