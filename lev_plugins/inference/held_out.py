"""What an editor does to held-out text at each ``--min-confidence``, edited once.

texts = held_out(editor, [(Path("dev.typos"), Path("dev.clean"))], [Path("news.clean")])
weights = calibrate(texts)             # those of ``text.calibration``; the texts now have its confidences
promised(texts, 2)                     # the least confidence that breaks at most 2 of 1,000 words of news.clean
texts[0].harm(0.5).details             # what is repaired with 0.5
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lev_plugins.errors import UserError, require
from lev_plugins.model_folder import Decoding, ModelConfig
from lev_plugins.scoring import harm
from lev_plugins.scoring.evaluation import Additive
from lev_plugins.scoring.metrics import METRICS, SOURCES
from lev_plugins.text import calibration
from lev_plugins.text.edited import Edited
from lev_plugins.text.lines import check_counts, nonempty_lines
from lev_plugins.text.sentences import primary

VALUES = [*(hundredth / 100 for hundredth in range(100)), 0.995, 0.999]  # of --min-confidence
FEWEST = 100  # edits to calibrate on

logger = logging.getLogger(__name__)


@dataclass
class HeldOut:
    """Text, what it should be, and what the editor would change; clean text should stay as it is."""

    noisy: Path
    clean: Path
    wanted: list[str]
    edited: list[Edited]

    @property
    def is_clean(self) -> bool:
        return self.noisy == self.clean

    @cached_property
    def labels(self) -> list[bool]:
        """Of each edit, whether it is right."""
        pairs = zip(self.edited, self.wanted, strict=True)
        return [calibration.right(one.original, edit, clean) for one, clean in pairs for edit in one.edits]

    def lines(self, least: float) -> list[str]:
        return [one.sure(least).text for one in self.edited]

    def harm(self, least: float) -> Additive:
        sources = None if self.is_clean else [one.original for one in self.edited]
        return harm.evaluate(sources, self.wanted, self.lines(least))

    def scores(self, least: float) -> dict[str, float]:
        """For a model card."""
        done, name, dial = self.harm(least), self.noisy.name, f"with --min-confidence {least:g}"
        scores = {f"{name}: right words broken, of 1,000, {dial}": done.score}
        repaired = {} if self.is_clean else {f"{name}: typos repaired, %, {dial}": done.details["% of typos repaired"]}
        return {what: round(value, 2) for what, value in (scores | repaired).items()}


def held_out(editor: Any, pairs: Sequence[tuple[Path, Path]], clean: Sequence[Path]) -> list[HeldOut]:
    """``editor``: one that leaves no edit out."""
    texts = []
    for noisy, right in [*pairs, *zip(clean, clean, strict=True)]:
        given, wanted = nonempty_lines(noisy), nonempty_lines(right)
        check_counts(noisy, len(given), right, len(wanted))
        texts.append(HeldOut(noisy, right, wanted, editor.edit(given)))
    return texts


def calibrate(texts: Sequence[HeldOut], language: str | None = None) -> dict[str, float]:
    """The weights that the pairs say, which are applied to all texts; none if they say too little."""
    pairs = [text for text in texts if not text.is_clean]
    known = [edit.evidence for text in pairs for one in text.edited for edit in one.edits]
    labels = [label for text in pairs for label in text.labels]
    if len(labels) < FEWEST or len(set(labels)) == 1:
        logger.warning(
            f"confidences are not calibrated: that takes {FEWEST} edits, some right and some wrong, but of the "
            f"{len(labels)} edits of the held-out texts, {sum(labels)} are right"
        )
        return {}
    weights = calibration.fit(known, labels)
    if language is None or primary(language) not in calibration.CAPITAL_NOUNS:
        weights[calibration.NAME] = calibration.CUBE
    for text in texts:
        text.edited = [calibration.calibrated(one, weights) for one in text.edited]
    return weights


def promised(texts: Sequence[HeldOut], most: float) -> float:
    """The least confidence that breaks at most so many of 1,000 words of each clean text."""
    kept = None
    for least in reversed(VALUES):
        broken, path = max((text.harm(least).score, text.clean) for text in texts if text.is_clean)
        if broken > most:
            break
        kept = least
    if kept is None:
        raise UserError(
            f"--promise-broken {most:g} cannot be kept: edits that are {least} sure break {broken:.1f} of 1,000 right "
            f"words of {path}; train on more text of this kind, or promise less"
        )
    return kept


def best(texts: Sequence[HeldOut], name: str) -> float:
    """The confidence with the best score on the pairs; of equal ones the most cautious."""
    pairs = [text for text in texts if not text.is_clean]
    metric = METRICS[name]
    sources = [[one.original for text in pairs for one in text.edited]] if metric.files == SOURCES else []
    wanted = [line for text in pairs for line in text.wanted]

    def score(least: float) -> float:
        found = metric.evaluate(*sources, wanted, [line for text in pairs for line in text.lines(least)])
        return found.score if found.higher_is_better else -found.score

    return max(VALUES, key=lambda least: (score(least), least))


def reliability(texts: Sequence[HeldOut]) -> list[dict[str, float]]:
    """Claimed confidence against the share of edits that are right, for each tenth that has edits."""
    claimed = np.array([edit.confidence for text in texts for one in text.edited for edit in one.edits])
    labels = np.array([label for text in texts for label in text.labels])
    tenths = np.minimum(claimed * 10, 9).astype(int)
    rows = [(tenth / 10, claimed[tenths == tenth], labels[tenths == tenth]) for tenth in np.unique(tenths).tolist()]
    return [
        {"at least": least, "edits": len(sure), "claimed": float(sure.mean()), "right": float(right.mean())}
        for least, sure, right in rows
    ]


@dataclass(frozen=True)
class Tuning:
    """What held-out text decides about an editor."""

    pairs: Sequence[tuple[Path, Path]] = ()  # noisy and clean
    clean: Sequence[Path] = ()
    promise: float | None = None  # words broken of 1,000
    metric: str | None = None

    @property
    def given(self) -> bool:
        return bool(self.pairs or self.clean)

    def check(self, decoding: Decoding) -> None:
        chosen = [self.promise, self.metric, decoding.min_confidence]
        require(self.promise is None or bool(self.clean), "--promise-broken needs --clean FILE: text that is right")
        require(self.metric is None or bool(self.pairs), "--best needs --calibrate NOISY CLEAN")
        require(chosen.count(None) >= 2, "--promise-broken, --best and --min-confidence say the same: give one")

    def of(self, editor: Any, config: ModelConfig) -> ModelConfig:
        texts = held_out(editor, self.pairs, self.clean)
        weights = calibrate(texts, config.decoding.language) if self.pairs else {}
        dial = config.decoding.min_confidence
        if self.promise is not None:
            dial = promised(texts, self.promise)
        elif self.metric is not None:
            dial = best(texts, self.metric)
        scores = {name: value for text in texts for name, value in text.scores(dial or 0.0).items()}
        decoding = replace(config.decoding, min_confidence=dial)
        return replace(config, calibration=weights, decoding=decoding, scores={**config.scores, **scores})
