"""The metrics of ``lev-plugins score``, of ``fairseq-generate --scoring`` and of the validation set, in one table.

To add a metric, write a file with its ``evaluate(references, texts)``, which returns ``evaluation.additive(...)``. Then
add an entry to ``METRICS``, with the name that users type. Its ``fairseq`` makes it a ``--scoring``, and ``validation``
one of ``--eval-metrics``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lev_plugins.scoring import bleu, chrf, exact_match, gleu, harm, m2, rouge, ter, terms, wrr

REFERENCES, SOURCES, GOLD = "references", "sources and references", "an M2 file"
SOURCES_ALONE = "sources"
MAYBE_SOURCES = "references, and perhaps sources"


@dataclass(frozen=True)
class Option:
    """A flag of a metric: ``--NAME`` of ``lev-plugins score METRIC``, ``--METRIC-NAME`` of fairseq."""

    help: str
    default: Any = False  # False: it takes no value
    choices: Sequence[str] | None = None
    kind: type = str
    required: bool = False


@dataclass(frozen=True)
class Metric:
    """A metric of ``lev-plugins score``, and where else users can ask for it."""

    meaning: str
    evaluate: Callable[..., Any]  # files, texts, options by name -> Evaluation
    options: dict[str, Option] = field(default_factory=dict)
    files: str = REFERENCES
    fairseq: str | None = None  # its name in --scoring
    validation: dict[str, dict[str, Any]] = field(default_factory=dict)  # names in --eval-metrics, with options


METRICS = {
    "m2": Metric(
        "MaxMatch F0.5 of edits, as in the official M2 scorer",
        m2.evaluate,
        {
            "beta": Option("weight of recall (default 0.5)", m2.BETA, kind=float),
            "max_unchanged_words": Option("most unchanged words in an edit (default 2)", m2.MAX_UNCHANGED, kind=int),
            "errant": Option("use the edits that ERRANT finds (English only)"),
            "by_kind": Option("also print how many of the annotators' edits of each kind are found"),
        },
        files=GOLD,
    ),
    "gleu": Metric("GLEU for grammatical error correction, as in the authors' script", gleu.evaluate, files=SOURCES),
    "bleu": Metric(
        "BLEU by sacrebleu",
        bleu.evaluate,
        {
            "tokenize": Option("sacrebleu's tokenizer", "13a", list(bleu.BLEU.TOKENIZERS)),
            "lowercase": Option("ignore case"),
        },
        validation={"bleu": {}},
    ),
    "chrf": Metric(
        "F2 of character n-grams (chrF, chrF++) by sacrebleu",
        chrf.evaluate,
        {
            "char_order": Option("count sequences of up to N characters (default 6)", chrf.CHRF.CHAR_ORDER, kind=int),
            "word_order": Option("also count those of up to N words; 2 is chrF++", chrf.CHRF.WORD_ORDER, kind=int),
            "lowercase": Option("ignore case"),
        },
        validation={"chrf": {}},
    ),
    "ter": Metric(
        "translation edit rate by sacrebleu, case-sensitive; lower is better",
        ter.evaluate,
        {
            "normalized": Option("separate punctuation from words, as Tercom does"),
            "no_punct": Option("remove punctuation"),
            "asian_support": Option("with one of the other two: also for Chinese and Japanese"),
        },
        fairseq="ter",
        validation={"ter": {}},
    ),
    "rouge": Metric(
        "ROUGE F1 by rouge-score",
        rouge.evaluate,
        {
            "kind": Option("variant to use as the score; the others are also printed", "rougeL", [*rouge.ROUGE_KINDS]),
            "no_stemming": Option("match words, not their stems"),
            "tokenize": Option(
                "english: lower-cased ASCII letters and digits, as in rouge-score; space: split at white space, for "
                "other languages",
                "english",
                rouge.TOKENIZERS,
            ),
        },
        fairseq="rouge",
        validation={kind: {"kind": kind} for kind in rouge.ROUGE_KINDS},
    ),
    "wrr": Metric(
        "share of reference words recognised, by word alignment", wrr.evaluate, fairseq="wrr", validation={"wrr": {}}
    ),
    "exact": Metric(
        "share of lines that equal their reference",
        exact_match.evaluate,
        fairseq="exact_match",
        validation={"exact_match": {}},
    ),
    "harm": Metric(
        "right words that a corrector breaks, of 1,000; with --source, also the typos that it repairs",
        harm.evaluate,
        files=MAYBE_SOURCES,
    ),
    "terms": Metric(
        "share of the terms in the sources whose translation in a glossary a text has",
        terms.evaluate,
        {"glossary": Option("lines TERM<TAB>TRANSLATION", None, kind=Path, required=True)},
        files=SOURCES_ALONE,
    ),
}
