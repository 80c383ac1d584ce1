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


@cache
def load_annotator() -> Any:
    try:
        return import_module("errant").load("en")
    except (ImportError, OSError) as error:  # spaCy raises OSError if its model is missing
        raise UserError(f"--errant needs the package errant and spaCy's English model: {INSTALL} ({error})") from error


def evaluate(gold: Sequence[Gold], texts: Sequence[str], beta: float = BETA) -> Evaluation:
    annotator = load_annotator()
    counts: list[list[Counts]] = []
    for (source, annotators), text in zip(gold, texts, strict=True):
        line = " ".join(text.split())
        edits = [] if text.split() == source else annotator.annotate(*map(annotator.parse, (" ".join(source), line)))
        proposed = {(edit.o_start, edit.o_end, " ".join(edit.c_str.split())) for edit in edits if edit.type != "noop"}
        counts.append([])
        for human in annotators:
            wanted = {(edit.start, edit.end, edit.corrections[0]) for edit in human if edit.kind != UNCORRECTED}
            counts[-1].append(Counts(len(proposed & wanted), len(proposed), len(wanted)))
    return from_counts(counts, beta, signature="edits by ERRANT")
