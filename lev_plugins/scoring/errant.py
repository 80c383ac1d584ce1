"""F0.5 of edits extracted by ERRANT, by the default rules of ``errant_compare``; for English, if ERRANT is installed.

ERRANT cuts the difference between source and text into edits by grammar, independently of the annotator's: an edit is
right if the annotator changes the same words in the same way. Errors marked but not corrected (UNK) are ignored. All
else is as in ``m2``.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from lev_plugins.errors import UserError
from lev_plugins.scoring.evaluation import Evaluation
from lev_plugins.scoring.m2 import BETA, Counts, Gold, from_counts

INSTALL = "pip install errant && python -m spacy download en_core_web_sm"
UNCORRECTED = "UNK"

Change = tuple[int, int, str]


@cache
def load_annotator() -> Any:
    try:
        return import_module("errant").load("en")
    except (ImportError, OSError) as error:  # spaCy raises OSError if its model is missing
        raise UserError(f"--errant needs the package errant and spaCy's English model: {INSTALL} ({error})") from error


def evaluate(gold: Sequence[Gold], texts: Sequence[str], beta: float = BETA) -> Evaluation:
    annotator = load_annotator()
    counts = [counts_by_errant(sentence, text, annotator) for sentence, text in zip(gold, texts, strict=True)]
    return from_counts(counts, beta, signature="edits by ERRANT")


def counts_by_errant(gold: Gold, text: str, annotator: Any) -> list[Counts]:
    """The counts against each human annotator of the sentence; ``annotator`` is ERRANT's."""
    proposed = extracted_edits(gold.source, text.split(), annotator)
    counts = []
    for edits in gold.annotators:
        wanted = {
            (edit.start, edit.end, correction)
            for edit in edits
            if edit.kind != UNCORRECTED
            for correction in edit.corrections[:1]
        }
        counts.append(Counts(len(proposed & wanted), len(proposed), len(wanted)))
    return counts


def extracted_edits(source: list[str], text: list[str], annotator: Any) -> set[Change]:
    if source == text:
        return set()
    edits = annotator.annotate(annotator.parse(" ".join(source)), annotator.parse(" ".join(text)))
    return {(edit.o_start, edit.o_end, " ".join(edit.c_str.split())) for edit in edits if edit.type != "noop"}
