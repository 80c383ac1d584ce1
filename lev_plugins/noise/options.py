"""The noise that a user requests, and the ``Corruption`` built from it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Optional

from lev_plugins.errors import UserError, require
from lev_plugins.noise.confusions import OCR, confuser, read_table
from lev_plugins.noise.corrupt import Corruption
from lev_plugins.noise.kinds import (
    Alphabets,
    Delete,
    Insert,
    Keyboard,
    Kind,
    OneOf,
    RunOn,
    Shift,
    Split,
    Substitute,
    Swap,
    SwapWords,
)
from lev_plugins.noise.layouts import known_layouts, neighbours, shifts
from lev_plugins.ranges import bounded

KINDS: dict[str, Callable[["NoiseOptions"], Kind]] = {
    "random": lambda options: OneOf([KINDS[name](options) for name in ("insert", "delete", "substitute")]),
    "insert": lambda options: Insert(Alphabets(options.alphabet)),
    "delete": lambda options: Delete(),
    "substitute": lambda options: Substitute(Alphabets(options.alphabet)),
    "keyboard": lambda options: Keyboard(
        neighbours(options.layout, f"{options.prefix}layout"), shifts(options.layout), options.shift_rate
    ),
    "shift": lambda options: Shift(shifts(options.layout, f"{options.prefix}layout")),
    "swap": lambda options: Swap(),
    "swap-words": lambda options: SwapWords(),
    "run-on": lambda options: RunOn(),
    "split": lambda options: Split(),
    "ocr": lambda options: confuser(read_table(OCR)),
    "confusions": lambda options: confuser(read_table(Path(options.confusions or ""))),
}
WITH_RATES = ("ocr", "confusions")  # the kinds with their own rates
READERS = {
    "layout": ("keyboard", "shift"),
    "shift_rate": ("keyboard",),
    "alphabet": ("random", "insert", "substitute"),
}  # the kinds that read a flag


@dataclass(frozen=True)
class NoiseOptions:
    """Each field with ``help`` is a flag of ``lev-plugins noise`` and, with ``--noise-`` before it, of training tasks.

    This module evaluates its annotations, because fairseq and argparse read the types of the fields.
    """

    kind: str = field(
        metadata={
            "metavar": "KIND[:WEIGHT],...",
            "help": f"one of {', '.join(KINDS)}; or several with weights, such as keyboard:2,swap:1",
        }
    )
    word_rate: Optional[float] = field(default=None, metadata={"metavar": "P", "help": "share of words to change"})
    char_rate: Optional[float] = field(
        default=None,
        metadata={
            "metavar": "P",
            "help": "with --word-rate: slips per character of a changed word, at least one per word (default: one per "
            "word); alone: slips per character of the text",
        },
    )
    min_letters: int = field(
        default=0,
        metadata={"metavar": "N", "help": "with --word-rate: words with fewer letters stay as they are"},
    )
    seed: int = field(default=1, metadata={"metavar": "N", "help": "random seed"})
    layout: str = field(
        default="qwerty",
        metadata={
            "metavar": "NAME",
            "help": f"for `keyboard` and `shift`: {', '.join(known_layouts())} or a layout file",
        },
    )
    shift_rate: float = field(
        default=0.0,
        metadata={"metavar": "P", "help": "for `keyboard`: share of the slips that have the wrong shift as well"},
    )
    alphabet: Optional[str] = field(
        default=None,
        metadata={
            "metavar": "LETTERS",
            "help": "for `random`, `insert` and `substitute`: letters to write; any: small letters and capitals of the "
            "same script, digits and signs (default: letters of the same script and case)",
        },
    )
    confusions: Optional[str] = field(
        default=None, metadata={"metavar": "FILE", "help": "for `confusions`: file made by `lev-plugins confusions`"}
    )
    prefix: str = "--"  # of the flags in error messages


FLAGS = [each for each in fields(NoiseOptions) if "help" in each.metadata]


def build_corruption(options: NoiseOptions) -> Corruption:
    """
    >>> build_corruption(NoiseOptions("delete", word_rate=1.0))("The quick brown fox", index=0)
    'Th qick rown fx'
    """
    weights = parse_kinds(options.kind, options.prefix)
    check_rates(options, list(weights))
    flag = f"{options.prefix}confusions"
    require(
        ("confusions" in weights) == (options.confusions is not None),
        f"{flag} FILE and the kind confusions go together: give both or neither",
    )
    require(options.alphabet != "", f"{options.prefix}alphabet must have letters, but is empty")
    for each in FLAGS:
        readers, name = READERS.get(each.name, weights), each.name.replace("_", "-")
        require(
            getattr(options, each.name) == each.default or not weights.keys().isdisjoint(readers),
            f"{options.prefix}{name} is for {names(readers)}, or leave it out",
        )
    kinds = [KINDS[name](options) for name in weights]
    return Corruption(
        kinds, list(weights.values()), options.word_rate, options.char_rate, options.seed, options.min_letters
    )


def parse_kinds(text: str, prefix: str = "--") -> dict[str, float]:
    """
    >>> parse_kinds("keyboard"), parse_kinds("keyboard:2,swap:0.5")
    ({'keyboard': 1.0}, {'keyboard': 2.0, 'swap': 0.5})
    """
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition(":")
        require(name in KINDS, f"{prefix}kind {name!r} is unknown: choose from {', '.join(KINDS)}")
        require(name not in weights, f"{prefix}kind names {name} twice: give it one weight, as in {name}:2")
        weights[name] = parse_weight(weight or "1", part, prefix)
    return weights


def names(kinds: Collection[str]) -> str:
    """
    >>> names(["keyboard"]), names(["random", "insert"])
    ('the kind keyboard: name it', 'the kinds random, insert: name one of them')
    """
    listed = ", ".join(kinds)
    return f"the kinds {listed}: name one of them" if len(kinds) > 1 else f"the kind {listed}: name it"


def parse_weight(text: str, part: str, prefix: str) -> float:
    try:
        weight = float(text)
    except ValueError as error:
        raise UserError(
            f"{prefix}kind: a weight must be a number, as in keyboard:2, but {part!r} has {text!r}"
        ) from error
    bounded(f"{prefix}kind: the weight in {part!r}", weight, above=0)
    return weight


def check_rates(options: NoiseOptions, kinds: list[str]) -> None:
    rates = {"word-rate": options.word_rate, "char-rate": options.char_rate}
    for name, rate in {**rates, "shift-rate": options.shift_rate}.items():
        if rate is not None:
            bounded(f"{options.prefix}{name}", rate, 0, 1)
    bounded(f"{options.prefix}min-letters", options.min_letters, 0)
    require(
        not options.min_letters or options.word_rate is not None,
        f"{options.prefix}min-letters is about the words that {options.prefix}word-rate changes: give both or neither",
    )
    require(
        any(rate is not None for rate in rates.values()) or (len(kinds) == 1 and kinds[0] in WITH_RATES),
        f"{options.prefix}kind {options.kind} needs {options.prefix}word-rate, {options.prefix}char-rate or both: only "
        f"{' or '.join(WITH_RATES)} by itself has its own rates",
    )
