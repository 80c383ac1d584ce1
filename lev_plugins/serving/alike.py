"""Answers that do not depend on what else is decoded at the same time, to the last digit.

In another batch, the same sentence gets scores that differ by floating-point noise. A text whose answer such noise
could change, because a confidence is where a digit or the threshold flips, is decoded again, alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lev_plugins.inference.editor import Editor
from lev_plugins.inference.labeller import DIGITS, Answer, Labeller
from lev_plugins.scoring.labelling import POSITIVE
from lev_plugins.text.edited import Edited

# In log-odds. Seen with models that have random weights, and so the largest numbers: 3.2e-5 (a levt, whose log-odds are
# sums over the words of an edit), 3.4e-6 (pbd), 1e-6 (gated)
LEVT_NOISE, WRITER_NOISE, LABEL_NOISE = 4e-5, 1e-5, 1e-5
LEAST = 20  # characters that a text counts as, at least: it takes time, however short
FLOAT_NOISE = 2e-7  # of a number near 1 in 32 bits


class Passage(NamedTuple):
    text: str
    draft: str | None = None
    least: float = 0.0  # the smallest confidence of its edits
    language: str | None = None  # a code; None: that of the editor, or guessed

    def size(self) -> int:
        return max(LEAST, len(self.text) + len(self.draft or ""))


def noise_of(share: Any, odds_noise: float) -> Any:
    """Of probabilities, whose slope over their log-odds is p (1 - p)."""
    return odds_noise * share * (1 - share) + FLOAT_NOISE


def flips(share: float, threshold: float, odds_noise: float) -> bool:
    """Could noise change the printed number, or on which side of the threshold it is?

    >>> flips(0.7321, 0.0, 1e-5), flips(0.732150001, 0.0, 1e-5), flips(0.5000001, 0.5, 1e-5)
    (False, True, True)
    """
    noise = noise_of(share, odds_noise)
    return crosses(share, noise) or (share - noise >= threshold) != (share + noise >= threshold)


def crosses(number: float, noise: float) -> bool:
    return round(number - noise, DIGITS) != round(number + noise, DIGITS)


def edit_alike(editor: Editor, passages: Sequence[Passage]) -> list[Edited]:
    found = edited(editor, passages)
    noise = LEVT_NOISE if editor.model.drafts else WRITER_NOISE
    for i, (passage, one) in enumerate(zip(passages, found, strict=True)):
        if len(passages) > 1 and any(flips(edit.confidence, passage.least, noise) for edit in one.edits):
            found[i] = edited(editor, [passage])[0]
    return [one.sure(passage.least) for passage, one in zip(passages, found, strict=True)]


def edited(editor: Editor, passages: Sequence[Passage]) -> list[Edited]:
    """Those with a draft in one batch, those without in another."""
    found: dict[int, Edited] = {}
    plain = [i for i, passage in enumerate(passages) if passage.draft is None]
    languages = [passages[i].language for i in plain]
    found |= zip(plain, editor.edit([passages[i].text for i in plain], languages=languages), strict=True)
    drafted = [(i, passage.draft) for i, passage in enumerate(passages) if passage.draft is not None]
    if drafted:
        texts = [passages[i].text for i, _ in drafted]
        found |= zip([i for i, _ in drafted], editor.edit(texts, [draft for _, draft in drafted]), strict=True)
    return [found[i] for i in range(len(passages))]


# ---- labels ----------------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    text: str | tuple[str, ...]
    scores: bool = False  # print those of all labels

    def size(self) -> int:
        return max(
            LEAST, len(self.text) if isinstance(self.text, str) else sum(max(1, len(word)) for word in self.text)
        )


def label_alike(labeller: Labeller, examples: Sequence[Example]) -> list[Answer]:
    thresholds = [POSITIVE, *labeller.thresholds.values()]
    found = labeller.scored([example.text for example in examples])
    for i, (example, one) in enumerate(zip(examples, found, strict=True)):
        if len(examples) > 1 and unsteady(one.scores, labeller.kind, thresholds):
            (found[i],) = labeller.scored([example.text])
    return [labeller.answer_to(one, all_=example.scores) for example, one in zip(examples, found, strict=True)]


def unsteady(scores: Any, kind: str, thresholds: Sequence[float] = (POSITIVE,)) -> bool:
    """Could noise change a number, the labels or their order?

    >>> unsteady([0.2, 0.8], "multilabel"), unsteady([0.49999999, 0.8], "multilabel"), unsteady(2.0, "regression")
    (False, True, False)
    >>> unsteady([0.40001, 0.4000101, 0.2], "classification"), unsteady([[0.2, 0.8], [0.5, 0.5]], "tagging")
    (True, True)
    """
    if kind == "regression":
        return crosses(float(scores), LABEL_NOISE * max(1.0, abs(float(scores))))
    rows = np.atleast_2d(np.asarray(scores, dtype=float))
    if any(flips(score, threshold, LABEL_NOISE) for score in rows.ravel() for threshold in thresholds):
        return True
    ranked = -np.sort(-rows, axis=1) if kind == "multilabel" else -np.sort(-rows, axis=1)[:, :2]
    close = ranked[:, :-1] - ranked[:, 1:] <= 2 * noise_of(ranked[:, :-1], LABEL_NOISE)
    return bool((close & (ranked[:, :-1] >= min(thresholds))).any() if kind == "multilabel" else close.any())
