"""fairseq's side of a score: what ``--scoring NAME`` builds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from fairseq.scoring import BaseScorer

from lev_plugins.scoring import do_nothing
from lev_plugins.scoring.evaluation import Evaluation


class TextScorer(BaseScorer):
    """Collects references and texts; the score of the drafts stands beside that of the texts."""

    ref: list[str]
    pred: list[str]

    def __init__(self, cfg: Any):
        super().__init__(cfg)
        do_nothing.forget()  # those of another run in this process

    @abstractmethod
    def evaluate(self, texts: list[str]) -> Evaluation:
        """The score of ``texts`` against ``self.ref``."""

    def score(self) -> float:
        return self.evaluate(self.pred).score

    def result_string(self) -> str:
        result = self.evaluate(self.pred).describe()
        drafts = do_nothing.remembered(len(self.ref))
        return result if drafts is None else f"{result} (do nothing: {self.evaluate(drafts).describe()})"
