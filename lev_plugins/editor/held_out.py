"""Held-out text calibrates an editor and chooses its ``--min-confidence``; each text is edited once for all values.

texts = edit_held_out(editor, [(Path("dev.typos"), Path("dev.clean"))], [Path("news.clean")])
weights = calibrate_texts(texts)       # the texts now have calibrated confidences
choose_dials(texts, {"read": 2})       # the lowest min_confidence that breaks 2 of 1,000 words of text like news.clean
texts[0].harm(0.5).details             # what is repaired with 0.5
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from pathlib import Path

import numpy as np

from lev_plugins.editor import calibration
from lev_plugins.editor.editor import Editor
from lev_plugins.scoring import harm
from lev_plugins.scoring.evaluation import Additive, Array
from lev_plugins.text.edited import Edited
from lev_plugins.text.lines import nonempty_lines, require_parallel
from lev_plugins.utils.errors import UserError, require
from lev_plugins.utils.model_folder import READ, Decoding, ModelConfig, confidence_of

CONFIDENCES = [*(hundredth / 100 for hundredth in range(100)), 0.995, 0.999]  # values of --min-confidence to try
MIN_EDITS = 100  # to calibrate on
ERROR = 0.05  # highest probability that text of the same kind exceeds the error budget, --promise-broken
MAX_BROKEN = 10  # words of a line that count, at most: else one line in a million could exceed any budget
MAX_COPIES = 1000  # of a text, for the estimate of how long it must be

logger = logging.getLogger(__name__)


@dataclass
class HeldOut:
    """A text, its correction, and what the editor would change; a clean text is its own correction."""

    noisy: Path
    clean: Path
    references: list[str]
    edited: list[Edited]

    @property
    def is_clean(self) -> bool:
        return self.noisy == self.clean

    @property
    def labels(self) -> list[bool]:
        """Returns whether each edit is right."""
        pairs = zip(self.edited, self.references, strict=True)
        return [calibration.is_right(edited.original, edit, clean) for edited, clean in pairs for edit in edited.edits]

    def lines(self, min_confidence: float) -> list[str]:
        return [edited.without_unsure(min_confidence).text for edited in self.edited]

    def harm(self, min_confidence: float) -> Additive:
        sources = None if self.is_clean else [edited.original for edited in self.edited]
        return harm.evaluate(sources, self.references, self.lines(min_confidence))

    def scores(self, min_confidence: float) -> dict[str, float]:
        """Returns what the model card says of this text."""
        result, setting = self.harm(min_confidence), f"with --min-confidence {min_confidence:g}"
        scores = {f"{self.noisy.name}: right words broken, of 1,000, {setting}": result.score}
        if not self.is_clean:
            scores[f"{self.noisy.name}: typos repaired, %, {setting}"] = result.details["% of typos repaired"]
        return {name: round(value, 2) for name, value in scores.items()}


def edit_held_out(editor: Editor, pairs: Sequence[tuple[Path, Path]], clean: Sequence[Path]) -> list[HeldOut]:
    """Edits the texts, each as one document; to try thresholds, load the editor with ``min_confidence=0``.

    pairs: files of noisy and clean text
    clean: files of text that is right
    """
    texts = []
    for noisy, reference in [*pairs, *zip(clean, clean, strict=True)]:
        lines, references = nonempty_lines(noisy), nonempty_lines(reference)
        require_parallel(noisy, len(lines), reference, len(references))
        texts.append(HeldOut(noisy, reference, references, editor.of_document("\n".join(lines)).edit(lines)))
    return texts


def calibrate_texts(texts: Sequence[HeldOut]) -> dict[str, float]:
    """Fits weights on the pairs and applies them to all texts; {}: there are too few edits, and the texts stay."""
    pairs = [text for text in texts if not text.is_clean]
    features = [edit.evidence for text in pairs for edited in text.edited for edit in edited.edits]
    labels = [label for text in pairs for label in text.labels]
    if len(labels) < MIN_EDITS or len(set(labels)) == 1:
        logger.warning(
            f"confidences are not calibrated: that takes {MIN_EDITS} edits, some right and some wrong, but of the "
            f"{len(labels)} edits of the held-out texts, {sum(labels)} are right"
        )
        return {}
    weights = calibration.fit(features, labels)
    for text in texts:
        text.edited = [calibration.calibrate(edited, weights) for edited in text.edited]
    return weights


def is_within_budget(counts: Array, max_broken: float, copies: int = 1) -> bool:
    """Returns whether these lines show that at most ``max_broken`` of 1,000 words of text like theirs are broken.

    Of the broken words of a line, only MAX_BROKEN count. It is a test by betting (Waudby-Smith and Ramdas 2024), which
    needs no approximation where few lines break words. Each line multiplies a capital by
    1 + stake * (words that it may break - words that it breaks), which is never negative. If text like this broke more
    than ``max_broken``, the expected capital would be at most 1, and so its probability of reaching 1 / ERROR at most
    ERROR. The stake is that with the fastest growth, as far as it can be known from the lengths of the lines alone.

    counts: for each line, how many words are broken, and of how many; further columns do not matter
    copies: answers for a text in which each of the lines occurs so often
    """
    broken, allowed = counts[:, 0], max_broken / 1000 * counts[:, 1]
    stake = min(1 / MAX_BROKEN, sqrt(2 * log(1 / ERROR) / (copies * allowed.sum())))
    growth = np.log1p(stake * (allowed - np.minimum(broken, MAX_BROKEN))).sum()
    return bool(copies * growth >= log(1 / ERROR))


def choose_dials(texts: Sequence[HeldOut], promises: Mapping[str, float]) -> dict[str, float]:
    """Returns, for each dial, the lowest min_confidence that keeps its promise in text like each clean text.

    The values are tested from strict to lax until the first failure: that one of them passes although it breaks more
    has a probability of at most ERROR (fixed-sequence testing, as in Learn then Test: Angelopoulos et al. 2021). That
    holds for each dial by itself, not for all of them together.

    texts: held-out texts, of which those that are clean count
    promises: for each dial, how many of 1,000 words it may break
    """
    dials, to_test = dict[str, float](), [*promises]
    for value in reversed(CONFIDENCES):
        harms = [(text.harm(value), text) for text in texts if text.is_clean]
        for name in [*to_test]:
            failures = [row for row in harms if not is_within_budget(row[0].statistics, promises[name])]
            if not failures:
                dials[name] = value
            elif name in dials:
                to_test.remove(name)
            else:
                raise cannot_keep(name, promises[name], value, *failures[0])
        if not to_test:
            break
    return dials


def cannot_keep(name: str, max_broken: float, value: float, result: Additive, text: HeldOut) -> UserError:
    """Returns the error for a promise that no min_confidence keeps; it says how many lines it would take.

    name: of the dial
    max_broken: its promise
    value: the strictest min_confidence
    result: the harm that it does in the text
    text: a clean text
    """
    lines, tries = len(text.references), range(2, MAX_COPIES)
    copies = next((count for count in tries if is_within_budget(result.statistics, max_broken, count)), None)
    advice = f"give about {copies * lines:,} such lines" if copies else "train on more text of this kind"
    return UserError(
        f"--promise-broken {name}={max_broken:g} cannot be kept: edits that are {value} sure break {result.score:.1f} "
        f"of 1,000 right words in the {lines:,} lines of {text.clean}; {advice}, or promise less"
    )


@dataclass(frozen=True)
class Tuning:
    """What ``export`` does with held-out text."""

    pairs: Sequence[tuple[Path, Path]] = ()  # noisy and clean
    clean: Sequence[Path] = ()
    promises: Mapping[str, float] = field(default_factory=dict)  # --promise-broken

    def __bool__(self) -> bool:
        return bool(self.pairs or self.clean)

    def check(self, decoding: Decoding) -> None:
        require(not self.promises or bool(self.clean), "--promise-broken needs --clean FILE: text that is right")
        require(
            READ not in self.promises or decoding.min_confidence is None,
            "--promise-broken chooses the value of --min-confidence: give one of them",
        )

    def apply(self, editor: Editor, config: ModelConfig) -> ModelConfig:
        """Returns the configuration with calibration, dials and scores from the held-out text."""
        stale = ", ".join(config.promises.keys() - self.promises) if self.pairs else ""
        require(not stale, f"--calibrate changes the dial {stale}: choose it again with --promise-broken")
        texts = edit_held_out(editor, self.pairs, self.clean)
        # with too few edits to fit weights, the former ones stay: these confidences were made with them
        weights = (calibrate_texts(texts) if self.pairs else {}) or config.calibration
        decoding = replace(config.decoding, min_confidence=READ) if READ in self.promises else config.decoding
        dials = {**config.dials, **choose_dials(texts, self.promises)}
        minimum = confidence_of("--min-confidence", decoding.min_confidence or 0.0, dials)
        budgets = {
            f"{text.clean.name}: right words broken, of 1,000, with --min-confidence {name}, in text like its "
            f"{len(text.references):,} lines, at most, with {1 - ERROR:.0%} confidence": max_broken
            for name, max_broken in self.promises.items()
            for text in texts
            if text.is_clean
        }
        values = dict.fromkeys([minimum, *dials.values()])
        scores = {name: score for text in texts for value in values for name, score in text.scores(value).items()}
        return replace(
            config,
            calibration=weights,
            decoding=decoding,
            dials=dials,
            promises={**config.promises, **self.promises},
            scores={**config.scores, **scores, **budgets},
        )
